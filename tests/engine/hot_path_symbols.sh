#!/usr/bin/env bash
# Fails when an object file of the launch path refers to a lock, an allocation or the environment.
# Complements hot_path_test, which sees only what a run did.  usage: hot_path_symbols.sh OBJECT...
set -euo pipefail

forbidden='absl::.*Mutex|pthread_|sem_|futex|getenv|environ|\bmalloc\b|\bcalloc\b|operator new|std::mutex'
forbidden+='|cuStreamSynchronize|cuCtx'
status=0
checked=0
for object in "$@"; do
  case "$(basename "$object")" in
    ffn_launch.cc.o | kernel_launch.cc.o | tensor_map.cc.o) ;;
    *) continue ;;
  esac
  checked=$((checked + 1))
  if found="$(nm --undefined-only --demangle "$object" | grep -E "$forbidden")"; then
    printf '%s refers to what a launch must not use:\n%s\n' "$(basename "$object")" "$found"
    status=1
  fi
done
if [[ "$checked" -ne 3 ]]; then
  echo "expected the 3 object files of the launch path, saw $checked"
  exit 1
fi
printf '%d object files checked, 1 passed, %d failed\n' "$checked" "$status"
exit "$status"
