//! Whatever lies in a folder: the bad part is named with file and field, listed and counted on the site, and the rest is analysed.

use std::fs;

use crate::analyse;
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::{FEW, run_in};
use crate::support::report::{Report, kind, list, text, texts};
use crate::support::site_check;

/// A table that can be judged: two environments in turn, four runs each.
const GOOD: &str = "environment,model,workload,started_utc,ttft_ms\n\
    native,m,chat,2026-01-01T10:00:00Z,10.0\nboxed,m,chat,2026-01-01T10:01:00Z,12.0\n\
    boxed,m,chat,2026-01-01T10:02:00Z,12.1\nnative,m,chat,2026-01-01T10:03:00Z,10.1\n\
    native,m,chat,2026-01-01T10:04:00Z,9.9\nboxed,m,chat,2026-01-01T10:05:00Z,11.9\n\
    boxed,m,chat,2026-01-01T10:06:00Z,12.0\nnative,m,chat,2026-01-01T10:07:00Z,10.0\n";

/// A file that is bad in one way, and words its reason must hold.
type Case = (&'static str, &'static [u8], &'static [&'static str]);

/// One bad file a kind. Each in a folder of its own, beside a good table.
const BAD: &[Case] = &[
    ("empty/results.json", b"", &["empty/results.json", "empty"]),
    ("empty/runs.csv", b"", &["empty/runs.csv", "empty"]),
    ("cut/results.json", b"{\"models\": {\"m\": {\"native\": [{\"iteration\": 1, \"peak_mem", &["cut/results.json", "line 1", "cut off"]),
    ("cut/runs/r1/run.json", b"{\"schema\":\"sparkbench.run/1\",\"environment\":\"a\"", &["cut/runs/r1/run.json", "JSON"]),
    (
        "types/results.json",
        b"{\"models\":{\"m\":{\"native\":[{\"iteration\":1,\"timestamp\":\"20260101_000000\",\"throughput\":\"fast\",\"peak_memory\":1,\"kv_cache\":2}]}}}",
        &["types/results.json", "/models/m/native/0/throughput", "\"fast\""],
    ),
    (
        "types/runs/r1/run.json",
        b"{\"schema\":\"sparkbench.run/1\",\"environment\":\"a\",\"model\":\"m\",\"workload\":\"w\",\"repeat\":\"one\"}",
        &["types/runs/r1/run.json", "/repeat", "\"one\""],
    ),
    ("types/runs.csv", b"environment,model,ttft_ms\nnative,m,slow\n", &["line 2", "'ttft_ms'", "\"slow\""]),
    ("schema/runs/r1/run.json", b"{\"schema\":\"sparkbench.run/7\",\"environment\":\"a\"}", &["schema/runs/r1/run.json", "sparkbench.run/7", "sparkbench.run/1"]),
    ("schema/campaign.json", b"{\"schema\":\"sparkbench.campaign/9\",\"name\":\"x\"}", &["schema/campaign.json", "sparkbench.campaign/9"]),
    ("keys/other.json", b"{\"speed\": 1, \"mood\": 2}", &["keys/other.json", "'speed'"]),
    ("junk/noise.bin", &[0, 159, 146, 150, 0, 1, 2, 255], &["junk/noise.bin", "not text"]),
    ("junk/noise.json", &[b'{', 0xff, 0xfe, b'"'], &["junk/noise.json", "JSON"]),
    ("junk/noise.csv", &[b'e', 0xff, 0x00, b',', b'\n', 0xfe], &["junk/noise.csv"]),
    ("packed/results.json.gz", &[0x1f, 0x8b, 8, 0], &["packed/results.json.gz", "unexpected end"]),
    ("short/runs.csv", b"environment,model,ttft_ms\nnative,m\n", &["line 2", "3 cells", "2"]),
    ("points/runs.csv", b"environment;model;ttft_ms\nnative;m;1,5\n", &["points/runs.csv", "commas"]),
    ("dates/runs.csv", b"environment,model,ttft_ms,started_utc\nnative,m,1,yesterday\n", &["line 2", "'started_utc'", "\"yesterday\""]),
    ("header/runs.csv", b"when,what\n1,2\n", &["header/runs.csv"]),
    ("orphan/native_m_iter1_20260101_000000.log", b"hello\n", &["log"]),
    ("facts/wrong.toml", b"schema = \"sparkbench.facts/1\"\n[machines.x]\ntitle = \"X\"\nmemory_gib = -1\nsources = [\"s\"]\n", &["facts/wrong.toml", "machines.x.memory_gib", "-1"]),
];

fn put_bad(folder: &Folder) {
    folder.put("in/good/runs.csv", GOOD);
    for (name, bytes, _) in BAD {
        folder.put(&format!("in/{name}"), bytes);
    }
    // A folder that calls itself a file: nothing to open, and no reason to stop.
    fs::create_dir_all(folder.path().join("in/folder/results.json")).expect("a folder");
}

#[test]
fn each_bad_file_is_named_with_its_field_and_the_rest_is_analysed() {
    let folder = Folder::new("analyse-bad");
    put_bad(&folder);
    let ending = analyse(&folder, &[]).expect(0);
    let site = folder.path().join("site");
    let report = Report::of_site(&site);
    let page = fs::read_to_string(site.join("data/index.html")).expect("the data page");
    let mut left_out = 0;
    for (name, _, words) in BAD {
        let input = report.input(name);
        let reason = input["reason"].as_str().unwrap_or_else(|| panic!("{name} has no reason"));
        assert_eq!(input["skipped"], true, "{name}: {reason}");
        for word in *words {
            assert!(reason.contains(word) || name.contains(word), "{name}: '{word}' is not in: {reason}");
        }
        assert!(page.contains(name), "{name} is not on the data page");
        left_out += 1;
    }
    let skipped = list(&report.0, "inputs").iter().filter(|input| input["skipped"] == true).count();
    assert_eq!(skipped, left_out, "and nothing else is left out");
    assert!(
        page.contains(&format!("{} files were looked at, {left_out} with something left out", left_out + 1)),
        "the page counts them"
    );
    assert!(ending.err.contains(&format!("Inputs left out: {left_out}")), "{}", ending.err);
    assert!(site_check::faults(&files_below(&site)).is_empty());

    let alone = Folder::new("analyse-bad-alone");
    alone.put("in/good/runs.csv", GOOD);
    analyse(&alone, &[]).expect(0);
    let alone = Report::of_site(&alone.path().join("site"));
    assert_eq!(
        report.comparisons("good"),
        alone.comparisons("good"),
        "the good table is judged as if nothing else were there"
    );
    assert_eq!(kind(report.comparison("good", "m", "chat", "ttft_ms")), "slower");
}

#[test]
fn what_was_left_out_fails_a_strict_run_and_no_other() {
    let folder = Folder::new("analyse-bad-strict");
    put_bad(&folder);
    analyse(&folder, &["--strict"]).expect(1);
    assert!(folder.path().join("site/index.html").is_file(), "the site is written all the same");
    let good = Folder::new("analyse-good-strict");
    good.put("in/good/runs.csv", GOOD);
    analyse(&good, &["--strict"]).expect(0);
}

#[test]
fn an_empty_input_is_exit_code_5_with_a_sentence_on_what_was_expected() {
    let folder = Folder::new("analyse-empty");
    fs::create_dir_all(folder.path().join("in")).expect("a folder");
    for (what, words) in [
        ("no file", &["nothing to read in 'in'", "give a folder with a table (runs.csv)"][..]),
        ("files without a run", &["no run found in 'in'", "1 file was read", "runs.csv"]),
    ] {
        if what != "no file" {
            folder.put("in/README.md", "# nothing\n");
        }
        analyse(&folder, &[]).expect(5).complains(words);
        assert!(!folder.path().join("site").exists(), "{what}");
    }
    run_in(folder.path(), &["analyse", "absent", "--site", "site"], &[]).expect(5).complains(&["'absent'", "try:"]);
    // The README's command where there is no `data`.
    run_in(folder.path(), &["analyse"], &[]).expect(5).complains(&["'data'"]);
}

#[test]
fn missing_and_infinite_figures_end_in_reasons_and_never_in_numbers() {
    let folder = Folder::new("analyse-missing");
    let table = |cell: &str| {
        let rows = ["native", "boxed"].map(|e| format!("{e},m,chat,{cell}\n{e},m,chat,1.0\n{e},m,chat,1.1\n"));
        format!("environment,model,workload,ttft_ms\n{}", rows.concat())
    };
    let absent = ["NaN", "[N/A]", "n/a", "null", ""];
    for (k, cell) in absent.iter().enumerate() {
        folder.put(&format!("in/absent-{k}/runs.csv"), table(cell));
    }
    for (k, cell) in ["Infinity", "-inf"].iter().enumerate() {
        folder.put(&format!("in/infinite-{k}/runs.csv"), table(cell));
    }
    folder.put("in/negative/runs.csv", table("-4.0"));
    folder.put("in/nothing/runs.csv", "environment,model,workload,ttft_ms\nnative,m,chat,NaN\nboxed,m,chat,NaN\n");
    folder.put("in/one/runs.csv", "environment,model,workload,ttft_ms\nnative,m,chat,1\nboxed,m,chat,2\n");
    analyse(&folder, &["--strict"]).expect(0);
    let report = Report::of_site(&folder.path().join("site"));
    let compared = |campaign: &str| report.comparison(campaign, "m", "chat", "ttft_ms").clone();
    for (k, cell) in absent.iter().enumerate() {
        let campaign = format!("absent-{k}");
        assert_eq!(compared(&campaign)["n_baseline"], 2, "'{cell}' is missing");
        assert_eq!(report.group(&campaign, "m", "chat", "native", "ttft_ms")["n_missing"], 1, "'{cell}' is counted");
    }
    for (campaign, reason) in
        [("infinite-0", "N3"), ("infinite-1", "N3"), ("nothing", "N2"), ("one", "N1"), ("negative", "N4")]
    {
        let compared = compared(campaign);
        assert_eq!(kind(&compared), "not_comparable", "{campaign}");
        assert!(texts(&compared["verdict"], "reasons").contains(&reason), "{campaign}: {}", compared["verdict"]);
    }
    let nothing = compared("nothing");
    for key in ["mean_baseline", "difference", "overhead_pct", "overhead_ci", "welch_t", "cohens_d", "tost", "mde_pct"]
    {
        assert!(nothing[key].is_null(), "{key} is {}", nothing[key]);
    }
}

#[test]
fn figures_at_the_ends_of_the_range_of_numbers_end_in_no_panic_and_no_nonsense() {
    let folder = Folder::new("analyse-extreme");
    let extremes: &[(&str, &[&str])] = &[
        ("huge", &["1e308", "1.7e308", "1e308", "9e307"]),
        ("tiny", &["5e-324", "1e-308", "5e-324", "2e-310"]),
        ("both", &["1e308", "1e-308", "5e-324", "1e308"]),
        ("zero", &["0", "0.0", "0", "0e0"]),
        ("same", &["7", "7", "7", "7"]),
    ];
    for (name, values) in extremes {
        let mut table =
            String::from("environment,model,workload,e2e_latency_ms,ttft_ms,output_throughput_tok_s,peak_memory_gib\n");
        for environment in ["native", "boxed"] {
            for (k, value) in values.iter().enumerate() {
                table += &format!("{environment},m,chat,{value},{value},{},-{value}\n", k + 1);
            }
        }
        folder.put(&format!("in/{name}/runs.csv"), table);
    }
    analyse(&folder, &["--strict"]).expect(0);
    let site = folder.path().join("site");
    let faults = site_check::faults(&files_below(&site));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for comparison in list(&Report::of_site(&site).0, "comparisons") {
        let said = text(&comparison["verdict"], "text");
        assert!(!said.contains("NaN") && !said.contains("inf%") && !said.contains("inf,"), "{comparison}");
    }
}

#[test]
fn two_runs_with_one_id_are_both_counted_and_said_to_be() {
    let folder = Folder::new("analyse-ids");
    folder.put("in/x/runs.csv", "id,environment,model,ttft_ms\nr1,native,m,1\nr1,native,m,2\nr2,boxed,m,3\n");
    folder.put("in/y/runs.csv", "id,environment,model,ttft_ms\nr1,native,m,1\n");
    analyse(&folder, &[]).expect(0);
    let site = folder.path().join("site");
    let report = Report::of_site(&site);
    let mut ids: Vec<&str> = list(&report.0, "runs").iter().map(|run| text(run, "id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids.iter().all(|id| site.join("r").join(id).join("index.html").is_file()), "{ids:?}");
    assert!(text(report.input("x/runs.csv"), "reason").contains("two runs have the id 'r1'"));
    assert_eq!(report.group("x", "m", "default", "native", "ttft_ms")["n"], 2);
}

#[test]
fn a_byte_order_mark_and_crlf_change_no_verdict() {
    let folder = Folder::new("analyse-bom");
    folder.put("in/plain/runs.csv", GOOD);
    folder.put("in/windows/runs.csv", format!("\u{feff}{}", GOOD.replace('\n', "\r\n")));
    analyse(&folder, &["--strict"]).expect(0);
    let report = Report::of_site(&folder.path().join("site"));
    let verdict = |campaign: &str| report.comparison(campaign, "m", "chat", "ttft_ms")["verdict"].clone();
    assert_eq!(verdict("plain"), verdict("windows"));
}

#[test]
fn a_folder_that_holds_something_else_is_refused_and_left_untouched() {
    let folder = Folder::new("analyse-foreign");
    folder.put("in/good/runs.csv", GOOD);
    folder.put("site/thesis.txt", "years of work");
    folder.put("site/data/analysis.json", "{\"mine\": true}");
    let before = files_below(folder.path());
    analyse(&folder, &[]).expect(5).complains(&["holds no site of this program", "--site"]);
    assert!(files_below(folder.path()) == before, "not a byte has changed, and nothing lies beside it");
    // A file in the way is no folder.
    folder.put("file", "also mine");
    let arguments = [&["analyse", "in", "--site", "file"], &FEW[..]].concat();
    run_in(folder.path(), &arguments, &[]).expect(5).complains(&["file"]);
    assert_eq!(fs::read(folder.path().join("file")).expect("still there"), b"also mine");
}

#[test]
fn a_site_beside_the_archives_is_not_read_as_an_archive() {
    let folder = Folder::new("analyse-site-inside");
    folder.put("in/good/runs.csv", GOOD);
    let arguments = [&["analyse", "in", "--site", "in/site", "--strict"], &FEW[..]].concat();
    run_in(folder.path(), &arguments, &[]).expect(0);
    let first = files_below(&folder.path().join("in/site"));
    run_in(folder.path(), &arguments, &[]).expect(0);
    assert!(files_below(&folder.path().join("in/site")) == first, "the second run reads what the first one read");
}

#[cfg(unix)]
#[test]
fn links_are_listed_and_not_followed_and_what_cannot_be_read_is_named() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;
    let folder = Folder::new("analyse-links");
    folder.put("in/good/runs.csv", GOOD);
    folder.put("outside/secret.csv", GOOD);
    let inside = folder.path().join("in");
    symlink("..", inside.join("good/loop")).expect("a link");
    symlink("../../outside", inside.join("good/out")).expect("a link");
    symlink("nowhere", inside.join("good/dangling")).expect("a link");
    // The name of a socket may not be long. Where it cannot be made there is nothing to test.
    let socket = UnixListener::bind(inside.join("s")).is_ok();
    let locked = folder.put("in/locked/runs.csv", GOOD);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("rights can be changed");
    let readable = fs::File::open(&locked).is_ok();

    let ending = analyse(&folder, &[]).expect(0);
    let report = Report::of_site(&folder.path().join("site"));
    for name in ["good/loop", "good/out", "good/dangling"] {
        let input = report.input(name);
        assert_eq!((&input["skipped"], &input["sha256"]), (&true.into(), &serde_json::Value::Null), "{name}");
        assert!(text(input, "reason").contains("links are not followed"), "{input}");
    }
    if socket {
        assert_eq!(report.input("s")["skipped"], true);
    }
    let secret = list(&report.0, "inputs").iter().any(|input| text(input, "path").contains("secret"));
    assert!(!secret && report.comparisons("good").len() == 1, "nothing outside the folder is read");
    if readable {
        eprintln!("not checked: this user may read every file, so none is unreadable");
    } else {
        assert!(text(report.input("locked/runs.csv"), "reason").contains("cannot open"));
        ending.complains(&["locked/runs.csv"]);
    }
}
