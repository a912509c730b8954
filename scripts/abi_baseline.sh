#!/usr/bin/env bash
# Writes the binary interface of a library to FOLDER: the types and functions of the public
# header as abidw reports them, the constants of the header, and its version.
#
#   scripts/abi_baseline.sh LIBRARY_WITH_DEBUG_INFORMATION FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

library=$1 folder=$2
mkdir -p "$folder"
abidw --headers-dir include --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
    --no-elf-needed --type-id-style hash --exported-interfaces-only \
    --out-file "$folder/libferrum_mem.abi" "$library"
grep -q "name='ferrum_abi_version'" "$folder/libferrum_mem.abi" || {
    echo "abidw found no function of the header in $library" >&2
    exit 1
}
scripts/abi_constants.py include/ferrum_mem.h >"$folder/constants.txt"
sed -n 's/^#define FERRUM_ABI_VERSION //p' include/ferrum_mem/base.h >"$folder/version.txt"
