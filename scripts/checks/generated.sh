#!/usr/bin/env bash
# Checks that the generated files are up to date with the header and the kernel sources.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh

step "generated files are fresh (make generate writes them)" build/venv/bin/python scripts/genabi.py --check
name="kernels are fresh (make generate writes them)"
if why=$(build/venv/bin/python scripts/kernels.py --check 2>/dev/null); then
    echo "ok - $name"
elif [ $? = 77 ]; then
    echo "skip - $name: $why"
else
    step "$name" build/venv/bin/python scripts/kernels.py --check
fi
finish
