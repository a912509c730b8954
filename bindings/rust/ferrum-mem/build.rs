//! Lets the tests and examples of this crate find the library at run time, and passes its folder to
//! the build scripts of dependent crates: `DEP_FERRUM_MEM_SAFE_LIBDIR`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(folder) = std::env::var("DEP_FERRUM_MEM_LIBDIR") {
        // For all programs of the package: its own tests use the library too.
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        println!("cargo:libdir={folder}");
    }
}
