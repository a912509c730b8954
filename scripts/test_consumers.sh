#!/usr/bin/env bash
# Builds and runs the projects of tests/consumer against four installed trees: one in its
# prefix, one staged with DESTDIR, one moved after the installation, and one installed by
# CMake.
#
#   scripts/test_consumers.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/checks/steps.sh

out=$1
rm -rf "$out"
mkdir -p "$out"
unset DESTDIR MAKEFLAGS MAKELEVEL MAKEOVERRIDES

make_install() { make --no-print-directory install "$@"; }

# whole PREFIX LIBDIR  Every file that the installation promises exists.
whole() {
    local file
    for file in include/ferrum_mem.h include/ferrum_mem_allocator.h "$2"/libferrum_mem_allocator.so \
        "$2"/pkgconfig/ferrum_mem_allocator.pc "$2"/libferrum_mem.so "$2"/libferrum_mem.so.0 \
        "$2"/pkgconfig/ferrum_mem.pc "$2"/cmake/ferrum_mem/ferrum_mem-{config,config-version,targets}.cmake \
        "$2"/ferrum_mem/ferrum-mem-probe bin/ferrum-mem share/doc/ferrum_mem/{LICENSE,NOTICE,THIRD_PARTY_LICENSES.txt} \
        share/man/man1/ferrum-mem.1 share/bash-completion/completions/ferrum-mem share/zsh/site-functions/_ferrum-mem \
        share/fish/vendor_completions.d/ferrum-mem.fish; do
        [ -e "$1/$file" ] || { echo "$1/$file is missing"; return 1; }
    done
    if grep -rlF -e "$out" -e "$PWD/" "$1"; then
        echo "these files name an absolute path"
        return 1
    fi
    "$1/bin/ferrum-mem" version
}

# allocates BUILD PREFIX LIBDIR  The installed allocator for PyTorch and CuPy works on the
# simulated driver. Its pool exists until the process ends, so the simulated driver must not
# report leaks.
allocates() {
    FERRUM_CUDA_LIBRARY=$PWD/build/test/simcuda/12090/libcuda.so.1 SIMCUDA_LEAKS='' SIMCUDA_BYTES=512M \
        "$1/consumer_allocator" "$2/$3/libferrum_mem_allocator.so"
}

# with_cmake NAME PREFIX LIBDIR  CMake searches lib of the prefix without help. For another
# LIBDIR it needs the path of the package.
with_cmake() {
    local build=$out/build-cmake-$1 where=$2
    [ "$3" = lib ] || where=$2/$3/cmake/ferrum_mem
    cmake -S tests/consumer/cmake -B "$build" "-DCMAKE_PREFIX_PATH=$where" &&
        cmake --build "$build" && "$build/consumer_c" && "$build/consumer_cpp" && allocates "$build" "$2" "$3"
}

# with_pkg_config NAME PREFIX LIBDIR  pkg-config finds the library.
with_pkg_config() {
    local build=$out/build-pkgconfig-$1
    mkdir -p "$build"
    PKG_CONFIG_PATH=$2/$3/pkgconfig make -C tests/consumer/pkgconfig "OUT=$build" &&
        "$build/consumer_c" && "$build/consumer_cpp" && allocates "$build" "$2" "$3"
}

# cargo_finds FOLDER ASSIGNMENT...  Builds a crate of a reader with the program of the
# README. `cargo run` needs no environment except the setting that names the library during
# the build. With the lines of bindings/rust/README.md as its build script, the program also
# finds the library when it is started directly. All crates are built in one folder, so that
# cargo compiles their other dependencies once. Each names the library in another way, so cargo
# looks for the library again.
cargo_finds() {
    local crate=$1
    shift
    mkdir -p "$crate/src"
    cat >"$crate/Cargo.toml" <<TOML
[package]
name = "reader"
version = "0.0.0"
edition = "2021"

[dependencies]
ferrum-mem = { path = "$PWD/bindings/rust/ferrum-mem" }

[workspace]
TOML
    block_of rust README.md "Ten lines of Rust" "$crate/src/main.rs" || return
    local -a cargo=(env -u LD_LIBRARY_PATH -u FERRUM_MEM_LIB_DIR "CARGO_TARGET_DIR=$out/cargo" "$@" "${CARGO:-cargo}")
    "${cargo[@]}" run --quiet --manifest-path "$crate/Cargo.toml" || return
    block_of rust bindings/rust/README.md "Finding the library" "$crate/build.rs" || return
    "${cargo[@]}" build --quiet --manifest-path "$crate/Cargo.toml" && env -u LD_LIBRARY_PATH "$out/cargo/debug/reader"
}

# block_of LANGUAGE PAGE HEADING FILE  Writes the first block of a language in a section of
# a page to FILE.
block_of() {
    awk -v fence="\`\`\`$1" -v heading="## $3" '
        $0 == "```" { inside = 0 }
        inside
        !inside && /^## / { here = $0 == heading }
        here && $0 == fence && !seen { inside = seen = 1 }' "$2" >"$4"
    test -s "$4"
}

# consumers NAME PREFIX LIBDIR  Runs all checks of an installed tree.
consumers() {
    step "$1: the tree is whole" whole "$2" "$3"
    step "$1: find_package, C and C++" with_cmake "$1" "$2" "$3"
    step "$1: pkg-config, C and C++" with_pkg_config "$1" "$2" "$3"
}

# pages_of PREFIX  Every link of the installed pages leads to an installed file.
pages_of() {
    "${PYTHON:-python3}" -B scripts/pages.py "$1/share/doc/ferrum_mem" || return 1
    # Links to installed files must still be links, not plain text.
    grep -q '](docs/choosing.md)' "$1/share/doc/ferrum_mem/README.md" &&
        grep -q '/include/ferrum_mem.h)' "$1/share/doc/ferrum_mem/README.md"
}

# uninstalls  Installs, installs again and uninstalls. Only files that the installation did
# not create remain.
uninstalls() {
    local stage=$out/uninstall settings=(PREFIX=/opt/ferrum LIBDIR=/opt/ferrum/lib/multi/arch) list
    local -a others=(lib/multi/arch/cmake/ferrum_mem/other.cmake share/doc/ferrum_mem/docs/other.md bin/other include/other.h)
    mkdir -p "$stage/opt/ferrum/bin"
    echo other >"$stage/opt/ferrum/bin/other"
    make_install "DESTDIR=$stage" "${settings[@]}" || return 1
    # A file that only an older version had.
    list=$stage/opt/ferrum/lib/multi/arch/ferrum_mem/installed.txt
    mkdir "$stage/opt/ferrum/include/ferrum_mem/older"
    echo older | tee "$stage/opt/ferrum/include/older.h" >"$stage/opt/ferrum/include/ferrum_mem/older/older.h"
    printf '%s\n' ../../../../include/{older.h,ferrum_mem/older/older.h,ferrum_mem/older/} >>"$list"
    make_install "DESTDIR=$stage" "${settings[@]}" || return 1
    if find "$stage" -name 'older*' | grep .; then echo "the older version's file is still there"; return 1; fi
    for other in "${others[@]}"; do echo other >"$stage/opt/ferrum/$other"; done
    make --no-print-directory uninstall "DESTDIR=$stage" "${settings[@]}" || return 1
    diff <(cd "$stage/opt/ferrum" && find . -type f -o -type l | sort) <(printf './%s\n' "${others[@]}" | sort) || return 1
    for other in "${others[@]}"; do rm "$stage/opt/ferrum/$other"; done
    # Folders that existed before the installation remain as well.
    find "$stage" -type d -empty | grep -q "^$stage/opt/ferrum/bin\$" || return 1
    if make --no-print-directory uninstall "DESTDIR=$stage" "${settings[@]}"; then
        echo "what is not installed was uninstalled"
        return 1
    fi
}

# nothing_left  If the installation created the tree, uninstalling removes it completely.
nothing_left() {
    make_install "DESTDIR=$out/gone" PREFIX=/usr && make --no-print-directory uninstall "DESTDIR=$out/gone" PREFIX=/usr || return 1
    if [ -e "$out/gone" ]; then find "$out/gone"; return 1; fi
}

step "make install PREFIX" make_install "PREFIX=$out/prefix"
consumers prefix "$out/prefix" lib
step "prefix: the links of the installed pages" pages_of "$out/prefix"
step "make uninstall: what is of others stays" uninstalls
step "make uninstall: nothing is left" nothing_left

step "make install DESTDIR" make_install "DESTDIR=$out/stage" PREFIX=/opt/ferrum "LIBDIR=/opt/ferrum/lib/multi/arch"
consumers staged "$out/stage/opt/ferrum" lib/multi/arch

step "prefix: cargo by pkg-config" cargo_finds "$out/cargo-pkgconfig" "PKG_CONFIG_PATH=$out/prefix/lib/pkgconfig"
step "prefix: cargo by FERRUM_MEM_LIB_DIR" cargo_finds "$out/cargo-folder" "FERRUM_MEM_LIB_DIR=$out/prefix/lib"
step "checkout: cargo by the build folder" cargo_finds "$out/cargo-checkout" PKG_CONFIG_LIBDIR=

mv "$out/prefix" "$out/moved"
consumers moved "$out/moved" lib

cmake_install() {
    cmake -S . -B "$out/cmake" "-DCMAKE_INSTALL_LIBDIR=lib" && cmake --build "$out/cmake" &&
        cmake --install "$out/cmake" --prefix "$out/by cmake"
}
step "cmake --install, a prefix with a space" cmake_install
step "cmake: the tree is whole" whole "$out/by cmake" lib
step "cmake: find_package, C and C++" with_cmake by-cmake "$out/by cmake" lib

# cmake_uninstall  The uninstall target removes exactly the files of the last installed
# prefix. install_manifest.txt names all of them. The target remembers DESTDIR.
cmake_uninstall() {
    local prefix="$out/by cmake" build=$out/cmake other
    diff <(sort "$build/install_manifest.txt") <(find "$prefix" -type f -o -type l | sort) || return 1
    for other in include/ferrum_mem/other.h lib/other; do echo other >"$prefix/$other"; done
    cmake --build "$build" --target uninstall || return 1
    diff <(cd "$prefix" && find . -type f -o -type l | sort) <(printf '%s\n' ./include/ferrum_mem/other.h ./lib/other) || return 1
    if cmake --build "$build" --target uninstall; then echo "what is not installed was uninstalled"; return 1; fi
    DESTDIR=$out/by-cmake-stage cmake --install "$build" --prefix /opt/ferrum || return 1
    whole "$out/by-cmake-stage/opt/ferrum" lib || return 1
    cmake --build "$build" --target uninstall || return 1
    if [ -e "$out/by-cmake-stage" ]; then find "$out/by-cmake-stage"; return 1; fi
}
step "cmake --target uninstall" cmake_uninstall

as_subdirectory() {
    cmake -S tests/consumer/subdirectory -B "$out/subdirectory" && cmake --build "$out/subdirectory" &&
        "$out/subdirectory/consumer_c"
}
step "add_subdirectory" as_subdirectory
finish
