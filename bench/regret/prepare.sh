#!/usr/bin/env bash
# Samples the plans that the regret bench times and compiles them, on a machine without a GPU, so
# that the one with the GPU only measures.
# Usage: bench/regret/prepare.sh <bin folder> <folder to fill> [GPU profile, h200-sxm when left out]
# Leaves plans.jsonl, warm.json (what was compiled) and cache.tar.xz; bench/regret/run.sh takes them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if (($# < 2)) || [[ ! -x "$1/fusebox" ]]; then
  echo "prepare: ${1:-no folder} holds no fusebox; give a bin folder and a folder to fill" >&2
  exit 2
fi
fusebox="$1/fusebox"
gpu="${3:-h200-sxm}"
mkdir -p "$2"
out="$(cd "$2" && pwd)"

"$fusebox" plan --shapes bench/regret/shapes.json --tokens 8,32,128 --gpu "$gpu" --sample 48 \
  >"$out/plans.jsonl"
rm -rf "$out/cache"
"$fusebox" warm --plans "$out/plans.jsonl" --gpu "$gpu" --cache-dir "$out/cache" --json \
  >"$out/warm.json" 2>"$out/warm.log"
# The command's own kernels, which fill buffers and read streams.
FUSEBOX_ENABLE=0 "$fusebox" verify --compile-only --gpu "$gpu" --cache-dir "$out/cache" \
  --hidden 64 --intermediate 64 --tokens 1 >>"$out/warm.log" 2>&1
tar -C "$out" -cJf "$out/cache.tar.xz" cache
rm -rf "$out/cache"
echo "prepare: $(grep -c '' "$out/plans.jsonl") plans for $gpu," \
  "$(du -h "$out/cache.tar.xz" | cut -f1) of kernels"
