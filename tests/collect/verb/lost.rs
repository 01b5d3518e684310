//! Finished runs that were changed or removed before `--resume`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::scene::{LENIENT, SHORT, archive, collect, head, json, runs, verifies};
use crate::support::folder::Folder;
use crate::support::program::run_in;

/// The first of three runs is done.
fn begun(name: &str) -> (Folder, PathBuf) {
    let folder = Folder::new(name);
    folder.put("suite.toml", format!("{}{SHORT}{LENIENT}", head(3)));
    collect(&folder, &["--only", "001*"], &[]).expect(0);
    let first = archive(&folder).join("runs").join(runs(&folder).into_keys().next().unwrap());
    (folder, first)
}

fn change(run: &Path) {
    fs::write(run.join("stdout.log"), "ttft_ms=1.5\n").unwrap();
}

/// What is done to a run, in a word and as a step, and what is said of it.
type Harm = (&'static str, fn(&Path), &'static str);

#[test]
fn a_lost_run_is_named_the_others_are_measured_and_nothing_is_sealed() {
    let harms: [Harm; 2] = [
        ("removed", |run| fs::remove_dir_all(run).unwrap(), "the folder is missing"),
        ("changed", change, "stdout.log was changed"),
    ];
    for (name, harm, why) in harms {
        let (folder, first) = begun(&format!("verb-lost-{name}"));
        harm(&first);
        let id = first.file_name().unwrap().to_string_lossy().into_owned();
        let ending = collect(&folder, &["--resume"], &[]).expect(5);
        let named = format!("run '{id}': {why}");
        ending.complains(&[&format!("does not match its record: {named}"), "the archive will not be sealed"]);
        ending.complains(&["so it is not sealed", "--resume --accept-loss"]);
        assert!(!archive(&folder).join("seal.json").exists());
        assert!(fs::read_dir(archive(&folder).join("runs")).unwrap().count() >= 2, "the night is not lost");
        run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
        // Once more it is the same, and the word of the owner goes on.
        collect(&folder, &["--resume"], &[]).expect(5).complains(&[&named]);
        collect(&folder, &["--resume", "--accept-loss"], &[])
            .expect(0)
            .complains(&["3 runs done, 0 failed, 0 left, complete and sealed with 1 loss on record"]);
        let verified = run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
        assert_eq!(verified.out, format!("{:<13}  runs/{id}  {why}\n", "lost"));
        verified.complains(&["1 loss on record", "all match"]);
        let status = run_in(folder.path(), &["status", "archive"], &[]).expect(0);
        assert!(status.out.contains(&format!("lost: {id}: {why}")), "{}", status.out);
        let said: Value =
            serde_json::from_str(&run_in(folder.path(), &["status", "archive", "--json"], &[]).expect(0).out).unwrap();
        assert_eq!((&said["lost"][0]["run"], &said["runs"]["done"]), (&Value::from(id.as_str()), &3.into()));
        let seal = json(&archive(&folder).join("seal.json"));
        assert_eq!(seal["lost"][0]["run"], id.as_str());
    }
}

#[test]
fn a_run_is_named_too_when_other_runs_stay_left() {
    let (folder, first) = begun("verb-lost-only");
    change(&first);
    collect(&folder, &["--resume", "--only", "002*"], &[]).expect(5).complains(&["stdout.log was changed"]);
    assert_eq!(runs(&folder).len(), 2);
}

#[test]
fn a_sealed_archive_that_was_changed_is_not_called_complete() {
    let (folder, first) = begun("verb-lost-sealed");
    collect(&folder, &["--resume"], &[]).expect(0);
    verifies(&folder);
    fs::write(first.join("more.txt"), "x").unwrap();
    let ending = collect(&folder, &["--resume"], &[]).expect(5);
    ending.complains(&["was changed after the campaign had been closed", "more.txt was added", "move what was added"]);
    // Moved away, it is complete again.
    fs::remove_file(first.join("more.txt")).unwrap();
    collect(&folder, &["--resume"], &[]).expect(0).complains(&["complete and sealed"]);
    verifies(&folder);
}

#[test]
fn a_campaign_file_that_was_changed_is_named_as_the_cause() {
    let (folder, _) = begun("verb-lost-campaign");
    let path = archive(&folder).join("campaign.json");
    let text = fs::read_to_string(&path).unwrap();
    let changed = |old: &str, new: &str| {
        assert!(text.contains(old));
        fs::write(&path, text.replace(old, new)).unwrap();
    };
    // Its plan is another one now. The suite is not to blame, and nobody can say which plan the runs were of.
    changed("r02\"", "r07\"");
    for more in [&["--resume"][..], &["--resume", "--accept-loss"]] {
        collect(&folder, more, &[]).expect(5).complains(&["campaign.json' was changed", "another SHA-256"]);
    }
    // Its plan is the same. The owner may go on, and the change is on record.
    changed("\"name\": \"scene\"", "\"name\": \"stage\"");
    collect(&folder, &["--resume"], &[]).expect(5).complains(&["campaign.json' was changed", "--accept-loss"]);
    collect(&folder, &["--resume", "--accept-loss"], &[]).expect(0).complains(&["sealed with 1 loss on record"]);
    let verified = run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
    assert!(verified.out.starts_with(&format!("{:<13}  campaign.json", "lost")), "{}", verified.out);
    fs::remove_file(&path).unwrap();
    collect(&folder, &["--resume"], &[]).expect(5).complains(&["has lost its campaign.json", "restore the file"]);
}

#[test]
fn a_loss_is_accepted_only_together_with_resume() {
    let folder = Folder::new("verb-lost-usage");
    folder.put("suite.toml", format!("{}{SHORT}{LENIENT}", head(1)));
    collect(&folder, &["--accept-loss"], &[]).expect(2).complains(&["--resume"]);
    // Where nothing is lost it changes nothing.
    collect(&folder, &["--resume", "--accept-loss"], &[]).expect(0).complains(&["complete and sealed"]);
    verifies(&folder);
}

/// A run that was measured again looks like any other. So whoever reads the verdicts is told first.
#[cfg(feature = "analyse")]
#[test]
fn the_analysis_says_what_is_lost() {
    let (folder, first) = begun("verb-lost-site");
    fs::remove_dir_all(&first).unwrap();
    collect(&folder, &["--resume", "--accept-loss"], &[]).expect(0);
    let arguments = ["analyse", "archive", "--site", "site", "--resamples", "999"];
    let ending = run_in(folder.path(), &arguments, &[]).expect(0);
    ending.complains(&["a loss is on record in journal.jsonl: runs/001-", "the folder is missing"]);
}
