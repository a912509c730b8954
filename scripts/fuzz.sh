#!/usr/bin/env bash
# Runs every fuzz target of some packages: first its committed corpus, then new inputs for a
# bounded time.
#
# Usage: fuzz.sh SECONDS PACKAGE...
#
# If a target fails, the go command stores the input in the package's testdata/fuzz. The
# message "context deadline exceeded" alone means that the time ended while an input was
# running. The go command sometimes reports that as a failure, although no input is bad, so
# the script runs the target again, at most three times. For such a run it prints a single
# line, because the output of the run would read as a failed test.
set -euo pipefail

seconds=$1
shift
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# If the script is stopped from outside, show the output so far.
trap 'cat "$log"; exit 130' INT TERM

# fuzz PACKAGE TARGET
fuzz() {
    for attempt in 1 2 3; do
        # Minimising a new input that found no failure would take up to a minute.
        if "${GO:-go}" test -run '^$' -fuzz "^$2\$" -fuzztime "${seconds}s" -fuzzminimizetime 20x "$1" >"$log" 2>&1; then
            cat "$log"
            return 0
        fi
        if [ "$attempt" = 3 ] || grep -q 'Failing input written' "$log" ||
            ! grep -q '^ *context deadline exceeded$' "$log"; then
            break
        fi
        echo "again - $1 $2: the time was over while an input was being run"
    done
    cat "$log"
    return 1
}

for package in "$@"; do
    targets=$("${GO:-go}" test -list '^Fuzz' "$package" | grep '^Fuzz')
    for target in $targets; do
        if fuzz "$package" "$target"; then
            echo "ok - $package $target"
        else
            echo "not ok - $package $target"
            failed=1
        fi
    done
done
exit "$failed"
