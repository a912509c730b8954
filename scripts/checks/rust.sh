#!/usr/bin/env bash
# Checks format and lints of the Rust code, and that its documentation builds without the
# library.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/checks/steps.sh

manifest=bindings/rust/Cargo.toml
CARGO=${CARGO:-cargo}
step "cargo fmt" "$CARGO" fmt --manifest-path "$manifest" --all --check
step "cargo fmt, peers of the bench" "$CARGO" fmt --manifest-path tests/bench/peers/Cargo.toml --check
step "cargo clippy" "$CARGO" clippy --quiet --locked --manifest-path "$manifest" --workspace --all-targets -- -D warnings
step "the surface of ferrum-mem" python3 scripts/checks/rust_surface.py
step "cargo doc without the library" env -u FERRUM_MEM_LIBRARY DOCS_RS=1 RUSTDOCFLAGS=-Dwarnings \
    "$CARGO" doc --quiet --locked --no-deps --manifest-path "$manifest" --workspace
finish
