#!/usr/bin/env bash
# Runs the test programs that need a GPU, each under a time limit. A skipped case is a failure: on a
# machine with a GPU nothing may be left out.
# Usage: scripts/gpu_tests.sh <folder with tests/> [log folder] [program ...]
#   The folder is a build's bin/, or what scripts/gpu_pack.sh made of it.
#   FUSEBOX_TEST_JOBS programs run side by side (1 when left out), one that measures times by itself.
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

# Runs one program; its verdict and what it has to say go to <program>.txt, the verdict's word first.
run_program() {
  local program="$1" log="$logs/$1.log" start code=0 passed skipped verdict=passed
  start="$(date +%s)"
  timeout --kill-after=10 "$seconds" "$bin/tests/$program" >"$log" 2>&1 || code=$?
  passed="$(grep -c '^\[       OK \]' "$log" || true)"
  skipped="$(grep -c '^\[  SKIPPED \] .* (' "$log" || true)"
  if ((code != 0)); then
    verdict="FAILED (exit $code)"
  elif ((skipped > 0)); then
    verdict="FAILED: $skipped skipped"
  elif ((passed == 0)); then
    verdict="FAILED: no case ran"
  fi
  {
    printf '%-28s %3d ok  %3d skipped  %4d s  %s\n' "$program" "$passed" "$skipped" \
      "$(($(date +%s) - start))" "$verdict"
    grep -E '^(note|plans|mutation) ' "$log" | sed 's/^/    /' || true
    if [[ "$verdict" != passed ]]; then
      grep -E '^\[  FAILED  \]|Failure$|^  ' "$log" | head -n 20 | sed 's/^/    /' || true
      tail -n 3 "$log" | sed 's/^/    /'
    fi
  } >"$logs/$program.txt"
  [[ "$verdict" == passed ]]
}
export -f run_program
export bin logs seconds

# What measures times waits until the others are done.
beside=()
alone=()
for program in "${programs[@]}"; do
  if [[ "$program" == *launch_cost* ]]; then alone+=("$program"); else beside+=("$program"); fi
done
failed=()
run_all() {
  local jobs="$1"
  shift
  (($# > 0)) || return 0
  # shellcheck disable=SC2016  # the inner shell expands
  printf '%s\n' "$@" | xargs -P "$jobs" -I{} bash -c \
    'run_program {} && touch "$logs/{}.passed" || true'
  local program
  for program in "$@"; do
    cat "$logs/$program.txt"
    [[ -f "$logs/$program.passed" ]] || failed+=("$program")
  done
}
for program in "${programs[@]}"; do rm -f "$logs/$program.passed" "$logs/$program.txt"; done
run_all "${FUSEBOX_TEST_JOBS:-1}" "${beside[@]}"
run_all 1 "${alone[@]}"
if ((${#failed[@]} > 0)); then
  echo "gpu_tests: FAILED: ${failed[*]}; logs in $logs" >&2
  exit 1
fi
echo "gpu_tests: all passed, none skipped"
