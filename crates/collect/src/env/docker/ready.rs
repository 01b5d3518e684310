//! Requirements on an engine and an image before the first run, and the engine's description of itself.
//!
//! In:  the settings, the engine's answers.  Out: findings with remedies, and a description.
//! Not here: creating anything.

use std::path::Path;

use serde_json::{Value, json};

use super::client::reason;
use super::flags;
use super::image::{Image, Reference};
use super::{Containers, Work};
use crate::env::driver::CDI;
use sparkbench_host::{Host, Question};
use sparkbench_model::Finding;
use sparkbench_text::error::{Error, Kind};

/// Where packages put the program that gives a container its GPUs.
const TOOLKIT: &[&str] =
    &["/usr/bin/nvidia-container-runtime-hook", "/usr/bin/nvidia-container-runtime", "/usr/bin/nvidia-ctk"];

impl Containers {
    /// Every finding at once, as far as the engine answers.
    pub(super) fn findings(&self, host: &dyn Host) -> Vec<Finding> {
        let mut findings = self.about_flags(host);
        let version = match self.version(host) {
            Ok(version) => version,
            Err(error) => {
                let remedy = match self.client.program {
                    "docker" => {
                        "start it (systemctl start docker), and run sparkbench as root or as a member of the group docker"
                    }
                    _ => "install podman, and make sure that 'podman version' answers",
                };
                findings.push(Finding::refused("container-engine", error.what, remedy));
                return findings;
            }
        };
        let (number, architecture) = of_version(&version);
        findings.push(Finding::passed("container-engine", format!("{} {number}", self.client.program)));
        match Image::look(&self.client, host, &self.image) {
            Err(error) => findings.push(Finding::refused("image", error.what, "make sure that the engine answers")),
            Ok(None) => {
                let what = format!("'{}' is not on this machine", self.image);
                let remedy = format!("pull it before the campaign: {} pull {}", self.client.program, self.image);
                findings.push(Finding::refused("image", what, remedy));
            }
            Ok(Some(image)) => {
                findings.push(self.fixed(&image));
                findings.extend(fits(&image, architecture.as_deref()));
            }
        }
        findings
    }

    fn fixed(&self, image: &Image) -> Finding {
        match Reference::of(&self.image) {
            Reference::Digest => Finding::passed("image", format!("'{}', fixed by its digest", self.image)),
            Reference::Id => Finding::passed("image", format!("'{}', fixed by its id", self.image)),
            Reference::Tag if self.allow_moving_tag => Finding::passed(
                "image",
                format!(
                    "'{}' is a tag that may move, as the suite allows. It is {} now, and every run must use that",
                    self.image, image.id
                ),
            ),
            Reference::Tag => Finding::refused(
                "image",
                format!("'{}' is a tag, and a tag can move between two runs or two campaigns", self.image),
                format!("write image = \"{}\", or allow_moving_tag = true", image.fixed_name(&self.image)),
            ),
        }
    }

    fn about_flags(&self, host: &dyn Host) -> Vec<Finding> {
        let mut findings = Vec::new();
        let shares_ipc = flags::values(&self.flags, "--ipc").contains(&"host");
        if shares_ipc && !flags::values(&self.flags, "--shm-size").is_empty() {
            findings.push(Finding::warned(
                "container-flags",
                "--shm-size has no effect with --ipc=host: the container uses the machine's own /dev/shm",
                "leave out one of the two",
            ));
        }
        let described = CDI.iter().any(|path| host.exists(Path::new(path)));
        let devices = flags::values(&self.flags, "--device");
        if devices.iter().any(|device| device.starts_with("nvidia.com/")) && !described {
            findings.push(Finding::warned(
                "container-gpu",
                "a GPU is asked for by its CDI name, but no CDI description was found",
                "make one: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
            ));
        }
        let gpus = !flags::values(&self.flags, "--gpus").is_empty()
            || flags::values(&self.flags, "--runtime").contains(&"nvidia");
        if gpus && !described && !TOOLKIT.iter().any(|path| host.exists(Path::new(path))) {
            findings.push(Finding::warned(
                "container-gpu",
                "a GPU is asked for, but NVIDIA's container toolkit was not found in /usr/bin",
                "install nvidia-container-toolkit, then run: nvidia-ctk runtime configure --runtime=docker; systemctl restart docker",
            ));
        }
        if self.work == Work::Mount && !flags::values(&self.flags, "--user").is_empty() {
            findings.push(Finding::warned(
                "container-flags",
                "--user with work = \"mount\": that user may not be able to write into the folder of the run",
                "set work = \"copy\", or leave --user out",
            ));
        }
        findings
    }

    /// The engine's own word on its version. An error when it does not answer.
    fn version(&self, host: &dyn Host) -> Result<Value, Error> {
        let words = ["version", "--format", "{{json .}}"];
        let answer = self.client.ask(host, Question::new(self.client.argv(&words)))?;
        if !answer.ok() {
            let what = format!("{} does not answer: {}", self.client.program, reason(&answer));
            return Err(Error::new(Kind::Preflight, what));
        }
        serde_json::from_slice(&answer.stdout).map_err(|error| {
            Error::new(Kind::Preflight, format!("{} version does not answer in JSON", self.client.program))
                .because(error)
        })
    }

    /// The engine for the archive: versions of all its parts, storage and control group drivers, runtimes, the GPU toolkit.
    pub(super) fn engine(&self, host: &dyn Host) -> Result<Value, Error> {
        let version = self.version(host)?;
        let answer = self.client.ask(host, Question::new(self.client.argv(&["info", "--format", "{{json .}}"])))?;
        let info: Value = serde_json::from_slice(&answer.stdout).unwrap_or(Value::Null);
        let toolkit = host.ask(&Question::new(["nvidia-ctk", "--version"]));
        let toolkit = toolkit.ok().filter(sparkbench_host::Answer::ok).map(|answer| answer.text().trim().to_owned());
        // Chosen one by one: the whole answer holds the machine's name, its id and its proxies.
        let chosen = |pointer: &str| info.pointer(pointer).cloned();
        Ok(json!({
            "version": version,
            "storage_driver": chosen("/Driver").or_else(|| chosen("/store/graphDriverName")),
            "cgroup_driver": chosen("/CgroupDriver").or_else(|| chosen("/host/cgroupManager")),
            "cgroup_version": chosen("/CgroupVersion").or_else(|| chosen("/host/cgroupVersion")),
            "default_runtime": chosen("/DefaultRuntime").or_else(|| chosen("/host/ociRuntime/name")),
            "runtimes": info.get("Runtimes").and_then(Value::as_object).map(|all| all.keys().cloned().collect::<Vec<_>>()),
            "runtime_version": chosen("/host/ociRuntime/version"),
            "security": chosen("/SecurityOptions").or_else(|| chosen("/host/security")),
            "nvidia_toolkit": toolkit,
        }))
    }
}

/// Version and architecture: of the server where there is one, else of the client (podman has no server).
fn of_version(version: &Value) -> (String, Option<String>) {
    let text = |pointer: &str| version.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let number =
        text("/Server/Version").or_else(|| text("/Client/Version")).unwrap_or_else(|| "of unknown version".to_owned());
    let client = || text("/Client/OsArch").and_then(|both| both.split('/').nth(1).map(str::to_owned));
    (number, text("/Server/Arch").or_else(client))
}

/// An image for another processor would be emulated, and the emulation measured.
fn fits(image: &Image, machine: Option<&str>) -> Option<Finding> {
    let (of_image, machine) = (image.architecture().filter(|name| !name.is_empty())?, machine?);
    (of_image != machine).then(|| {
        Finding::refused(
            "image-architecture",
            format!("the image is for {of_image}, this machine is {machine}"),
            "take the image for this machine's architecture",
        )
    })
}
