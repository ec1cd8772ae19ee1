#!/usr/bin/env bash
# Builds and tests everything that this machine can: the release preset where the CUDA toolkit's
# headers are, the host-only preset always, then the source checks. Tests that need a GPU skip
# themselves where none is; on a Hopper GPU a skipped test is a failure.
# Usage: scripts/test.sh [additional ctest arguments]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/machine.sh

scripts/install_packages.sh

presets=(host-only)
if has_cuda_headers; then
  presets+=(release)
else
  echo "test: no CUDA toolkit headers (cuda.h, nvrtc.h) on this machine: runtime/ and its tests are" \
    "not built; the host-only preset alone is"
fi

logs="build/test-logs"
mkdir -p "$logs"
failed=()
built=()
for preset in "${presets[@]}"; do
  echo "test: configure and build $preset"
  log="$logs/$preset-build.log"
  if (cmake --preset "$preset" && cmake --build --preset "$preset") >"$log" 2>&1; then
    built+=("$preset")
  else
    tail -n 60 "$log"
    echo "test: the $preset build failed; the whole log is $log" >&2
    failed+=("the $preset build")
  fi
done

for preset in "${built[@]}"; do
  echo "test: ctest $preset"
  log="$logs/$preset-ctest.log"
  ctest --preset "$preset" "$@" 2>&1 | tee "$log" || failed+=("ctest $preset")
  num_skipped="$(grep -c 'Skipped *[0-9.]* sec' "$log" || true)"
  if ((num_skipped > 0)) && has_hopper_gpu; then
    echo "test: $num_skipped tests skipped although a Hopper GPU is present" >&2
    failed+=("skips in $preset")
  fi
done

scripts/check.sh || failed+=("scripts/check.sh")

echo
for preset in "${built[@]}"; do
  echo "== $preset"
  sed -n '/tests passed,/,$p' "$logs/$preset-ctest.log"
done
if ((${#failed[@]} > 0)); then
  printf 'test: FAILED: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "test: all passed"
