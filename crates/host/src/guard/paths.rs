//! Paths in the messages between collector, guard and stage. Linux allows any bytes in a path, and JSON holds text.
//!
//! In:  a path, or what holds some.  Out: for `#[serde(with)]`: a string where a path is UTF-8, else the list of its bytes.
//! Not here: paths in an archive (see `archive::FileName`), whose form is kept for ever. These messages never leave one executable.

use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Written {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

/// A path, or what holds some.
pub(crate) trait Paths: Sized {
    /// The same with each path as it is written.
    type Form: Serialize + DeserializeOwned;
    /// To be written.
    fn form(&self) -> Self::Form;
    /// What was written.
    fn of(form: Self::Form) -> Self;
}

impl Paths for PathBuf {
    type Form = Written;

    fn form(&self) -> Written {
        match self.to_str() {
            Some(text) => Written::Text(text.to_owned()),
            None => Written::Bytes(self.as_os_str().as_bytes().to_vec()),
        }
    }

    fn of(form: Written) -> Self {
        match form {
            Written::Text(text) => Self::from(text),
            Written::Bytes(bytes) => std::ffi::OsString::from_vec(bytes).into(),
        }
    }
}

impl<P: Paths> Paths for Option<P> {
    type Form = Option<P::Form>;

    fn form(&self) -> Self::Form {
        self.as_ref().map(P::form)
    }

    fn of(form: Self::Form) -> Self {
        form.map(P::of)
    }
}

impl<P: Paths> Paths for Vec<P> {
    type Form = Vec<P::Form>;

    fn form(&self) -> Self::Form {
        self.iter().map(P::form).collect()
    }

    fn of(form: Self::Form) -> Self {
        form.into_iter().map(P::of).collect()
    }
}

impl<P: Paths> Paths for BTreeMap<String, P> {
    type Form = BTreeMap<String, P::Form>;

    fn form(&self) -> Self::Form {
        self.iter().map(|(name, path)| (name.clone(), path.form())).collect()
    }

    fn of(form: Self::Form) -> Self {
        form.into_iter().map(|(name, path)| (name, P::of(path))).collect()
    }
}

/// For `#[serde(with)]`.
pub(crate) fn serialize<P: Paths, S: Serializer>(paths: &P, serializer: S) -> Result<S::Ok, S::Error> {
    paths.form().serialize(serializer)
}

/// Likewise.
pub(crate) fn deserialize<'de, P: Paths, D: Deserializer<'de>>(deserializer: D) -> Result<P, D::Error> {
    P::Form::deserialize(deserializer).map(P::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    struct Message {
        #[serde(with = "super")]
        path: PathBuf,
        #[serde(with = "super")]
        perhaps: Option<PathBuf>,
        #[serde(with = "super")]
        several: Vec<PathBuf>,
        #[serde(with = "super")]
        named: BTreeMap<String, PathBuf>,
    }

    fn path(bytes: &[u8]) -> PathBuf {
        std::ffi::OsString::from_vec(bytes.to_vec()).into()
    }

    #[test]
    fn a_path_of_any_bytes_comes_back_as_it_was() {
        for bytes in [&b"/a/b"[..], b"", b"/a\xff/b", b"\xe2\x82", b"/a\nb\"", "/gr\u{f6}\u{df}e".as_bytes()] {
            let path = path(bytes);
            let message = Message {
                path: path.clone(),
                perhaps: Some(path.clone()),
                several: vec![path.clone(), "/x".into()],
                named: [("unified".to_owned(), path)].into(),
            };
            let line = serde_json::to_string(&message).unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<Message>(&line).unwrap(), message);
        }
        let empty = Message::default();
        assert_eq!(serde_json::from_str::<Message>(&serde_json::to_string(&empty).unwrap()).unwrap(), empty);
    }

    #[test]
    fn a_path_that_is_text_stays_a_string() {
        let message = Message { path: "/a".into(), ..Message::default() };
        assert_eq!(
            serde_json::to_string(&message).unwrap(),
            "{\"path\":\"/a\",\"perhaps\":null,\"several\":[],\"named\":{}}"
        );
    }
}
