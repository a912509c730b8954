#!/usr/bin/env bash
# Runs test programs in parallel, as many as there are processors. Prints the whole output
# of each program when it ends, so that outputs do not mix. Fails if a program failed.
# scripts/outcomes.py reads the output.
set -uo pipefail

[ $# -gt 0 ] || { echo "no test program was given"; exit 1; }

# Time limit of one program. It is shorter than the limit of scripts/suite.py for all of
# them, so that the output names the program that hung.
most_seconds=600

# one PROGRAM  Runs the program and prints its output.
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

# The leak check of the sanitizer would report blocks that Go keeps until the process ends.
# The leak report of the library covers the C code instead.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:abort_on_error=1}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" "$0" --one "$folder" || exit 1
