//! The real machine answers as itself.
#![cfg(all(feature = "collect", target_os = "linux"))]

#[path = "support/machine.rs"]
mod machine;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use machine::{fair_start, finished, machine, skip};
use sparkbench::host::Host as _;

#[test]
fn clocks_go_on_and_a_wait_ends_in_time_or_by_an_interrupt() {
    fair_start();
    let host = machine();
    let (monotonic, utc) = (host.monotonic(), host.utc());
    host.pause(Duration::from_millis(120));
    let (passed, wall) = (host.monotonic() - monotonic, host.utc().0 - utc.0);
    assert!((120..5000).contains(&passed.as_millis()), "{passed:?}");
    assert!((wall - passed.as_millis() as i64).abs() < 1000, "{wall} ms on the wall, {passed:?}");
    let before = host.thread_cpu();
    let mut sum = 0_u64;
    while host.thread_cpu() - before < Duration::from_millis(5) {
        sum = std::hint::black_box(sum + 1);
    }
    // In the same test, because an interrupt is one for everybody in a process.
    an_interrupt_cuts_a_wait_short_and_stays_known(&host);
}

#[test]
fn the_machine_knows_itself() {
    let host = machine();
    assert!(host.read(Path::new("/proc/meminfo")).unwrap().contains("MemAvailable"));
    assert!(host.list(Path::new("/proc")).unwrap().contains(&"self".to_owned()));
    assert!(host.link(Path::new("/proc/self")).unwrap().to_string_lossy().parse::<u32>().is_ok());
    assert!(host.exists(Path::new("/proc/self/status")) && !host.exists(Path::new("/no/such/thing")));
    assert!(host.disk_free(&std::env::temp_dir()).unwrap() > 0);
    assert!(host.disk_free(Path::new("/no/such/thing")).is_err());
    assert_eq!(host.variables().get("PATH"), host.variable("PATH").as_ref());
    assert!(host.own_program().unwrap().ends_with("sparkbench"));
}

fn an_interrupt_cuts_a_wait_short_and_stays_known(host: &impl sparkbench::host::Host) {
    let killer = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(100));
        let own = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args(["-HUP", &own]).status().unwrap().success());
    });
    let before = Instant::now();
    host.pause(Duration::from_secs(600));
    assert!(before.elapsed() < Duration::from_secs(60));
    assert!(host.interrupted());
    let before = Instant::now();
    host.pause(Duration::from_secs(600));
    assert!(before.elapsed() < Duration::from_secs(60), "once is enough");
    killer.join().unwrap();
}

#[test]
fn what_we_were_started_to_ignore_stays_ignored_and_sigterm_is_always_heard() {
    let own = std::env::current_exe().unwrap();
    let script = "trap '' HUP INT TERM; exec \"$0\" --ignored --exact a_machine_under_nohup";
    let mut command = std::process::Command::new("/bin/sh");
    let status = command.args(["-c", script]).arg(own).env("HOST_MACHINE_NOHUP", "1").stdout(Stdio::null());
    assert!(finished(status.spawn().unwrap()).status.success());
}

#[test]
#[ignore = "started by another test"]
fn a_machine_under_nohup() {
    if std::env::var_os("HOST_MACHINE_NOHUP").is_none() {
        return;
    }
    let host = machine();
    let signal = |name: &str| {
        let own = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args([name, &own]).status().unwrap().success());
        host.pause(Duration::from_millis(200));
        host.interrupted()
    };
    assert!(!signal("-HUP") && !signal("-INT"));
    assert!(signal("-TERM"));
}

#[test]
fn the_kernel_is_heard_from_now_on() {
    let host = machine();
    let mut log = match host.kernel_log() {
        Ok(log) => log,
        Err(cause) => return skip(&format!("the kernel's log may not be read: {cause}")),
    };
    assert_eq!(log.next_line(Duration::ZERO).unwrap(), None, "nothing from before");
    if !host.is_root() {
        return skip("only root can make the kernel say something");
    }
    // What a program writes is not the kernel's word.
    if std::fs::write("/dev/kmsg", "<3>sparkbench test: not the kernel").is_err() {
        return skip("the kernel's log may not be written");
    }
    // The kernel says why it refuses a mount with an option that does not exist, and mounts nothing.
    let option = format!("sparkbench_{}", std::process::id());
    let target = std::env::temp_dir().join(&option);
    std::fs::create_dir(&target).unwrap();
    let refused =
        nix::mount::mount(Some("none"), &target, Some("tmpfs"), nix::mount::MsFlags::empty(), Some(option.as_str()));
    assert_eq!(refused, Err(nix::errno::Errno::EINVAL));
    std::fs::remove_dir(&target).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if let Some(line) = log.next_line(Duration::from_millis(200)).unwrap() {
            assert!(!line.contains("not the kernel"), "{line}");
            if line.contains(&option) {
                return;
            }
        }
    }
    panic!("the kernel said nothing");
}
