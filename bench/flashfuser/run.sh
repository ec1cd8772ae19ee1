#!/usr/bin/env bash
# Times FlashFuser's feed-forward chains and what PyTorch makes of them, on a Hopper GPU.
# Usage: bench/flashfuser/run.sh <bin folder> <output folder>
# Leaves flashfuser.json, a results file with the baselines merged, and flashfuser.md.
# FUSEBOX_BASELINE_FLAGS replaces the baselines' "--eager --compile"; they get
# FUSEBOX_BASELINE_SECONDS, 420 when left out, and what is done by then counts. FUSEBOX_COMMIT names
# the commit where there is no git.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if (($# != 2)) || [[ ! -x "$1/fusebox" ]]; then
  echo "run: ${1:-no folder} holds no fusebox; give a bin folder and an output folder" >&2
  exit 2
fi
fusebox="$1/fusebox"
mkdir -p "$2"
out="$(cd "$2" && pwd)"
commit="${FUSEBOX_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}"
flags="${FUSEBOX_BASELINE_FLAGS---eager --compile}"
seconds="${FUSEBOX_BASELINE_SECONDS:-420}"
export -n FUSEBOX_COMMIT FUSEBOX_BASELINE_FLAGS FUSEBOX_BASELINE_SECONDS  # no knobs of the library

shapes=(--shapes bench/flashfuser/shapes.json --tokens 128)
"$fusebox" bench "${shapes[@]}" --neighbours fusebox,foreign --json "$out/flashfuser.json" \
  --commit "$commit"
rm -f "$out/flashfuser-baselines.json"
code=0
# shellcheck disable=SC2086
timeout "$seconds" python3 bench/baselines/ffn_torch.py "${shapes[@]}" $flags \
  --json "$out/flashfuser-baselines.json" || code=$?
if ((code != 0 && code != 124)); then exit $code; fi
if [[ -f "$out/flashfuser-baselines.json" ]]; then
  python3 bench/merge_baselines.py "$out/flashfuser.json" "$out/flashfuser-baselines.json"
fi
python3 bench/flashfuser/report.py "$out/flashfuser.json" --write "$out/flashfuser.md"
