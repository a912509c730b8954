//! Lets the tests and examples of this crate find the library at run time.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(folder) = std::env::var("DEP_FERRUM_MEM_LIBDIR") {
        for kind in ["tests", "examples"] {
            println!("cargo:rustc-link-arg-{kind}=-Wl,-rpath,{folder}");
        }
    }
}
