#!/usr/bin/env bash
# Checks that the library exports exactly the functions of the header under its SONAME, and
# that callers built with the baseline keep working.
#
#   scripts/checks/abi.sh LIBRARY LIBRARY_WITH_DEBUG_INFORMATION SONAME
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh

library=$1 debug=$2 soname=$3
baseline=tests/abi/baseline
out=build/test/abi
mkdir -p "$out"

dynamic() { readelf --dynamic --wide "$library"; }

soname_is() { dynamic | grep -F "Library soname: [$soname]"; }

# The library needs only the C library: it is linked with no vendor library and has no
# library path.
needs_only_libc() {
    local extra
    extra=$(dynamic | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|libm|libpthread|libdl|libresolv|ld-linux-[a-z0-9-]+)\.so\.[0-9]+$' || true)
    [ -z "$extra" ] || { echo "needs $extra"; return 1; }
    ! dynamic | grep -E 'RPATH|RUNPATH|TEXTREL' || return 1
    ! readelf --program-headers --wide "$library" | grep -E 'GNU_STACK.*RWE'
}

# names_no_build_path FILE...  A shipped file must not contain the path of the folder that
# it was built in.
names_no_build_path() {
    local file
    for file in "$@"; do
        ! grep -qF "$PWD/" "$file" || { echo "$file contains $PWD"; return 1; }
    done
}

# Upper bound for the size of the stripped library, which every program pays for: what it was
# before tensors and compute, 10.12 MB, 1.5 MB for them, 0.1 MB for fused operators, 1.3 MB for
# models (definitions, passes, plans and the builder), 0.4 MB for files of ONNX (the reader, the
# conversion and the writer), 0.1 MB for ONNX Runtime as an engine, 0.3 MB for layers and passes
# of the program and for tiles, 0.06 MB for ONNX Runtime on CUDA and with layers of the program,
# 0.3 MB for KV caches: 19 functions, the block manager and its memory, and 0.02 MB for products of
# one row with packed blocks on AVX2. The waits of forced ends need 0.01 MB.
most_bytes=14220000
is_small() {
    local size
    size=$(stat --dereference --format %s "$library")
    [ "$size" -le $most_bytes ] || { echo "$library has $size bytes, of $most_bytes"; return 1; }
}

# Loading the library and its first calls open only libraries that belong to the C library.
# The library opens a vendor library when a program requests one of its devices. With
# LD_DEBUG the loader of the system logs each file that it is asked to open, found or not.
opens_no_library() {
    local log=$out/loader.txt opened
    rm -f "$log".*
    LD_DEBUG=files LD_DEBUG_OUTPUT=$log build/venv/bin/python scripts/first_call.py "$library" || return 1
    opened=$(sed -n 's/^ *[0-9]*:\tfile=\([^ ]*\) .*/\1/p' "$log".* |
        sed '1,/libferrum_mem/d' | sed 's|.*/||' | sort -u)
    opened=$(grep -vE '^(libferrum_mem|libc|libm|libpthread|libdl|libresolv|libgcc_s)\.so(\.[0-9]+)*$' <<<"$opened" || true)
    [ -z "$opened" ] || { echo "opens" $opened; return 1; }
}

# Each relocation adds to the time that opening the library takes: the loader writes a word
# into a page, which it has to copy. The KV caches have 900 of them.
most_relocations=52300
has_few_relocations() {
    local count
    count=$(readelf --relocs --wide "$library" | grep -c '_RELATIV')
    [ "$count" -gt 0 ] && [ "$count" -le $most_relocations ] ||
        { echo "$library has $count relocations, of $most_relocations"; return 1; }
}

# Upper bound for the memory that the Go packages allocate when the library is loaded. The
# Go runtime prints one line a package:
#   init PACKAGE @TIME ms, TIME ms clock, N bytes, N allocs
most_set_up_bytes=42200
sets_up_little() {
    local told=$out/inits.txt
    GODEBUG=inittrace=1 build/venv/bin/python scripts/first_call.py "$library" 2>"$told" || return 1
    awk -v most=$most_set_up_bytes '
        /^init (main|ferrum_mem\/)/ && $(NF - 2) == "bytes," { packages++; bytes += $(NF - 3); print }
        END {
            printf "%d packages set up %d bytes, of %d\n", packages, bytes, most
            exit packages == 0 || bytes > most
        }' "$told"
}

# The check fails at every difference. A difference that breaks callers is not allowed. An
# addition needs a new baseline: without it the check would not notice a later removal.
same_as_baseline() {
    local status=0
    scripts/abi_baseline.sh "$debug" "$out/now" || return 1
    abidiff --no-show-locs "$baseline/libferrum_mem.abi" "$out/now/libferrum_mem.abi" || status=$?
    if [ $status = 0 ]; then return; fi
    if [ $((status & 8)) != 0 ]; then
        echo "this breaks callers that were built before"
    else
        echo "if callers that were built before keep working: make abi-baseline"
    fi
    return 1
}

# A value never changes, and a constant is never removed.
same_constants() {
    scripts/abi_constants.py include/ferrum_mem.h >"$out/constants.txt" || return 1
    diff "$baseline/constants.txt" "$out/constants.txt" && return
    echo "new constants (>) need make abi-baseline; lost or changed ones (<) break callers"
    return 1
}

# A program requests the version of the header that it was compiled with. An interface with
# more than the baseline therefore has a higher version than the baseline. Further additions
# before the next baseline keep that version. abidiff compares the interfaces, because the
# texts of abidw also differ when a function moves to another C file.
version_has_grown() {
    local before after
    before=$(cat "$baseline/version.txt") after=$(cat "$out/now/version.txt")
    if abidiff "$baseline/libferrum_mem.abi" "$out/now/libferrum_mem.abi" >"$out/differences.txt" 2>&1 &&
        cmp -s "$baseline/constants.txt" "$out/now/constants.txt"; then
        [ "$after" -ge "$before" ] && return
        echo "FERRUM_ABI_VERSION is $after, that of the baseline $before"
        return 1
    fi
    [ "$after" -gt "$before" ] && return
    echo "FERRUM_ABI_VERSION is $after, as in the baseline, which has less: raise it"
    return 1
}

step "exports are the functions of the header" \
    scripts/exported_symbols.py "$library" include/ferrum_mem.h FERRUM_MEM_0
step "SONAME is $soname" soname_is
step "needs the C library only" needs_only_libc
step "has at most $most_bytes bytes" is_small
step "opens no other library before a device is asked for" opens_no_library
step "has at most $most_relocations relocations" has_few_relocations
step "sets up at most $most_set_up_bytes bytes when it is loaded" sets_up_little
step "names no path of the build" names_no_build_path "$library"
step "binary interface as in the baseline" same_as_baseline
step "constants as in the baseline" same_constants
step "version as the baseline asks for" version_has_grown
finish
