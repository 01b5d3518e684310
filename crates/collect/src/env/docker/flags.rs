//! Container flags as typed: which of them are forbidden, and what the others set.
//!
//! In:  the list `flags`.  Out: faults, and single values.
//! Not here: what a flag does. Everything that is not named here goes to the engine unchanged.

use sparkbench_plan::Reader;

/// Flags that are ours, or that would take from a run what the archive needs: names, why not, what to do.
const UNFIT: &[(&[&str], &str, &str)] = &[
    (&["--name", "--cidfile"], "sparkbench sets it, so that leftovers are found", "leave it out"),
    (
        &["--rm"],
        "the container would be gone before it could be examined",
        "leave it out: sparkbench removes the container once it is archived",
    ),
    (
        &["-d", "--detach", "-a", "--attach", "--sig-proxy", "--detach-keys"],
        "sparkbench attaches to the container itself",
        "leave it out",
    ),
    (
        &["-t", "--tty"],
        "a terminal mixes the program's output with its errors, and many programs print differently on one",
        "leave it out",
    ),
    (&["-i", "--interactive"], "a run has no input, and a program that reads would wait forever", "leave it out"),
    (&["--entrypoint"], "it decides what runs", "use the key `entrypoint`: \"clear\" or \"keep\""),
    (&["--pull"], "an image fetched between two runs may be another one", "pull the image before the campaign"),
    (&["--"], "it would end the flags", "leave it out"),
];

/// Stands in a flag for the place of the model's weights, so that a mount follows the model.
pub(super) const MODEL_PATH: &str = "{model.path}";

/// Short flags that stand for a switch, which may be written together: `-it`.
const SWITCHES: &str = "ditP";

/// Takes the list. A forbidden entry is a fault.
pub(super) fn read(settings: &mut Reader<'_>) -> Vec<String> {
    let flags = settings.texts("flags");
    let mut after_flag = false;
    for flag in &flags {
        if let Some((what, remedy)) = fault(flag, after_flag) {
            settings.fault("flags", format!("holds \"{flag}\": {what}"), remedy);
        }
        // A word may follow a flag that has no value of its own yet.
        after_flag = flag.starts_with('-') && !flag.contains('=');
    }
    for restart in values(&flags, "--restart") {
        if restart != "no" {
            let what = format!("restarts the container (\"{restart}\"): a run would be measured more than once");
            settings.fault("flags", what, "leave --restart out");
        }
    }
    for label in values(&flags, "--label").into_iter().chain(values(&flags, "-l")) {
        if label.starts_with("sparkbench.") {
            settings.fault(
                "flags",
                format!("sets the label \"{label}\""),
                "labels that begin with sparkbench. are ours",
            );
        }
    }
    if switch(&flags, "--read-only") && settings.text("work").as_deref() != Some("mount") {
        settings.fault(
            "flags",
            "makes the container read-only, so no file can be copied into it",
            "set work = \"mount\": the run's own folder is then mounted",
        );
    }
    flags
}

/// Why an entry is forbidden.
fn fault(flag: &str, after_flag: bool) -> Option<(&'static str, &'static str)> {
    if !flag.starts_with('-') {
        let lone = "it begins with no - and follows no flag, so it would be taken for the image";
        return (!after_flag).then_some((lone, "write a flag and its value as \"--flag=value\", or as two entries"));
    }
    let name = flag.split('=').next().unwrap_or(flag);
    if name.contains(char::is_whitespace) {
        return Some(("a blank does not part a flag from its value here", "write \"--flag=value\", or two entries"));
    }
    let together =
        name.len() > 2 && !name.starts_with("--") && name[1..].chars().all(|letter| SWITCHES.contains(letter));
    UNFIT
        .iter()
        .find(|(names, _, _)| {
            names.contains(&name)
                || (together
                    && names.iter().any(|unfit| unfit.len() == 2 && *unfit != "--" && name.contains(&unfit[1..])))
        })
        .map(|(_, what, remedy)| (*what, *remedy))
}

/// Values of a flag, written as `--flag=value` or as two entries.
pub(super) fn values<'a>(flags: &'a [String], name: &str) -> Vec<&'a str> {
    let mut values = Vec::new();
    for (at, flag) in flags.iter().enumerate() {
        if flag == name {
            values.extend(flags.get(at + 1).map(String::as_str));
        } else if let Some(value) = flag.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            values.push(value);
        }
    }
    values
}

/// Whether a switch is set.
pub(super) fn switch(flags: &[String], name: &str) -> bool {
    flags.iter().any(|flag| flag == name || flag.strip_prefix(name) == Some("=true"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_plan::{Faults, Settings};

    fn faults(text: &str) -> Vec<String> {
        let mut faults = Faults::default();
        let settings =
            Settings::from_toml("environments.d", 1, toml::de::DeTable::parse(text).unwrap().get_ref(), text);
        let mut reader = settings.reader(&mut faults);
        read(&mut reader);
        reader.ignore(&["work"]);
        reader.finish();
        faults.sorted().into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn flags_that_would_take_the_run_from_us_are_faults() {
        for flag in [
            "'--rm'",
            "'-d'",
            "'--detach'",
            "'-it'",
            "'-t'",
            "'--tty=true'",
            "'--name=x'",
            "'--name', 'x'",
            "'--cidfile', 'f'",
            "'--entrypoint', 'sh'",
            "'--pull=always'",
            "'--restart=always'",
            "'--restart', 'on-failure'",
            "'image'",
            "'--gpus all'",
            "'-l=sparkbench.run=1'",
            "'--label', 'sparkbench.run=1'",
            "'--read-only'",
            "'--'",
            "'--ipc=host', 'host'",
        ] {
            assert_eq!(faults(&format!("flags = [{flag}]")).len(), 1, "{flag}");
        }
    }

    #[test]
    fn every_other_flag_goes_to_the_engine_as_it_stands() {
        for flags in [
            "'--gpus', 'all', '--ipc=host', '--network', 'host', '--ulimit', 'memlock=-1', '--ulimit=stack=67108864'",
            "'-v', '/models:/models:ro', '-e', 'A=b c', '--cpuset-cpus=0-9', '--privileged', '--cgroup-parent=x', '-m', '8g'",
            "'--restart=no', '--label', 'a=b', '--init', '-u', '1000', '--device', 'nvidia.com/gpu=all', '-P'",
        ] {
            assert_eq!(faults(&format!("flags = [{flags}]")), Vec::<String>::new());
        }
        assert_eq!(faults("flags = ['--read-only']\nwork = 'mount'"), Vec::<String>::new());
    }

    #[test]
    fn a_flags_value_stands_behind_it_or_after_it() {
        let flags: Vec<String> =
            ["--ipc=host", "--ulimit", "a", "--ulimit=b", "--ipcs=x", "--init"].map(str::to_owned).to_vec();
        assert_eq!(values(&flags, "--ipc"), ["host"]);
        assert_eq!(values(&flags, "--ulimit"), ["a", "b"]);
        assert!(values(&flags, "--gpus").is_empty());
        assert!(switch(&flags, "--init") && !switch(&flags, "--privileged"));
    }
}
