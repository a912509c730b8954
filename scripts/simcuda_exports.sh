#!/usr/bin/env bash
# Prints the export map of the simulated libcuda.so.1 of one generation: the symbols that
# the table has up to this generation, the traps, and the functions for tests.
#
#   scripts/simcuda_exports.sh GENERATION      (11020 for 11.2)
set -euo pipefail
cd "$(dirname "$0")/.."

echo "{ global:"
sed -n 's/^SYMBOL(\(.*\))$/\1/p' tests/simcuda/symbols.def |
    awk -F', ' -v generation="$1" '$2 <= generation { print "    " $3 ";" }'
sed -n 's/^TRAP(\(.*\))$/    \1;/p' tests/simcuda/traps.def
sed -n 's/^[a-z].*\(simcuda_[a-z_]*\)(.*/    \1;/p' tests/simcuda/simcuda.h
echo "local: *; };"
