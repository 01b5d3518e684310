//! `model.safetensors.index.json`: the real size of a checkpoint.
//!
//! In:  one object with `weight_map` and `metadata.total_size`.  Out: model facts: bytes of all weights, whether the head is tied.
//! Not here: the shape of the model (see `config`), the tensors themselves.

use super::super::at::At;
use super::super::{About, Format, Head, Parsed, SourceFile, json};
use super::{keys, number, parsed};
use sparkbench_model::ModelFacts;
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(crate) struct Index;

impl Format for Index {
    fn name(&self) -> &'static str {
        "safetensors-index"
    }

    fn about(&self) -> About {
        About {
            tool: "Hugging Face Transformers",
            versions: "every version, `total_parameters` since 4.55",
            sign: "an object with `weight_map` and `metadata`",
            reads: "bytes of all weights, parameters where they are counted: facts of the model",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object()
            .is_some_and(|outline| outline.has(&["weight_map"]) && outline.get("metadata").is_some_and(|m| m.is_map()))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let metadata = root.need("metadata")?;
        let Some(bytes) = number(&metadata, &["total_size"]) else {
            return Err(Error::archive("the index does not say what its weights weigh")
                .at(Place::Field("/metadata/total_size".into()))
                .detail("expected a number above 0"));
        };
        let ids = keys(file.path);
        if ids.is_empty() {
            return Err(Error::archive("the model of this index has no name")
                .hint("put the file into a folder with the name of the model, as it lies in its checkpoint"));
        }
        let map = root.need("weight_map")?;
        let (mut tensors, mut head) = (0_usize, false);
        for (name, _) in map.entries()? {
            tensors += 1;
            head |= name.ends_with("lm_head.weight");
        }
        let parameters = number(&metadata, &["total_parameters"]);
        let facts = ModelFacts {
            title: ids.last().map_or_else(String::new, |id| id.rsplit('/').next().unwrap_or(id).to_owned()),
            parameters,
            weight_bytes: Some(bytes),
            tied: !head,
            computed: true,
            counted: true,
            sources: vec![format!("weight_bytes: total_size of {}, {tensors} tensors.", file.path)],
            ..ModelFacts::default()
        };
        let head = if head { "with" } else { "without" };
        let note = format!(
            "facts of the model {}: weight bytes {bytes}, {tensors} tensors, {head} an output head of its own",
            ids.join(", ")
        );
        Ok(parsed(ids, &facts, note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use sparkbench_model::Facts;

    fn read(text: &str) -> Result<Facts, Error> {
        let mut bytes = text.as_bytes();
        let parsed =
            Index.parse(&mut SourceFile::new("m/x/model.safetensors.index.json", text.len() as u64, &mut bytes))?;
        match parsed.records.into_iter().next() {
            Some(Record::Facts(facts)) => Ok(*facts),
            _ => panic!("no facts"),
        }
    }

    const INDEX: &str =
        r#"{"metadata":{"total_size":1000},"weight_map":{"model.embed_tokens.weight":"a","lm_head.weight":"b"}}"#;

    #[test]
    fn the_index_says_what_a_checkpoint_weighs() {
        let facts = read(INDEX).unwrap();
        let model = &facts.models["x"];
        assert_eq!((model.weight_bytes, model.tied, model.parameters), (Some(1000.0), false, None));
        let error = read(&INDEX.replace("1000", "null")).unwrap_err().to_string();
        assert!(error.contains("/metadata/total_size"), "{error}");
    }

    #[test]
    fn what_was_counted_wins_over_what_was_computed_whichever_is_read_first() {
        let config = |step: f64| ModelFacts {
            weight_bytes: Some(900.0),
            step_bytes: Some(step),
            layers: Some(2.0),
            computed: true,
            sources: vec!["config".into()],
            ..ModelFacts::default()
        };
        let index = || read(INDEX).unwrap();
        let only = |model: ModelFacts| Facts { models: [("x".to_owned(), model)].into(), ..Facts::default() };
        let mut first = only(config(800.0));
        first.extend(index());
        let mut second = index();
        second.extend(only(config(800.0)));
        for facts in [first, second] {
            let model = &facts.models["x"];
            assert_eq!((model.weight_bytes, model.step_bytes, model.layers), (Some(1000.0), Some(900.0), Some(2.0)));
            assert_eq!(model.sources.len(), 2);
        }
    }
}
