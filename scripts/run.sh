#!/usr/bin/env bash
# Shows the product end to end: builds it, plans and compiles every fused kernel of one model for
# an H200 (no GPU needed), and on a Hopper GPU verifies and times them.
# Usage: scripts/run.sh [model config.json]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/machine.sh

model="${1:-bench/models/meta-llama--Llama-3.1-8B.json}"
if [[ ! -f "$model" ]]; then
  echo "run: no model config at $model" >&2
  exit 2
fi

scripts/install_packages.sh
if ! has_cuda_headers; then
  echo "run: the command needs the CUDA toolkit's headers to be built (cuda.h, nvrtc.h); set" \
    "CUDA_HOME, or run scripts/test.sh for what can be built without" >&2
  exit 1
fi
cmake --preset release
cmake --build --preset release --target fusebox fusebox_cli

command=build/release/bin/fusebox
"$command" warm --model "$model" --gpu h200-sxm --tokens 1,8,16,32
if has_hopper_gpu; then
  "$command" verify --model "$model"
  "$command" bench --model "$model"
else
  echo "run: no Hopper GPU here, so the kernels were planned and compiled but not run"
fi
