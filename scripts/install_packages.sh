#!/usr/bin/env bash
# Installs the packages that the build needs (Debian 12) and fetches abseil's source.
# Does nothing where all is there. The CUDA toolkit's headers are not installed from here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
  ca-certificates ccache clang-format clang-tidy cmake dpkg-dev g++ git libbenchmark-dev
  libcli11-dev libfmt-dev libgtest-dev libspdlog-dev libxxhash-dev ninja-build
  nlohmann-json3-dev pkg-config python3
)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_packages: this is no Debian system; install by its own means what stands for" \
    "${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  if [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
    missing+=("$package")
  fi
done

if ((${#missing[@]} == 0)); then
  echo "install_packages: all ${#packages[@]} packages are installed"
else
  as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "install_packages: missing: ${missing[*]}; run as root: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "install_packages: installing ${missing[*]}"
  "${as_root[@]}" apt-get update --quiet
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --quiet --no-install-recommends "${missing[@]}"
fi

if abseil="$(scripts/fetch_abseil.sh)"; then
  echo "install_packages: abseil's source is in $abseil"
else
  echo "install_packages: no abseil source from the package sources; CMake will fetch it by git"
fi
