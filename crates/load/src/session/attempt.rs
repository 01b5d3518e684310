//! A small request of the kind that the load will send, for whoever waits for the server.
//!
//! In:  the server, [`Settings`].  Out: why it cannot be answered yet.
//! Not here: waiting (see `server::wait`), questions whose answers decide what is sent (see `question`).
//!
//! A gateway may list its models while nobody is behind it, and an engine while it still loads. The route of the load says so.

use std::time::Duration;

use super::known::settled;
use super::question::{self, LIMIT};
use crate::server::{self, exact};
use crate::settings::Settings;
use crate::target::Target;
use sparkbench_host::Host;
use sparkbench_text::error::Error;

/// Sends it, for as long as `left` and at least as long as any other query. What waiting does not cure is no reason to wait: the load says it.
///
/// # Errors
/// Why there is no answer yet, as part of a sentence.
pub fn attempt(host: &dyn Host, target: &Target, settings: &Settings, left: Duration) -> Result<(), String> {
    let Ok((web, target)) = settled(host, target, settings) else { return Ok(()) };
    let model = match &settings.model {
        Some(model) => model.clone(),
        None => match server::models(&web, server::LIMIT).map(|models| server::choose(&models, None).cloned()) {
            Ok(Ok(model)) => model.id,
            _ => return Ok(()),
        },
    };
    let mut body = exact::question(settings.endpoint, &model);
    if let Some(members) = body.as_object_mut() {
        members.insert("max_tokens".to_owned(), 1.into());
    }
    let body = question::with_members(settings, body);
    let limit = LIMIT.min(left).max(server::LIMIT);
    let said = |error: Error| error.what;
    let answer = web.post_json(target.route(settings.endpoint), &body, limit).map_err(said)?;
    if question::may_answer_later(answer.status) {
        Err(format!("{} answers with {}", target.shown_route(settings.endpoint), answer.gist()))
    } else {
        Ok(())
    }
}
