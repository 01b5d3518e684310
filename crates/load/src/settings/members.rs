//! Members of the body that would make one request several answers, or an answer more than was generated.
//!
//! In:  the members that a user adds.  Out: why one of them cannot be.
//! Not here: members that the load sets itself (see `build::form`).

use std::collections::BTreeMap;

use serde_json::Value;

/// Why a load with these members could not be measured. Nothing where it can.
pub(crate) fn unmeasurable(extra: &BTreeMap<String, Value>) -> Option<String> {
    let given = |name: &str| extra.get(name).filter(|value| !value.is_null());
    // What is not clearly one is not sent: a server may read "2" as two.
    if let Some(name) = ["n", "best_of"].into_iter().find(|name| given(name).is_some_and(|value| *value != 1)) {
        return Some(format!(
            "the member '{name}' of the body is not 1. A load needs one answer to each request, because TPOT and the gaps between tokens of \
             several would be those of no answer"
        ));
    }
    given("echo").filter(|value| **value != false).map(|_| {
        "the member 'echo' of the body asks for the prompt in the answer, so that the first token would be one of the prompt"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_answers_and_an_echo_are_refused_and_their_absence_is_not() {
        let said = |text: &str| unmeasurable(&serde_json::from_str(text).unwrap());
        for text in [r#"{"n":2}"#, r#"{"n":"2"}"#, r#"{"best_of":3,"n":1}"#, r#"{"n":0}"#, r#"{"n":[1]}"#] {
            assert!(said(text).is_some_and(|why| why.contains("is not 1. A load needs one answer")), "{text}");
        }
        for text in [r#"{"echo":true}"#, r#"{"echo":1}"#] {
            assert!(said(text).is_some_and(|why| why.contains("'echo'")), "{text}");
        }
        for text in ["{}", r#"{"n":1,"best_of":1,"echo":false}"#, r#"{"n":null,"echo":null}"#, r#"{"min_n":2}"#] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
