#!/usr/bin/env bash
# The library exports the functions of the header and nothing else, under its
# SONAME, and callers built with the baseline keep working.
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

# Only the C library: nothing of a vendor, nothing by a path.
needs_only_libc() {
    local extra
    extra=$(dynamic | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|libpthread|libdl|libresolv|ld-linux-[a-z0-9-]+)\.so\.[0-9]+$' || true)
    [ -z "$extra" ] || { echo "needs $extra"; return 1; }
    ! dynamic | grep -E 'RPATH|RUNPATH|TEXTREL' || return 1
    ! readelf --program-headers --wide "$library" | grep -E 'GNU_STACK.*RWE'
}

# names_no_build_path FILE...  What is shipped does not tell where it was built.
names_no_build_path() {
    local file
    for file in "$@"; do
        ! grep -qF "$PWD/" "$file" || { echo "$file contains $PWD"; return 1; }
    done
}

# What a program pays for the library at most, stripped.
most_bytes=16000000
is_small() {
    local size
    size=$(stat --dereference --format %s "$library")
    [ "$size" -le $most_bytes ] || { echo "$library has $size bytes, of $most_bytes"; return 1; }
}

# Loading the library and its first calls open no library but those of the C library: a
# vendor's is looked for when one of its devices is asked for. The loader of the system
# writes down what is asked of it, found or not.
opens_no_library() {
    local log=$out/loader.txt opened
    rm -f "$log".*
    LD_DEBUG=files LD_DEBUG_OUTPUT=$log build/venv/bin/python scripts/first_call.py "$library" || return 1
    opened=$(sed -n 's/^ *[0-9]*:\tfile=\([^ ]*\) .*/\1/p' "$log".* |
        sed '1,/libferrum_mem/d' | sed 's|.*/||' | sort -u)
    opened=$(grep -vE '^(libferrum_mem|libc|libpthread|libdl|libresolv|libgcc_s)\.so(\.[0-9]+)*$' <<<"$opened" || true)
    [ -z "$opened" ] || { echo "opens" $opened; return 1; }
}

# What a program waits for when it opens the library: each relocation is a word that the
# loader writes, in a page that it copies.
most_relocations=36000
has_few_relocations() {
    local count
    count=$(readelf --relocs --wide "$library" | grep -c '_RELATIV')
    [ "$count" -gt 0 ] && [ "$count" -le $most_relocations ] ||
        { echo "$library has $count relocations, of $most_relocations"; return 1; }
}

# What the packages here set up when they are loaded. The runtime tells it, one line a
# package: init PACKAGE @TIME ms, TIME ms clock, N bytes, N allocs
most_set_up_bytes=40000
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

# Every difference needs attention: one that breaks callers is not allowed, one
# that adds needs a new baseline, or its later removal would go unseen.
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

# Values never change and are never taken away.
same_constants() {
    scripts/abi_constants.py include/ferrum_mem.h >"$out/constants.txt" || return 1
    diff "$baseline/constants.txt" "$out/constants.txt" && return
    echo "new constants (>) need make abi-baseline; lost or changed ones (<) break callers"
    return 1
}

# What is compiled against the header asks for its version, so one that has more than
# the baseline has a higher one; a second addition before the next baseline has not. The
# texts of abidw also say which file of C has a function, which is nobody's concern.
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
step "has at most $((most_bytes / 1000000)) MB" is_small
step "opens no other library before a device is asked for" opens_no_library
step "has at most $most_relocations relocations" has_few_relocations
step "sets up at most $most_set_up_bytes bytes when it is loaded" sets_up_little
step "names no path of the build" names_no_build_path "$library"
step "binary interface as in the baseline" same_as_baseline
step "constants as in the baseline" same_constants
step "version as the baseline asks for" version_has_grown
finish
