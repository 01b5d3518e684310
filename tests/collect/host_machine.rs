//! The real machine answers as itself.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::path::Path;
use std::time::Duration;

use crate::support::again;
use crate::support::folder::Folder;
use crate::support::limit::fair_start;
use crate::support::machine::machine;
use crate::support::needs::skip;
use crate::support::tree::unique;
use crate::support::wait::{let_pass, until};
use sparkbench::host::Host as _;

#[test]
fn clocks_go_on_and_a_wait_lasts_as_long_as_asked() {
    fair_start();
    let host = machine();
    let (utc, monotonic) = (host.utc(), host.monotonic());
    host.pause(Duration::from_millis(120));
    let passed = host.monotonic() - monotonic;
    let wall = host.utc().0 - utc.0;
    assert!(passed >= Duration::from_millis(120), "{passed:?}");
    // The wall's clock was read around the other one, in whole milliseconds.
    assert!(wall + 1 >= passed.as_millis() as i64, "{wall} ms on the wall, {passed:?}");
    let before = host.thread_cpu();
    let mut sum = 0_u64;
    while host.thread_cpu() - before < Duration::from_millis(5) {
        sum = std::hint::black_box(sum + 1);
    }
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

/// An interrupt is one for everybody in a process.
#[test]
fn an_interrupt_cuts_a_wait_short_and_stays_known() {
    again::alone(module_path!(), "an_interrupt_cuts_a_wait_short");
}

#[test]
#[ignore = "started by another test"]
fn an_interrupt_cuts_a_wait_short() {
    if !again::is_inside() {
        return;
    }
    let host = machine();
    let killer = std::thread::spawn(|| {
        // Most likely into the wait. What is asserted holds before it too.
        let_pass(Duration::from_millis(100));
        let own = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args(["-HUP", &own]).status().unwrap().success());
    });
    // Whoever waits to the end of it is killed by the test outside.
    let day = Duration::from_secs(86_400);
    host.pause(day);
    assert!(host.interrupted());
    // Once is enough.
    host.pause(day);
    assert!(host.interrupted());
    killer.join().unwrap();
}

#[test]
fn what_we_were_started_to_ignore_stays_ignored_and_sigterm_is_always_heard() {
    // The shell passes on what it ignores.
    let inner = again::command(module_path!(), "a_machine_under_nohup");
    let mut deaf = std::process::Command::new("/bin/sh");
    deaf.args(["-c", "trap '' HUP INT TERM; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    deaf.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    again::passes(deaf);
}

#[test]
#[ignore = "started by another test"]
fn a_machine_under_nohup() {
    if !again::is_inside() {
        return;
    }
    let host = machine();
    let signal = |name: &str| {
        let own = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args([name, &own]).status().unwrap().success());
    };
    signal("-HUP");
    signal("-INT");
    host.pause(Duration::from_millis(200));
    assert!(!host.interrupted());
    signal("-TERM");
    until("SIGTERM is heard", || host.interrupted());
}

#[test]
fn the_kernel_is_heard_from_now_on() {
    let host = machine();
    if let Err(cause) = host.kernel_log() {
        return skip(&format!("the kernel's log may not be read: {cause}"));
    }
    if !host.is_root() {
        return skip("only root can make the kernel say something");
    }
    // The kernel says why it refuses a mount with an option that does not exist, and mounts nothing.
    let folder = Folder::new("kernel-log");
    let refused = |option: &str| {
        let flags = nix::mount::MsFlags::empty();
        let mounted = nix::mount::mount(Some("none"), folder.path(), Some("tmpfs"), flags, Some(option));
        assert_eq!(mounted, Err(nix::errno::Errno::EINVAL));
    };
    let (before, after) = (format!("sparkbench_{}_before", unique()), format!("sparkbench_{}_after", unique()));
    refused(&before);
    let mut log = host.kernel_log().unwrap();
    // What a program writes is not the kernel's word.
    if std::fs::write("/dev/kmsg", "<3>sparkbench test: not the kernel").is_err() {
        return skip("the kernel's log may not be written");
    }
    refused(&after);
    // Others make the kernel speak meanwhile. It is heard in the order in which it spoke.
    until("the kernel says that it refused the mount", || {
        let line = log.next_line(Duration::from_millis(200)).unwrap().unwrap_or_default();
        assert!(!line.contains(&before), "nothing from before: {line}");
        assert!(!line.contains("not the kernel"), "{line}");
        line.contains(&after)
    });
}
