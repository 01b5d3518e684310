//! Which fields a source did not report, and why.
//!
//! In:  one note for each field that was refused in a reading.  Out: the last reason of each field.
//! Not here: how often, which the caller counts (see `run::telemetry`).

use std::collections::BTreeMap;

/// Reasons by field, the last one of each.
#[derive(Debug, Clone, Default)]
pub struct Missing {
    reasons: BTreeMap<&'static str, String>,
}

impl Missing {
    /// A field that was refused, or that this source never has.
    pub fn note(&mut self, field: &'static str, reason: impl Into<String>) {
        self.reasons.insert(field, reason.into());
    }

    /// The value, or nothing and a note.
    pub fn take<T>(&mut self, field: &'static str, value: Result<T, String>) -> Option<T> {
        value.map_err(|reason| self.note(field, reason)).ok()
    }

    /// A reason for each field that was ever refused.
    pub fn reasons(&self) -> BTreeMap<String, String> {
        self.reasons.iter().map(|(field, reason)| ((*field).to_owned(), reason.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_field_keeps_its_last_reason() {
        let mut missing = Missing::default();
        assert_eq!(missing.take::<f64>("power_w", Err("unknown error".to_owned())), None);
        assert_eq!(missing.take::<f64>("power_w", Err("not supported".to_owned())), None);
        assert_eq!(missing.take("gpu_c", Ok(40.0)), Some(40.0));
        assert_eq!(missing.reasons(), [("power_w".to_owned(), "not supported".to_owned())].into());
    }
}
