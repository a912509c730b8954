#!/usr/bin/env bash
# Unpacks the real libcuda of Debian's non-free section into build/test/libcuda. Tests use
# it to observe what the real library reports without a device. The script installs nothing:
# the list of packages, the package and its files stay in that folder.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/test/libcuda
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
echo "deb http://deb.debian.org/debian $codename non-free" >"$folder/sources.list"
options=(-oDir::Etc::SourceList="$folder/sources.list" -oDir::Etc::SourceParts=/dev/null
    -oDir::State::Lists="$folder/lists" -oDir::Cache="$folder/cache" -oAPT::Sandbox::User=root)
cd "$folder"
apt-get -qq "${options[@]}" update
apt-get -qq "${options[@]}" download libcuda1
dpkg-deb -x libcuda1_*.deb .
find "$folder/usr" -name libcuda.so.1
