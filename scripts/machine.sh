# shellcheck shell=bash
# Sourced by other scripts: what this machine has.

# The CUDA toolkit's headers, in the places where cmake/cuda_headers.cmake looks.
has_cuda_headers() {
  local root folder
  for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr /usr/local; do
    [[ -n "$root" ]] || continue
    for folder in include targets/x86_64-linux/include targets/sbsa-linux/include; do
      if [[ -f "$root/$folder/nvrtc.h" && -f "$root/$folder/cuda.h" ]]; then return 0; fi
    done
  done
  return 1
}

# A GPU of compute capability 9.0 and a driver that sees it.
has_hopper_gpu() {
  local capabilities
  command -v nvidia-smi >/dev/null || return 1
  capabilities="$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null)" || return 1
  grep -q '^9\.0' <<<"$capabilities"
}
