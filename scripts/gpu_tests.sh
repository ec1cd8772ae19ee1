#!/usr/bin/env bash
# Runs the test programs that need a GPU, each under a time limit. A skipped case is a failure: on a
# machine with a GPU nothing may be left out.
# Usage: scripts/gpu_tests.sh <folder with tests/> [log folder] [program ...]
#   The folder is a build's bin/, or what scripts/gpu_pack.sh made of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# < 1)) || [[ ! -d "$1/tests" ]]; then
  echo "gpu_tests: ${1:-no folder} holds no tests/; give a build's bin folder" >&2
  exit 2
fi
bin="$(cd "$1" && pwd)"
logs="${2:-$bin/logs}"
shift
(($# > 0)) && shift
mkdir -p "$logs"
seconds="${FUSEBOX_TEST_SECONDS:-480}"

programs=("$@")
if ((${#programs[@]} == 0)); then
  for path in "$bin"/tests/gpu_*_test "$bin"/tests/*_gpu_test; do
    [[ ! -x "$path" || "$path" == */gpu_mutation_test ]] || programs+=("$(basename "$path")")
  done
fi

failed=()
for program in "${programs[@]}"; do
  log="$logs/$program.log"
  start="$(date +%s)"
  code=0
  timeout --kill-after=10 "$seconds" "$bin/tests/$program" >"$log" 2>&1 || code=$?
  passed="$(grep -c '^\[       OK \]' "$log" || true)"
  skipped="$(grep -c '^\[  SKIPPED \] .* (' "$log" || true)"
  verdict=passed
  if ((code != 0)); then
    verdict="FAILED (exit $code)"
  elif ((skipped > 0)); then
    verdict="FAILED: $skipped skipped"
  elif ((passed == 0)); then
    verdict="FAILED: no case ran"
  fi
  printf '%-28s %3d ok  %3d skipped  %4d s  %s\n' "$program" "$passed" "$skipped" \
    "$(($(date +%s) - start))" "$verdict"
  grep -E '^(note|plans|mutation) ' "$log" | sed 's/^/    /' || true
  if [[ "$verdict" != passed ]]; then
    failed+=("$program")
    grep -E '^\[  FAILED  \]|Failure$|^  ' "$log" | head -n 20 | sed 's/^/    /' || true
    tail -n 3 "$log" | sed 's/^/    /'
  fi
done
if ((${#failed[@]} > 0)); then
  echo "gpu_tests: FAILED: ${failed[*]}; logs in $logs" >&2
  exit 1
fi
echo "gpu_tests: all passed, none skipped"
