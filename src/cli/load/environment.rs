//! Where the server of a load by hand runs, as far as it can be seen from here.
//!
//! In:  a host, an address.  Out: the label of the environment in the archive.
//! Not here: what somebody says of it (`--environment`).

use std::path::Path;

use sparkbench_host::Host;
use sparkbench_load::target::Target;

/// A process of this machine, in no container that the client is not in itself.
const NATIVE: &str = "native";
/// Whatever runs it, the server is in a container.
pub(super) const CONTAINER: &str = "container";
/// On another machine.
const REMOTE: &str = "remote";
/// On this machine, and the process behind the port belongs to somebody else, or the port is forwarded.
const NOT_SEEN: &str = "not-seen";

/// Programs that hold a port for a container.
const FORWARDERS: &[&str] = &["docker-proxy", "rootlessport", "slirp4netns", "pasta", "pasta.avx2", "containers-root"];
/// Parts of the control group of a process in a container.
const GROUPS: &[&str] = &["docker", "libpod", "containerd", "kubepods", "machine.slice", "lxc"];
/// A socket that listens, as the kernel writes it.
const LISTENS: &str = "0A";

/// The label of it.
pub(super) fn label(host: &dyn Host, target: &Target) -> &'static str {
    if !target.is_here() {
        return REMOTE;
    }
    let Some(process) = listener(host, target.port()) else { return NOT_SEEN };
    let read = |name: &str| host.read(&Path::new("/proc").join(&process).join(name)).unwrap_or_default();
    let (program, group) = (read("comm"), read("cgroup"));
    // A client in the same container as its server sees no other machine than that container.
    let ours = host.read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let contained = group != ours && GROUPS.iter().any(|part| group.contains(part));
    if contained || FORWARDERS.contains(&program.trim()) { CONTAINER } else { NATIVE }
}

/// The process that listens at a port of this machine.
fn listener(host: &dyn Host, port: u16) -> Option<String> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|table| host.read(Path::new(table)).ok())
        .flat_map(|table| table.lines().filter_map(|line| socket(line, port)).collect::<Vec<_>>())
        .collect();
    let holds = |process: &String| {
        let folder = Path::new("/proc").join(process).join("fd");
        let opened = host.list(&folder).unwrap_or_default();
        opened.iter().any(|number| {
            let link = host.link(&folder.join(number)).unwrap_or_default();
            sockets.iter().any(|socket| link.as_os_str() == socket.as_str())
        })
    };
    let is_process = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    host.list(Path::new("/proc")).ok()?.into_iter().filter(is_process).find(holds)
}

/// `socket:[4711]` of a line of the kernel's table that listens at the port.
fn socket(line: &str, port: u16) -> Option<String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let at = u16::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
    (at == port && fields.get(3) == Some(&LISTENS)).then(|| format!("socket:[{}]", fields.get(9).unwrap_or(&"")))
}

#[cfg(test)]
mod tests {
    use sparkbench_host::replay::Replay;

    use super::{Target, label};

    /// A machine on which process 7 listens at port 8000.
    fn machine(program: &str, group: &str) -> Replay {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0\n   \
                     1: 0100007F:1F40 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0\n";
        Replay::new()
            .file("/proc/net/tcp", table)
            .file("/proc/self/cgroup", "0::/user.slice/session-1.scope\n")
            .file("/proc/3/fd/4", "")
            .with_link("/proc/3/fd/4", "socket:[4712]")
            .file("/proc/7/comm", program)
            .file("/proc/7/cgroup", group)
            .file("/proc/7/fd/5", "")
            .with_link("/proc/7/fd/5", "socket:[4711]")
    }

    #[test]
    fn a_server_in_a_container_is_not_native() {
        let here = |host: &Replay, url: &str| label(host, &Target::parse(url).unwrap());
        let own = "0::/user.slice/session-1.scope\n";
        let docker = "0::/system.slice/docker-0123.scope\n";
        for (program, group, seen) in [
            ("vllm\n", own, "native"),
            ("vllm\n", "0::/system.slice/vllm.service\n", "native"),
            ("vllm\n", docker, "container"),
            ("docker-proxy\n", "0::/system.slice/docker.service\n", "container"),
            ("vllm\n", "0::/machine.slice/libpod-9.scope\n", "container"),
        ] {
            assert_eq!(here(&machine(program, group), "http://localhost:8000"), seen, "{program}{group}");
        }
        assert_eq!(here(&machine("vllm\n", own), "http://localhost:8001"), "not-seen");
        assert_eq!(here(&machine("vllm\n", own), "http://spark.lan:8000"), "remote");
        let together = machine("vllm\n", docker).file("/proc/self/cgroup", docker);
        assert_eq!(here(&together, "http://localhost:8000"), "native", "the client is in that container too");
    }
}
