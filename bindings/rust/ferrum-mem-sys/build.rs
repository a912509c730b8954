//! Finds `libferrum_mem` for the linker, in this order: the folder in `FERRUM_MEM_LIB_DIR`,
//! pkg-config, the build folder of a checkout.

use std::env;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "FERRUM_MEM_LIB_DIR";
const NAMES: [&str; 2] = ["libferrum_mem.so", "libferrum_mem.so.0"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = env::var_os(VARIABLE) {
        let folder = PathBuf::from(folder);
        if !has_library(&folder) {
            println!(
                "cargo:warning={VARIABLE} is {}: the folder has no libferrum_mem.so",
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
        // pkg-config returns no path for a library in the linker's default folders.
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
        return link(&checkout);
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
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=ferrum_mem");
    // For the build scripts of dependent crates: DEP_FERRUM_MEM_LIBDIR.
    println!("cargo:libdir={}", folder.display());
    let_cargo_find(&folder);
}

/// Links the library into the output folder of this build. Programs that cargo runs search
/// libraries only in search paths inside cargo's target folder.
fn let_cargo_find(library: &Path) {
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else {
        return;
    };
    for name in NAMES {
        let place = out.join(name);
        let _ = std::fs::remove_file(&place);
        if let Err(error) = symlink(library.join(name), &place) {
            println!("cargo:warning={}: {error}", place.display());
        }
    }
    println!("cargo:rustc-link-search=native={}", out.display());
}
