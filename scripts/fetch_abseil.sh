#!/usr/bin/env bash
# Fetches the source of Debian's abseil and prints the folder it lies in.
# The folder is shared by all clones: ${XDG_CACHE_HOME:-~/.cache}/fusebox-build/abseil-<version>-std.
# A folder that exists is complete (unpacked aside, then renamed). The system's apt lists are
# not touched: the deb-src list is derived from them into a temporary folder.
set -euo pipefail

version=20220623.1
root="${XDG_CACHE_HOME:-$HOME/.cache}/fusebox-build"
target="$root/abseil-$version-std"

if [[ -f "$target/CMakeLists.txt" ]]; then
  printf '%s\n' "$target"
  exit 0
fi

for tool in apt-get apt-cache dpkg-source; do
  if ! command -v "$tool" >/dev/null; then
    echo "fetch_abseil: $tool is not installed, so Debian's abseil source cannot be fetched;" \
      "install dpkg-dev, or set FUSEBOX_ABSEIL_SOURCE_DIR to a copy of abseil $version" >&2
    exit 1
  fi
done

mkdir -p "$root"
work="$(mktemp -d "$root/fetch.XXXXXX")"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sources.d" "$work/lists/partial" "$work/cache/archives/partial" "$work/source"

# The machine's own binary sources, read as source sources.
shopt -s nullglob
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [[ -f "$list" ]] || continue
  sed -n -E 's/^[[:space:]]*deb[[:space:]]+/deb-src /p' "$list" \
    >"$work/sources.d/$(basename "$list" .list)-src.list"
done
for list in /etc/apt/sources.list.d/*.sources; do
  sed -E 's/^Types:.*/Types: deb-src/' "$list" \
    >"$work/sources.d/$(basename "$list" .sources)-src.sources"
done

apt_options=(
  -o "Dir::Etc::sourcelist=/dev/null"
  -o "Dir::Etc::sourceparts=$work/sources.d"
  -o "Dir::State::lists=$work/lists"
  -o "Dir::Cache=$work/cache"
  -o "APT::Sandbox::User=root"
  -o "Acquire::Languages=none"
)

# A third-party source without deb-src fails here; what counts is that abseil is found.
apt-get "${apt_options[@]}" update >"$work/update.log" 2>&1 || true

candidate="$(apt-cache "${apt_options[@]}" showsrc abseil 2>/dev/null |
  sed -n 's/^Version: //p' | grep -F "$version-" | sort -V | tail -n 1 || true)"
if [[ -z "$candidate" ]]; then
  echo "fetch_abseil: the machine's package sources hold no abseil $version;" \
    "CMake will fetch the same release by git instead" >&2
  cat "$work/update.log" >&2
  exit 1
fi

(cd "$work/source" &&
  apt-get "${apt_options[@]}" --yes --quiet source --download-only "abseil=$candidate" \
    >"$work/source.log" 2>&1 &&
  dpkg-source --no-check --extract ./*.dsc "$work/tree" >>"$work/source.log" 2>&1) || {
  echo "fetch_abseil: fetching or unpacking abseil $candidate failed:" >&2
  cat "$work/source.log" >&2
  exit 1
}

# Debian pins absl::string_view and its like to abseil's own types for the sake of its archives'
# ABI. We build it for ourselves, so they are the standard's, as in the release itself.
sed -i -E 's/^(#define ABSL_OPTION_USE_STD_[A-Z_]+) 0$/\1 2/' "$work/tree/absl/base/options.h"

# Whoever loses a race against another clone uses the winner's copy.
mv -T "$work/tree" "$target" 2>/dev/null || [[ -f "$target/CMakeLists.txt" ]]
printf '%s\n' "$target"
