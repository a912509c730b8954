#!/usr/bin/env bash
# Builds the wheel for an older glibc and runs the wheel tests on it. Skips the tests if Zig
# is not installed. `make test-python` runs the same tests on a wheel built without Zig.
#
#   scripts/test_wheel.sh FOLDER     FOLDER is where `make wheel` leaves it
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/checks/steps.sh

folder=$1
glibc=2.28
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES
step "make wheel" make --no-print-directory wheel
if ! [ -f "$folder/lib/libferrum_mem.so.0" ]; then
    echo "skip - the wheel for glibc $glibc: Zig (the package ziglang) is not there"
    finish
fi
wheel=$(echo "$folder"/*.whl)

tagged() {
    case $wheel in *-manylinux_2_28_"$(uname -m)".whl) ;; *) echo "$wheel"; return 1 ;; esac
}
step "its tag names glibc $glibc" tagged
step "no file in it needs a later glibc or C++ library" build/venv/bin/python scripts/check_wheel.py "$wheel" "$glibc"

# Shows that the check can fail: if the glibc of this machine is later, a wheel built with
# the compilers of this machine needs a later glibc.
needs_more() {
    local plain=$folder/plain
    rm -rf "$plain"
    mkdir -p "$plain"
    FERRUM_MEM_LIBRARY=$PWD/build/lib/libferrum_mem.so.0 build/venv/bin/python -m build --wheel --no-isolation \
        --outdir "$plain" bindings/python || return 1
    if build/venv/bin/python scripts/check_wheel.py "$plain"/*.whl "$glibc"; then return 1; fi
}
if readelf --version-info --wide build/lib/libferrum_mem.so.0 | grep -qE 'GLIBC_2\.(29|[3-9][0-9])'; then
    step "a wheel built without Zig is told from it" needs_more
fi

exports() {
    readelf --dyn-syms --wide "$1" | awk '$7 != "UND" && $4 == "FUNC" { sub(/@.*/, "", $8); print $8 }' | sort
}
same_exports() { diff <(exports build/lib/libferrum_mem.so.0) <(exports "$folder/lib/libferrum_mem.so.0"); }
step "its library exports what the other one does" same_exports

works() {
    FERRUM_TEST_WHEEL=$wheel FERRUM_MEM_LIBRARY=$PWD/$folder/lib/libferrum_mem.so.0 PYTHONPATH=bindings/python/src \
        build/venv/bin/python -m pytest -q -p no:cacheprovider bindings/python/tests/test_wheel.py
}
step "it works in a new environment" works
finish
