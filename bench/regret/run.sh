#!/usr/bin/env bash
# Times on a Hopper GPU what bench/regret/prepare.sh compiled, and writes the report.
# Usage: bench/regret/run.sh <bin folder> <prepared folder> <output folder>
# Leaves regret.jsonl (every plan's time), regret.json and regret.md. FUSEBOX_REGRET_SECONDS is the
# budget for the timing, 280 when left out; ops and token tiles not begun by then are left out: the
# report says so, and the exit code is 1. FUSEBOX_COMMIT names the commit where there is no git.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if (($# != 3)) || [[ ! -x "$1/fusebox" || ! -f "$2/plans.jsonl" || ! -f "$2/cache.tar.xz" ]]; then
  echo "run: give a folder with fusebox, one that prepare.sh filled, and one for the output" >&2
  exit 2
fi
fusebox="$1/fusebox"
prepared="$2"
mkdir -p "$3"
out="$(cd "$3" && pwd)"
commit="${FUSEBOX_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}"
seconds="${FUSEBOX_REGRET_SECONDS:-280}"
export -n FUSEBOX_COMMIT FUSEBOX_REGRET_SECONDS  # names that are no knobs of the library

unpacked="$(mktemp -d)"
trap 'rm -rf "$unpacked"' EXIT
tar -C "$unpacked" -xJf "$prepared/cache.tar.xz"
FUSEBOX_CACHE_DIR="$unpacked/cache" "$fusebox" bench --plans "$prepared/plans.jsonl" --fastest 5 \
  --replays 30 --seconds "$seconds" --json "$out/regret.jsonl" --commit "$commit"
python3 bench/regret/report.py "$out/regret.jsonl" --output "$out/regret"
