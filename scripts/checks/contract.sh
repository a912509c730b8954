#!/usr/bin/env bash
# The table of what the public designs promise and which test shows it. The
# checklist itself is not part of the project: where it lies beside the clone,
# ids, symbols and tests are held against it too.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh

table=tests/contract/coverage.tsv

# well_formed  Three fields separated by tabs, an id, each id once.
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
