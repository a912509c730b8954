#!/usr/bin/env bash
# Runs every fuzz target of some packages for a bounded time, after its committed
# corpus.
#
# Usage: fuzz.sh SECONDS PACKAGE...
#
# A target that finds something leaves the input in the package's testdata/fuzz.
set -euo pipefail

seconds=$1
shift
failed=0
for package in "$@"; do
    targets=$("${GO:-go}" test -list '^Fuzz' "$package" | grep '^Fuzz')
    for target in $targets; do
        # Minimising an input that is merely new would take up to a minute.
        if "${GO:-go}" test -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" -fuzzminimizetime 20x "$package"; then
            echo "ok - $package $target"
        else
            echo "not ok - $package $target"
            failed=1
        fi
    done
done
exit "$failed"
