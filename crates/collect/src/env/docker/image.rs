//! An image: what its reference pins, and what the engine reports about it.
//!
//! In:  a reference as typed, the engine's answer about it.  Out: whether it can move, its id, digests and variables.
//! Not here: fetching images.

use serde_json::{Value, json};

use super::client::{Client, Inspected};
use sparkbench_host::Host;
use sparkbench_text::error::Error;

/// What the name of an image pins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    /// `NAME@sha256:...`: these bytes and no others.
    Digest,
    /// `sha256:...`: the id of an image on this machine.
    Id,
    /// Anything else: whatever the tag points to at the moment.
    Tag,
}

impl Reference {
    /// By its form.
    pub(super) fn of(name: &str) -> Self {
        let hex = |text: &str| text.len() == 64 && text.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
        match name.rsplit_once("sha256:") {
            Some(("", id)) if hex(id) => Self::Id,
            Some((before, digest)) if hex(digest) && before.ends_with('@') && before.len() > 1 => Self::Digest,
            None if hex(name) => Self::Id,
            _ => Self::Tag,
        }
    }
}

/// An image of this machine.
#[derive(Debug, Clone)]
pub(super) struct Image {
    /// `sha256:...`, however the engine writes it.
    pub id: String,
    inspected: Inspected,
}

impl Image {
    /// Looks at it. Nothing when it is not on this machine.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub(super) fn look(client: &Client, host: &dyn Host, name: &str) -> Result<Option<Self>, Error> {
        let inspected = client.inspect(host, "image", name)?;
        Ok(inspected.and_then(|inspected| {
            let id = full_id(inspected.text("/Id")?);
            Some(Self { id, inspected })
        }))
    }

    /// Reference that pins it: the digest it was pulled by, else its id on this machine.
    pub(super) fn fixed_name(&self, name: &str) -> String {
        let repository = repository(name);
        let digests = self.inspected.texts("/RepoDigests");
        let same = digests.iter().find(|digest| digest.split('@').next().is_some_and(|of| of.ends_with(repository)));
        same.cloned().unwrap_or_else(|| self.id.clone())
    }

    /// `amd64`, `arm64`.
    pub(super) fn architecture(&self) -> Option<&str> {
        self.inspected.text("/Architecture")
    }

    /// For the archive.
    pub(super) fn describe(&self) -> Value {
        let value = &self.inspected.value;
        json!({
            "id": self.id,
            "repo_digests": self.inspected.texts("/RepoDigests"),
            "repo_tags": self.inspected.texts("/RepoTags"),
            "architecture": value.get("Architecture"),
            "os": value.get("Os"),
            "created": value.get("Created"),
            "size_bytes": value.get("Size"),
            "env": self.inspected.texts("/Config/Env"),
            "entrypoint": self.inspected.texts("/Config/Entrypoint"),
            "cmd": self.inspected.texts("/Config/Cmd"),
            "user": value.pointer("/Config/User"),
            "working_dir": value.pointer("/Config/WorkingDir"),
            "labels": value.pointer("/Config/Labels"),
        })
    }
}

/// An id with its prefix: podman leaves it out.
pub(super) fn full_id(id: &str) -> String {
    if id.contains(':') { id.to_owned() } else { format!("sha256:{id}") }
}

/// Name without tag and digest. A port of a registry is no tag.
fn repository(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    match name.rsplit_once(':') {
        Some((before, tag)) if !tag.contains('/') => before,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_digest_or_an_id_fixes_an_image() {
        let hex = "a".repeat(64);
        for (name, expected) in [
            (format!("nvcr.io/nvidia/tensorrt-llm@sha256:{hex}"), Reference::Digest),
            (format!("nvcr.io:5000/x:1.2@sha256:{hex}"), Reference::Digest),
            (format!("sha256:{hex}"), Reference::Id),
            (hex.clone(), Reference::Id),
            (format!("x:sha256-{hex}"), Reference::Tag),
            (format!("@sha256:{hex}"), Reference::Tag),
            (format!("x@sha256:{}", &hex[1..]), Reference::Tag),
            (format!("x@sha256:{}", "A".repeat(64)), Reference::Tag),
            ("busybox".to_owned(), Reference::Tag),
            ("busybox:1.36".to_owned(), Reference::Tag),
            ("localhost:5000/busybox".to_owned(), Reference::Tag),
            (String::new(), Reference::Tag),
        ] {
            assert_eq!(Reference::of(&name), expected, "{name}");
        }
    }

    #[test]
    fn a_repository_is_a_name_without_tag_and_digest() {
        for (name, expected) in
            [("a/b:1", "a/b"), ("h:5000/a", "h:5000/a"), ("h:5000/a:1", "h:5000/a"), ("a@sha256:x", "a")]
        {
            assert_eq!(repository(name), expected);
        }
    }
}
