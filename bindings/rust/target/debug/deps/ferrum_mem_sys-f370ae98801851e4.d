/work/main/bindings/rust/target/debug/deps/ferrum_mem_sys-f370ae98801851e4.d: ferrum-mem-sys/src/lib.rs ferrum-mem-sys/src/bindings.rs Cargo.toml

/work/main/bindings/rust/target/debug/deps/libferrum_mem_sys-f370ae98801851e4.rmeta: ferrum-mem-sys/src/lib.rs ferrum-mem-sys/src/bindings.rs Cargo.toml

ferrum-mem-sys/src/lib.rs:
ferrum-mem-sys/src/bindings.rs:
Cargo.toml:

# env-dep:CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
# env-dep:CLIPPY_CONF_DIR
