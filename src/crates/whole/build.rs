//! What `build.rs` of the program gives, left empty: this crate is checked and never run.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=SPARKBENCH_SOURCE=");
}
