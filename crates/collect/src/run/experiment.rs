//! A fully parsed suite: its environments and workloads as objects, its runs in order.
//!
//! In:  the text of a suite and its folder.  Out: [`Experiment`], or every fault of the text at once.
//! Not here: whether this machine can do it (see `gates`), running it (see `campaign`).

use std::path::{Path, PathBuf};

use crate::env::{ENVIRONMENTS, Environment};
use crate::workload::{Common, WORKLOADS, Workload};
use sparkbench_plan::{self as plan, Fault, Faults, Model, Part, Plan, Reader, Suite};
use sparkbench_text::error::Error;

/// A suite ready to be run.
pub struct Experiment {
    /// As it was written.
    pub suite: Suite,
    /// By label, in the order of the file.
    pub environments: Vec<(String, Box<dyn Environment>)>,
    /// By label, in the order of the file.
    pub workloads: Vec<(String, Common, Box<dyn Workload>)>,
    /// Every run, in its order.
    pub plan: Plan,
    /// Remarks that do not stop it.
    pub warnings: Vec<Fault>,
    /// Where the suite lies: its files are named relative to this folder.
    pub folder: PathBuf,
}

impl Experiment {
    /// Reads a suite whole. `file` is its name for messages, `folder` where it lies.
    ///
    /// # Errors
    /// A usage error with every fault, its line and its remedy.
    pub fn read(text: &str, file: &str, folder: &Path) -> Result<Self, Error> {
        let environments: Vec<&str> = ENVIRONMENTS.iter().map(|kind| kind.name()).collect();
        let workloads: Vec<&str> = WORKLOADS.iter().map(|kind| kind.name()).collect();
        let kinds = plan::Kinds { environments: &environments, workloads: &workloads };
        let plan::Parsed { suite, mut faults, mut warnings } = Suite::parse(text, &kinds);
        let Some(suite) = suite else {
            faults.into_result(file)?;
            return Err(Error::usage(format!("'{file}' is not a suite")));
        };
        let environments: Vec<(String, Box<dyn Environment>)> = suite
            .environments
            .iter()
            .filter_map(|part| {
                let kind = ENVIRONMENTS.iter().find(|kind| kind.name() == part.kind)?;
                read(part, &mut faults, |reader| kind.read(reader, folder)).map(|made| (part.label.clone(), made))
            })
            .collect();
        let workloads: Vec<(String, Common, Box<dyn Workload>)> = suite
            .workloads
            .iter()
            .filter_map(|part| {
                let kind = WORKLOADS.iter().find(|kind| kind.name() == part.kind)?;
                let made = read(part, &mut faults, |reader| {
                    let common = Common::read(reader);
                    kind.read(reader, folder).map(|workload| (common, workload))
                });
                made.map(|(common, workload)| (part.label.clone(), common, workload))
            })
            .collect();
        warnings.extend(workloads.iter().flat_map(|(.., made)| made.warnings().iter().cloned()));
        warnings.sort();
        let restrictions = plan::cells::Restrictions::of(&suite);
        lacking(&suite, &environments, &workloads, &restrictions, &mut faults);
        faults.into_result(file)?;
        let plan = plan::expand(&suite, &|cell| restrictions.allows(cell));
        if plan.runs.is_empty() {
            return Err(Error::usage(format!("'{file}' plans no run"))
                .hint("remove a [[skip]], or allow more environments and models for its workloads"));
        }
        Ok(Self { suite, environments, workloads, plan, warnings, folder: folder.to_owned() })
    }

    /// The environment of a label.
    pub fn environment(&self, label: &str) -> Option<&dyn Environment> {
        self.environments.iter().find(|(known, _)| known == label).map(|(_, made)| made.as_ref())
    }

    /// The workload of a label, with its common settings.
    pub fn workload(&self, label: &str) -> Option<(&Common, &dyn Workload)> {
        self.workloads.iter().find(|(known, ..)| known == label).map(|(_, common, made)| (common, made.as_ref()))
    }

    /// The model of a label.
    pub fn model(&self, label: &str) -> Option<&Model> {
        self.suite.models.iter().find(|model| model.label == label)
    }

    /// Seconds that a run of a workload is expected to take, where its settings tell.
    pub fn expected_s(&self, workload: &str) -> Option<f64> {
        self.workload(workload).and_then(|(_, made)| made.expected_s())
    }
}

/// A field that a workload or an environment needs and its model lacks is a fault of the model.
fn lacking(
    suite: &Suite,
    environments: &[(String, Box<dyn Environment>)],
    workloads: &[(String, Common, Box<dyn Workload>)],
    restrictions: &plan::cells::Restrictions,
    faults: &mut Faults,
) {
    let meet = |environment: &str, model: &Model, workload: &str| {
        restrictions.allows(&plan::Cell {
            environment: environment.to_owned(),
            model: model.label.clone(),
            workload: workload.to_owned(),
        })
    };
    let labels = || suite.environments.iter().map(|environment| environment.label.as_str());
    for (label, _, workload) in workloads {
        for model in suite.models.iter().filter(|model| labels().any(|environment| meet(environment, model, label))) {
            for key in workload.lacks(model) {
                let remedy = "or exclude this model with the key 'models' of the workload";
                lack(suite, model, &key, &format!("workload '{label}' needs it"), remedy, faults);
            }
        }
    }
    for (label, _) in environments.iter().filter(|(_, made)| made.needs_model_path()) {
        let met = |model: &Model| workloads.iter().any(|(workload, ..)| meet(label, model, workload));
        for model in suite.models.iter().filter(|model| model.path.is_none() && met(model)) {
            let why = format!("environment '{label}' names {{model.path}} in its flags");
            lack(suite, model, "path", &why, "or write the folder into the flags", faults);
        }
    }
}

/// A key that a model does not give.
fn lack(suite: &Suite, model: &Model, key: &str, why: &str, otherwise: &str, faults: &mut Faults) {
    let table = format!("models.{}", model.label);
    let line = suite.text.lines().position(|line| {
        let line = line.trim();
        line == format!("[{table}]") || line == format!("[models.\"{}\"]", model.label)
    });
    let remedy = format!("give it in [{table}], {otherwise}");
    faults.add(line.map(|line| line + 1), format!("{table}.{key}"), format!("is missing, and {why}"), remedy);
}

/// Reads the settings of one part. Every unread key becomes a fault.
fn read<T>(part: &Part, faults: &mut Faults, with: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Option<T> {
    let mut reader = part.reader(faults);
    let made = with(&mut reader);
    reader.finish();
    made
}
