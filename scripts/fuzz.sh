#!/usr/bin/env bash
# Runs every fuzz target of some packages for a bounded time, after its committed
# corpus.
#
# Usage: fuzz.sh SECONDS PACKAGE...
#
# A target that finds something leaves the input in the package's testdata/fuzz.
# "context deadline exceeded" alone means that the time was over while an input was
# being run, which the go command takes for a failure now and then: no input is bad,
# and the target is run again. Of such a run one line is printed, that says so: its
# own lines would read as a failed test.
set -euo pipefail

seconds=$1
shift
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# What is stopped from outside shows how far it came.
trap 'cat "$log"; exit 130' INT TERM

# fuzz PACKAGE TARGET
fuzz() {
    for attempt in 1 2 3; do
        # Minimising an input that is merely new would take up to a minute.
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
