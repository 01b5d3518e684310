//! A workload that leaves files with odd names, from its assets to the pages: nothing is lost, and every verb shows the names.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use super::scene::{LENIENT, archive, collect, head, runs, verifies};
#[cfg(feature = "analyse")]
use crate::support::files::files_below;
use crate::support::folder::Folder;
#[cfg(feature = "analyse")]
use crate::support::program::FEW;
use crate::support::program::run_in;

/// Leaves names that are no text, one that is spelled like them, one with a line end in a folder, a link and a pipe.
const LEAVE: &str = "#!/bin/sh\nset -e\ncd \"$1\"\n\
    echo one > \"$(printf 'Gr\\366\\337e.log')\"\necho two > 'Gr\\xF6\\xDFe.log'\n\
    mkdir \"$(printf 'f\\377')\"\necho three > \"$(printf 'f\\377/in\\nside')\"\n\
    ln -s \"$(printf 'to\\366')\" \"$(printf 'link\\366')\"\nmkfifo \"$(printf 'pipe\\376')\"\n\
    test -f \"$(printf 'tools/t\\366ol.py')\"\necho ttft_ms=1.5\n";

fn scene(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.put("leave.sh", LEAVE);
    let tool = folder.put("tools/plain.py", "print(1)\n");
    fs::write(tool.with_file_name(OsStr::from_bytes(b"t\xf6ol.py")), "print(2)\n").unwrap();
    folder.put(
        "suite.toml",
        format!(
            "{}[environments.native]\n[workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"{{work}}/leave.sh\", \"{{work}}\"]\n\
             assets = [\"leave.sh\", \"tools\"]\nreports = [{{ path = \"stdout\", parser = \"lines\" }}]\n{LENIENT}",
            head(1)
        ),
    );
    folder
}

#[test]
fn a_run_that_leaves_names_which_are_no_text_is_archived_whole() {
    let folder = scene("verb-names");
    collect(&folder, &[], &[]).expect(0);
    verifies(&folder);
    let (id, run) = runs(&folder).into_iter().next().unwrap();
    assert_eq!((&run["schema"], &run["failure"]), (&json!("sparkbench.run/2"), &Value::Null));
    let listed = |list: &str, path: Value| run[list].as_array().unwrap().iter().any(|file| file["path"] == path);
    let coded = |bytes: &str| json!({ "name_bytes": bytes });
    // work/Gr\xf6\xdfe.log, work/f\xff/in\nside, work/tools/t\xf6ol.py
    for bytes in ["d29yay9HcvbfZS5sb2c=", "d29yay9m/y9pbgpzaWRl", "d29yay90b29scy909m9sLnB5"] {
        assert!(listed("files", coded(bytes)), "{bytes} is not in {}", run["files"]);
    }
    assert!(listed("files", "work/Gr\\xF6\\xDFe.log".into()), "what is text stays a string");
    // work/link\xf6, work/pipe\xfe
    for bytes in ["d29yay9saW5r9g==", "d29yay9waXBl/g=="] {
        assert!(listed("dropped", coded(bytes)), "{bytes} is not in {}", run["dropped"]);
    }
    let work = archive(&folder).join("runs").join(id).join("work");
    assert_eq!(fs::read(work.join(OsStr::from_bytes(b"Gr\xf6\xdfe.log"))).unwrap(), b"one\n");
    // A byte of it is changed: the finding names the file as people can read it.
    fs::write(work.join(OsStr::from_bytes(b"f\xff/in\nside")), "other").unwrap();
    let ending = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
    assert!(ending.out.contains("work/f\\xFF/in\\x0Aside"), "{}", ending.out);
}

#[cfg(feature = "analyse")]
#[test]
fn every_verb_that_reads_shows_names_which_are_no_text() {
    let folder = scene("verb-names-site");
    collect(&folder, &[], &[]).expect(0);
    run_in(folder.path(), &["status", "archive"], &[]).expect(0);
    let listed = run_in(folder.path(), &["inspect", "archive", "--json"], &[]).out;
    assert!(listed.contains("Gr\\\\xF6\\\\xDFe.log"), "{listed}");
    let arguments = ["analyse", "archive", "--site", "site", FEW[0], FEW[1]];
    run_in(folder.path(), &arguments, &[]).expect(0);
    run_in(folder.path(), &["verify", "site", "--archive", "archive"], &[]).expect(0);
    let site = files_below(&folder.path().join("site"));
    let analysis: Value = serde_json::from_slice(&site["data/analysis.json"]).unwrap();
    let inputs: Vec<&Value> = analysis["inputs"].as_array().unwrap().iter().collect();
    let alike: Vec<&&Value> = inputs
        .iter()
        // The second of two names that look alike has a number before its ending.
        .filter(|input| input["path"].as_str().is_some_and(|path| path.contains("work/Gr\\xF6\\xDFe")))
        .collect();
    assert_eq!(alike.len(), 2, "both files are there: {inputs:?}");
    assert_eq!(alike.iter().filter(|input| input["name_bytes"].is_string()).count(), 1, "{alike:?}");
    let shown = site
        .iter()
        .any(|(path, bytes)| path.ends_with(".html") && String::from_utf8_lossy(bytes).contains("Gr\\xF6\\xDFe.log"));
    assert!(shown, "a page names the file");
}
