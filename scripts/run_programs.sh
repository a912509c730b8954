#!/usr/bin/env bash
# Runs test programs one after the other; fails if one of them did. scripts/outcomes.py
# reads what it prints.
set -uo pipefail

[ $# -gt 0 ] || { echo "no test program was given"; exit 1; }
# Blocks that the library keeps for the process's life are Go's; leaks of the C
# side show in the library's own leak report.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:abort_on_error=1}
status=0
for program in "$@"; do
    echo "# $program"
    arguments=()
    # This one fails if it has no case for a function of the header.
    if [ "${program##*/}" = test_bad_arguments ]; then arguments=(build/test/header_functions.txt); fi
    "$program" "${arguments[@]}"
    code=$?
    if [ $code != 0 ]; then
        echo "# $program: exit status $code"
        status=1
    fi
done
exit $status
