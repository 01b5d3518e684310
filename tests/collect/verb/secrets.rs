//! No secret and no name reaches an archive, wherever it was put in and wherever a program put it out.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use super::scene::{LENIENT, archive, campaign, collect, head, runs, verifies};
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::roots;

const TOKEN: &str = "hf_ThisIsNoTokenOfAnyone0123456789";
const KEY: &str = "sk-proj-NoKeyOfAnyone1234567890";
const IN_SUITE: &str = "sh0uldNeverBeWritten";
const IN_COMMAND: &str = "Comm4ndLineSecret";
const IN_CONTAINER: &str = "k3yOfTheContainer99";
const HOST: &str = "sparkly-lab-7";
const USER: &str = "wilhelmina";

/// Puts out what it knows in every way: as text, as an object, in a binary file, in the name of a file.
const LEAK: &str = "#!/bin/sh
echo \"token $HF_TOKEN key $OPENAI_API_KEY suite $SUITE_SECRET container $MY_API_KEY\"
echo \"Namespace(api_key='$2', user='$USER') on $(cat /proc/sys/kernel/hostname)\"
echo \"cannot reach https://$USER:$HF_TOKEN@example.org\" >&2
echo \"{\\\"args\\\": [\\\"$2\\\", \\\"$OPENAI_API_KEY\\\"]}\" > \"$WORK/args.json\"
printf 'bin\\0\\1\\2%s\\0%s\\0end' \"$HF_TOKEN\" \"$2\" > \"$WORK/blob.bin\"
echo x > \"$WORK/for-$SUITE_SECRET.txt\"
sleep 0.2
echo ttft_ms=12.5
";

fn put_suite(folder: &Folder, roots: &roots::Roots) {
    folder.put("leak.sh", LEAK);
    let environments = roots
        .environments
        .replace(
            "[environments.native]\n",
            "[environments.native]\ninherit = [\"PATH\", \"HF_TOKEN\", \"OPENAI_API_KEY\", \"USER\"]\n",
        )
        .replace(
            "[environments.docker]\n",
            &format!("[environments.docker]\nenv = {{ MY_API_KEY = \"{IN_CONTAINER}\" }}\n"),
        );
    folder.put(
        "suite.toml",
        format!(
            "{}{environments}[workloads.job]\nkind = \"command\"\n\
             command = [\"/bin/sh\", \"{{work}}/leak.sh\", \"--api-key\", \"{IN_COMMAND}\"]\nassets = [\"leak.sh\"]\n\
             env = {{ WORK = \"{{work}}\", SUITE_SECRET = \"{IN_SUITE}\" }}\n\
             reports = [{{ path = \"stdout\", parser = \"lines\" }}]\nexpected_s = 0.2\n{LENIENT}",
            head(2)
        ),
    );
}

/// Collects on a host of another name, as a user of another name. The name of the host is the kernel's, in a namespace of its own.
fn collect_elsewhere(folder: &Folder, into: &str) -> String {
    let output = Command::new("unshare")
        .args(["--uts", "/bin/sh", "-c", &format!("echo {HOST} > /proc/sys/kernel/hostname; exec \"$0\" \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_sparkbench"))
        .args(["collect", "suite.toml", "--archive", into, "--verbose"])
        .current_dir(folder.path())
        .env("HF_TOKEN", TOKEN)
        .env("OPENAI_API_KEY", KEY)
        .env("USER", USER)
        .stdin(Stdio::null())
        .output()
        .expect("unshare starts");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{talk}");
    talk
}

#[test]
fn no_secret_and_no_name_is_anywhere_in_an_archive() {
    let folder = Folder::new("secrets");
    let roots = roots::make(folder.path());
    if !roots.labels.contains(&"chroot") {
        // The same want has been told, and judged, by `roots`.
        return;
    }
    put_suite(&folder, &roots);
    let talk = collect_elsewhere(&folder, "archive");
    verifies(&folder);
    nothing_of_it(&archive(&folder));
    let runs = runs(&folder);
    assert_eq!(runs.len(), 2 * roots.labels.len());
    for (id, run) in &runs {
        assert!(
            run["masked"]["key"].as_u64() > Some(0) && run["masked"]["secret"].as_u64() > Some(0),
            "{id}: {}",
            run["masked"]
        );
        assert_eq!(run["variables"]["SUITE_SECRET"], "<masked:secret>", "{id}");
        assert_eq!(run["command"][3], "<masked:key>", "{id}");
    }
    assert!(campaign(&folder)["masked"]["key"].as_u64() > Some(0), "{}", campaign(&folder)["masked"]);
    for words in [
        &format!("host name '{HOST}' becomes host-")[..],
        &format!("user name '{USER}' becomes user-"),
        "values of HF_TOKEN, OPENAI_API_KEY are masked",
        "values of MY_API_KEY are masked",
        "values of SUITE_SECRET are masked",
        "values of --api-key are masked",
    ] {
        assert!(talk.contains(words), "'{words}' is not in:\n{talk}");
    }
    for secret in [TOKEN, KEY, IN_SUITE, IN_COMMAND, IN_CONTAINER] {
        assert!(!talk.contains(secret), "the talk tells a secret:\n{talk}");
    }
    // One machine keeps its pseudonyms from archive to archive: they hang on its machine-id.
    let names = pseudonyms(&archive(&folder));
    assert_eq!(names.len(), 2, "one host and one user: {names:?}");
    if std::fs::read_to_string("/etc/machine-id").is_ok_and(|id| !id.trim().is_empty()) {
        collect_elsewhere(&folder, "again");
        assert_eq!(pseudonyms(&folder.path().join("again")), names);
    }
}

#[test]
fn a_packed_file_is_named_in_the_record_of_its_run_and_on_the_terminal() {
    let folder = Folder::new("secrets-packed");
    folder.put(
        "suite.toml",
        format!(
            "{}[environments.native]\n[workloads.job]\nkind = \"command\"\n\
             command = [\"/bin/sh\", \"-c\", 'printf \"\\037\\213\\010\\000x\" > \"$WORK/trace.json.gz\"; echo ttft_ms=12.5']\n\
             env = {{ WORK = \"{{work}}\" }}\nreports = [{{ path = \"stdout\", parser = \"lines\" }}]\nexpected_s = 0.1\n{LENIENT}",
            head(1)
        ),
    );
    let ending = collect(&folder, &[], &[]).expect(0);
    ending.complains(&["1 packed file was not searched for secrets"]);
    for (id, run) in &runs(&folder) {
        let packed = run["not_searched"].as_array().unwrap_or_else(|| panic!("{id}: {run}"));
        assert_eq!(packed.len(), 1, "{id}");
        assert_eq!(packed[0]["form"], "gzip", "{id}");
        assert!(packed[0]["path"].as_str().is_some_and(|path| path.ends_with("trace.json.gz")), "{id}: {packed:?}");
    }
    verifies(&folder);
}

/// Every byte of every file, and every name of a file.
fn nothing_of_it(archive: &Path) {
    for (name, bytes) in files_below(archive) {
        for word in [TOKEN, KEY, IN_SUITE, IN_COMMAND, IN_CONTAINER, HOST, USER] {
            assert!(!name.contains(word), "{word} in the name {name}");
            let found = bytes.windows(word.len()).position(|window| window.eq_ignore_ascii_case(word.as_bytes()));
            if let Some(at) = found {
                let near = &bytes[at.saturating_sub(60)..(at + word.len() + 20).min(bytes.len())];
                panic!("{word} in {name} at byte {at}: {}", String::from_utf8_lossy(near));
            }
        }
    }
}

/// Pseudonyms that the runs of `native` printed.
fn pseudonyms(archive: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (name, bytes) in files_below(archive) {
        if name.contains("native") && name.ends_with("stdout.log") {
            let text = String::from_utf8(bytes).unwrap();
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
            names
                .extend(words.filter(|word| word.starts_with("host-") || word.starts_with("user-")).map(str::to_owned));
        }
    }
    names
}
