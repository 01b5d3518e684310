//! What was collected, analysed: every environment has its figures, and what is no run is not taken for one.

use super::scene::collect;
use crate::support::folder::Folder;
use crate::support::program::run_in;
use crate::support::report::{Report, list};
use crate::support::roots;

#[test]
fn an_archive_becomes_a_site_with_figures_of_every_environment() {
    let folder = Folder::new("site");
    let roots = roots::make(folder.path());
    roots.suite(folder.path(), 3);
    collect(&folder, &[], &[]).expect(0);
    let arguments =
        ["analyse", "archive", "--site", "site", crate::support::program::FEW[0], crate::support::program::FEW[1]];
    let ending = run_in(folder.path(), &arguments, &[]).expect(0);
    let said = format!("{}{}", ending.out, ending.err);
    assert!(said.contains("Inputs left out: 0"), "{said}");
    let report = Report::of_site(&folder.path().join("site"));
    let compared = list(&report.0, "comparisons");
    let of = |label: &str| {
        compared.iter().any(|it| it["candidate"] == label && it["n_candidate"] == 3 && it["n_baseline"] == 3)
    };
    for label in roots.labels.iter().filter(|label| **label != "native") {
        assert!(of(label), "{label} is compared with nothing: {compared:?}");
    }
    assert_eq!(list(&report.0, "runs").len(), 3 * roots.labels.len());
}
