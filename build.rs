//! Where this program was built from, for the workflow that `sparkbench init` writes: it installs the same program again. And that a release
//! is linked without names.
//!
//! In:  `repository` of Cargo.toml, else the remote of the Git checkout.
//! Out: `SPARKBENCH_SOURCE`, an https address or nothing. An argument for the linker.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=.git/config");
    let declared = std::env::var("CARGO_PKG_REPOSITORY").unwrap_or_default();
    let source = if declared.is_empty() { remote().unwrap_or_default() } else { declared };
    println!("cargo::rustc-env=SPARKBENCH_SOURCE={source}");
    let said = |name: &str| std::env::var(name).unwrap_or_default();
    if said("PROFILE") == "release" && said("CARGO_CFG_TARGET_OS") == "linux" {
        // A third of the program. `strip` of the profile has no effect here, because this package has settings of its own (Cargo 1.95).
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}

/// The remote `origin` as an address that anybody can read from. Anything else (a path, an unknown scheme) is of no use elsewhere.
fn remote() -> Option<String> {
    let root = std::env::var("CARGO_MANIFEST_DIR").ok()?;
    let asked = Command::new("git").args(["-C", &root, "config", "--get", "remote.origin.url"]).output().ok()?;
    let url = String::from_utf8(asked.stdout).ok()?;
    let url = url.trim();
    // `git@host:owner/name` is how the owner reaches it; readers take https.
    let rest = match url.strip_prefix("https://") {
        // A name or a token before the host is nobody else's business.
        Some(rest) => rest.rsplit_once('@').map_or(rest, |(_, rest)| rest).to_owned(),
        None => url.strip_prefix("git@")?.replacen(':', "/", 1),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._/:".contains(c);
    (!rest.is_empty() && rest.chars().all(plain)).then(|| format!("https://{rest}"))
}
