//! What makes a site something to cite: versions over time, addresses, citations, data sets, history. The program itself is run.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::analyse;
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::run_in;
use crate::support::site_check;

/// Runs of two environments, of which the candidate gives this share of the baseline.
fn table(share: f64, day: &str) -> String {
    let mut text = String::from(
        "environment,model,workload,started_utc,exit_code,isl,osl,engine,engine_version,machine,output_throughput_tok_s\n",
    );
    for k in 0..8 {
        for (environment, share) in [("native", 1.0), ("container", share)] {
            let minute = 2 * k + i32::from(environment == "container");
            let value = share * (100.0 + 0.1 * f64::from((k * 7) % 5));
            text.push_str(&format!(
                "{environment},small,chat,{day}T10:{minute:02}:00Z,0,128,128,Engine,1.{},Machine X,{value:.3}\n",
                &day[9..]
            ));
        }
    }
    text
}

fn write(folder: &Folder, name: &str, share: f64, day: &str) {
    let dir = folder.path().join("in").join(name);
    fs::create_dir_all(&dir).expect("a folder");
    fs::write(dir.join("runs.csv"), table(share, day)).expect("the table");
}

fn site(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    files_below(&folder.path().join("site"))
}

fn text(files: &BTreeMap<String, Vec<u8>>, path: &str) -> String {
    String::from_utf8(files.get(path).unwrap_or_else(|| panic!("no {path}")).clone()).expect("UTF-8")
}

fn sound(files: &BTreeMap<String, Vec<u8>>) {
    let faults = site_check::faults(files);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

const STUDY: &str = "+++\nlicence = \"CC-BY-4.0\"\ndoi = \"10.5281/zenodo.1\"\ndate = 2026-01-02\nkeywords = [\"a & b\"]\n\n[[authors]]\nfamily = \"King-</script>\"\n\
                     given = \"Ada\"\norcid = \"0000-0002-1825-0097\"\naffiliation = \"Engines: \\\"all\\\"\"\n\n[[authors]]\nname = \"The {Group}\"\n\n\
                     [[corrections]]\ndate = 2026-01-03\ntext = \"A label <b>was</b> wrong.\"\n+++\n\n{{ verdict: output_throughput_tok_s }}\n";

#[test]
fn versions_stay_and_a_changed_answer_stands_beside_the_old_one() {
    let folder = Folder::new("publish-versions");
    write(&folder, "camp", 1.0, "2026-01-01");
    analyse(&folder, &[]).expect(0);
    let first = site(&folder);
    sound(&first);
    let versions = |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
        files.keys().filter_map(|p| p.strip_prefix("v/")?.strip_suffix("/index.html").map(str::to_owned)).collect()
    };
    let [one] = &versions(&first)[..] else { panic!("one version") };
    assert!(text(&first, "index.html").contains(&format!("v/{one}/index.html")));
    // The same again changes nothing.
    analyse(&folder, &[]).expect(0);
    assert!(site(&folder) == first);

    write(&folder, "camp", 0.8, "2026-01-01");
    analyse(&folder, &[]).expect(0);
    let second = site(&folder);
    sound(&second);
    assert_eq!(versions(&second).len(), 2);
    for path in first.keys().filter(|path| path.starts_with("v/")) {
        assert_eq!(first.get(path), second.get(path), "{path}");
    }
    let log = text(&second, "changelog/index.html");
    assert!(log.contains("<del>") && log.contains("The archive changed."), "{log}");
    let said = |files: &BTreeMap<String, Vec<u8>>, version: &str| -> Value {
        serde_json::from_slice(&files[&format!("v/{version}/index.json")]).expect("JSON")
    };
    assert_eq!(said(&second, one)["number"], 1);
    assert!(text(&second, "index.html").contains("version 1</a>"));
    // Back to the first: it keeps its number, its page and its bytes.
    write(&folder, "camp", 1.0, "2026-01-01");
    analyse(&folder, &[]).expect(0);
    let third = site(&folder);
    sound(&third);
    assert_eq!(versions(&third), versions(&second));
    assert!(text(&third, "data/SHA256SUMS").contains(&format!("v/{one}/index.html")));
    let verified = run_in(folder.path(), &["verify", "site"], &[]);
    verified.expect(0);
}

#[test]
fn a_version_that_was_changed_since_ends_the_analysis_and_the_site_stands() {
    let folder = Folder::new("publish-tampered");
    write(&folder, "camp", 1.0, "2026-01-01");
    analyse(&folder, &[]).expect(0);
    let files = site(&folder);
    let page = files.keys().find(|p| p.starts_with("v/") && p.ends_with("index.html")).expect("a version");
    let disk = folder.path().join("site").join(page);
    fs::write(&disk, "<p>It was faster.</p>").expect("a page");
    let before = site(&folder);
    let ending = analyse(&folder, &[]);
    let ending = ending.expect(5);
    assert!(ending.err.contains("is not what was published"), "{}", ending.err);
    assert!(site(&folder) == before);
}

#[test]
fn versions_that_were_brought_back_alone_are_carried_over() {
    let folder = Folder::new("publish-alone");
    write(&folder, "camp", 1.0, "2026-01-01");
    analyse(&folder, &[]).expect(0);
    let first = site(&folder);
    let root = folder.path().join("site");
    for entry in fs::read_dir(&root).expect("the site").map(|e| e.expect("an entry")).filter(|e| e.file_name() != "v") {
        if entry.path().is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) }
            .expect("gone");
    }
    write(&folder, "camp", 0.9, "2026-01-01");
    analyse(&folder, &[]).expect(0);
    let second = site(&folder);
    for path in first.keys().filter(|path| path.starts_with("v/")) {
        assert_eq!(first.get(path), second.get(path), "{path}");
    }
}

#[test]
fn with_an_address_pages_say_where_they_are_and_without_one_nothing_says_so() {
    let folder = Folder::new("publish-address");
    write(&folder, "camp", 1.0, "2026-01-01");
    fs::write(folder.path().join("in/camp/study.md"), STUDY).expect("the study");
    analyse(&folder, &[]).expect(0);
    let without = site(&folder);
    sound(&without);
    for (path, bytes) in without.iter().filter(|(path, _)| path.ends_with(".html")) {
        let html = String::from_utf8_lossy(bytes);
        assert!(!html.contains("rel=\"canonical\"") && !html.contains("\"og:"), "{path}");
    }
    assert!(!without.contains_key("sitemap.xml"));

    analyse(&folder, &["--base-url", "https://example.org/bench"]).expect(0);
    let with = site(&folder);
    sound(&with);
    let front = text(&with, "index.html");
    assert!(front.contains("<link rel=\"canonical\" href=\"https://example.org/bench/\">"), "{front}");
    assert!(
        text(&with, "c/camp/index.html")
            .contains("<meta property=\"og:url\" content=\"https://example.org/bench/c/camp/\">")
    );
    let map = text(&with, "sitemap.xml");
    assert!(map.contains("<loc>https://example.org/bench/c/camp/</loc>") && !map.contains("404"), "{map}");
    assert!(text(&with, "404.html").contains("href=\"https://example.org/bench/index.html\""));
    for wrong in ["example.org", "https://example.org/?x=1", "https://example.org/\"x"] {
        let ending = analyse(&folder, &["--base-url", wrong]).expect(2);
        assert!(ending.err.contains("is not the address of a site"), "{}", ending.err);
    }
}

#[test]
fn authors_licence_and_hash_reach_every_form_of_the_citation() {
    let folder = Folder::new("publish-cite");
    write(&folder, "camp", 1.0, "2026-01-01");
    fs::write(folder.path().join("in/camp/study.md"), STUDY).expect("the study");
    analyse(&folder, &["--base-url", "https://example.org/bench"]).expect(0);
    let files = site(&folder);
    sound(&files);
    let analysis: Value = serde_json::from_slice(&files["data/analysis.json"]).expect("JSON");
    let hash = analysis["campaigns"][0]["archive_sha256"].as_str().expect("a hash");
    let cff = text(&files, "CITATION.cff");
    for part in [
        "cff-version: 1.2.0\n",
        "  - family-names: \"King-</script>\"\n    given-names: \"Ada\"\n    orcid: \"https://orcid.org/0000-0002-1825-0097\"\n",
        "  - name: \"The {Group}\"\n",
        "license: \"CC-BY-4.0\"\n",
        "doi: \"10.5281/zenodo.1\"\n",
        "date-released: \"2026-01-02\"\n",
        &format!("value: \"sha256:{hash}\"\n"),
    ] {
        assert!(cff.contains(part), "{part}\n{cff}");
    }
    let page = text(&files, "c/camp/index.html");
    assert!(page.contains("author = {King-&#60;/script&#62;, Ada and {The  Group }}"), "{page}");
    assert!(page.contains(&format!("SHA-256 <code>{hash}</code>")), "the foot");
    let (_, rest) = page.split_once("<script type=\"application/ld+json\">").expect("a data set");
    let (block, _) = rest.split_once("</script>").expect("its end");
    let set: Value = serde_json::from_str(block).expect("JSON");
    assert_eq!(set["@type"], "Dataset");
    assert_eq!(set["license"], "https://spdx.org/licenses/CC-BY-4.0.html");
    assert_eq!(set["creator"][0]["familyName"], "King-</script>");
    assert_eq!(set["identifier"][0], format!("sha256:{hash}"));
    let first = &set["distribution"].as_array().expect("files")[0];
    assert_eq!(first["contentUrl"], "https://example.org/bench/data/ANALYSIS.md");
    assert!(set["description"].as_str().expect("words").len() >= 50);
    let log = text(&files, "changelog/index.html");
    assert!(log.contains("A label &#60;b&#62;was&#60;/b&#62; wrong."), "{log}");
    let feed = text(&files, "feed.xml");
    assert!(feed.contains("<summary>A label &lt;b&gt;was&lt;/b&gt; wrong.</summary>"), "{feed}");
    let id = log.split("<li id=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an anchor");
    assert!(feed.contains(&format!("changelog/#{id}</id>\n<updated>2026-01-03T00:00:00Z</updated>")), "{feed}");
}

#[test]
fn a_study_that_cannot_be_used_ends_the_analysis_with_its_line() {
    let folder = Folder::new("publish-broken");
    write(&folder, "camp", 1.0, "2026-01-01");
    for (study, parts) in [
        ("+++\nlicense = \"MIT\"\n+++\n", ["camp/study.md", "line 2", "unknown field `license`"]),
        ("+++\n+++\n\n{{ verdict: output_throughput }}\n", ["camp/study.md", "line 4", "did you mean"]),
    ] {
        fs::write(folder.path().join("in/camp/study.md"), study).expect("the study");
        let ending = analyse(&folder, &[]).expect(5);
        for part in parts {
            assert!(ending.err.contains(part), "{part}: {}", ending.err);
        }
    }
    fs::write(folder.path().join("in/camp/study.md"), "# Notes\n\n{{ x }}\n").expect("notes");
    analyse(&folder, &[]).expect(0);
    assert!(!text(&site(&folder), "c/camp/index.html").contains("In the authors"), "notes are no study");
}

#[test]
fn campaigns_that_name_no_machine_may_be_of_two_and_no_step_between_them_is_judged() {
    let folder = Folder::new("publish-nowhere");
    for (name, share, day) in [("old", 1.0, "2026-01-01"), ("new", 0.5, "2026-02-02")] {
        let nowhere = table(share, day).replace("Machine X", "");
        folder.put(&format!("in/{name}/runs.csv"), nowhere);
    }
    analyse(&folder, &[]).expect(0);
    let files = site(&folder);
    let analysis: Value = serde_json::from_slice(&files["data/analysis.json"]).expect("JSON");
    let steps =
        analysis["history"].as_array().expect("a list").iter().flat_map(|cell| cell["steps"].as_array().unwrap());
    let comparisons: Vec<&Value> = steps.flat_map(|step| step["comparisons"].as_array().unwrap()).collect();
    assert!(!comparisons.is_empty());
    for comparison in comparisons {
        assert_eq!(comparison["verdict"]["kind"], "not_comparable", "{comparison}");
        assert!(comparison["verdict"].to_string().contains("names the machine of either campaign"), "{comparison}");
    }
    assert!(text(&files, "history/index.html").contains("names the machine of either campaign"));
}

#[test]
fn a_cell_of_two_campaigns_has_a_history_with_a_verdict_and_the_version_that_changed() {
    let folder = Folder::new("publish-history");
    write(&folder, "old", 1.0, "2026-01-01");
    analyse(&folder, &[]).expect(0);
    assert!(!site(&folder).keys().any(|path| path.starts_with("history/")), "one campaign has no history");
    write(&folder, "new", 0.8, "2026-02-02");
    analyse(&folder, &["--base-url", "https://example.org/b/"]).expect(0);
    let files = site(&folder);
    sound(&files);
    let analysis: Value = serde_json::from_slice(&files["data/analysis.json"]).expect("JSON");
    let history = analysis["history"].as_array().expect("a list");
    let of = |environment: &str| history.iter().find(|h| h["environment"] == environment).expect("a cell");
    let step = |environment: &str| of(environment)["steps"][0].clone();
    assert_eq!((step("native")["from"].as_str(), step("native")["to"].as_str()), (Some("old"), Some("new")));
    assert_eq!(step("container")["changed"][0], serde_json::json!(["engine version", "1.1", "1.2"]));
    assert_eq!(step("container")["comparisons"][0]["verdict"]["kind"], "slower");
    let page = text(&files, "history/index.html");
    assert!(page.contains("engine version 1.1 → 1.2") && page.contains("slower"), "{page}");
    assert!(text(&files, "index.html").contains("history/index.html"), "the navigation leads there");
    let feed = text(&files, "history/feed.xml");
    assert!(feed.contains("<id>https://example.org/b/history/#small-chat-container-new-"), "{feed}");
    assert!(feed.contains("<updated>2026-02-02T10:15:00Z</updated>"), "{feed}");
    // The feed of the whole site has the campaigns too, the newest first.
    let all = text(&files, "feed.xml");
    let ids: Vec<&str> = all.split("<id>").skip(1).filter_map(|rest| rest.split("</id>").next()).collect();
    assert_eq!(ids.len(), 1 + 2 + feed.matches("<entry>").count(), "{all}");
    let place = |path: &str| ids.iter().position(|id| *id == format!("https://example.org/b/{path}"));
    assert_eq!(place(""), Some(0), "{all}");
    assert!(place("c/new/") < place("c/old/") && place("c/new/").is_some(), "{all}");
    assert!(text(&files, "index.html").contains("href=\"feed.xml\""));
}
