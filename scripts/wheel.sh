#!/usr/bin/env bash
# Builds the Python wheel into FOLDER and checks which system libraries its files need.
# `make wheel` calls this script and sets GLIBC, VERSION and, if Zig is installed, ZIG.
#
#   scripts/wheel.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
mkdir -p "$folder"
rm -f "$folder"/*.whl
if [ -n "$ZIG" ]; then
    lib=$folder/lib
    glibc=$GLIBC
else
    lib=build/lib
    glibc=
    echo "wheel: there is no Zig (the package ziglang): the wheel is built against the glibc of this"
    echo "wheel: machine, and its tag says which systems it is for"
fi
FERRUM_MEM_LIBRARY=$PWD/$lib/libferrum_mem.so.$VERSION \
    build/venv/bin/python -m build --wheel --no-isolation --outdir "$folder" bindings/python >"$folder/build.log" 2>&1 || {
    cat "$folder/build.log"
    exit 1
}
build/venv/bin/python scripts/check_wheel.py "$folder"/*.whl $glibc
