//! The first stage of a program: a process of ours that starts in the program's environment and then becomes the program.
//!
//! In:  the job, on standard input, which is a socket to the guard.  Out: steps on that socket, then the program itself under the same pid.
//! Not here: watching over it.
//!
//! A separate stage keeps the guard on the machine's own root, where the programs that end a container are.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{chdir, setsid};

use super::messages::{MadeInside, Refusal, Step};
use super::root;
use crate::{Job, MARKER, signals, time};

/// Becomes the program. Returns only when that is impossible. The guard has been told why.
pub fn enter() -> Result<(), sparkbench_text::error::Error> {
    let socket = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let mut guard = socket.map_err(|cause| Refusal::new("standard input cannot be used", cause).error())?;
    let Err(refusal) = become_program(&mut guard);
    // A guard that is gone needs no word.
    let _ = tell(&mut guard, &Step::Failed(refusal.clone()));
    Err(refusal.error())
}

fn become_program(guard: &mut UnixStream) -> Result<std::convert::Infallible, Refusal> {
    let job = receive(guard)?;
    // The guard's death must not leave the program running alone. The rest of its tree carries the marker.
    prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(|cause| Refusal::new("cannot tie the program to its guard", cause))?;
    setsid().map_err(|cause| Refusal::new("cannot leave the terminal", cause))?;
    // Before the root is entered: there may be none inside.
    let nothing = File::open("/dev/null").map_err(|cause| Refusal::new("cannot open '/dev/null'", cause))?;
    if let Some(root) = &job.root {
        let mut lost = None;
        root::enter(root, |made| {
            lost = tell(guard, &Step::Made(MadeInside { paths: made.to_vec() })).err().or(lost.take());
        })?;
        if let Some(cause) = lost {
            return Err(Refusal::new("the guard is gone", cause));
        }
    }
    if let Some(cwd) = &job.cwd {
        chdir(cwd).map_err(|cause| {
            Refusal::new(format!("cannot work in '{}'{}", cwd.display(), within(&job)), cause)
                .hint("make the folder, or name another as the working folder")
        })?;
    }
    let name = job.argv.first().map_or("", String::as_str);
    let program = root::program(name, job.env.get("PATH").map(String::as_str)).map_err(|mut refusal| {
        refusal.what.push_str(&within(&job));
        refusal.hint("check the spelling, the environment's PATH, and that the program is installed there")
    })?;
    let mut command = Command::new(&program);
    command.arg0(name).args(job.argv.iter().skip(1)).env_clear().envs(&job.env);
    if !job.marker.is_empty() {
        command.env(MARKER, &job.marker);
    }
    command.stdin(Stdio::from(nothing));
    // A program must not inherit the ignored signals of the collector's starter.
    signals::restore(&[]);
    let (monotonic_s, utc_ms) = (time::monotonic().as_secs_f64(), time::utc().0);
    tell(guard, &Step::Ready { monotonic_s, utc_ms }).map_err(|cause| Refusal::new("the guard is gone", cause))?;
    Err(refused(&program, &job, &command.exec()))
}

fn receive(guard: &UnixStream) -> Result<Job, Refusal> {
    let mut line = String::new();
    BufReader::new(guard).read_line(&mut line).map_err(|cause| Refusal::new("no job came from the guard", cause))?;
    serde_json::from_str(&line).map_err(|cause| Refusal::new("the job cannot be read", cause))
}

fn tell(guard: &mut UnixStream, step: &Step) -> io::Result<()> {
    let mut line = serde_json::to_string(step).map_err(io::Error::other)?;
    line.push('\n');
    guard.write_all(line.as_bytes())
}

/// ` inside '/srv/root'`, or nothing.
fn within(job: &Job) -> String {
    job.root.as_ref().map_or_else(String::new, |root| format!(" inside '{}'", root.path.display()))
}

fn refused(program: &Path, job: &Job, cause: &io::Error) -> Refusal {
    let refusal = Refusal::new(format!("cannot start '{}'{}", program.display(), within(job)), cause);
    match cause.kind() {
        // It was there a moment ago: what is missing is what it needs.
        io::ErrorKind::NotFound => refusal.hint("its interpreter (first line) or dynamic loader is missing there"),
        io::ErrorKind::PermissionDenied => refusal.hint("make it executable, and its file system not 'noexec'"),
        _ if cause.raw_os_error() == Some(nix::errno::Errno::ENOEXEC as i32) => {
            refusal.hint("it is for another machine, or a script whose first line does not name its interpreter")
        }
        _ => refusal,
    }
}

/// Opens a file for what the program prints, empty.
pub(super) fn output(path: &Path) -> Result<File, Refusal> {
    let open = || {
        // Appending: what is written through a second opening of /dev/stdout does not overwrite what was there.
        let file = File::options().create(true).append(true).open(path)?;
        if file.metadata()?.len() > 0 {
            file.set_len(0)?;
        }
        Ok(file)
    };
    open().map_err(|cause: io::Error| Refusal::new(format!("cannot write '{}'", path.display()), cause))
}
