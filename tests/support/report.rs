//! `analysis.json` with the questions tests ask of it. Every look-up that finds nothing fails with what was there.

use std::path::Path;

use serde_json::Value;

/// A trap row as a test compares it: id, severity, status.
pub type TrapRow<'r> = (&'r str, &'r str, &'r str);

/// A whole analysis.
#[derive(Debug)]
pub struct Report(pub Value);

/// The text at a key.
#[track_caller]
pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no text '{key}' in {value:.300}"))
}

/// The list at a key.
#[track_caller]
pub fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no list '{key}' in {value:.300}"))
}

/// The number at a key.
#[track_caller]
pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number '{key}' in {value:.300}"))
}

/// The texts of a list.
#[track_caller]
pub fn texts<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    list(value, key).iter().map(|item| item.as_str().expect("a text")).collect()
}

impl Report {
    /// Reads the analysis of a site.
    #[track_caller]
    pub fn of_site(site: &Path) -> Self {
        let bytes = std::fs::read(site.join("data/analysis.json")).expect("the site holds an analysis");
        Self(serde_json::from_slice(&bytes).expect("the analysis is JSON"))
    }

    /// A campaign by its name.
    #[track_caller]
    pub fn campaign(&self, name: &str) -> &Value {
        let all = list(&self.0, "campaigns");
        all.iter().find(|c| c["name"] == name).unwrap_or_else(|| {
            panic!("no campaign '{name}' among {:?}", all.iter().map(|c| text(c, "name")).collect::<Vec<_>>())
        })
    }

    /// All comparisons of single loads of a campaign.
    pub fn comparisons(&self, campaign: &str) -> Vec<&Value> {
        let of = |c: &&Value| c["campaign"] == campaign && c["scope"] == "load";
        list(&self.0, "comparisons").iter().filter(of).collect()
    }

    /// The answers of a campaign over all its loads.
    pub fn over_all_loads(&self, campaign: &str) -> Vec<&Value> {
        let of = |c: &&Value| c["campaign"] == campaign && c["scope"] == "all-loads";
        list(&self.0, "comparisons").iter().filter(of).collect()
    }

    /// The only comparison of a model, workload and metric.
    #[track_caller]
    pub fn comparison(&self, campaign: &str, model: &str, workload: &str, metric: &str) -> &Value {
        let of_question = |c: &&Value| c["model"] == model && c["workload"] == workload && c["metric"] == metric;
        let found: Vec<&Value> = self.comparisons(campaign).into_iter().filter(of_question).collect();
        assert_eq!(found.len(), 1, "comparisons of {campaign}, {model}, {workload}, {metric}");
        found[0]
    }

    /// A group by its five names.
    #[track_caller]
    pub fn group(&self, campaign: &str, model: &str, workload: &str, environment: &str, metric: &str) -> &Value {
        let keys = [
            ("campaign", campaign),
            ("model", model),
            ("workload", workload),
            ("environment", environment),
            ("metric", metric),
        ];
        let found = list(&self.0, "groups").iter().find(|g| keys.iter().all(|(key, name)| g[*key] == *name));
        found.unwrap_or_else(|| panic!("no group {keys:?}"))
    }

    /// Reports of one trap about a campaign.
    #[track_caller]
    pub fn traps(&self, campaign: &str, id: &str) -> Vec<&Value> {
        let of = |t: &&Value| t["id"] == id && t["subject"]["campaign"] == campaign;
        let found: Vec<&Value> = list(&self.0, "traps").iter().filter(of).collect();
        assert!(!found.is_empty(), "{campaign} has no report of the trap '{id}'");
        found
    }

    /// The only report of a trap about a model, or about the whole campaign where `model` is absent.
    #[track_caller]
    pub fn trap(&self, campaign: &str, id: &str, model: Option<&str>) -> &Value {
        let found: Vec<&Value> =
            self.traps(campaign, id).into_iter().filter(|t| t["subject"]["model"].as_str() == model).collect();
        assert_eq!(found.len(), 1, "{id} about {model:?}");
        found[0]
    }

    /// Sentences of a campaign under one of `headline`, `supported`, `unsupported`.
    #[track_caller]
    pub fn sentences(&self, campaign: &str, key: &str) -> Vec<&str> {
        list(self.campaign(campaign), key).iter().map(|sentence| text(sentence, "text")).collect()
    }

    /// Demands one sentence that holds every word.
    #[track_caller]
    pub fn says(&self, campaign: &str, key: &str, words: &[&str]) {
        let sentences = self.sentences(campaign, key);
        assert!(
            sentences.iter().any(|sentence| words.iter().all(|word| sentence.contains(word))),
            "no sentence of '{key}' holds {words:?}:\n{}",
            sentences.join("\n")
        );
    }

    /// The reason of an input, by its path.
    #[track_caller]
    pub fn input(&self, path: &str) -> &Value {
        let all = list(&self.0, "inputs");
        all.iter().find(|input| input["path"] == path).unwrap_or_else(|| {
            panic!("no input '{path}' among {:?}", all.iter().map(|i| text(i, "path")).collect::<Vec<_>>())
        })
    }
}

/// Id, severity and status of a trap report.
pub fn row(trap: &Value) -> TrapRow<'_> {
    (text(trap, "id"), text(trap, "severity"), text(trap, "status"))
}

/// Kind of a comparison's verdict.
pub fn kind(comparison: &Value) -> &str {
    text(&comparison["verdict"], "kind")
}
