//! Checks that `include/pgrepl.h` is what cbindgen makes of `src/ffi.rs`; writes it only when asked to.

use std::{env, fs, path::Path};

fn main() {
    for path in ["build.rs", "cbindgen.toml", "src", "include/pgrepl.h"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=PGREPL_WRITE_HEADER");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let config = cbindgen::Config::from_file(Path::new(&root).join("cbindgen.toml")).expect("cbindgen.toml");
    let mut header = Vec::new();
    match cbindgen::generate_with_config(&root, config) {
        Ok(bindings) => bindings.write(&mut header),
        // rustc will say better what is wrong with the source.
        Err(error) => return println!("cargo:warning=include/pgrepl.h not checked: {error}"),
    }
    let committed = Path::new(&root).join("include/pgrepl.h");
    if fs::read(&committed).is_ok_and(|there| there == header) {
        return;
    }
    if env::var_os("PGREPL_WRITE_HEADER").is_some() {
        fs::write(&committed, &header).expect("include/pgrepl.h is not writable");
    } else {
        panic!("include/pgrepl.h is not what src/ffi.rs says; run: PGREPL_WRITE_HEADER=1 cargo build");
    }
}
