#!/usr/bin/env bash
# Prints the export map of the simulated libcuda.so.1 of one generation: the symbols that
# the table has up to this generation and that are not dropped, the traps, and the functions
# for tests.
#
#   scripts/simcuda_exports.sh GENERATION      (11020 for 11.2)
set -euo pipefail
cd "$(dirname "$0")/.."

dropped=$(sed -n 's/^DROPPED(\(.*\))$/\1/p' tests/simcuda/dropped.def |
    awk -F', ' -v generation="$1" '$2 <= generation { print $1 }')
echo "{ global:"
sed -n 's/^SYMBOL(\(.*\))$/\1/p' tests/simcuda/symbols.def |
    awk -F', ' -v generation="$1" '$2 <= generation { print $3 }' |
    grep -vxF "${dropped:-none}" | sed 's/.*/    &;/'
sed -n 's/^TRAP(\(.*\))$/    \1;/p' tests/simcuda/traps.def
sed -n 's/^[a-z].*\(simcuda_[a-z_]*\)(.*/    \1;/p' tests/simcuda/simcuda.h
echo "local: *; };"
