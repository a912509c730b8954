#!/usr/bin/env bash
# Checks lint, format and types of the Python code: the package, examples, tests and
# scripts.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh

venv=build/venv/bin
mapfile -t python_files < <(tracked '*.py' '*.pyi')
step "ruff check" "$venv/ruff" check --no-cache "${python_files[@]}"
step "ruff format" "$venv/ruff" format --no-cache --check "${python_files[@]}"
step "mypy, the package and its tests" "$venv/mypy" --cache-dir build/mypy bindings/python
step "mypy, the scripts" env MYPYPATH=scripts "$venv/mypy" --cache-dir build/mypy \
    scripts/genabi.py scripts/suite.py scripts/soak.py scripts/outcomes.py scripts/summary.py scripts/abi_constants.py scripts/exported_symbols.py scripts/kernels.py scripts/first_call.py scripts/demo_model.py scripts/pages.py scripts/check_wheel.py scripts/install.py
for folder in examples/python tests/report tests/suites tests/generator tests/definition tests/bench tests/gpu; do
    compgen -G "$folder/*.py" >/dev/null || continue
    step "mypy, $folder" env MYPYPATH=bindings/python/src:scripts "$venv/mypy" --cache-dir build/mypy "$folder"
done
finish
