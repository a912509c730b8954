#!/usr/bin/env bash
# Formats all sources in the way that `make check` requires.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/checks/steps.sh

mapfile -t go_files < <(tracked '*.go')
mapfile -t c_files < <(tracked '*.c' '*.h' '*.cpp' '*.hpp')
mapfile -t python_files < <(tracked '*.py' '*.pyi')
gofmt -w "${go_files[@]}"
build/venv/bin/clang-format -i "${c_files[@]}"
build/venv/bin/ruff format --no-cache --quiet "${python_files[@]}"
"${CARGO:-cargo}" fmt --manifest-path bindings/rust/Cargo.toml --all
"${CARGO:-cargo}" fmt --manifest-path tests/bench/peers/Cargo.toml
