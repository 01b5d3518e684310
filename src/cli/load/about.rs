//! What a load by hand knows of itself before it begins: the model that the server lists, and the machine.
//!
//! In:  a host, an address, settings.  Out: names for the suite that the archive holds.
//! Not here: the load (see `load::session`), what the names are worth (see `verdict::facts`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sparkbench_host::Host;
use sparkbench_host::gpu::open;
use sparkbench_load::server;
use sparkbench_load::session::settled;
use sparkbench_load::settings::Settings;
use sparkbench_load::target::Target;
use sparkbench_text::error::Error;

/// Of a GPU that is asked for its name alone.
const ONCE: Duration = Duration::from_secs(1);

/// The model that the loads will ask for. Absent where the server does not list it: the loads say why, in their own words.
///
/// # Errors
/// When the key is missing, or the address makes no sense.
pub(super) fn model(host: &dyn Host, target: &Target, settings: &Settings) -> Result<Option<String>, Error> {
    if settings.model.is_some() {
        return Ok(settings.model.clone());
    }
    let (web, _) = settled(host, target, settings)?;
    let models = server::models(&web, server::LIMIT).unwrap_or_default();
    Ok(server::choose(&models, None).ok().map(|model| model.id.clone()))
}

/// The machine that answers, where it is this one: its GPU, else its processor. Of a server elsewhere nothing is known.
pub(super) fn machine(host: &Arc<dyn Host>, target: &Target) -> Option<String> {
    if !target.is_here() {
        return None;
    }
    let gpu = open(host, "auto", 0, ONCE).gpu.and_then(|gpu| gpu.identity().name);
    let processor = || {
        let text = host.read(Path::new("/proc/cpuinfo")).ok()?;
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned()).filter(|name| !name.is_empty())
    };
    gpu.or_else(processor)
}
