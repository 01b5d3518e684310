//! Which rank this process is, as its launcher says.
//!
//! In:  variables of the environment, options as typed.  Out: [`Place`].
//! Not here: talking to the other ranks.
//!
//! Sources of the names: Open MPI 4.1, "Environment variables". PMI-1 (MPICH, Hydra). Slurm, srun(1), "OUTPUT ENVIRONMENT VARIABLES".
//! Kubernetes, "Indexed Job".

use crate::settings::Share;
use sparkbench_host::meet::Secret;
use sparkbench_text::error::Error;

/// Variable that says where rank 0 listens.
pub const MEET: &str = "SPARKBENCH_MEET";
/// Variable that holds what only the ranks of one job know.
pub const TOKEN: &str = "SPARKBENCH_TOKEN";
/// Variable that says how many ranks there are, where the launcher does not.
pub const WORLD: &str = "SPARKBENCH_WORLD";
/// A secret that Open MPI draws for each job and gives to its processes alone.
const OPEN_MPI_KEY: &str = "OMPI_MCA_orte_precondition_transports";
/// Ports that rank 0 listens at where none is given: below those that systems give out by themselves.
const PORTS: (u16, u16) = (20_000, 10_000);

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The part of the plan.
    pub share: Share,
    /// Who started it.
    pub launcher: &'static str,
    /// Whether all ranks are known to be on this machine.
    pub together: bool,
}

/// A launcher: its name, the variables of rank, size, and size on this machine.
type Launcher = (&'static str, &'static str, &'static [&'static str], Option<&'static str>);

const LAUNCHERS: &[Launcher] = &[
    ("Open MPI", "OMPI_COMM_WORLD_RANK", &["OMPI_COMM_WORLD_SIZE"], Some("OMPI_COMM_WORLD_LOCAL_SIZE")),
    ("PMI", "PMI_RANK", &["PMI_SIZE"], Some("MPI_LOCALNRANKS")),
    ("PMIx", "PMIX_RANK", &["PMIX_SIZE", WORLD], None),
    ("Kubernetes", "JOB_COMPLETION_INDEX", &[WORLD], None),
];

impl Place {
    /// From the environment. Nothing where this process is alone.
    ///
    /// # Errors
    /// A usage error when there is a rank and no size, or the rank is beyond it.
    pub fn find(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, Error> {
        let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
        let mut found = slurm(variable);
        for (launcher, rank, sizes, here) in LAUNCHERS {
            let Some(rank_there) = found.is_none().then(|| number(rank)).flatten() else { continue };
            let Some(world) = sizes.iter().find_map(|size| number(size)) else {
                return Err(Error::usage(format!(
                    "{rank} says that this is rank {rank_there}, and nothing says of how many"
                ))
                .hint(format!("export {WORLD}=N, give --rank and --world, or --world 1 for a load of its own")));
            };
            let together = here.and_then(number) == Some(world);
            found = Some(Self { share: Share { rank: rank_there, world }, launcher, together });
        }
        match found {
            Some(place) if place.share.rank >= place.share.world => Err(Error::usage(format!(
                "{} says that this is rank {} of {}",
                place.launcher, place.share.rank, place.share.world
            ))
            .hint("give --rank and --world, or --world 1 for a load of its own")),
            found => Ok(found.filter(|place| place.share.world > 1)),
        }
    }
}

/// A task of a job step. A batch script has the number of a task too, but it has no step and is no task.
fn slurm(variable: &dyn Fn(&str) -> Option<String>) -> Option<Place> {
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
    number("SLURM_STEP_ID")?;
    let rank = number("SLURM_PROCID")?;
    let world = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"))?;
    let nodes = number("SLURM_STEP_NUM_NODES").or_else(|| number("SLURM_NNODES"));
    Some(Place { share: Share { rank, world }, launcher: "Slurm", together: nodes == Some(1) })
}

/// The shared secret of the ranks.
///
/// # Errors
/// A usage error when nothing of the kind is there.
pub fn secret(variable: &dyn Fn(&str) -> Option<String>) -> Result<Secret, Error> {
    let there = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
    there(TOKEN).or_else(|| there(OPEN_MPI_KEY)).map(|text| Secret::new(text.trim())).ok_or_else(|| {
        Error::usage("the ranks of one load need a secret token").hint(format!(
            "export {TOKEN}=$(openssl rand -hex 16) before the launcher starts. mpirun passes it on with -x {TOKEN}"
        ))
    })
}

/// Host and port of rank 0.
///
/// # Errors
/// A usage error when nothing says on which machine it is.
pub fn meeting(
    typed: Option<&str>,
    place: &Place,
    secret: &Secret,
    variable: &dyn Fn(&str) -> Option<String>,
    first_node: &dyn Fn(&str) -> Option<String>,
) -> Result<(String, u16), Error> {
    let given = typed.map(str::to_owned).or_else(|| variable(MEET));
    let nodes = || variable("SLURM_STEP_NODELIST").or_else(|| variable("SLURM_JOB_NODELIST"));
    let host = match given.filter(|text| !text.trim().is_empty()) {
        Some(text) => text.trim().to_owned(),
        None if place.together => "127.0.0.1".to_owned(),
        None => nodes().and_then(|nodes| first_node(&nodes)).ok_or_else(|| {
            Error::usage(format!("{} does not say on which machine rank 0 runs", place.launcher))
                .hint(format!("give its address on the link that the ranks use: --meet HOST, or {MEET}=HOST"))
        })?,
    };
    let drawn = PORTS.0 + u16::try_from(secret.number("port of rank 0") % u64::from(PORTS.1)).unwrap_or(0);
    // A number in brackets, or one with several colons, is an address of version 6.
    let bare = |host: &str| host.trim_start_matches('[').trim_end_matches(']').to_owned();
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            let port = port.parse().map_err(|_| {
                Error::usage(format!("'{host}' is not an address of rank 0"))
                    .hint("write --meet HOST or --meet HOST:PORT")
            })?;
            Ok((bare(name), port))
        }
        _ => Ok((bare(&host), drawn)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pairs: &[(&str, &str)]) -> Result<Option<Place>, Error> {
        Place::find(&of(pairs))
    }

    fn of<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn every_launcher_says_its_rank() {
        let place = |pairs: &[(&str, &str)]| {
            find(pairs).unwrap().map(|place| (place.share.rank, place.share.world, place.together))
        };
        let mpi = ("OMPI_COMM_WORLD_RANK", "3");
        assert_eq!(
            place(&[mpi, ("OMPI_COMM_WORLD_SIZE", "8"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "8")]),
            Some((3, 8, true))
        );
        assert_eq!(
            place(&[mpi, ("OMPI_COMM_WORLD_SIZE", "8"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "4")]),
            Some((3, 8, false))
        );
        assert_eq!(place(&[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), Some((1, 2, false)));
        assert_eq!(place(&[("PMIX_RANK", "1"), (WORLD, "2")]), Some((1, 2, false)));
        assert_eq!(place(&[("JOB_COMPLETION_INDEX", "1"), (WORLD, "4")]), Some((1, 4, false)));
        let step =
            [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "5"), ("SLURM_STEP_NUM_TASKS", "6"), ("SLURM_NTASKS", "9")];
        assert_eq!(place(&step), Some((5, 6, false)));
        assert_eq!(place(&[]), None);
    }

    #[test]
    fn a_batch_script_and_a_job_of_one_are_alone() {
        assert_eq!(find(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]).unwrap(), None);
        assert_eq!(find(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]).unwrap(), None);
    }

    #[test]
    fn a_rank_without_a_size_or_beyond_it_is_refused() {
        assert!(find(&[("JOB_COMPLETION_INDEX", "1")]).unwrap_err().to_string().contains("nothing says of how many"));
        assert!(find(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]).unwrap_err().to_string().contains("rank 2 of 2"));
    }

    #[test]
    fn rank_0_is_found_by_name_by_the_list_of_nodes_or_on_this_machine() {
        let secret = Secret::new("s");
        let place = |together| Place { share: Share { rank: 0, world: 2 }, launcher: "Slurm", together };
        let at = |typed, together, pairs: &[(&str, &str)]| {
            meeting(typed, &place(together), &secret, &of(pairs), &|_| Some("n1".to_owned()))
        };
        assert_eq!(at(Some("spark-a:7000"), false, &[]).unwrap(), ("spark-a".to_owned(), 7000));
        assert_eq!(at(Some("[fe80::1]:7000"), false, &[]).unwrap(), ("fe80::1".to_owned(), 7000));
        assert_eq!(at(Some("fe80::1"), false, &[]).unwrap().0, "fe80::1");
        assert_eq!(at(None, false, &[(MEET, "10.0.0.1")]).unwrap().0, "10.0.0.1");
        assert_eq!(at(None, true, &[]).unwrap().0, "127.0.0.1");
        assert_eq!(at(None, false, &[("SLURM_STEP_NODELIST", "n[1-2]")]).unwrap().0, "n1");
        assert!(at(None, false, &[]).unwrap_err().to_string().contains("--meet"));
        assert!(at(Some("h:x"), false, &[]).is_err());
        let (_, port) = at(Some("h"), false, &[]).unwrap();
        assert!((20_000..30_000).contains(&port));
        let other = meeting(Some("h"), &place(false), &Secret::new("t"), &of(&[]), &|_| None).unwrap().1;
        assert_ne!(port, other);
    }

    #[test]
    fn the_token_is_that_of_the_user_or_of_the_launcher() {
        assert!(secret(&of(&[])).unwrap_err().to_string().contains(TOKEN));
        assert!(secret(&of(&[(TOKEN, " ")])).is_err());
        let number = |pairs: &[(&str, &str)]| secret(&of(pairs)).unwrap().number("x");
        assert_eq!(number(&[(TOKEN, "a"), (OPEN_MPI_KEY, "b")]), number(&[(TOKEN, "a")]));
        assert_ne!(number(&[(OPEN_MPI_KEY, "b")]), number(&[(TOKEN, "a")]));
    }
}
