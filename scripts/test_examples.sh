#!/usr/bin/env bash
# Builds and runs the examples and the programs that the README shows, as they
# stand there: test_examples.sh FOLDER-TO-BUILD-IN
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/checks/steps.sh

folder=$1
mkdir -p "$folder"
link=(-Iinclude -Lbuild/lib -lferrum_mem "-Wl,-rpath,$PWD/build/lib")
warnings=(-Wall -Wextra -Werror)

# A step runs where the shell does not stop at a failed command, so the commands
# of a step are chained.

# snippet LANGUAGE FILE: the README's first block of that language.
snippet() {
    awk -v fence="\`\`\`$1" '$0 == "```" { inside = 0 } inside; $0 == fence && !seen { inside = seen = 1 }' README.md >"$2"
    test -s "$2"
}

readme_c() {
    snippet c "$folder/readme.c" &&
        "$CC" -std=c11 "${warnings[@]}" "$folder/readme.c" -o "$folder/readme_c" "${link[@]}" &&
        "$folder/readme_c"
}
readme_python() {
    snippet python "$folder/readme.py" &&
        FERRUM_MEM_LIBRARY=build/lib/libferrum_mem.so PYTHONPATH=bindings/python/src build/venv/bin/python "$folder/readme.py"
}
# A crate of its own, since that is what a reader would make.
readme_rust() {
    mkdir -p "$folder/readme_rust/src"
    snippet rust "$folder/readme_rust/src/main.rs" || return
    cat >"$folder/readme_rust/Cargo.toml" <<TOML
[package]
name = "readme"
version = "0.0.0"
edition = "2021"

[dependencies]
ferrum-mem = { path = "$PWD/bindings/rust/ferrum-mem" }

[workspace]
TOML
    LD_LIBRARY_PATH=build/lib "${CARGO:-cargo}" run --quiet --manifest-path "$folder/readme_rust/Cargo.toml"
}
quickstart_c() {
    "$CC" -std=c11 "${warnings[@]}" examples/c/quickstart.c -o "$folder/quickstart_c" "${link[@]}" &&
        "$folder/quickstart_c"
}
quickstart_cpp() {
    "$CXX" -std=c++17 "${warnings[@]}" examples/cpp/quickstart.cpp -o "$folder/quickstart_cpp" "${link[@]}" &&
        "$folder/quickstart_cpp"
}
quickstart_rust() {
    "${CARGO:-cargo}" run --quiet --locked --manifest-path bindings/rust/Cargo.toml -p ferrum-mem --example quickstart
}
engine_rust() {
    "${CARGO:-cargo}" run --quiet --locked --manifest-path bindings/rust/Cargo.toml -p ferrum-mem-interfaces --example engine
}

CC=${CC:-cc}
CXX=${CXX:-c++}
step "README, C" readme_c
step "README, Python" readme_python
step "README, Rust" readme_rust
step "examples/c/quickstart.c" quickstart_c
step "examples/cpp/quickstart.cpp" quickstart_cpp
step "ferrum-mem's example quickstart.rs" quickstart_rust
step "ferrum-mem-interfaces' example engine.rs" engine_rust
finish
