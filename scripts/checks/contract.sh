#!/usr/bin/env bash
# Checks the table that maps each promise of the public designs to the tests that show it.
# The checklist of promises is not part of the project. Where it is available beside the
# clone, the check also compares the ids, symbols and tests of the table with it.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh

table=tests/contract/coverage.tsv

# well_formed  Each row has three fields separated by tabs. The first is an id, which no
# other row has.
well_formed() {
    awk -F '\t' '
        /^#/ || /^[[:space:]]*$/ { next }
        { rows++ }
        NF != 3 || $2 == "" || $3 == "" { print FILENAME ":" FNR ": three fields separated by tabs are needed"; bad = 1 }
        $1 !~ /^S[0-9]-[0-9][0-9][0-9]$/ { print FILENAME ":" FNR ": " $1 " is not an id"; bad = 1 }
        seen[$1]++ { print FILENAME ":" FNR ": " $1 " is there twice"; bad = 1 }
        END { if (!rows) { print FILENAME ": no row"; bad = 1 } exit bad }' "$table"
}
step "coverage.tsv is well formed" well_formed

checker=${CONTRACT_CHECKER:-../shared/contract/coverage}
if [ -x "$checker" ]; then
    step "coverage.tsv names what exists" "$checker" .
fi
finish
