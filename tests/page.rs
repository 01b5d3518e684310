//! The pages of an analysis made by hand.

#![cfg(feature = "page")]

mod support;

use sparkbench::page;
use support::sample_analysis;

#[test]
fn the_sample_is_written_where_a_person_asks_for_it() {
    let pages = page::render(&sample_analysis::analysis(), &sample_analysis::extras()).unwrap();
    if let Some(dir) = std::env::var_os("SPARKBENCH_SAMPLE_SITE") {
        page::write(dir.as_ref(), &pages).unwrap();
    }
}
