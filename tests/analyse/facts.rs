//! Issue 30: a file of facts that lies among somebody's results adds machines and models, and replaces none unseen.

use std::fs;

use crate::analyse;
use crate::support::folder::Folder;
use crate::support::report::{Report, list, text};

const TABLE: &str = "environment,model,workload,batch,output_throughput_tok_s\n\
    native,m,chat,1,100\nnative,m,chat,1,101\nboxed,m,chat,1,102\nboxed,m,chat,1,103\n";
const LABELS: &str =
    "schema = \"sparkbench.labels/1\"\nname = \"t\"\nmachine = \"gb10\"\n[models.m]\nid = \"openai/gpt-oss-20b\"\n";
/// Whoever believes it finds every rate possible.
const LIE: &str = "schema = \"sparkbench.facts/1\"\n[machines.gb10]\ntitle = \"GB10\"\nbandwidth_gb_s = 1e9\nsources = [\"trust me\"]\n";

fn put(labels: &str, facts: &str) -> Folder {
    let folder = Folder::new("facts");
    folder.put("in/t/runs.csv", TABLE);
    folder.put("in/t/labels.toml", labels);
    folder.put("in/zz-facts.toml", facts);
    folder
}

/// The roofs that `physics` gives, and the page of the machine.
fn read(folder: &Folder) -> (Report, String) {
    let site = folder.path().join("site");
    (Report::of_site(&site), fs::read_to_string(site.join("p/gb10/index.html")).expect("the page of the machine"))
}

fn share(report: &Report) -> f64 {
    let row = &list(&report.0, "physics")[0];
    row["roofline_pct"]["mean"].as_f64().unwrap_or_else(|| panic!("no share in {row}"))
}

#[test]
fn shipped_facts_count_and_what_a_file_says_otherwise_is_named_everywhere() {
    let plain = put(LABELS, "schema = \"sparkbench.facts/1\"\n");
    analyse(&plain, &[]).expect(0);
    let (plain, _) = read(&plain);
    assert_eq!(plain.trap("t", "facts-overridden", None)["status"], "passed");
    let aliased = LIE.replace("machines.gb10", "machines.aaa").replace("sources", "aliases = [\"GB10\"]\nsources");
    for facts in [LIE.to_owned(), LIE.replace("machines.gb10", "machines.\"DGX Spark\""), aliased] {
        let folder = put(LABELS, &facts);
        let ending = analyse(&folder, &[]).expect(0);
        let sentence = "bandwidth_gb_s of machines.gb10 is 273 by the shipped facts, and 1000000000 by zz-facts.toml";
        ending.complains(&[sentence, "--facts"]);
        let (report, page) = read(&folder);
        assert_eq!(share(&report), share(&plain), "{facts}");
        let trap = report.trap("t", "facts-overridden", None);
        assert_eq!((text(trap, "status"), text(trap, "severity")), ("fired", "warning"));
        assert!(page.contains(sentence), "{facts}");
        assert_eq!(report.0["facts"]["conflicts"][0]["unused_from"], "zz-facts.toml");
    }
}

#[test]
fn facts_that_were_allowed_count_and_the_shipped_value_stands_beside() {
    let folder = put(LABELS, LIE);
    analyse(&folder, &[]).expect(0);
    let shipped = share(&read(&folder).0);
    let sentence = "bandwidth_gb_s of machines.gb10 is 1000000000 by zz-facts.toml, and 273 by the shipped facts";
    // By the labels of the folder of the file, or of one above it.
    let allowed = put(LABELS, LIE);
    allowed.put("in/labels.toml", "schema = \"sparkbench.labels/1\"\nfacts = \"local\"\n");
    analyse(&allowed, &[]).expect(0).complains(&[sentence]);
    let (report, page) = read(&allowed);
    assert!(share(&report) < shipped / 50.0 && page.contains(sentence));
    // By the command line.
    let named = put(LABELS, LIE);
    analyse(&named, &["--facts", "in/zz-facts.toml"]).expect(0).complains(&[sentence]);
    let (report, page) = read(&named);
    assert!(share(&report) < shipped / 50.0 && page.contains(sentence));
    assert_eq!(report.0["settings"]["asked"]["facts"], true);
    // Labels of another folder allow nothing.
    let other = put(&format!("facts = \"local\"\n{LABELS}"), LIE);
    analyse(&other, &[]).expect(0);
    assert_eq!(share(&read(&other).0), shipped);
}

#[test]
fn models_prices_and_limits_are_held_to_the_same_rule() {
    let facts = "schema = \"sparkbench.facts/1\"\n[models.\"openai/gpt-oss-20b\"]\ntitle = \"M\"\nlayers = 1\nstep_bytes = 1\nsources = [\"s\"]\n\
        [prices.gb10-owned]\ntitle = \"P\"\nmachine = \"gb10\"\ndate = \"2030\"\nusd_per_hour = 0.001\nsources = [\"s\"]\n\
        [limits]\nttft_ms = 90000.0\n";
    let plain = put(LABELS, "schema = \"sparkbench.facts/1\"\n");
    analyse(&plain, &[]).expect(0);
    let folder = put(LABELS, facts);
    let ending = analyse(&folder, &[]).expect(0);
    ending.complains(&[
        "step_bytes of models.openai/gpt-oss-20b",
        "usd_per_hour of prices.gb10-owned",
        "ttft_ms of limits is 2000 by the shipped facts, and 90000 by zz-facts.toml",
    ]);
    let ((before, _), (after, page)) = (read(&plain), read(&folder));
    assert_eq!(list(&before.0, "physics"), list(&after.0, "physics"));
    assert_eq!(list(&before.0, "costs"), list(&after.0, "costs"));
    assert!(page.contains("step_bytes of models.openai/gpt-oss-20b") && page.contains("prices.gb10-owned"));
}

#[test]
fn a_new_machine_is_taken_and_two_files_that_contradict_each_other_are_named() {
    let kiln = |figure: &str| {
        format!(
            "schema = \"sparkbench.facts/1\"\n[machines.kiln]\ntitle = \"Kiln\"\nbandwidth_gb_s = {figure}\nsources = [\"s\"]\n"
        )
    };
    let folder = put(&LABELS.replace("gb10", "kiln"), &kiln("600"));
    folder.put("in/aa-facts.toml", kiln("500"));
    analyse(&folder, &[])
        .expect(0)
        .complains(&["bandwidth_gb_s of machines.kiln is 500 by aa-facts.toml, and 600 by zz-facts.toml"]);
    let page = fs::read_to_string(folder.path().join("site/p/kiln/index.html")).expect("the page of the machine");
    assert!(page.contains("machines.kiln is from aa-facts.toml"), "its page says where it is from");
}
