#!/usr/bin/env bash
# Fails unless libfusebox.so exports exactly the functions that the public headers declare.
# usage: exported_symbols.sh LIBRARY INCLUDE_FOLDER
set -euo pipefail

exported="$(nm --dynamic --defined-only "$1" | awk '{print $3}' | sort)"
declared="$(grep -ho 'fusebox_[a-z_0-9]*(' "$2"/fusebox.h "$2"/ffn.h | tr -d '(' | sort -u)"
if [[ "$exported" != "$declared" ]]; then
  echo "left: exported by the library; right: declared in the headers"
  diff <(printf '%s\n' "$exported") <(printf '%s\n' "$declared") || true
  echo "0 passed, 1 failed"
  exit 1
fi
printf '%d functions: 1 passed, 0 failed\n' "$(wc -l <<<"$exported")"
