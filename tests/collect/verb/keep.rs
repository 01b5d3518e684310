//! What is done to the machine before a run and what is kept after it: said in `run.json`.

use super::scene::{LENIENT, archive, collect, gate, head, runs, verifies};
use crate::support::folder::Folder;
use crate::support::needs;

#[test]
fn files_that_are_not_kept_are_named_with_size_and_hash_and_reason() {
    let folder = Folder::new("keep-retention");
    folder.put(
        "leave.sh",
        "#!/bin/sh\ncd \"$1\"\nmkdir cache\necho x > cache/drop.me\necho y > kept.txt\nln -s /etc/passwd link\n\
         dd if=/dev/zero of=large.bin bs=1048576 count=2 2>/dev/null\necho ttft_ms=1\n",
    );
    folder.put(
        "suite.toml",
        format!(
            "{}[environments.native]\n[workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"{{work}}/leave.sh\", \"{{work}}\"]\n\
             assets = [\"leave.sh\"]\nreports = [{{ path = \"stdout\", parser = \"lines\" }}]\n\
             [retention]\ndrop = [\"work/cache/**\"]\nfile_max_mib = 1\n{LENIENT}",
            head(1)
        ),
    );
    collect(&folder, &[], &[]).expect(0);
    verifies(&folder);
    let run = runs(&folder).into_values().next().unwrap();
    let dropped = run["dropped"].as_array().unwrap();
    let why =
        |path: &str| dropped.iter().find(|it| it["path"] == path).map(|it| it["why"].as_str().unwrap().to_owned());
    assert!(why("work/cache/drop.me").unwrap().contains("work/cache/**"));
    assert!(why("work/large.bin").unwrap().contains("more than the 1 MiB"));
    assert!(why("work/link").is_some());
    assert_eq!(dropped.len(), 3, "{dropped:?}");
    let large = dropped.iter().find(|it| it["path"] == "work/large.bin").unwrap();
    assert_eq!(large["bytes"], 2 << 20);
    assert_eq!(large["sha256"], sparkbench::archive::hash(&vec![0; 2 << 20]));
    let work = archive(&folder).join("runs/001-native-none-job-r01/work");
    assert!(work.join("kept.txt").exists() && !work.join("large.bin").exists() && !work.join("cache").exists());
}

#[test]
fn packed_files_are_read_as_they_were_and_fit_their_hashes() {
    let read = |pack: &str| {
        let folder = Folder::new(&format!("keep-pack-{}", pack.len()));
        folder.put("say.sh", "#!/bin/sh\necho ttft_ms=1.5\necho kept > note.txt\n");
        folder.put(
            "suite.toml",
            format!(
                "{}[environments.native]\n[workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"{{work}}/say.sh\"]\n\
                 assets = [\"say.sh\"]\nreports = [{{ path = \"stdout\", parser = \"lines\" }}]\n\
                 [retention]\npack = [{pack}]\n{LENIENT}",
                head(1)
            ),
        );
        collect(&folder, &[], &[]).expect(0);
        verifies(&folder);
        let run = archive(&folder).join("runs/001-native-none-job-r01");
        let packed = (run.join("stdout.log.gz").exists(), run.join("stdout.log").exists());
        let found = sparkbench::archive::discover(&[archive(&folder)]).unwrap();
        let runs = sparkbench::ingest::all(&found, &sparkbench::ingest::Options::default()).unwrap().runs;
        let figures: Vec<_> =
            runs.iter().flat_map(|run| &run.readings).map(|it| (it.metric.clone(), it.value)).collect();
        (packed, figures)
    };
    let (plain, figures) = read("");
    let (packed, same) = read("\"*.log\", \"work/**\"");
    assert_eq!((plain, packed), ((false, true), (true, false)));
    assert!(figures.contains(&("ttft_ms".to_owned(), 1.5)), "{figures:?}");
    let of_program = |all: &[(String, f64)]| all.iter().filter(|it| it.0 == "ttft_ms").cloned().collect::<Vec<_>>();
    assert_eq!(of_program(&same), of_program(&figures));
}

/// Drops the page cache of the machine that it runs on, which slows others on it for a moment and harms nothing.
#[test]
fn a_page_cache_that_is_dropped_is_recorded_with_what_it_held() {
    if !std::fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0) {
        needs::skip("only root may drop the page cache");
        return;
    }
    let folder = Folder::new("keep-page-cache");
    let text =
        format!("{}{}{LENIENT}", head(1), super::scene::SHORT).replace("[gates]\n", "[gates]\npage_cache = \"drop\"\n");
    folder.put("suite.toml", text);
    collect(&folder, &[], &[]).expect(0);
    let run = runs(&folder).into_values().next().unwrap();
    let finding = gate(&run, "page-cache");
    assert_eq!(finding["level"], "passed", "{finding}");
    assert!(finding["reading"].as_str().unwrap().contains("GiB"), "{finding}");
    assert_eq!(finding["limit"], "dropped before each run");
    let now: serde_json::Value = run["before"]["page_cache_gib"].clone();
    assert!(now.as_f64().is_some());
}
