//! Small campaigns, made step by step with a clock that is told the time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sparkbench::archive::manifest::{CampaignWire, PlannedRun, RunWire};
use sparkbench::archive::verify::{State, Verified, verify};
use sparkbench::archive::{Extra, Identity, Mask, MaskRules, Moment, Progress, Retention, Session, Writer};
use sparkbench::error::Error;
use sparkbench::model::Instant;

/// A secret that must not be found in any archive.
pub const SECRET: &str = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345";

/// One second a look, on both clocks.
pub fn tick() -> Moment {
    static SECONDS: AtomicU64 = AtomicU64::new(0);
    let seconds = SECONDS.fetch_add(1, Ordering::SeqCst) as i64;
    Moment { utc: Instant(1_790_000_000_000 + seconds * 1000), monotonic_s: 100.0 + seconds as f64 }
}

pub fn mask() -> Mask {
    let rules = MaskRules { pseudonyms: true, ..MaskRules::default() };
    let identity = Identity {
        hosts: vec!["lab-spark-7".to_owned()],
        users: vec!["jane".to_owned()],
        homes: vec!["/home/jane".to_owned()],
        machine_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
        archive_id: "abc123".to_owned(),
    };
    let mut mask = Mask::new(&rules, &identity).unwrap();
    mask.learn(&BTreeMap::from([("SITE_PASSWORD".to_owned(), "open-sesame-please".to_owned())]));
    mask
}

pub fn session() -> Session<'static> {
    Session {
        tool: "sparkbench test".to_owned(),
        boot_id: Some("boot-1".to_owned()),
        mask: mask(),
        retention: Retention::new(&["*.bin".to_owned()], Some(1)).unwrap(),
        clock: &tick,
    }
}

/// A plan of `runs` runs, `r1` and so on.
pub fn campaign(runs: usize) -> CampaignWire {
    let plan = (1..=runs).map(|n| PlannedRun {
        id: format!("r{n}"),
        environment: "native".to_owned(),
        model: "m".to_owned(),
        workload: "w".to_owned(),
        repeat: Some(n as u32),
        ..PlannedRun::default()
    });
    CampaignWire {
        name: "test".to_owned(),
        archive_id: Some("abc123".to_owned()),
        suite: Some(format!("name = \"test\"\n# {SECRET}\n")),
        plan: plan.collect(),
        ..CampaignWire::default()
    }
}

/// What a workload leaves: logs, a folder, a link, a file that is not kept, an empty folder. Less of it where the disk is full.
pub fn leave_files(folder: &Path) {
    let left = || -> std::io::Result<()> {
        std::fs::write(folder.join("stdout.log"), format!("on lab-spark-7 with {SECRET}\nopen-sesame-please\n"))?;
        std::fs::write(folder.join("telemetry.csv"), "timestamp_utc,gpu_c\n,\n")?;
        std::fs::create_dir_all(folder.join("work/deep"))?;
        std::fs::create_dir_all(folder.join("work/empty"))?;
        std::fs::write(folder.join("work/deep/report.json"), "{\"a\": 1}")?;
        std::fs::write(folder.join("weights.bin"), "not kept")?;
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/hostname", folder.join("work/link"))?;
        Ok(())
    };
    match left() {
        Err(cause) if cause.kind() == std::io::ErrorKind::StorageFull => {}
        left => left.unwrap(),
    }
}

pub fn run_wire() -> RunWire {
    RunWire {
        environment: "native".to_owned(),
        model: "m".to_owned(),
        workload: "w".to_owned(),
        command: vec!["bench".to_owned(), "--api-key".to_owned(), "s3cr3t-of-mine".to_owned()],
        exit_code: Some(0),
        ..RunWire::default()
    }
}

pub fn probe() -> Extra {
    Extra::Probe { environment: "native".to_owned(), workload: "w".to_owned() }
}

pub fn prepared() -> Extra {
    Extra::Prepared { workload: "w".to_owned(), model: "m".to_owned() }
}

/// Makes everything that is not yet made, from wherever the campaign stands. `fail` names runs that fail.
pub fn go_on(writer: &mut Writer<'_>, plan: &CampaignWire, fail: &[&str]) -> Result<(), Error> {
    for extra in [probe(), prepared()] {
        if writer.extra(&extra).is_none() {
            leave_files(&writer.begin_extra(&extra)?);
            writer.finish_extra(&extra)?;
        }
    }
    let left: Vec<String> = writer.progress().left(&plan.plan).into_iter().map(|run| run.id.clone()).collect();
    for id in left {
        leave_files(&writer.begin(&id)?);
        let failure = fail.contains(&id.as_str()).then(|| format!("exit status 1 on lab-spark-7 after {SECRET}"));
        writer.finish(&id, RunWire { failure, ..run_wire() })?;
    }
    writer.close(&mut |_, _| {})
}

/// Takes a campaign up, sets aside what was left, makes the rest.
pub fn resume_and_end(folder: &Path) -> Result<Progress, Error> {
    let (mut writer, plan, progress) = Writer::resume(folder, session(), false, &mut |_, _| {})?;
    if !progress.closed {
        writer.settle()?;
        go_on(&mut writer, &plan, &[])?;
    }
    Ok(writer.progress().clone())
}

/// A complete campaign with everything an archive can hold.
pub fn complete(folder: &Path) -> PathBuf {
    let path = folder.join("archive");
    let mut writer = Writer::create(&path, campaign(3), session()).unwrap();
    leave_files(&writer.begin("r1").unwrap());
    writer.interrupt("r1", "someone asked").unwrap();
    go_on(&mut writer, &campaign(3), &["r2"]).unwrap();
    path
}

pub fn look(folder: &Path) -> Verified {
    verify(folder, &[], &mut |_, _| {}).unwrap()
}

/// Demands a sealed archive without flaws.
#[track_caller]
pub fn expect_sealed(folder: &Path) -> Verified {
    let verified = look(folder);
    assert_eq!(verified.flaws, [], "in {}", folder.display());
    assert_eq!(verified.state, State::Sealed);
    verified
}

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
