//! The command lines that start a process on each further machine.
//!
//! In:  a launcher, machines, where the head listens.  Out: [`Command`]s.
//! Not here: running them (see `host::remote`).
//!
//! None of them holds the token: every user of a machine can read those. `ssh` gets it on standard input, `mpirun` and `srun` pass on
//! the variable.
//!
//! Sources: mpirun(1) of Open MPI 4.1 (`-H`, `--map-by ppr`, `-x`). Srun(1) (`--nodelist`, `--overlap`, `--export`).

use crate::run::nodes::Entry;
use sparkbench_host::net::SocketAddr;
use sparkbench_load::ranks::place::TOKEN;
use sparkbench_plan::suite::{Launcher, Nodes};

/// One command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Machines that it starts a process on, for messages.
    pub machines: String,
    /// Whether the token goes to its standard input. Otherwise it is in its environment.
    pub token_by_input: bool,
}

/// For all machines but the head, in the order of the list.
pub(super) fn commands(nodes: &Nodes, others: &[Entry], head: SocketAddr) -> Vec<Command> {
    let count = others.len();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let join = |more: &[String]| {
        let mut argv = vec![nodes.program.clone()];
        argv.extend(words(&["node", "--join", &head.to_string(), "--world", &(count + 1).to_string()]));
        argv.extend_from_slice(more);
        argv
    };
    let all = || others.iter().map(|entry| entry.host.as_str()).collect::<Vec<_>>();
    match nodes.launcher {
        Launcher::Ssh => (1..)
            .zip(others)
            .map(|(rank, entry): (u32, &Entry)| {
                let mut argv = nodes.ssh.clone();
                argv.push(entry.host.clone());
                argv.extend(join(&["--rank".to_owned(), rank.to_string()]));
                Command { argv, machines: entry.host.clone(), token_by_input: true }
            })
            .collect(),
        Launcher::Mpirun => {
            let hosts: Vec<String> = all().iter().map(|host| format!("{host}:1")).collect();
            let mut argv = words(&["mpirun"]);
            argv.extend_from_slice(&nodes.launcher_args);
            argv.extend(words(&[
                "-n",
                &count.to_string(),
                "-H",
                &hosts.join(","),
                "--map-by",
                "ppr:1:node",
                "-x",
                TOKEN,
            ]));
            argv.extend(join(&[]));
            vec![Command { argv, machines: all().join(", "), token_by_input: false }]
        }
        Launcher::Srun => {
            let mut argv = words(&["srun"]);
            argv.extend_from_slice(&nodes.launcher_args);
            let count = count.to_string();
            argv.extend(words(&["--overlap", "--export=ALL", "-N", &count, "-n", &count, "--ntasks-per-node=1"]));
            argv.push(format!("--nodelist={}", all().join(",")));
            argv.extend(join(&[]));
            vec![Command { argv, machines: all().join(", "), token_by_input: false }]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::nodes::list;

    fn of(launcher: Launcher) -> Vec<String> {
        let nodes = Nodes {
            launcher,
            program: "sparkbench".into(),
            ssh: vec!["ssh".into()],
            launcher_args: if launcher == Launcher::Ssh { Vec::new() } else { vec!["--quiet".into()] },
            ..Nodes::default()
        };
        let head = "10.0.0.1:7000".parse().unwrap();
        let made = commands(&nodes, &list::names("b,c"), head);
        assert!(made.iter().all(|command| command.token_by_input == (launcher == Launcher::Ssh)));
        made.iter().map(|command| command.argv.join(" ")).collect()
    }

    #[test]
    fn each_launcher_starts_one_process_a_machine() {
        assert_eq!(
            of(Launcher::Ssh),
            [
                "ssh b sparkbench node --join 10.0.0.1:7000 --world 3 --rank 1",
                "ssh c sparkbench node --join 10.0.0.1:7000 --world 3 --rank 2",
            ]
        );
        assert_eq!(
            of(Launcher::Mpirun),
            [
                "mpirun --quiet -n 2 -H b:1,c:1 --map-by ppr:1:node -x SPARKBENCH_TOKEN sparkbench node --join 10.0.0.1:7000 --world 3"
            ]
        );
        assert_eq!(
            of(Launcher::Srun),
            [
                "srun --quiet --overlap --export=ALL -N 2 -n 2 --ntasks-per-node=1 --nodelist=b,c sparkbench node --join 10.0.0.1:7000 --world 3"
            ]
        );
    }
}
