/work/main/bindings/rust/target/debug/deps/ferrum_mem-1e73443aa002a60f.d: ferrum-mem/src/lib.rs ferrum-mem/src/callback.rs ferrum-mem/src/device.rs ferrum-mem/src/error.rs ferrum-mem/src/library.rs ferrum-mem/src/manager.rs ferrum-mem/src/pool.rs ferrum-mem/src/pool_block.rs ferrum-mem/src/pool_config.rs ferrum-mem/src/pool_request.rs ferrum-mem/src/stream.rs ferrum-mem/src/values.rs Cargo.toml

/work/main/bindings/rust/target/debug/deps/libferrum_mem-1e73443aa002a60f.rmeta: ferrum-mem/src/lib.rs ferrum-mem/src/callback.rs ferrum-mem/src/device.rs ferrum-mem/src/error.rs ferrum-mem/src/library.rs ferrum-mem/src/manager.rs ferrum-mem/src/pool.rs ferrum-mem/src/pool_block.rs ferrum-mem/src/pool_config.rs ferrum-mem/src/pool_request.rs ferrum-mem/src/stream.rs ferrum-mem/src/values.rs Cargo.toml

ferrum-mem/src/lib.rs:
ferrum-mem/src/callback.rs:
ferrum-mem/src/device.rs:
ferrum-mem/src/error.rs:
ferrum-mem/src/library.rs:
ferrum-mem/src/manager.rs:
ferrum-mem/src/pool.rs:
ferrum-mem/src/pool_block.rs:
ferrum-mem/src/pool_config.rs:
ferrum-mem/src/pool_request.rs:
ferrum-mem/src/stream.rs:
ferrum-mem/src/values.rs:
Cargo.toml:

# env-dep:CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
# env-dep:CLIPPY_CONF_DIR
