//! Finds `libferrum_mem` to link with, in this order: the folder named by
//! `FERRUM_MEM_LIB_DIR`, pkg-config, the build folder of a checkout.

use std::env;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "FERRUM_MEM_LIB_DIR";

fn main() {
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = env::var_os(VARIABLE) {
        let folder = PathBuf::from(folder);
        if !has_library(&folder) {
            println!(
                "cargo:warning={VARIABLE} is {}: there is no libferrum_mem.so there",
                folder.display()
            );
        }
        return link(&folder);
    }
    if let Ok(found) = pkg_config::Config::new()
        .cargo_metadata(false)
        .probe("ferrum_mem")
    {
        for folder in &found.link_paths {
            link(folder);
        }
        // A library in the linker's own folders has no path of its own.
        if found.link_paths.is_empty() {
            println!("cargo:rustc-link-lib=dylib=ferrum_mem");
        }
        return;
    }
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../build/lib");
    println!(
        "cargo:rerun-if-changed={}",
        checkout.join("libferrum_mem.so").display()
    );
    if has_library(&checkout) {
        return link(&checkout.canonicalize().unwrap_or(checkout));
    }
    println!(
        "cargo:warning=libferrum_mem was not found: set {VARIABLE} to its folder, or install it so that \
         `pkg-config --libs ferrum_mem` works, or run `make build` in the checkout"
    );
    println!("cargo:rustc-link-lib=dylib=ferrum_mem");
}

fn has_library(folder: &Path) -> bool {
    folder.join("libferrum_mem.so").exists()
}

fn link(folder: &Path) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=ferrum_mem");
    // For the build scripts of crates above: DEP_FERRUM_MEM_LIBDIR.
    println!("cargo:libdir={}", folder.display());
}
