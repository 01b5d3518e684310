//! Where this program was built from, for the workflow that `sparkbench init` writes: it installs the same program again. And how it is linked.
//!
//! In:  `repository` of Cargo.toml, else the remote of the Git checkout. The target and its linker.
//! Out: `SPARKBENCH_SOURCE`, an https address or nothing. An argument for the linker.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=.git/config");
    let declared = std::env::var("CARGO_PKG_REPOSITORY").unwrap_or_default();
    let source = if declared.is_empty() { remote().unwrap_or_default() } else { declared };
    println!("cargo::rustc-env=SPARKBENCH_SOURCE={source}");
    if folds() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Whether the linker puts functions of the same code together. The dependencies are built without optimisation and hold the same functions of
/// the standard library many times over: a quarter of the program (docs/design/0014). LLD does it, which rustc takes by itself on this target since
/// 1.90. Nobody is asked to have it elsewhere, and whoever names a linker of their own may have another one.
fn folds() -> bool {
    let said = |name: &str| std::env::var(name).unwrap_or_default();
    let own = !said("RUSTC_LINKER").is_empty() || said("CARGO_ENCODED_RUSTFLAGS").contains("link");
    said("TARGET") == "x86_64-unknown-linux-gnu"
        && said("PROFILE") == "release"
        && !own
        && minor(&said("RUSTC")) >= Some(90)
}

/// The second number of the compiler's version.
fn minor(compiler: &str) -> Option<u32> {
    let told = Command::new(compiler).arg("--version").output().ok()?;
    String::from_utf8(told.stdout).ok()?.split('.').nth(1)?.parse().ok()
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
