//! Which of the usual routes a server has, for a load whose own is not there.
//!
//! In:  a [`Target`], a [`Web`], a model.  Out: an [`Error`] with addresses that answer.
//! Not here: which route a load uses (see `target`).

use std::time::Duration;

use serde_json::Value;

use super::{exact, models};
use crate::settings::Endpoint;
use crate::target::Target;
use sparkbench_host::web::{HttpAnswer, Web};
use sparkbench_text::address::ApiPlace;
use sparkbench_text::error::{Error, Kind};

/// Where APIs of this kind have their routes.
const USUAL: [(Endpoint, &str); 3] = [
    (Endpoint::Chat, "/v1/chat/completions"),
    (Endpoint::Completions, "/v1/completions"),
    (Endpoint::Chat, "/chat/completions"),
];

/// Whether a status says that the route is not there.
pub(crate) const fn is_missing(status: u16) -> bool {
    matches!(status, 404 | 405)
}

/// The error of a load whose route is not there. The usual ones are asked, below the path of the address and below none.
pub(crate) fn missing(
    web: &Web,
    target: &Target,
    endpoint: Endpoint,
    model: &str,
    answer: &HttpAnswer,
    limit: Duration,
) -> Error {
    let what = format!("{} answers with {}", target.shown_route(endpoint), answer.gist());
    Error::new(Kind::Workload, what).hint(remedy(web, target, model, limit))
}

/// What to do about it.
pub(crate) fn remedy(web: &Web, target: &Target, model: &str, limit: Duration) -> String {
    found(&answering(web, target, model, limit)).unwrap_or_else(|| {
        "check the address, --path if it is given, and the name of the model. None of /v1/chat/completions, /v1/completions and \
         /chat/completions answers on this server"
            .to_owned()
    })
}

/// The same for a route whose server lists no models beside it. Absent where the route is there, or no usual one is.
pub(crate) fn instead(
    web: &Web,
    target: &Target,
    endpoint: Endpoint,
    model: Option<&str>,
    limit: Duration,
) -> Option<String> {
    let listed = || {
        let usual = web.at(ApiPlace::of(&format!("{}/v1", target.root())));
        models(&usual, limit).ok()?.into_iter().next().map(|model| model.id)
    };
    let model = model.map(str::to_owned).or_else(listed).unwrap_or_default();
    let own = web.post_json(target.route(endpoint), &small(endpoint, &model), limit);
    own.is_ok_and(|answer| is_missing(answer.status)).then(|| found(&answering(web, target, &model, limit))).flatten()
}

fn found(addresses: &[String]) -> Option<String> {
    Some(match addresses {
        [] => return None,
        [only] => format!("leave out --path if it is given, and give the address that answers: --url {only}"),
        several => {
            format!(
                "leave out --path if it is given, and give an address that answers: --url {}",
                several.join(", or --url ")
            )
        }
    })
}

/// A small request.
fn small(endpoint: Endpoint, model: &str) -> Value {
    let mut body = exact::question(endpoint, model);
    if let Some(members) = body.as_object_mut() {
        members.insert("max_tokens".to_owned(), 1.into());
    }
    body
}

/// Addresses of the usual routes that answer a small request, or refuse it for another reason than that they are not there.
fn answering(web: &Web, target: &Target, model: &str, limit: Duration) -> Vec<String> {
    let mut roots = vec![target.root()];
    roots.extend(roots.first().is_some_and(|root| !root.is_empty()).then_some(""));
    let usual = roots.iter().flat_map(|root| USUAL.map(|(endpoint, path)| (*root, endpoint, path)));
    let answers = usual.filter_map(|(root, endpoint, path)| {
        let there = web.at(ApiPlace::of(&format!("{root}/v1")));
        let answer = there.post_json(path, &small(endpoint, model), limit).ok()?;
        let has_it = answer.ok() || matches!(answer.status, 400..=403 | 422 | 429);
        has_it.then(|| there.asked(path))
    });
    answers.collect()
}
