#!/usr/bin/env bash
# Fails unless fusebox.hpp calls exactly the functions that libfusebox.so exports: it wraps the C API
# one to one.  usage: hpp_functions.sh LIBRARY OBJECT_OF_hpp_functions.cc
set -euo pipefail

exported="$(nm --dynamic --defined-only --format=posix "$1" | cut -d' ' -f1 | sort)"
wrapped="$(nm --undefined-only --format=posix "$2" | cut -d' ' -f1 | grep '^fusebox_' | sort)"
if [[ "$exported" != "$wrapped" ]]; then
  echo "fusebox.hpp wraps the C API one to one; left: exported by the library, right: called by it"
  diff <(echo "$exported") <(echo "$wrapped") || true
  echo "0 passed, 1 failed"
  exit 1
fi
printf '%d functions: 1 passed, 0 failed\n' "$(wc -l <<<"$wrapped")"
