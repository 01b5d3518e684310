//! Meanings of the driver's errors: known ways in which a GPU is lost.
//!
//! In:  a message of NVML, of nvidia-smi or of a program.  Out: its meaning and its remedy.
//! Not here: reading the GPU.
//!
//! Sources: nvidia-container-toolkit issues 48 and 1227 (a reload of systemd cuts a running container off). NVML API reference,
//! `nvmlReturn_t`. The texts of nvidia-smi itself and of the crate `nvml-wrapper` 0.12.

/// Words of the message, in lower case. What it means. What to do.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "driver/library version mismatch",
        "the loaded kernel module and the driver's library are of different versions",
        "reboot, or unload and load the nvidia modules: the driver was updated while it was loaded",
    ),
    (
        "couldn't communicate with the nvidia driver",
        "the kernel module is not loaded",
        "run modprobe nvidia, and look for its error with 'dmesg | grep NVRM'",
    ),
    (
        "driver not loaded",
        "the kernel module is not loaded",
        "run modprobe nvidia, and look for its error with 'dmesg | grep NVRM'",
    ),
    (
        "driver is not loaded",
        "the kernel module is not loaded",
        "run modprobe nvidia, and look for its error with 'dmesg | grep NVRM'",
    ),
    (
        "failed to initialize nvml: unknown error",
        "the device nodes of the GPU cannot be reached. In a container, a 'systemctl daemon-reload' on the host removes them",
        "start the container again, or give it the device nodes by name (--device nvidia.com/gpu=all). Run the collector on the host",
    ),
    (
        "insufficient permissions",
        "this user may not open the device nodes",
        "check /dev/nvidia* and the group of this user",
    ),
    (
        "unable to determine the device handle",
        "the GPU has stopped answering, often after 'fallen off the bus' (Xid 79)",
        "look for NVRM and Xid lines with 'dmesg', then cut the power, wait a minute, and start again",
    ),
    (
        "gpu is lost",
        "the GPU has fallen off the bus or stopped answering",
        "look for NVRM and Xid lines with 'dmesg', then cut the power, wait a minute, and start again",
    ),
    (
        "fallen off the bus",
        "the GPU has fallen off the bus",
        "look for NVRM and Xid lines with 'dmesg', then cut the power, wait a minute, and start again",
    ),
    (
        "fell off the bus",
        "the GPU has fallen off the bus",
        "look for NVRM and Xid lines with 'dmesg', then cut the power, wait a minute, and start again",
    ),
    (
        "blocked by the operating system",
        "the control group of this process may not use the GPU. A 'systemctl daemon-reload' does this to running containers",
        "start the container again, or give it the device nodes by name (--device nvidia.com/gpu=all). Run the collector on the host",
    ),
    (
        "does not have permission",
        "this user may not open the device nodes",
        "check /dev/nvidia* and the group of this user",
    ),
    (
        "requires a reset",
        "the GPU waits for a reset",
        "run nvidia-smi --gpu-reset as root while nothing uses the GPU, or reboot",
    ),
    (
        "gpu requires reset",
        "the GPU waits for a reset",
        "run nvidia-smi --gpu-reset as root while nothing uses the GPU, or reboot",
    ),
    (
        "no devices were found",
        "the driver is loaded but finds no GPU",
        "check 'lspci | grep -i nvidia' and 'dmesg | grep NVRM'. In a container, pass the device in",
    ),
    (
        "failed to initialize nvml",
        "the driver's library cannot be started",
        "run nvidia-smi by hand and follow its message",
    ),
];

/// Meaning and remedy of a message, when it is one of the known ones. The most specific is asked first.
pub(crate) fn classify(message: &str) -> Option<(&'static str, &'static str)> {
    let message = message.to_lowercase();
    KNOWN.iter().find(|(words, ..)| message.contains(words)).map(|(_, meaning, remedy)| (*meaning, *remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_of_the_driver_is_named_by_its_most_specific_words() {
        let cases = [
            ("Failed to initialize NVML: Unknown Error", "device nodes"),
            ("Failed to initialize NVML: Driver/library version mismatch", "different versions"),
            ("Failed to initialize NVML: Insufficient Permissions", "may not open"),
            ("Failed to initialize NVML: N/A", "cannot be started"),
            ("Unable to determine the device handle for GPU0000:2B:00.0: Unknown Error", "stopped answering"),
            (
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is \
                 installed and running.",
                "kernel module is not loaded",
            ),
            ("No devices were found", "finds no GPU"),
            ("device fell off the bus or has otherwise become inacessible", "fallen off the bus"),
            ("device control has been blocked by the operating system/cgroups", "control group"),
        ];
        for (message, meaning) in cases {
            let (found, remedy) = classify(message).unwrap();
            assert!(found.contains(meaning), "{message}: {found}");
            assert!(!remedy.is_empty());
        }
    }

    #[test]
    fn anything_else_is_not_given_a_meaning() {
        for message in ["", "no nvidia-smi and no libnvidia-ml", "timeout", "NVML"] {
            assert_eq!(classify(message), None, "{message}");
        }
    }
}
