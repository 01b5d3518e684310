//! Issue 30: the front page counts lost runs, and shows of a hash what fits on a phone.

use std::fs;

use sparkbench::archive::hash;

use crate::analyse;
use crate::support::folder::Folder;

/// An archive of three planned runs: one with a result, one that its owner gave up, one never begun.
fn put_archive(folder: &Folder, name: &str) {
    let planned = |id: &str| serde_json::json!({"id": id, "environment": "native", "model": "m", "workload": "w"});
    let campaign = serde_json::json!({
        "schema": "sparkbench.campaign/1", "name": name, "plan": [planned("r1"), planned("r2"), planned("r3")],
    });
    folder.put(&format!("in/{name}/campaign.json"), campaign.to_string());
    let events = [
        serde_json::json!({"seq": 1, "event": "created"}),
        serde_json::json!({"seq": 2, "event": "finished", "run": "r1"}),
        serde_json::json!({"seq": 3, "event": "finished", "run": "r2"}),
        serde_json::json!({"seq": 4, "event": "lost", "path": "runs/r2", "run": "r2", "files": [], "why": "run.json was changed"}),
    ];
    let journal: String = events.iter().map(|event| format!("{event}\n")).collect();
    folder.put(&format!("in/{name}/journal.jsonl"), journal);
    let run = serde_json::json!({
        "schema": "sparkbench.run/1", "id": "r1", "environment": "native", "model": "m", "workload": "w",
        "exit_code": 0, "reports": [], "files": [],
    });
    folder.put(&format!("in/{name}/runs/r1/run.json"), run.to_string());
}

fn front(folder: &Folder) -> String {
    fs::read_to_string(folder.path().join("site/index.html")).unwrap()
}

#[test]
fn the_front_page_counts_lost_runs_and_leads_to_their_campaigns() {
    let folder = Folder::new("pages-lost");
    put_archive(&folder, "one");
    analyse(&folder, &[]).expect(0);
    let page = front(&folder);
    assert!(page.contains("<strong>1 run is lost and enters no figure.</strong>"), "{page}");
    assert!(page.contains("href=\"c/one/index.html#unmade\""), "{page}");
    let campaign = fs::read_to_string(folder.path().join("site/c/one/index.html")).unwrap();
    assert!(campaign.contains("id=\"unmade\""));
    put_archive(&folder, "two");
    analyse(&folder, &[]).expect(0);
    let page = front(&folder);
    assert!(page.contains("<strong>2 runs are lost and enter no figure.</strong>"), "{page}");
    assert!(page.contains("c/two/index.html#unmade"), "{page}");
}

#[test]
fn the_front_page_names_a_loss_that_was_measured_again() {
    let folder = Folder::new("pages-lost-again");
    put_archive(&folder, "one");
    let run = fs::read_to_string(folder.path().join("in/one/runs/r1/run.json")).unwrap();
    folder.put("in/one/runs/r2/run.json", run.replace("\"r1\"", "\"r2\""));
    analyse(&folder, &[])
        .expect(0)
        .complains(&["a loss is on record in one/journal.jsonl: runs/r2 (run.json was changed)"]);
    let page = front(&folder);
    assert!(page.contains("<strong>1 part of an archive is given up as lost.</strong>"), "{page}");
    assert!(page.contains("runs/r2 (run.json was changed) in <a href=\"c/one/index.html\">"), "{page}");
    assert!(!page.contains("id=\"lost\""), "no run is lost any more: {page}");
    // One that was not measured again is counted among the lost runs alone.
    let folder = Folder::new("pages-lost-for-good");
    put_archive(&folder, "one");
    analyse(&folder, &[]).expect(0);
    assert!(!front(&folder).contains("id=\"losses\""));
}

#[test]
fn a_hash_on_the_front_page_is_short_with_the_whole_one_behind_it() {
    let folder = Folder::new("pages-hash");
    let table = "environment,model,workload,ttft_ms\nnative,m,chat,10.0\n";
    folder.put("in/t/runs.csv", table);
    folder.put("in/t/SHA256SUMS", format!("{}  runs.csv\n", hash(b"another table")));
    analyse(&folder, &[]).expect(0);
    let page = front(&folder);
    for sum in [hash(table.as_bytes()), hash(b"another table")] {
        let short = &sum[..12];
        assert!(page.contains(&format!("<code title=\"{sum}\">{short}…</code>")), "{page}");
        assert_eq!(page.matches(&sum).count(), 1, "only behind the short one");
    }
    assert!(!page.contains("id=\"lost\""), "nothing is lost here");
}
