//! The inventory as a whole: a machine built like a DGX Spark, and this machine.

use super::*;
use sparkbench_host::gpu::{GpuIdentity, open};
use sparkbench_host::machine::Machine;
use sparkbench_host::replay::Replay;

/// Published figures of a DGX Spark. See the README of the fixtures.
fn spark() -> Replay {
    let mut host = Replay::new()
        .file("/sys/class/dmi/id/product_name", "NVIDIA_DGX_Spark\n")
        .file("/sys/class/dmi/id/sys_vendor", "NVIDIA\n")
        .file("/sys/class/dmi/id/board_name", "P4242\n")
        .file("/sys/class/dmi/id/bios_version", "5.36_0ACUM018\n")
        .file("/etc/os-release", "PRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\nVERSION_ID=\"24.04\"\n")
        .file("/etc/dgx-release", "DGX_NAME=\"DGX Spark\"\nDGX_OTA_VERSION=\"7.3.1\"\nDGX_SERIAL_NUMBER=\"123\"\n")
        .file("/proc/sys/kernel/osrelease", "6.11.0-1016-nvidia\n")
        .file("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=UUID=1-2 ro quiet rd.luks.uuid=7 init_on_alloc=0\n")
        .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
        .file("/proc/swaps", "Filename Type Size Used Priority\n/dev/nvme0n1p3 partition 16777212 0 -2\n/dev/zram0 partition 1024 0 100\n")
        .file("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-19\n")
        .file("/sys/devices/system/cpu/vulnerabilities/spectre_v2", "Not affected\n");
    for id in 0..20 {
        let fast = (5..10).contains(&id) || (15..20).contains(&id);
        let (khz, midr) =
            if fast { ("3900000\n", "0x00000000410fd851\n") } else { ("2808000\n", "0x00000000410fd871\n") };
        let folder = format!("/sys/devices/system/cpu/cpu{id}");
        host = host
            .file(format!("{folder}/cpufreq/cpuinfo_max_freq"), khz)
            .file(format!("{folder}/cpufreq/scaling_governor"), "performance\n")
            .file(format!("{folder}/cpufreq/scaling_driver"), "cppc_cpufreq\n")
            .file(format!("{folder}/regs/identification/midr_el1"), midr);
    }
    host
}

#[test]
fn a_spark_is_described_without_what_names_a_single_one() {
    let tree = inventory(&spark(), None);
    assert_eq!(tree["machine"]["kind"], "DGX Spark by its firmware. Its GPU could not be read");
    assert_eq!(tree["system"]["dgx_release"]["DGX_OTA_VERSION"], "7.3.1");
    assert_eq!(
        tree["system"]["cmdline"],
        "BOOT_IMAGE=[hidden] root=[hidden] ro quiet rd.luks.uuid=[hidden] init_on_alloc=0"
    );
    assert_eq!(tree["memory"]["thp_enabled"], "madvise");
    assert_eq!(tree["memory"]["swaps"][1]["kind"], "zram");
    assert_eq!(tree["processor"]["affinity"], "0-19");
    assert_eq!(tree["vulnerabilities"]["spectre_v2"], "Not affected");
    assert_eq!(tree["absent"]["gpu.all"], "no GPU can be read, the gate 'gpu-present' says why");
    assert!(tree["absent"]["software.docker"].as_str().unwrap().contains("cannot be started"));
    let text = tree.to_string();
    assert!(!text.contains("SERIAL") && !text.contains("\"123\""), "{text}");
    assert!(!text.contains("UUID=1-2") && !text.contains("nvme0n1p3"), "{text}");
}

#[test]
fn the_two_kinds_of_core_are_told_apart_by_clock_and_part_and_not_by_their_ids() {
    let tree = inventory(&spark(), None);
    let clusters = tree["processor"]["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 2);
    assert_eq!((&clusters[0]["cpus"], &clusters[0]["part"]), (&"5-9,15-19".into(), &"Cortex-X925".into()));
    assert_eq!((&clusters[1]["cpus"], &clusters[1]["max_mhz"]), (&"0-4,10-14".into(), &2808.0.into()));
    assert_eq!(clusters[1]["governor"], "performance");
}

#[test]
fn machines_are_known_by_firmware_and_gpu_together() {
    let kind = |product, gpu| machine::kind(product, gpu).map_err(|_| "unknown");
    assert_eq!(kind(Some("NVIDIA_DGX_Spark"), Some("NVIDIA GB10")), Ok("DGX Spark"));
    assert_eq!(kind(Some("Ascent GX10"), Some("NVIDIA GB10")), Ok("GB10 machine, not named DGX Spark by its firmware"));
    assert_eq!(kind(Some("PowerEdge"), Some("NVIDIA GB100")), Ok("other"));
    assert_eq!(kind(None, None), Err("unknown"));
}

#[test]
fn unified_memory_is_a_matter_of_the_part_and_not_of_the_figure_alone() {
    let of = |name: &str, memory_mib| {
        unified(&GpuIdentity { name: Some(name.to_owned()), memory_mib, ..GpuIdentity::default() }).unified
    };
    assert_eq!(of("NVIDIA GB10", None), Some(true));
    assert_eq!(of("NVIDIA N1X", Some(8128.0)), Some(true));
    assert_eq!(of("NVIDIA H200", Some(143_771.0)), Some(false));
    assert_eq!(of("NVIDIA GH200 480GB", Some(97_871.0)), Some(false));
    assert_eq!(of("NVIDIA GB100", None), None);
}

#[test]
fn a_uuid_becomes_a_stable_name_that_does_not_give_it_away() {
    let name = gpu::pseudonym("GPU-2dee1e25-b3b5-007e-2b55-79f2d0f2ebe5");
    assert_eq!(name, gpu::pseudonym("gpu-2DEE1E25-b3b5-007e-2b55-79f2d0f2ebe5 "));
    assert_eq!(name.len(), "gpu-".len() + 6);
    assert!(!name.contains("2dee1e"));
}

#[test]
fn this_machine_has_an_inventory_and_does_not_change_while_we_look() {
    let host = Machine::new().unwrap();
    let shared: std::sync::Arc<dyn Host> = std::sync::Arc::new(Machine::new().unwrap());
    let opened = open(&shared, "auto", 0, std::time::Duration::from_secs(1)).share();
    let first = inventory_with(&host, opened.as_deref(), &[PathBuf::from("/"), PathBuf::from("/proc/self")]);
    assert!(first["system"]["kernel"].is_string() && first["memory"]["total_kib"].as_u64().unwrap() > 1024);
    assert!(first["file_systems"]["/proc/self"]["kind"] == "proc", "{first}");
    assert!(!first["processor"]["clusters"].as_array().unwrap().is_empty());
    assert!(first["limits"]["max_open_files"]["soft"].is_string());
    for (name, reason) in first["absent"].as_object().unwrap() {
        assert!(!reason.as_str().unwrap().is_empty(), "{name}");
    }
    let second = inventory_with(&host, opened.as_deref(), &[PathBuf::from("/"), PathBuf::from("/proc/self")]);
    assert_eq!(changes(&first, &second), Vec::<String>::new());
}
