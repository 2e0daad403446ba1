//! Reads `include/pgrepl.h` back with libclang.

use std::{env, path::PathBuf};

fn main() {
    let header = "../../include/pgrepl.h";
    println!("cargo:rerun-if-changed={header}");
    let bindings = bindgen::Builder::default()
        .header(header)
        .allowlist_item("(pgrepl|PGREPL)_.*")
        .prepend_enum_name(false)
        .generate()
        .expect("libclang reads include/pgrepl.h (Debian: apt-get install libclang-dev)");
    bindings.write_to_file(PathBuf::from(env::var("OUT_DIR").unwrap()).join("pgrepl.rs")).unwrap();
}
