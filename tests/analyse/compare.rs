//! The verb `compare` as a gate in CI meets it: two folders in. Exit code, words and Markdown out.

#![cfg(feature = "analyse")]

use std::fs;

use crate::support::folder::Folder;
use crate::support::program::{Ending, FEW, repository, run_in};

/// Runs of one environment, one a minute, around a centre with a spread of the given size.
fn table(environment: &str, model: &str, metric: &str, centre: f64, spread: f64, runs: usize) -> String {
    const SHAPE: [f64; 8] = [0.1, -0.7, 0.9, -0.2, 0.6, -1.0, 0.3, 0.0];
    let mut table = format!("environment,model,workload,{metric}\n");
    for k in 0..runs {
        table += &format!("{environment},{model},chat,{:.4}\n", centre + spread * SHAPE[k % SHAPE.len()]);
    }
    table
}

/// Two archives side by side, as a CI job has them.
fn put(name: &str, base: &str, candidate: &str) -> Folder {
    let folder = Folder::new(name);
    folder.put("main/runs.csv", base);
    folder.put("branch/runs.csv", candidate);
    folder
}

fn compare(folder: &Folder, arguments: &[&str]) -> Ending {
    run_in(folder.path(), &[&["compare"], arguments, &FEW[..]].concat(), &[])
}

#[test]
fn the_exit_code_is_the_gate() {
    const LATENCY: &str = "e2e_latency_ms";
    const RATE: &str = "output_throughput_tok_s";
    // Metric, centre and spread of the candidate against 100 and 0.5, runs. What is said, and the exit code.
    for (k, (metric, centre, spread, runs, word, code)) in [
        (LATENCY, 100.0, 0.5, 12, "equivalent", 0),
        (LATENCY, 110.0, 0.5, 12, "slower", 1),
        (LATENCY, 101.0, 0.5, 24, "slower", 0), // worse, and by less than the margin of 2 %
        (LATENCY, 90.0, 0.5, 12, "faster", 0),
        (LATENCY, 103.0, 30.0, 4, "inconclusive", 6),
        (LATENCY, 100.0, 0.5, 1, "single runs", 6),
        (RATE, 90.0, 0.5, 12, "slower", 1), // a rate is worse when it is lower
        (RATE, 110.0, 0.5, 12, "faster", 0),
        ("peak_memory_gib", 130.0, 0.5, 12, "more", 0), // a neutral metric has no worse side
    ]
    .into_iter()
    .enumerate()
    {
        let folder = put(
            &format!("compare-gate-{k}"),
            &table("native", "m", metric, 100.0, 0.5, 12),
            &table("native", "m", metric, centre, spread, runs),
        );
        let ending = compare(&folder, &["main", "branch"]).expect(code);
        assert!(ending.out.contains(&format!("  {word} ")), "{metric} {centre}: {word} is not in:\n{}", ending.out);
        assert!(ending.out.starts_with("m · chat · "), "{}", ending.out);
    }
}

#[test]
fn one_regression_among_open_questions_still_says_no() {
    let two = |slow: f64, spread: f64| {
        let open = table("native", "open", "e2e_latency_ms", 100.0, spread, 4);
        let judged = table("native", "judged", "e2e_latency_ms", slow, 0.5, 12);
        format!("{judged}{}", open.split_once('\n').expect("a header").1)
    };
    let folder = put("compare-both", &two(100.0, 0.5), &two(120.0, 40.0));
    let ending = compare(&folder, &["main", "branch"]).expect(1);
    assert!(ending.out.contains("  slower ") && ending.out.contains("  inconclusive "), "{}", ending.out);
}

#[test]
fn two_environments_of_one_archive_are_named_after_a_hash() {
    let ending =
        run_in(repository(), &[&["compare", "data/phase1#native", "data/phase1#container"], &FEW[..]].concat(), &[])
            .expect(6);
    for words in
        ["deepseek · throughput · Peak memory", "container has 43.7 % more", "weights exceed", "not comparable"]
    {
        assert!(ending.out.contains(words), "{words} is not in:\n{}", ending.out);
    }
    // The other way round the memory reading is less.
    let turned =
        run_in(repository(), &[&["compare", "data/phase1#container", "data/phase1#native"], &FEW[..]].concat(), &[])
            .expect(6);
    assert!(turned.out.contains("  less ") && !turned.out.contains("  more "), "{}", turned.out);
}

#[test]
fn an_environment_that_is_not_there_is_a_usage_error_that_names_the_known_ones() {
    let folder = put(
        "compare-unknown",
        &table("native", "m", "ttft_ms", 10.0, 0.1, 5),
        &(table("docker", "m", "ttft_ms", 10.0, 0.1, 5) + "nspawn,m,chat,10\n"),
    );
    for (arguments, words) in [
        (
            ["main#nativ", "branch#docker"],
            &["'main' has no environment or other level 'nativ'", "its levels are: native", "main#native"][..],
        ),
        (["main", "branch#dcker"], &["'branch' has no environment or other level 'dcker'", "docker, nspawn"]),
        (["main", "branch"], &["'branch' holds several environments", "docker, nspawn", "branch#docker"]),
        (["branch", "branch"], &["is both BASE and CANDIDATE"]),
    ] {
        compare(&folder, &arguments).expect(2).complains(words);
    }
    compare(&folder, &["main"]).expect(2).complains(&["'main' holds nothing to compare with itself"]);
}

#[test]
fn what_cannot_be_read_or_has_nothing_in_common_is_exit_code_5() {
    let folder = put(
        "compare-unreadable",
        &table("native", "m", "ttft_ms", 10.0, 0.1, 5),
        &table("native", "other", "ttft_ms", 10.0, 0.1, 5),
    );
    folder.put("empty/README.md", "nothing");
    compare(&folder, &["main", "branch"])
        .expect(5)
        .complains(&["no model and workload in common", "--compare-by model"]);
    compare(&folder, &["main", "absent"]).expect(5).complains(&["'absent'"]);
    compare(&folder, &["main", "empty"]).expect(5).complains(&["no run found in 'empty'"]);
}

#[test]
fn the_same_runs_on_both_sides_are_a_usage_error() {
    let folder = put("compare-itself", &table("native", "m", "ttft_ms", 10.0, 0.1, 5), "");
    for sides in [["main", "main"], ["main#native", "main"], ["main#native", "main#native"]] {
        compare(&folder, &sides).expect(2).complains(&["is both BASE and CANDIDATE"]);
    }
}

#[test]
fn an_archive_and_its_copy_elsewhere_are_two_sides() {
    let rows = table("native", "m", "e2e_latency_ms", 100.0, 0.5, 12);
    let folder = Folder::new("compare-copy");
    folder.put("one/results/runs.csv", &rows);
    folder.put("two/results/runs.csv", &rows);
    let ending = compare(&folder, &["one/results", "two/results"]).expect(0);
    assert!(ending.out.contains("no difference larger than 2 % between base and candidate"), "{}", ending.out);
}

#[test]
fn a_path_that_holds_a_hash_is_a_path_where_it_exists() {
    let folder = Folder::new("compare-hash");
    folder.put("run#1/runs.csv", table("native", "m", "e2e_latency_ms", 100.0, 0.5, 12));
    folder.put("run#2/runs.csv", table("native", "m", "e2e_latency_ms", 110.0, 0.5, 12));
    let ending = compare(&folder, &["run#1", "run#2"]).expect(1);
    assert!(ending.out.contains("run#2 takes 1.10 times as long as run#1"), "{}", ending.out);
    compare(&folder, &["run#1#native", "run#2#native"]).expect(1);
}

#[test]
fn a_margin_moves_the_gate() {
    let folder = put(
        "compare-margin",
        &table("native", "m", "e2e_latency_ms", 100.0, 0.5, 24),
        &table("native", "m", "e2e_latency_ms", 103.0, 0.5, 24),
    );
    compare(&folder, &["main", "branch"]).expect(1);
    let ending = compare(&folder, &["main", "branch", "--margin", "e2e_latency_ms=5"]).expect(0);
    assert!(ending.out.contains("less than the margin of 5 %"), "{}", ending.out);
    compare(&folder, &["main", "branch", "--margin", "e2e_latency_ms=0"]).expect(2).complains(&["--margin"]);
}

#[test]
fn markdown_keeps_its_table_whatever_the_names_are() {
    let hostile = "\"a|b <script>alert(1)</script> `code` [x](javascript:y) *bold*\"";
    let folder = put(
        "compare-markdown",
        &table("native", hostile, "e2e_latency_ms", 100.0, 0.5, 12),
        &table("native", hostile, "e2e_latency_ms", 110.0, 0.5, 12),
    );
    compare(&folder, &["main", "branch", "--markdown", "comment.md", "--quiet"]).expect(1);
    let markdown = fs::read_to_string(folder.path().join("comment.md")).expect("the comment is written");
    assert!(
        markdown.starts_with("<!-- sparkbench compare -->\n### branch against main\n")
            && markdown.contains("**Worse beyond the margin.**"),
        "{markdown}"
    );
    let bars = |row: &str| row.match_indices('|').filter(|(at, _)| !row[..*at].ends_with('\\')).count();
    let tables: Vec<Vec<&str>> = markdown
        .split("\n\n")
        .map(|part| part.lines().filter(|line| line.starts_with("| ")).collect::<Vec<_>>())
        .filter(|rows| !rows.is_empty())
        .collect();
    assert_eq!(tables.len(), 2, "verdicts, and what every cell must say: {markdown}");
    assert_eq!(tables[0].len(), 2, "a header and one verdict: {markdown}");
    assert_eq!(bars(tables[0][0]), 6, "five cells: {markdown}");
    for table in &tables {
        assert!(table.iter().all(|row| bars(row) == bars(table[0])), "{table:#?}");
    }
    // A name becomes neither markup nor a link in somebody's pull request.
    let shown = r"a\|b \<script\>alert(1)\</script\> \`code\` \[x\](javascript:y) \*bold\*";
    assert!(markdown.contains(shown), "{markdown}");
    assert!(markdown.contains("sparkbench ") && markdown.contains("seed 42"), "{markdown}");
    // Where no file can be, the gate must not pass as if nothing had happened.
    let arguments = ["main", "branch", "--markdown", "main/runs.csv/comment.md"];
    compare(&folder, &arguments).expect(5).complains(&["comment.md"]);
}

/// Issue 30: a result file from anybody reaches the comment on a pull request.
#[test]
fn names_in_a_comment_call_nobody_and_link_nowhere() {
    let hostile = "@some-org/everyone see https://evil.example/x www.evil.example a@evil.example ~~gone~~ GH-1 #2 org/repo#3 :rocket: $x$ ![i](y)";
    let folder = put(
        "compare-mentions",
        &table("native", hostile, "e2e_latency_ms", 100.0, 0.5, 12),
        &table("native", hostile, "e2e_latency_ms", 110.0, 0.5, 12),
    );
    compare(&folder, &["main", "branch", "--markdown", "comment.md", "--quiet"]).expect(1);
    let markdown = fs::read_to_string(folder.path().join("comment.md")).expect("the comment is written");
    let row = markdown.lines().find(|line| line.contains("everyone")).expect("the name is shown");
    for acts in ["@some", "https://", "www.", "a@evil", "~~", "GH-1", "#2", "#3", ":rocket:", "$x$", "![i]", "\u{202e}"]
    {
        assert!(!row.contains(acts), "{acts} in {row}");
    }
    // What a reader sees is the name: without backslashes, zero-width spaces and the tags around a dollar sign.
    let seen = row.replace(['\\', '\u{200b}'], "").replace("<span>", "").replace("</span>", "");
    assert!(seen.contains(hostile), "{seen}");
}

#[test]
fn results_go_to_standard_output_and_talk_to_standard_error() {
    let folder = put(
        "compare-streams",
        &table("native", "m", "e2e_latency_ms", 100.0, 0.5, 12),
        &table("native", "m", "e2e_latency_ms", 100.0, 0.5, 12),
    );
    folder.put("branch/junk.json", "{");
    let ending = compare(&folder, &["main", "branch"]).expect(0);
    assert!(ending.err.contains("warning: ") && !ending.out.contains("warning"), "{ending:?}");
    let quiet = compare(&folder, &["main", "branch", "--quiet"]).expect(0);
    assert_eq!((quiet.err.as_str(), quiet.out), ("", ending.out));
}

#[test]
fn verdicts_for_programs_hold_what_the_terminal_says() {
    let folder = put(
        "compare-programs",
        &table("native", "m<1>", "e2e_latency_ms", 100.0, 0.5, 12),
        &table("native", "m<1>", "e2e_latency_ms", 110.0, 0.5, 12),
    );
    let files = ["--junit", "out/verdicts.xml", "--badge", "out/badge.svg"];
    let ending = compare(&folder, &[&["main", "branch", "--json"], &files[..]].concat()).expect(1);
    let read: serde_json::Value = serde_json::from_str(&ending.out).expect("one object on standard output");
    assert_eq!((read["schema"].as_str(), read["gate"].as_str()), (Some("sparkbench.compare/1"), Some("regression")));
    assert_eq!((read["base"].as_str(), read["candidate"].as_str()), (Some("main"), Some("branch")));
    let one = &read["comparisons"][0];
    assert_eq!((one["metric"].as_str(), one["verdict"]["kind"].as_str()), (Some("e2e_latency_ms"), Some("slower")));
    let xml = fs::read_to_string(folder.path().join("out/verdicts.xml")).unwrap();
    assert!(xml.contains("tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{xml}");
    assert!(xml.contains("classname=\"m&lt;1&gt;.chat\" name=\"e2e_latency_ms\"><failure type=\"slower\""), "{xml}");
    let badge = fs::read_to_string(folder.path().join("out/badge.svg")).unwrap();
    assert!(badge.contains("aria-label=\"branch against main: ") && badge.contains("10.0% ("), "{badge}");
    assert!(badge.contains("slower</text>"), "the word stands beside the colour: {badge}");
}

#[test]
fn what_is_not_known_is_skipped_and_what_is_fine_passes_in_junit() {
    for (name, centre, spread, runs, code, word) in
        [("open", 103.0, 30.0, 4, 6, "<skipped "), ("fine", 100.0, 0.5, 12, 0, "<system-out>")]
    {
        let folder = put(
            &format!("compare-junit-{name}"),
            &table("native", "m", "e2e_latency_ms", 100.0, 0.5, 12),
            &table("native", "m", "e2e_latency_ms", centre, spread, runs),
        );
        compare(&folder, &["main", "branch", "--junit", "v.xml"]).expect(code);
        let xml = fs::read_to_string(folder.path().join("v.xml")).unwrap();
        assert!(xml.contains(word) && xml.contains("failures=\"0\""), "{xml}");
    }
}

#[test]
fn a_badge_shows_what_speaks_most_against_the_candidate() {
    let two = |slow: f64| {
        let same = table("native", "same", "e2e_latency_ms", 100.0, 0.5, 12);
        let judged = table("native", "judged", "e2e_latency_ms", slow, 0.5, 12);
        format!("{same}{}", judged.split_once('\n').expect("a header").1)
    };
    let folder = put("compare-badge", &two(100.0), &two(108.0));
    compare(&folder, &["main", "branch", "--badge", "b.svg"]).expect(1);
    let badge = fs::read_to_string(folder.path().join("b.svg")).unwrap();
    assert!(badge.contains("+8.0% (") && badge.contains("slower, worst of 2 comparisons"), "{badge}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_arm_may_lie_at_a_path_that_is_not_utf8() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt as _;
    let runs = table("native", "m", "e2e_latency_ms", 100.0, 0.5, 12);
    let folder = put("compare-bytes", &runs, &runs);
    let odd = OsStr::from_bytes(b"ma\xefn");
    fs::rename(folder.path().join("main"), folder.path().join(odd)).unwrap();
    let named = OsStr::from_bytes(b"ma\xefn#native");
    for base in [odd, named] {
        let arguments: Vec<OsString> = [OsStr::new("compare"), base, OsStr::new("branch")]
            .into_iter()
            .chain(FEW.map(OsStr::new))
            .map(OsStr::to_owned)
            .collect();
        let ending = run_in(folder.path(), &arguments, &[]).expect(0);
        assert!(ending.out.contains("equivalent"), "{}", ending.out);
    }
    let arguments = [OsStr::new("compare"), OsStr::from_bytes(b"ma\xefn#other"), OsStr::new("branch")];
    run_in(folder.path(), &arguments, &[])
        .expect(2)
        .complains(&["'ma\\xEFn' has no environment or other level 'other'"]);
}
