#!/usr/bin/env bash
# Checks what the compiler does not: format, layering, sizes, names, the table of knobs, the public
# headers in C99 and without exceptions, the exported symbols, and clang-tidy's allow-list.
# Each check says what it looked at. All run, and the names of those that failed come last.
# Usage: scripts/check.sh [check ...], or with --fix to let clang-format rewrite the files first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/machine.sh

all_checks=(format layering knobs public_headers exported_symbols tidy)
clang_format_version=14  # Debian 12's; others lay out some constructs differently

# Our C++ files, NUL-separated; entry/*.cu.in hold placeholders and are not C++ yet.
source_files() {
  local folders=() folder
  for folder in include src runtime kernels_templates tests bench examples; do
    [[ -d "$folder" ]] && folders+=("$folder")
  done
  find "${folders[@]}" -type f \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.cc' -o -name '*.c' -o -name '*.cuh' \) \
    -not -path '*/goldens/*' -print0 | sort -z
}

find_clang_format() {
  local candidate
  for candidate in "clang-format-$clang_format_version" clang-format; do
    if command -v "$candidate" >/dev/null &&
      "$candidate" --version | grep -q "version $clang_format_version\."; then
      echo "$candidate"
      return 0
    fi
  done
  echo "format: clang-format $clang_format_version is not installed" >&2
  return 1
}

check_format() {
  local tool num_files
  tool="$(find_clang_format)" || return 1
  num_files="$(source_files | tr -cd '\0' | wc -c)"
  source_files | xargs -0 -r "$tool" --dry-run -Werror --ferror-limit=1 || return 1
  echo "format: $num_files files"
}

check_layering() { python3 scripts/check_layering.py; }

check_knobs() { python3 scripts/check_knobs.py; }

# A C99 caller and a C++ caller without exceptions or RTTI can include each public header alone.
check_public_headers() {
  local header num_headers=0 caller
  for header in include/fusebox/fusebox.h include/fusebox/fusebox.hpp; do
    if [[ ! -f "$header" ]]; then
      echo "public_headers: $header does not exist"
      return 1
    fi
  done
  for header in include/fusebox/*.h include/fusebox/*.hpp; do
    caller="$(printf '#include "%s"\ntypedef int nothing_else;\n' "${header#include/}")"
    if [[ "$header" == *.h ]]; then
      "${CC:-cc}" -std=c99 -pedantic-errors -Wall -Wextra -Werror -Iinclude -fsyntax-only \
        -x c - <<<"$caller" || return 1
    fi
    "${CXX:-c++}" -std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra -Werror -Iinclude \
      -fsyntax-only -x c++ - <<<"$caller" || return 1
    num_headers=$((num_headers + 1))
  done
  echo "public_headers: $num_headers headers, C99 and C++20 without exceptions"
}

check_exported_symbols() {
  local library=build/release/lib/libfusebox.so symbols foreign
  if ! has_cuda_headers; then
    echo "exported_symbols: not checked, a host-only machine builds no libfusebox.so"
    return 0
  fi
  if [[ ! -f "$library" ]]; then
    echo "exported_symbols: $library does not exist; build the release preset first"
    return 1
  fi
  symbols="$(nm --dynamic --defined-only --format=posix "$library" | cut -d' ' -f1)"
  foreign="$(grep -v '^fusebox_' <<<"$symbols" || true)"
  if [[ -z "$symbols" || -n "$foreign" ]]; then
    echo "exported_symbols: only fusebox_* may be exported, and something must be; found:" \
      "${foreign//$'\n'/ }"
    return 1
  fi
  if readelf --dynamic "$library" | grep -E 'NEEDED.*(libcuda|libnvrtc|libabsl|libfmt|libspdlog)'; then
    echo "exported_symbols: libfusebox.so is linked to what it must open at run time or hide"
    return 1
  fi
  echo "exported_symbols: $(wc -l <<<"$symbols") symbols, all fusebox_*"
}

# clang-tidy over what the release preset compiles of ours (host-only without a toolkit).
check_tidy() {
  local preset=release
  has_cuda_headers || preset=host-only
  python3 scripts/run_tidy.py "build/$preset"
}

fix=false
checks=()
for argument in "$@"; do
  case "$argument" in
    --fix) fix=true ;;
    *)
      if [[ " ${all_checks[*]} " != *" $argument "* ]]; then
        echo "check: no check named $argument; there are: ${all_checks[*]}" >&2
        exit 2
      fi
      checks+=("$argument")
      ;;
  esac
done
((${#checks[@]} > 0)) || checks=("${all_checks[@]}")
if "$fix"; then
  source_files | xargs -0 -r "$(find_clang_format)" -i
fi

failed=()
for check in "${checks[@]}"; do
  "check_$check" || failed+=("$check")
done
if ((${#failed[@]} > 0)); then
  echo "check: FAILED: ${failed[*]}" >&2
  exit 1
fi
echo "check: all passed: ${checks[*]}"
