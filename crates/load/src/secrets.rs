//! The secrets that a load is given: in its address, its headers, its variables and the bodies of its requests.
//!
//! In:  a host, an address, [`Settings`].  Out: [`Secrets`], for everything that is printed or written.
//! Not here: how they are found and what goes in their place (see `archive::mask`).

use crate::settings::Settings;
use sparkbench_archive::mask::Secrets;
use sparkbench_host::Host;

/// Variables that name a proxy, whose address may hold a login. No load goes through one, but a server may know it.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Those of one load.
pub fn of(host: &dyn Host, url: &str, settings: &Settings) -> Secrets {
    let mut secrets = Secrets::default();
    secrets.learn_address("--url", url);
    for (name, value) in &settings.headers {
        secrets.learn_header(name, value);
    }
    if let Some(name) = &settings.api_key_env
        && let Some(key) = host.variable(name)
    {
        secrets.learn(name, "key", &key);
    }
    secrets.learn_members(&settings.extra_body);
    for name in PROXIES {
        if let Some(address) = host.variable(name) {
            secrets.learn_address(name, &address);
        }
    }
    secrets
}
