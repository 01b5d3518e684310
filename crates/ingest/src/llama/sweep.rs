//! Settings that one launch of llama-bench varied. They join the labels, so that its rows do not count as repeats.
//!
//! In:  the runs of one file, JSON and tables alike.  Out: their labels: `tg16-b64-fa1`.
//! Not here: the test itself (see [`Test`](super::Test)).
//!
//! A setting counts where it differs between runs of one model and one test. Then it is in the labels of all runs of the file. A file
//! in which no such setting differs keeps its labels.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{PartialRun, Record};

/// As the option of the program is called, then as files and tables call the setting. In the order of the label.
const SETTINGS: &[(&str, &[&str])] = &[
    ("", &["backends", "backend"]),
    ("dev", &["devices", "dev"]),
    ("ngl", &["n_gpu_layers", "ngl"]),
    ("ncmoe", &["n_cpu_moe"]),
    ("sm", &["split_mode", "sm"]),
    ("mg", &["main_gpu"]),
    ("ts", &["tensor_split", "ts"]),
    ("ot", &["tensor_buft_overrides", "ot"]),
    ("nkvo", &["no_kv_offload", "nkvo"]),
    ("t", &["n_threads", "threads"]),
    ("C", &["cpu_mask"]),
    ("strict", &["cpu_strict"]),
    ("poll", &["poll"]),
    ("b", &["n_batch"]),
    ("ub", &["n_ubatch"]),
    ("ctk", &["type_k"]),
    ("ctv", &["type_v"]),
    ("fa", &["flash_attn", "fa"]),
    ("mmp", &["use_mmap", "mmap"]),
    ("dio", &["use_direct_io", "dio"]),
    ("load", &["load_mode"]),
    ("lazy", &["lazy_mode"]),
    ("embd", &["embeddings", "embd"]),
    ("nopo", &["no_op_offload", "nopo"]),
    ("nohost", &["no_host", "noh"]),
    ("repack", &["repack"]),
    ("fitt", &["fit_target"]),
    ("fitc", &["fit_min_ctx"]),
];

/// Value of a setting that is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// At its default: a table shows a column only when a parameter is not.
    Default,
    /// Not known: an older version wrote it not.
    Unknown,
}

/// Puts the settings that differ into the labels.
pub(crate) fn tell(records: &mut [Record], absent: Absent) {
    let mut differ: BTreeSet<usize> = BTreeSet::new();
    for (place, (_, names)) in SETTINGS.iter().enumerate() {
        let mut first: BTreeMap<(Option<&str>, Option<&str>), Option<String>> = BTreeMap::new();
        for partial in records.iter().filter_map(partial) {
            let value = value(partial, names);
            if value.is_none() && absent == Absent::Unknown {
                continue;
            }
            let known =
                first.entry((partial.model.as_deref(), partial.workload.as_deref())).or_insert_with(|| value.clone());
            if *known != value {
                differ.insert(place);
            }
        }
    }
    if differ.is_empty() {
        return;
    }
    let mut marks = BTreeMap::new();
    for record in records {
        let Record::Run(partial) = record else { continue };
        let parts = differ.iter().filter_map(|place| SETTINGS.get(*place)).filter_map(|(short, names)| {
            let value = value(partial, names)?;
            Some(format!("-{short}{value}"))
        });
        let parts: String = parts.collect();
        if let Some(workload) = &mut partial.workload {
            workload.push_str(&parts);
        }
        // Two settings may give one figure to the digit. A copy of the file counts them in the same order.
        if let Some(mark) = &mut partial.fingerprint
            && marks.entry(mark.clone()).or_insert_with(|| parts.clone()) != &parts
        {
            mark.push_str(&parts);
        }
    }
}

fn partial(record: &Record) -> Option<&PartialRun> {
    if let Record::Run(partial) = record { Some(partial) } else { None }
}

/// A value as it may appear in a label. Files and tables say true and 1, -1 and auto, for the same.
fn value(partial: &PartialRun, names: &[&str]) -> Option<String> {
    let value = names.iter().find_map(|name| partial.setup.more.get(*name))?;
    Some(match value.as_str() {
        "true" => "1".to_owned(),
        "false" => "0".to_owned(),
        "-1" if names.contains(&"fa") => "auto".to_owned(),
        other => other.chars().map(|c| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' }).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(workload: &str, settings: &[(&str, &str)]) -> Record {
        let mut partial = PartialRun {
            model: Some("m".to_owned()),
            workload: Some(workload.to_owned()),
            fingerprint: Some("same".to_owned()),
            ..PartialRun::default()
        };
        partial.setup.more = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Record::Run(Box::new(partial))
    }

    fn told(mut records: Vec<Record>, absent: Absent) -> Vec<(String, String)> {
        tell(&mut records, absent);
        let both = |partial: &PartialRun| (partial.workload.clone().unwrap(), partial.fingerprint.clone().unwrap());
        records.iter().filter_map(partial).map(both).collect()
    }

    fn labels(records: Vec<Record>, absent: Absent) -> Vec<String> {
        told(records, absent).into_iter().map(|(label, _)| label).collect()
    }

    #[test]
    fn what_differs_stands_in_the_label_in_a_fixed_order_whatever_the_file_calls_it() {
        let json = [("flash_attn", "true"), ("n_batch", "64"), ("n_threads", "1")];
        let table = [("n_batch", "512"), ("fa", "0"), ("threads", "1")];
        let found = told(vec![run("tg16", &json), run("tg16", &table)], Absent::Unknown);
        assert_eq!(found[0], ("tg16-b64-fa1".to_owned(), "same".to_owned()));
        assert_eq!(found[1], ("tg16-b512-fa0".to_owned(), "same-b512-fa0".to_owned()));
    }

    #[test]
    fn where_nothing_differs_within_a_test_the_labels_stay() {
        let of = |a: &[(&str, &str)], b: &[(&str, &str)]| {
            labels(vec![run("tg16", a), run("tg16", a), run("pp32", b)], Absent::Default)
        };
        assert_eq!(of(&[("n_batch", "16")], &[("n_batch", "32")]), ["tg16", "tg16", "pp32"]);
    }

    #[test]
    fn a_column_that_is_missing_is_a_default_in_a_table_and_unknown_in_a_file() {
        let both = || vec![run("tg16", &[]), run("tg16", &[("fa", "1")])];
        assert_eq!(labels(both(), Absent::Default), ["tg16", "tg16-fa1"]);
        assert_eq!(labels(both(), Absent::Unknown), ["tg16", "tg16"]);
    }
}
