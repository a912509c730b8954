#!/usr/bin/env bash
# Generated files are what the header gives.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh

step "generated files are fresh (make generate writes them)" build/venv/bin/python scripts/genabi.py --check
finish
