#!/usr/bin/env bash
# Packs what a machine with a GPU needs of a release build: the command, the library and the GPU test
# programs, stripped, and a cache with every kernel that the cache-carried phase verifies.
# Usage: scripts/gpu_pack.sh <build folder> <folder to fill>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/gpu_models.sh

if (($# != 2)) || [[ ! -x "$1/bin/fusebox" ]]; then
  echo "gpu_pack: ${1:-no folder} holds no bin/fusebox; build the release preset first" >&2
  exit 2
fi
build="$1"
pack="$2"
mkdir -p "$pack/tests"
strip -o "$pack/fusebox" "$build/bin/fusebox"
strip --strip-unneeded -o "$pack/libfusebox.so" "$build/lib/libfusebox.so"
for path in "$build"/bin/tests/gpu_*_test "$build"/bin/tests/*_gpu_test; do
  [[ -x "$path" ]] || continue
  strip -o "$pack/tests/$(basename "$path")" "$path"
done
rm -rf "$pack/cache"
arguments=()
for model in "${carried_models[@]}"; do arguments+=(--model "bench/models/$model.json"); done
"$pack/fusebox" verify --compile-only --gpu h200-sxm --cache-dir "$pack/cache" "${arguments[@]}"
du -sh "$pack"
