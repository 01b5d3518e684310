//! A client that runs the loads that rank 0 names.
//!
//! In:  a [`Session`] of a rank that is not 0.  Out: its share of each load, sent to rank 0.
//! Not here: which loads there are.

use std::path::Path;

use toml::de::DeTable;

use super::Session;
use crate::ranks::Called;
use crate::settings::Settings;
use crate::suite;
use sparkbench_plan::Faults;
use sparkbench_plan::settings::Settings as TypedTable;
use sparkbench_text::error::Error;

impl Session<'_> {
    /// Does one load after another, until rank 0 has no more. `own` are this client's own settings: headers, which may be secrets, are not
    /// sent between ranks. Raw files are below `folder` until they have been handed in.
    ///
    /// # Errors
    /// When rank 0 is gone.
    pub fn follow(&self, own: &Settings, folder: &Path) -> Result<(), Error> {
        let Some(ranks) = &self.ranks else { return Ok(()) };
        let mut number = 0_u64;
        while let Some(called) = ranks.next(&|| self.interrupted())? {
            number += 1;
            let folder = folder.join(number.to_string());
            let done = settings(&called, own).and_then(|settings| {
                std::fs::create_dir_all(&folder)
                    .map_err(|cause| Error::archive(format!("cannot create '{}'", folder.display())).because(cause))?;
                self.load(&settings, &called.name, &folder, None)
            });
            if let Err(error) = done {
                // Rank 0 was told, and says whether there is more.
                let error = self.secrets.veil().error(error);
                self.watcher.warn(&error.in_a_line());
                ranks.failed(&error.in_short());
            }
            let _ = std::fs::remove_dir_all(&folder);
        }
        Ok(())
    }
}

/// Load that rank 0 orders. Paths of files start at the folder in which this client was started.
fn settings(called: &Called, own: &Settings) -> Result<Settings, Error> {
    let failed = |detail: String| Error::usage("this machine cannot do the load of rank 0").detail(detail);
    let parsed = DeTable::parse(&called.table).map_err(|cause| failed(cause.to_string()))?;
    let table = TypedTable::from_toml("load", 1, parsed.get_ref(), &called.table);
    let mut faults = Faults::default();
    let mut keys = table.reader(&mut faults);
    let planned = suite::read(&mut keys, Path::new("."));
    keys.finish();
    let faults: Vec<String> =
        faults.sorted().iter().map(|fault| format!("{} {}: {}", fault.key, fault.what, fault.remedy)).collect();
    let planned = planned.into_iter().next().filter(|_| faults.is_empty()).ok_or_else(|| failed(faults.join("; ")))?;
    Ok(Settings {
        nonce: called.nonce,
        headers: own.headers.clone(),
        api_key_env: own.api_key_env.clone(),
        api_key_header: own.api_key_header.clone(),
        ..planned.settings
    })
}
