//! What a test needs and a machine may lack.

/// Says that a test is passed over, and why. Where everything is required (`SPARKBENCH_REQUIRE_ALL=1`), that is a failure.
#[track_caller]
pub fn skip(why: &str) {
    assert!(!required(), "required, and missing: {why}");
    eprintln!("skipped: {why}");
}

/// Whether this machine must have all that any test needs, but a GPU.
pub fn required() -> bool {
    std::env::var_os("SPARKBENCH_REQUIRE_ALL").is_some_and(|value| value == "1")
}
