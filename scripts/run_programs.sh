#!/usr/bin/env bash
# Runs test programs, as many at a time as there are processors, and prints what each
# said as a whole when it is done; fails if one of them did. scripts/outcomes.py reads it.
set -uo pipefail

[ $# -gt 0 ] || { echo "no test program was given"; exit 1; }

# What one may take: less than scripts/suite.py gives them all, so that it is named.
most_seconds=600

# one PROGRAM
one() {
    local program=$1 log=$folder/${1//\//_} code=0
    {
        echo "# $program"
        timeout --foreground --kill-after=10 "$most_seconds" "$program" || code=$?
        if [ $code != 0 ]; then echo "# $program: exit status $code"; fi
    } >"$log" 2>&1
    flock "$folder" cat "$log"
    return $((code != 0))
}

if [ "$1" = --one ]; then
    folder=$2
    one "$3"
    exit
fi

# Blocks that the library keeps for the process's life are Go's; leaks of the C
# side show in the library's own leak report.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:abort_on_error=1}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" "$0" --one "$folder" || exit 1
