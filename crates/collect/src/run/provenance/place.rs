//! Surroundings of the machine: its clock against the world's, its network, and the file systems that hold what is measured.
//!
//! In:  a host, paths.  Out: the groups `time`, `network`, `file_systems`.
//! Not here: names and addresses of the network, which point at one machine.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::sheet::{Sheet, file, number, says};
use sparkbench_archive as archive;
use sparkbench_host::Host;

/// Fills the groups.
pub(super) fn read(host: &dyn Host, paths: &[PathBuf], sheet: &mut Sheet) {
    time(host, sheet);
    network(host, sheet);
    if !paths.is_empty() {
        for (path, value) in paths.iter().zip(file_systems(host, paths)) {
            let missing = || format!("no mount holds '{}'", archive::shown(path));
            sheet.put("file_systems", &archive::shown(path), value.ok_or_else(missing));
        }
    }
}

fn time(host: &dyn Host, sheet: &mut Sheet) {
    let chrony = says(host, &["chronyc", "-n", "tracking"]).and_then(|text| chrony_offset(&text));
    let synchronised =
        says(host, &["timedatectl", "show", "--property=NTPSynchronized", "--value"]).map(|word| word == "yes");
    if let (Err(_), Ok(_)) = (&chrony, &synchronised) {
        sheet.put("time", "source", Ok("timedatectl"));
    } else if chrony.is_ok() {
        sheet.put("time", "source", Ok("chronyc"));
    }
    sheet.put("time", "ntp_offset_s", chrony);
    sheet.put("time", "ntp_synchronised", synchronised);
}

/// `System time     : 0.000012345 seconds slow of NTP time`: positive when our clock is ahead.
fn chrony_offset(text: &str) -> Result<f64, String> {
    let unlike = || "'chronyc tracking' gives no system time".to_owned();
    let line = text.lines().find(|line| line.starts_with("System time")).ok_or_else(unlike)?;
    let mut words = line.split_once(':').ok_or_else(unlike)?.1.split_whitespace();
    let seconds: f64 = words.next().and_then(|word| word.parse().ok()).ok_or_else(unlike)?;
    match words.nth(1) {
        Some("fast") => Ok(seconds),
        Some("slow") => Ok(-seconds),
        _ => Err(unlike()),
    }
}

fn network(host: &dyn Host, sheet: &mut Sheet) {
    const NET: &str = "/sys/class/net";
    const HCA: &str = "/sys/class/infiniband";
    match host.list(Path::new(NET)) {
        Ok(names) => {
            // Without a device behind it, it is a bridge, a tunnel or the loop.
            for name in names.iter().filter(|name| host.exists(Path::new(&format!("{NET}/{name}/device")))) {
                sheet.put("network", name, Ok(interface(host, &format!("{NET}/{name}"))));
            }
        }
        Err(cause) => sheet.put::<Value>("network", "interfaces", Err(format!("'{NET}' cannot be read: {cause}"))),
    }
    match host.list(Path::new(HCA)) {
        Ok(names) => {
            for name in names {
                sheet.put("network", &name, Ok(adapter(host, &format!("{HCA}/{name}"))));
            }
        }
        Err(_) => sheet.put::<Value>("network", "rdma", Err("there is no RDMA adapter".to_owned())),
    }
}

fn interface(host: &dyn Host, folder: &str) -> Value {
    let driver = host.link(Path::new(&format!("{folder}/device/driver"))).ok();
    json!({
        "mtu": number(host, &format!("{folder}/mtu")).ok(),
        // -1 on a link that is down.
        "speed_mbit_s": number(host, &format!("{folder}/speed")).ok().filter(|speed| *speed > 0.0),
        "state": file(host, &format!("{folder}/operstate")).ok(),
        "driver": driver.and_then(|driver| Some(driver.file_name()?.to_string_lossy().into_owned())),
    })
}

fn adapter(host: &dyn Host, folder: &str) -> Value {
    let ports = host.list(Path::new(&format!("{folder}/ports"))).unwrap_or_default();
    let port = |port: &String| {
        let text = |name: &str| file(host, &format!("{folder}/ports/{port}/{name}")).ok();
        (port.clone(), json!({ "state": text("state"), "rate": text("rate"), "link_layer": text("link_layer") }))
    };
    let ports: Map<String, Value> = ports.iter().map(port).collect();
    json!({ "firmware": file(host, &format!("{folder}/fw_ver")).ok(), "ports": ports })
}

/// For each path the file system that holds it: kind, options, and whether it is another machine's. Nothing for a path without a mount.
pub fn file_systems(host: &dyn Host, paths: &[PathBuf]) -> Vec<Option<Value>> {
    let text = host.read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    paths.iter().map(|path| mount_of(&text, path)).collect()
}

/// The last mount of the longest mount point above the path. Later mounts cover earlier ones.
fn mount_of(text: &str, path: &Path) -> Option<Value> {
    let mut best: Option<(usize, Value)> = None;
    for line in text.lines() {
        let Some((head, tail)) = line.split_once(" - ") else { continue };
        let mut head = head.split(' ').skip(4);
        let (Some(point), Some(options)) = (head.next(), head.next()) else { continue };
        let mut tail = tail.split(' ');
        let (kind, source, superblock) = (tail.next()?, tail.next()?, tail.next().unwrap_or_default());
        let point = unescaped(point);
        let depth = Path::new(&point).components().count();
        if path.starts_with(&point) && best.as_ref().is_none_or(|(best, _)| depth >= *best) {
            let remote = source.contains(":/") || source.starts_with("//");
            best = Some((
                depth,
                json!({ "kind": kind, "options": options, "superblock": shown(superblock), "remote": remote }),
            ));
        }
    }
    best.map(|(_, value)| value)
}

/// Options without paths and addresses of this machine (layers of an overlay, servers of a share).
fn shown(options: &str) -> String {
    let hide = |option: &str| match option.split_once('=') {
        Some((key, value)) if value.contains('/') || key.contains("addr") || key.contains("user") => {
            format!("{key}=[hidden]")
        }
        _ => option.to_owned(),
    };
    options.split(',').map(hide).collect::<Vec<_>>().join(",")
}

/// Blanks stand as `\040` in the kernel's tables.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_point_holds_a_path_and_later_mounts_cover_earlier_ones() {
        let text = "22 1 8:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n\
            30 22 0:40 / /models rw,noatime - nfs4 server:/export rw,vers=4.2,addr=10.0.0.5\n\
            31 22 0:41 / /modelsx rw - tmpfs tmpfs rw\n\
            32 22 0:42 / /a\\040b rw - overlay overlay rw,lowerdir=/x:/y,index=off\n\
            33 22 0:43 / / ro - xfs /dev/sda rw\nnonsense\n";
        let kind = |path: &str| mount_of(text, Path::new(path)).unwrap();
        assert_eq!(kind("/models/llama")["kind"], "nfs4");
        assert_eq!(
            (&kind("/models")["remote"], &kind("/models")["superblock"]),
            (&json!(true), &json!("rw,vers=4.2,addr=[hidden]"))
        );
        assert_eq!(kind("/a b/c")["superblock"], "rw,lowerdir=[hidden],index=off");
        assert_eq!(kind("/home")["kind"], "xfs");
        assert_eq!(mount_of("", Path::new("/home")), None);
    }

    #[test]
    fn the_clock_s_offset_has_a_sign() {
        let line = |word: &str| format!("Reference ID : 1\nSystem time     : 0.000012500 seconds {word} of NTP time\n");
        assert_eq!((chrony_offset(&line("slow")), chrony_offset(&line("fast"))), (Ok(-0.0000125), Ok(0.0000125)));
        assert!(chrony_offset(&line("off")).is_err() && chrony_offset("506 Cannot talk to daemon").is_err());
    }
}
