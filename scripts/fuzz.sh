#!/usr/bin/env bash
# Runs every fuzz target of some packages for a bounded time, after its committed
# corpus.
#
# Usage: fuzz.sh SECONDS PACKAGE...
#
# A target that finds something leaves the input in the package's testdata/fuzz.
# "context deadline exceeded" alone means that the time was over while an input was
# being run, which the go command takes for a failure now and then: no input is bad,
# and the target is run again.
set -euo pipefail

seconds=$1
shift
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz PACKAGE TARGET
fuzz() {
    for _ in 1 2 3; do
        # Minimising an input that is merely new would take up to a minute.
        if "${GO:-go}" test -run '^$' -fuzz "^$2\$" -fuzztime "${seconds}s" -fuzzminimizetime 20x "$1" 2>&1 | tee "$log"; then
            return 0
        fi
        if grep -q 'Failing input written' "$log" || ! grep -q '^ *context deadline exceeded$' "$log"; then
            return 1
        fi
    done
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
