//! Flags of systemd-nspawn as a person wrote them: which of them are forbidden.
//!
//! In:  the list `flags`.  Out: faults.
//! Not here: what a flag does. Everything that is not named here goes to nspawn unchanged.

use sparkbench_plan::Reader;

/// Takes the list. A forbidden entry is a fault.
pub(super) fn read(settings: &mut Reader<'_>) -> Vec<String> {
    let flags = settings.texts("flags");
    for flag in &flags {
        if let Some((what, remedy)) = unfit(flag) {
            settings.fault("flags", format!("holds \"{flag}\", {what}"), remedy);
        }
    }
    flags
}

/// Flags that are ours, or that would take from a run what it needs: names, why not, what to do.
const UNFIT: &[(&[&str], &str, &str)] = &[
    (
        &["-D", "--directory", "-i", "--image", "--template", "--oci-bundle"],
        "which names another root",
        "name the root with the key `root`",
    ),
    (&["-M", "--machine", "--hostname"], "which sparkbench sets, so that leftovers are found", "leave it out"),
    (
        &[
            "--console",
            "-P",
            "--pipe",
            "-q",
            "--quiet",
            "--kill-signal",
            "-a",
            "--as-pid2",
            "--register",
            "--keep-unit",
        ],
        "which sparkbench sets itself",
        "leave it out",
    ),
    (
        &["-b", "--boot", "-n", "--network-veth", "--network-zone"],
        "which is for booting a whole system",
        "leave it out",
    ),
    (
        &["-x", "--ephemeral", "--volatile"],
        "which runs on a copy that a crash leaves behind",
        "keep a root for measuring only",
    ),
    (&["-U", "--private-users-chown"], "which changes the owners of the root's files", "leave it out"),
    (&["--chdir"], "which has a key of its own", "use the key `cwd`"),
    (&["-E", "--setenv"], "which has a key of its own", "use the table `env`"),
    (&["--"], "which would end the flags", "leave it out"),
];

/// Why a flag is forbidden in a suite, and what to do.
fn unfit(flag: &str) -> Option<(&'static str, &'static str)> {
    if !flag.starts_with('-') {
        return Some((
            "which does not begin with - and would be taken for the program",
            "write a flag and its value as one entry: --flag=value",
        ));
    }
    let name = flag.split('=').next().unwrap_or(flag);
    UNFIT
        .iter()
        .find(|(names, _, _)| {
            names.iter().any(|unfit| {
                // A short one may have its value behind it: -Mname.
                name == *unfit
                    || (unfit.len() == 2 && *unfit != "--" && !flag.starts_with("--") && flag.starts_with(unfit))
            })
        })
        .map(|(_, what, remedy)| (*what, *remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_would_take_the_run_from_us_are_faults() {
        for flag in [
            "-D",
            "--directory=/x",
            "-Dx",
            "--ephemeral",
            "-x",
            "--boot",
            "-U",
            "--machine=x",
            "-Mx",
            "--",
            "word",
            "--setenv=A=1",
        ] {
            assert!(unfit(flag).is_some(), "{flag}");
        }
        for flag in [
            "--private-network",
            "--capability=CAP_SYS_NICE",
            "--property=MemoryMax=8G",
            "--system-call-filter=@all",
            "--cpu-affinity=0",
        ] {
            assert!(unfit(flag).is_none(), "{flag}");
        }
    }
}
