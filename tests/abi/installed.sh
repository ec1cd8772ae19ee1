#!/usr/bin/env bash
# Tests what `cmake --install` writes, as those who get it would: from the installed files alone.
# usage: installed.sh STEP BUILD_FOLDER WORK_FOLDER
#   stage       installs through DESTDIR, checks each file, and moves the prefix elsewhere
#   cmake       builds and runs the consumers there with find_package
#   pkg-config  the same with pkg-config
# From tests/abi/CMakeLists.txt: VERSION, LIBDIR, INCLUDEDIR, BINDIR, DOCDIR, CONFIG, GENERATOR, CC,
# CXX, and FLAGS, which a library with sanitizers needs.
set -euo pipefail

step="$1" build="$2" work="$3"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
consumers="$root/tests/abi/consumers"
prefix="$work/moved prefix"  # a space: quoting counts

fail() {
  echo "installed: $*" >&2
  echo "0 passed, 1 failed"
  exit 1
}

# install_to <folder> [cmake --install options]: below it lies what would lie in /.
install_to() {
  local folder="$1"
  shift
  rm -rf "$folder"
  DESTDIR="$folder" cmake --install "$build" --prefix /opt/fusebox "$@" >"$work/install.log" ||
    fail "cmake --install failed; is all of the preset built? $(tail -n 3 "$work/install.log")"
}

files_of() { (cd "$1/opt/fusebox" && find . -mindepth 1 -not -type d | sed 's|^\./||' | sort); }

library_files() {
  printf '%s\n' "$LIBDIR/libfusebox.so.${VERSION%%.*}" "$LIBDIR/libfusebox.so.$VERSION"
}

expected_files() {
  local header
  library_files
  for header in "$root"/include/fusebox/*.h "$root"/include/fusebox/*.hpp; do
    echo "$INCLUDEDIR/fusebox/$(basename "$header")"
  done
  printf '%s\n' "$BINDIR/fusebox" "$DOCDIR/README.md" "$LIBDIR/libfusebox.so" \
    "$LIBDIR/pkgconfig/fusebox.pc" "$LIBDIR/cmake/fusebox/fusebox-config.cmake" \
    "$LIBDIR/cmake/fusebox/fusebox-config-version.cmake" \
    "$LIBDIR/cmake/fusebox/fusebox-targets.cmake" \
    "$LIBDIR/cmake/fusebox/fusebox-targets-${CONFIG,,}.cmake"
}

# check_same <what> <expected> <found>
check_same() {
  [[ "$2" == "$3" ]] || fail "$1; left: expected, right: found
$(diff <(echo "$2") <(echo "$3"))"
}

# Nothing of the build, of a dependency or of a package manager's place may show.
check_contents() {
  local folder="$1" found binary
  if found="$(grep -rlF -e "$root" -e "$build" "$folder")"; then
    fail "these name the folder they were built in: $found"
  fi
  if found="$(grep -rliE 'absl|spdlog|nlohmann|xxhash|CLI11' "$folder/opt/fusebox/$INCLUDEDIR" \
    "$folder/opt/fusebox/$LIBDIR/cmake" "$folder/opt/fusebox/$LIBDIR/pkgconfig")"; then
    fail "these name a dependency that callers have nothing to do with: $found"
  fi
  for binary in "$LIBDIR/libfusebox.so.$VERSION" "$BINDIR/fusebox"; do
    found="$(readelf --dynamic "$folder/opt/fusebox/$binary")"
    if grep -E 'R(UN)?PATH' <<<"$found"; then fail "$binary looks for libraries in a fixed place"; fi
    if found="$(grep NEEDED <<<"$found" | grep -vE \
      '\[(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|asan|ubsan|tsan)|ld-linux-[a-z0-9-]+)\.so\.[0-9]+\]')"; then
      fail "$binary needs what a serving machine may not have: $found"
    fi
  done
}

step_stage() {
  rm -rf "$work"
  mkdir -p "$work"
  install_to "$work/library" --component fusebox_library
  check_same "component fusebox_library" "$(library_files | sort)" "$(files_of "$work/library")"
  install_to "$work/all"
  check_same "the whole install" "$(expected_files | sort)" "$(files_of "$work/all")"
  [[ "$(ls "$work/all")" == opt ]] || fail "files outside of the prefix: $(ls "$work/all")"
  check_contents "$work/all"
  mv "$work/all/opt/fusebox" "$prefix"
  "$prefix/$BINDIR/fusebox" plan --hidden 2048 --intermediate 8192 --gpu h200-sxm >/dev/null ||
    fail "the installed command does not plan"
}

step_cmake() {
  CFLAGS="$FLAGS" CXXFLAGS="$FLAGS" LDFLAGS="$FLAGS" cmake -S "$consumers" -B "$work/cmake" \
    -G "$GENERATOR" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_CXX_COMPILER=$CXX" \
    "-DCMAKE_PREFIX_PATH=$prefix" "-DVERSION=${VERSION%.*}" >"$work/cmake.log" 2>&1 &&
    cmake --build "$work/cmake" >>"$work/cmake.log" 2>&1 || fail "$(tail -n 30 "$work/cmake.log")"
  grep -qF "fusebox_DIR:PATH=$prefix" "$work/cmake/CMakeCache.txt" ||
    fail "another fusebox than the installed one was found"
  ctest --test-dir "$work/cmake" --output-on-failure --no-tests=error
}

# pc_words <pkg-config options>: its words, of which pkg-config escapes spaces.
pc_words() {
  local text
  text="$(PKG_CONFIG_PATH="$prefix/$LIBDIR/pkgconfig" pkg-config "$@" fusebox)" ||
    fail "pkg-config $* fusebox failed"
  eval "words=($text)"
}

step_pkg-config() {
  local words=() flags libdir bin="$work/pkg-config" program
  local strict=(-Wall -Wextra -Werror -pedantic)
  rm -rf "$bin"
  mkdir -p "$bin"
  pc_words --modversion
  check_same "pkg-config --modversion" "$VERSION" "${words[0]}"
  pc_words --variable=libdir
  libdir="${words[*]}"
  pc_words --cflags
  flags=("${words[@]}")
  pc_words --libs
  # shellcheck disable=SC2086
  "$CC" -std=c99 "${strict[@]}" $FLAGS "$consumers/c99_consumer.c" "${flags[@]}" "${words[@]}" \
    -o "$bin/c99_consumer"
  # shellcheck disable=SC2086
  "$CXX" -std=c++17 -fno-exceptions -fno-rtti "${strict[@]}" $FLAGS "$consumers/cpp_consumer.cc" \
    "${flags[@]}" "${words[@]}" -o "$bin/cpp_consumer"
  # shellcheck disable=SC2086
  "$CC" -std=c99 "${strict[@]}" $FLAGS "$consumers/dlopen_consumer.c" "${flags[@]}" -ldl \
    -o "$bin/dlopen_consumer"
  for program in c99_consumer cpp_consumer; do
    LD_LIBRARY_PATH="$libdir" "$bin/$program" || fail "$program failed"
  done
  "$bin/dlopen_consumer" "$libdir/libfusebox.so.${VERSION%%.*}" || fail "dlopen_consumer failed"
}

"step_$step"
echo "installed $step: 1 passed, 0 failed"
