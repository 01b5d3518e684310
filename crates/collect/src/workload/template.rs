//! Texts of a suite with places in braces: `{work}`, `{model.id}`.
//!
//! In:  a text, then the facts of one run.  Out: the text as the program inside gets it.
//! Not here: which settings hold such texts.

use std::path::Path;

use super::cell::Cell;
use sparkbench_archive::shown;
use sparkbench_plan::{Model, Reader};
use sparkbench_text::error::{Error, Kind, Place};

/// Every place, with what it stands for.
pub(crate) const PLACES: &[(&str, &str)] = &[
    ("work", "the run's own folder, as seen from inside"),
    ("model.label", "label of the model in the suite"),
    ("model.id", "id of the model"),
    ("model.path", "where its weights are, as seen from inside"),
    ("model.revision", "revision of its weights"),
    ("model.quantisation", "data type or quantisation of its weights"),
    ("repeat", "k-th run of its cell, from 1"),
    ("seed", "seed of the campaign"),
    ("program", "this program, as seen from inside"),
    ("nodes", "how many machines the run has"),
    ("node.rank", "number of this machine, 0 is the head"),
    ("node.address", "its address on the link between them"),
    ("node.device", "network device with that address"),
    ("node.head", "address of the head on that link"),
    ("node.hosts", "addresses of all of them, with commas between, the head first"),
];

/// A text cut into fixed parts and places to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(&'static str),
}

impl Template {
    /// Cuts a text. `{{` and `}}` stand for single braces.
    ///
    /// # Errors
    /// The fault and its remedy.
    pub(crate) fn parse(text: &str) -> Result<Self, (String, String)> {
        Self::parse_with(text, &[])
    }

    /// Cuts a text that may name further places, which [`Template::fill_with`] is given.
    ///
    /// # Errors
    /// Like [`Template::parse`].
    pub(crate) fn parse_with(text: &str, more: &[&'static str]) -> Result<Self, (String, String)> {
        if text.contains('\0') {
            let remedy = "leave it out: no program can be given one".to_owned();
            return Err((format!("has a zero byte in {text:?}"), remedy));
        }
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                plain.push_str(from.get(..1).unwrap_or_default());
                rest = after;
                continue;
            }
            let Some((name, after)) = from.strip_prefix('{').and_then(|from| from.split_once('}')) else {
                return Err((format!("has a single brace in \"{text}\""), "write {{ or }} for a brace".to_owned()));
            };
            let every = || PLACES.iter().map(|(place, _)| *place).chain(more.iter().copied());
            let Some(place) = every().find(|place| *place == name) else {
                let known: Vec<String> = every().map(|place| format!("{{{place}}}")).collect();
                let remedy = format!("known: {}. Write {{{{ and }}}} for braces", known.join(", "));
                return Err((format!("names the unknown place \"{{{name}}}\""), remedy));
            };
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Place(place));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    /// Cuts the text of a key. What is wrong goes to the faults.
    pub(crate) fn read(settings: &mut Reader<'_>, key: &str, text: &str) -> Option<Self> {
        Self::parse(text).map_err(|(what, remedy)| settings.fault(key, what, remedy)).ok()
    }

    /// Cuts each text of a list.
    pub(crate) fn list(settings: &mut Reader<'_>, key: &'static str) -> Vec<Self> {
        Self::list_with(settings, key, &[])
    }

    /// Cuts each text of a list, with further places.
    pub(crate) fn list_with(settings: &mut Reader<'_>, key: &'static str, more: &[&'static str]) -> Vec<Self> {
        let texts = settings.texts(key);
        let cut = |text: &String| {
            Self::parse_with(text, more).map_err(|(what, remedy)| settings.fault(key, what, remedy)).ok()
        };
        texts.iter().filter_map(cut).collect()
    }

    /// Places that a model does not fill.
    pub(crate) fn lacks(&self, model: &Model) -> Vec<&'static str> {
        self.0
            .iter()
            .filter_map(|part| match part {
                Part::Place("model.id") if model.id.is_none() => Some("id"),
                Part::Place("model.path") if model.path.is_none() => Some("path"),
                Part::Place("model.revision") if model.revision.is_none() => Some("revision"),
                Part::Place("model.quantisation") if model.quantisation.is_none() => Some("quantisation"),
                _ => None,
            })
            .collect()
    }

    /// The text, where it holds no place.
    pub(crate) fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// True when it holds a place.
    pub(crate) fn names(&self, place: &str) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Place(name) if *name == place))
    }

    /// Fills it.
    ///
    /// # Errors
    /// When the model lacks what a place stands for.
    pub(crate) fn fill(&self, cell: &Cell<'_>, work: &Path) -> Result<String, Error> {
        self.fill_with(cell, work, &[])
    }

    /// Fills it, with what further places stand for.
    ///
    /// # Errors
    /// Like [`Template::fill`].
    pub(crate) fn fill_with(
        &self,
        cell: &Cell<'_>,
        work: &Path,
        more: &[(&'static str, String)],
    ) -> Result<String, Error> {
        let mut text = String::new();
        for part in &self.0 {
            let place = match part {
                Part::Text(plain) => {
                    text.push_str(plain);
                    continue;
                }
                Part::Place(place) => *place,
            };
            let model = cell.model;
            let value = match place {
                "work" => Some(written(place, work)?),
                "model.label" => Some(model.label.clone()),
                "model.id" => model.id.clone(),
                "model.path" => model.path.clone(),
                "model.revision" => model.revision.clone(),
                "model.quantisation" => model.quantisation.clone(),
                "repeat" => Some(cell.repeat.to_string()),
                "seed" => Some(cell.seed.to_string()),
                "program" => cell.own_program.map(|program| written(place, program)).transpose()?,
                "nodes" => Some(cell.placement.count().to_string()),
                "node.rank" => Some(cell.placement.rank.to_string()),
                "node.address" => Some(cell.placement.address(cell.placement.rank).to_owned()),
                "node.device" => Some(cell.placement.device().to_owned()),
                "node.head" => Some(cell.placement.address(0).to_owned()),
                "node.hosts" => Some(cell.placement.hosts()),
                other => more.iter().find(|(place, _)| *place == other).map(|(_, value)| value.clone()),
            };
            let value = value.ok_or_else(|| {
                Error::new(Kind::Usage, format!("the model '{}' does not fill {{{place}}}", model.label))
                    .at(Place::Field(format!("models.{}", model.label)))
                    .hint("give it in the suite, or take the place out of the workload")
            })?;
            text.push_str(&value);
        }
        Ok(text)
    }
}

/// A path as text. Other bytes in its place would lead to another file, or to none.
fn written(place: &str, path: &Path) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::usage(format!("{{{place}}} cannot be filled, because this path is not UTF-8: '{}'", shown(path)))
            .hint("take the place out of the workload, or choose a folder whose path is UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::placement::Placement;

    fn fill(text: &str, model: &Model) -> Result<String, Error> {
        let cell = Cell {
            model,
            probed: None,
            prepared: &[],
            repeat: 3,
            seed: 7,
            own_program: None,
            placement: Placement::ALONE,
        };
        Template::parse(text).unwrap().fill(&cell, Path::new("/w"))
    }

    #[test]
    fn places_are_filled_and_doubled_braces_stand_for_one() {
        let model = Model { label: "m".into(), id: Some("org/m".into()), ..Model::default() };
        assert_eq!(fill("{work}/x-{repeat}-{seed}:{model.id}", &model).unwrap(), "/w/x-3-7:org/m");
        assert_eq!(fill("{{\"a\": {{}}}} {model.label}", &model).unwrap(), "{\"a\": {}} m");
        assert_eq!(fill("", &model).unwrap(), "");
    }

    #[test]
    fn a_place_that_the_model_does_not_fill_is_an_error_that_names_both() {
        let model = Model { label: "m".into(), ..Model::default() };
        let error = fill("--path={model.path}", &model).unwrap_err();
        assert_eq!(error.what, "the model 'm' does not fill {model.path}");
        assert_eq!(Template::parse("{model.path}{model.id}").unwrap().lacks(&model), ["path", "id"]);
    }

    #[test]
    fn a_folder_whose_path_is_not_text_is_not_written_as_another() {
        use std::os::unix::ffi::OsStrExt as _;
        let model = Model { label: "m".into(), ..Model::default() };
        let cell = Cell {
            model: &model,
            probed: None,
            prepared: &[],
            repeat: 1,
            seed: 7,
            own_program: None,
            placement: Placement::ALONE,
        };
        let work = Path::new(std::ffi::OsStr::from_bytes(b"/w\xff"));
        let error = Template::parse("{work}/x").unwrap().fill(&cell, work).unwrap_err();
        assert_eq!(error.what, "{work} cannot be filled, because this path is not UTF-8: '/w\\xFF'");
        assert_eq!(Template::parse("x").unwrap().fill(&cell, work).unwrap(), "x");
    }

    #[test]
    fn a_zero_byte_is_a_fault_before_anything_runs() {
        assert!(Template::parse("tr\0ue").unwrap_err().0.contains("zero byte"));
    }

    #[test]
    fn unknown_places_and_single_braces_are_faults() {
        assert!(Template::parse("{wrok}").unwrap_err().0.contains("\"{wrok}\""));
        for text in ["{", "a } b", "{work", "}{"] {
            assert!(Template::parse(text).unwrap_err().0.contains("single brace"), "{text}");
        }
    }
}
