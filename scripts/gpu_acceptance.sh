#!/usr/bin/env bash
# Runs on a machine with a GPU what acceptance asks of one, by phases, each under a time limit, and
# ends in a table. Logs and results go to the output folder.
# Usage: scripts/gpu_acceptance.sh <bin folder> <output folder> [phase ...]
#   The bin folder is a build's bin/, or what scripts/gpu_pack.sh made of it (then with cache/).
#   Phases: verify sweep variants torch tests mutation sanitizer bench baselines flashfuser regret
#   cache-carried manifest overrides; all when none is named.
# regret takes what bench/regret/prepare.sh left in <bin folder>/regret, and else compiles here.
# FUSEBOX_CARRIED_CACHE names another cache for cache-carried, FUSEBOX_COMMIT the commit for the
# results where there is no git.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
. scripts/gpu_models.sh

all_phases=(verify sweep variants torch tests mutation sanitizer bench baselines flashfuser regret
  cache-carried manifest overrides)
if (($# < 2)) || [[ ! -x "$1/fusebox" ]]; then
  echo "gpu_acceptance: ${1:-no folder} holds no fusebox; give a bin folder and an output folder" >&2
  exit 2
fi
bin="$(cd "$1" && pwd)"
mkdir -p "$2"
out="$(cd "$2" && pwd)"
shift 2
phases=("$@")
((${#phases[@]} > 0)) || phases=("${all_phases[@]}")
fusebox="$bin/fusebox"
commit="${FUSEBOX_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}"
export -n FUSEBOX_COMMIT  # a name that is no knob of the library
export FUSEBOX_CACHE_DIR="${FUSEBOX_CACHE_DIR:-${TMPDIR:-/tmp}/fusebox-acceptance-cache}"

models=()
for model in "${verified_models[@]}"; do models+=(--model "bench/models/$model.json"); done

# limited <seconds> <log> <command ...>: output to the log; the command's exit code.
limited() {
  local seconds="$1" log="$2"
  shift 2
  timeout --kill-after=10 "$seconds" "$@" >"$out/$log" 2>&1
}

summaries=()
failed=()
# note <phase> <exit code> <sentence>
note() {
  local verdict=passed
  if (($2 != 0)); then
    verdict="FAILED ($2)"
    failed+=("$1")
  fi
  summaries+=("$(printf '%-30s %-12s %s' "$1" "$verdict" "$3")")
}

phase_verify() {
  limited 540 verify.log "$fusebox" verify "${models[@]}"
  note verify $? "$(tail -n 1 "$out/verify.log")"
}

# Every model as an engine asks for it, in both dtypes, at token counts around every tile.
phase_sweep() {
  limited 540 sweep.log "$fusebox" verify --models bench/models --as-engine --both-dtypes
  note sweep $? "$(tail -n 1 "$out/sweep.log")"
  grep -E '^(WRONG|FAILED|missing)' "$out/sweep.log" | head -n 20
  grep -E '^(dataflow|variant|declined by) ' "$out/sweep.log"
}

# Every dtype, activation, norm, residual mode, bias and rounding on the dims of three models.
phase_variants() {
  local dims name hidden intermediate log
  for dims in "Llama-3.2-1B 2048 8192" "Qwen3-0.6B 1024 3072" "Gemma-2-2b 2304 9216"; do
    read -r name hidden intermediate <<<"$dims"
    log="variants-$name.log"
    limited 300 "$log" "$fusebox" verify --variants --hidden "$hidden" \
      --intermediate "$intermediate"
    note "variants $name" $? "$(tail -n 1 "$out/$log")"
    grep -E '^(WRONG|FAILED|missing)' "$out/$log" | head -n 20
  done
}

# The engines' own PyTorch operations, on models of five kinds.
phase_torch() {
  local library="$bin/libfusebox.so"
  [[ -f "$library" ]] || library="$bin/../lib/libfusebox.so"
  HF_HUB_OFFLINE=1 limited 240 torch.log python3 tests/torch/engine_equality.py "$library" \
    --json "$out/torch.json" --commit "$commit"
  note torch $? "$(tail -n 1 "$out/torch.log")"
  grep -E 'WRONG|FAILED|: failed,' "$out/torch.log" | head -n 20
}

phase_tests() {
  FUSEBOX_TEST_SECONDS=400 FUSEBOX_TEST_JOBS=4 scripts/gpu_tests.sh "$bin" "$out/tests" >"$out/tests.log" 2>&1
  note tests $? "$(tail -n 1 "$out/tests.log")"
  grep -v '^gpu_tests:' "$out/tests.log"
}

phase_mutation() {
  FUSEBOX_TEST_SECONDS=560 scripts/gpu_tests.sh "$bin" "$out/tests" gpu_mutation_test \
    >"$out/mutation.log" 2>&1
  note mutation $? "$(tail -n 1 "$out/mutation.log")"
  cat "$out/mutation.log"
}

# Tails, residual, plain, a real one; norms before and after the block, biases.
sanitized_shapes=(
  "--hidden 96 --intermediate 360 --form plain --activation relu"
  "--hidden 520 --intermediate 1000 --residual add_after"
  "--hidden 720 --intermediate 360 --form plain"
  "--hidden 1024 --intermediate 3072"
  "--hidden 520 --intermediate 1000 --norm rms --residual add_before_norm --dtype fp16"
  "--hidden 360 --intermediate 720 --norm rms_plus_one --residual sandwich --bias both"
  "--hidden 96 --intermediate 360 --form plain --norm layer --residual add_after --bias both"
  "--hidden 768 --intermediate 3072 --form plain --layout in_out --tokens 8,65"
  "--hidden 520 --intermediate 1000 --tokens 16"
  "--hidden 520 --intermediate 1000 --norm rms --residual add_before_norm --tokens 13"
  "--hidden 520 --intermediate 1000 --form plain --tokens 13,61"
  "--hidden 520 --intermediate 1000 --tokens 61"
  "--hidden 520 --intermediate 1000 --norm rms --residual add_before_norm --tokens 61"
  "--hidden 520 --intermediate 1000 --norm rms_plus_one --residual sandwich --tokens 61")
# The last six run as kinds of plans which the planner would not take for dims as small as the tools
# need: grid gather, with k split over CTAs, activations multicast and tokens in wgmma's rows; and
# dsm gather with activations multicast.
sanitized_plans="@tests/gpu/grid_gather_plans.jsonl"

phase_sanitizer() {
  local tool shape log code errors index
  for tool in memcheck synccheck initcheck; do
    index=0
    for shape in "${sanitized_shapes[@]}"; do
      index=$((index + 1))
      [[ "$shape" == *--tokens* ]] || shape+=" --tokens 1,8,17"
      log="sanitizer-$tool-$index.log"
      # shellcheck disable=SC2086
      FUSEBOX_FORCE_PLAN="$sanitized_plans" limited 150 "$log" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$fusebox" verify $shape
      code=$?
      errors="$(grep -oE 'ERROR SUMMARY: [0-9]+ errors?' "$out/$log" | tail -n 1)"
      note "sanitizer $tool $index" "$code" "${errors:-no summary} for $shape"
    done
  done
}

phase_bench() {
  # In bf16 and without biases, as the baselines.
  limited 540 bench.log "$fusebox" bench "${models[@]}" --dtype bf16 --bias none --neighbours fusebox,foreign \
    --tokens 1,8,16,32,64,128 \
    --json "$out/bench.json" --commit "$commit"
  note bench $? "$(grep -c '' "$out/bench.log" 2>/dev/null) lines in bench.log"
  cat "$out/bench.log"
  limited 120 launch-cost.log "$fusebox" bench --launch-cost --tokens 1,32 \
    --model bench/models/meta-llama--Llama-3.2-1B.json --model bench/models/Qwen--Qwen3-0.6B.json \
    --json "$out/launch-cost.json" --commit "$commit"
  note launch-cost $? "$(tail -n 1 "$out/launch-cost.log")"
}

phase_baselines() {
  local files=()
  for model in "${verified_models[@]}"; do files+=("bench/models/$model.json"); done
  # shellcheck disable=SC2086
  limited 570 baselines.log python3 bench/baselines/ffn_torch.py --tokens 1,8,16,32,64,128 \
    --json "$out/baselines.json" ${FUSEBOX_BASELINE_FLAGS:-} "${files[@]}"
  note baselines $? "$(tail -n 1 "$out/baselines.log")"
  if [[ -f "$out/bench.json" && -f "$out/baselines.json" ]]; then
    limited 60 merge.log python3 bench/merge_baselines.py "$out/bench.json" "$out/baselines.json"
    note merge $? "$(tail -n 1 "$out/merge.log")"
  fi
}

# The chains of FlashFuser's tables at 128 tokens, beside what PyTorch makes of them.
phase_flashfuser() {
  limited 570 flashfuser.log env FUSEBOX_COMMIT="$commit" bench/flashfuser/run.sh "$bin" "$out"
  note flashfuser $? "$(tail -n 1 "$out/flashfuser.log")"
  [[ ! -f "$out/flashfuser.md" ]] || cat "$out/flashfuser.md"
}

# What the planner's choice gives away, on ops that its cost model was not fitted to.
phase_regret() {
  local prepared="$bin/regret" code
  if [[ ! -f "$prepared/cache.tar.xz" ]]; then
    prepared="$out/regret-prepared"
    limited 570 regret-prepare.log bench/regret/prepare.sh "$bin" "$prepared"
    code=$?
    note regret-prepare $code "$(tail -n 1 "$out/regret-prepare.log")"
    ((code == 0)) || return
  fi
  limited 400 regret.log env FUSEBOX_COMMIT="$commit" bench/regret/run.sh "$bin" "$prepared" "$out"
  note regret $? "$(tail -n 1 "$out/regret.log")"
  [[ ! -f "$out/regret.md" ]] || cat "$out/regret.md"
}

carried_arguments=()
for model in "${carried_models[@]}"; do carried_arguments+=(--model "bench/models/$model.json"); done
without_nvrtc=(env -u CUDA_HOME -u CUDA_PATH -u LD_LIBRARY_PATH -u VIRTUAL_ENV -u CONDA_PREFIX
  FUSEBOX_NVRTC_PATH=/nonexistent FUSEBOX_COMPILE=never)

# A cache from a machine without a GPU, no NVRTC, nothing may be compiled.
phase_cache-carried() {
  local cache="${FUSEBOX_CARRIED_CACHE:-$bin/cache}" code
  limited 60 cache-doctor.log "${without_nvrtc[@]}" "$fusebox" doctor
  limited 200 cache-carried.log "${without_nvrtc[@]}" FUSEBOX_CACHE_DIR="$cache" \
    "$fusebox" verify "${carried_arguments[@]}"
  code=$?
  if ((code == 0)) && ! grep -q '; 0 kernels compiled' "$out/cache-carried.log"; then code=1; fi
  if ((code == 0)) && ! grep -q '^right' "$out/cache-carried.log"; then code=1; fi
  note cache-carried $code "$(tail -n 1 "$out/cache-carried.log")"
  # The same without the cache must not work, or the phase shows nothing.
  limited 60 cache-empty.log "${without_nvrtc[@]}" FUSEBOX_CACHE_DIR="$out/no-cache" \
    "$fusebox" verify "${carried_arguments[@]}" --tokens 1
  code=$?
  note cache-empty-declines $((code == 3 ? 0 : 1)) "exit $code: $(tail -n 1 "$out/cache-empty.log")"
}

# What engines ask for here is recorded, compiled by a command that sees no GPU, and then all that
# they need: without NVRTC every launch is served and right.
phase_manifest() {
  local manifest="$out/manifest.jsonl" warmed="$out/manifest-cache" tools="$out/manifest-tools" code
  rm -rf "$manifest" "$warmed" "$tools"
  # The kernels that judge are no engine's and in no manifest; of declined ops only they are made.
  limited 100 manifest-tools.log env FUSEBOX_ENABLE=0 "$fusebox" verify --compile-only \
    --gpu h200-sxm --cache-dir "$tools" "${carried_arguments[@]}"
  code=$?
  if ((code == 0)); then
    limited 200 manifest-record.log env FUSEBOX_RECORD="$manifest" \
      "$fusebox" verify "${carried_arguments[@]}"
    code=$?
  fi
  note manifest-record $code "$(grep -c '' "$manifest" 2>/dev/null) lines recorded"
  ((code == 0)) || return
  limited 200 manifest-warm.log env CUDA_VISIBLE_DEVICES= "$fusebox" warm --manifest "$manifest" \
    --cache-dir "$warmed"
  note manifest-warm $? "$(grep ' compiled, ' "$out/manifest-warm.log" | tail -n 1)"
  limited 200 manifest-served.log "${without_nvrtc[@]}" FUSEBOX_CACHE_DIR="$warmed:$tools" \
    "$fusebox" verify "${carried_arguments[@]}"
  code=$?
  if ((code == 0)) && ! grep -q ' 0 missing; .*; 0 kernels compiled' "$out/manifest-served.log"; then
    code=1
  fi
  note manifest-served $code "$(tail -n 1 "$out/manifest-served.log")"
  # The same without what was warmed must not work, or the phase shows nothing.
  limited 60 manifest-control.log "${without_nvrtc[@]}" FUSEBOX_CACHE_DIR="$tools" \
    "$fusebox" verify "${carried_arguments[@]}" --tokens 1
  code=$?
  note manifest-control $((code == 3 ? 0 : 1)) "exit $code: $(tail -n 1 "$out/manifest-control.log")"
}

# The first runner-up in the place of the chosen plan, and device code from a folder: right too.
phase_overrides() {
  local op=(--hidden 1024 --intermediate 3072 --tokens 8) runner_up code
  runner_up="$("$fusebox" plan "${op[@]}" --json | python3 -c '
import json, sys
ranked = json.load(sys.stdin)[0]["search"]["runners_up"][0]
with open(sys.argv[1], "w") as file:
    json.dump(ranked["plan"], file)
print(ranked["summary"])' "$out/forced-plan.json")"
  limited 60 overrides-plan.log env FUSEBOX_FORCE_PLAN="@$out/forced-plan.json" \
    "$fusebox" verify "${op[@]}"
  code=$?
  if ((code == 0)) && ! grep -qF "  $runner_up" "$out/overrides-plan.log"; then code=1; fi
  note overrides-plan $code "$(tail -n 1 "$out/overrides-plan.log")"
  rm -rf "$out/templates"
  cp -r kernels_templates "$out/templates"
  echo '// edited' >>"$out/templates/kernels/ffn.cuh"
  limited 60 overrides-templates.log env FUSEBOX_TEMPLATE_DIR="$out/templates" \
    FUSEBOX_CACHE_DIR="$out/overrides-cache" "$fusebox" verify "${op[@]}"
  note overrides-templates $? "$(tail -n 1 "$out/overrides-templates.log")"
}

for phase in "${phases[@]}"; do
  if ! declare -F "phase_$phase" >/dev/null; then
    echo "gpu_acceptance: no phase named $phase; there are: ${all_phases[*]}" >&2
    exit 2
  fi
  echo "gpu_acceptance: $phase"
  "phase_$phase"
done

echo
printf '%s\n' "${summaries[@]}" | tee "$out/summary.txt"
if ((${#failed[@]} > 0)); then
  echo "gpu_acceptance: FAILED: ${failed[*]}" >&2
  exit 1
fi
echo "gpu_acceptance: all passed"
