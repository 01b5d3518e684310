//! Incoming requests, and the answers that are sent at once.
//!
//! In:  bytes of a connection.  Out: whole responses. A request to the model goes to `place`.
//! Not here: how bytes become a request (see `http`, `ask`), streams (see `write`).

use crate::ask::{self, Ask, Refusal};
use crate::http::{self, Head, Route, error_body, push_response};
use crate::job::End;
use crate::metrics;
use crate::truth::{Outcome, Truth};
use sparkbench_host::net::{Received, now};

use super::conn::{Conn, ConnAction};
use super::{READ_BYTES, Server};

impl Server {
    pub(super) fn read(&mut self, conn: &mut Conn, key: (u32, u32)) -> ConnAction {
        match conn.stream.receive(&mut self.inbox) {
            Ok(Received::Bytes(count, stamp)) => {
                if conn.input.len() + count > http::BODY_MAX + 2 * http::HEAD_MAX + READ_BYTES {
                    return ConnAction::Close;
                }
                conn.input.extend_from_slice(&self.inbox[..count]);
                conn.stamp = stamp;
                if conn.active.is_none() && conn.ending.is_none() { self.requests(conn, key) } else { ConnAction::Stay }
            }
            Ok(Received::Nothing) => ConnAction::Stay,
            Ok(Received::End(_)) | Err(_) => ConnAction::Close,
        }
    }

    /// Reads the next request, if it is whole, and begins to answer it.
    pub(super) fn requests(&mut self, conn: &mut Conn, key: (u32, u32)) -> ConnAction {
        if conn.active.is_some() || conn.ending.is_some() || conn.input.is_empty() {
            return ConnAction::Stay;
        }
        if conn.head.is_none() {
            match http::head(&conn.input) {
                Ok(Some(head)) => {
                    if head.expects && conn.input.len() == head.bytes {
                        let made = self.write(conn, b"HTTP/1.1 100 Continue\r\n\r\n", now());
                        if made == ConnAction::Close {
                            return made;
                        }
                    }
                    conn.head = Some(head);
                }
                Ok(None) => return ConnAction::Stay,
                Err(fault) => return self.refuse(conn, key, fault),
            }
        }
        let Some(mut head) = conn.head.take() else { return ConnAction::Stay };
        let length = match head.whole(&conn.input) {
            Ok(Some(length)) => length,
            Ok(None) => {
                conn.head = Some(head);
                return ConnAction::Stay;
            }
            Err(fault) => return self.refuse(conn, key, fault),
        };
        conn.tick = 0;
        conn.keep_alive = head.keep_alive;
        self.totals.requests += 1;
        let input = std::mem::take(&mut conn.input);
        let fate = self.answer(conn, key, &head, head.body(&input));
        conn.requests += 1;
        conn.input = input;
        conn.input.drain(..length);
        if conn.input.is_empty() && conn.input.capacity() > READ_BYTES {
            conn.input = Vec::new();
        }
        fate
    }

    fn refuse(&mut self, conn: &mut Conn, key: (u32, u32), fault: http::Fault) -> ConnAction {
        let (code, message) = match fault {
            http::Fault::Malformed => (400, "this is not a request of HTTP/1.1"),
            http::Fault::TooLarge => (413, "the request is too large"),
        };
        conn.input.clear();
        conn.keep_alive = false;
        let body = error_body(code, "BadRequestError", message);
        self.respond(conn, key, code, "application/json", None, "connection: close\r\n", &body)
    }

    /// Answers what is no question to the model at once. Begins a job for what is.
    fn answer(&mut self, conn: &mut Conn, key: (u32, u32), head: &Head, body: &[u8]) -> ConnAction {
        let json = "application/json";
        let id = head.id.as_deref();
        let open = matches!(head.route, Route::Health | Route::Metrics);
        if !open && self.settings.api_key.is_some() && self.settings.api_key != head.key {
            let body = error_body(401, "AuthenticationError", "Unauthorized");
            return self.respond(conn, key, 401, json, id, "www-authenticate: Bearer\r\n", &body);
        }
        match head.route {
            Route::Health => self.respond(conn, key, 200, json, id, "", b"{}"),
            Route::Metrics => {
                let page = metrics::page(&self.counts, &self.settings.model);
                self.respond(conn, key, 200, "text/plain; version=0.0.4; charset=utf-8", id, "", page.as_bytes())
            }
            Route::Models => {
                let list = serde_json::json!({ "object": "list", "data": [{
                    "id": self.settings.model, "object": "model", "created": 0, "owned_by": "sparkbench",
                    "root": self.settings.model, "max_model_len": self.settings.max_model_len,
                }] });
                self.respond(conn, key, 200, json, id, "", list.to_string().as_bytes())
            }
            Route::Tokenize => match ask::tokenize(body, &mut self.hashes) {
                Ok(count) => {
                    let body = http::tokenized(count, self.settings.max_model_len);
                    self.respond(conn, key, 200, json, id, "", &body)
                }
                Err(refusal) => self.decline(conn, key, id, &refusal),
            },
            Route::WrongMethod => {
                let body = error_body(405, "MethodNotAllowed", "Method Not Allowed");
                self.respond(conn, key, 405, json, id, "", &body)
            }
            Route::Unknown => {
                let body = error_body(404, "NotFoundError", "Not Found");
                self.respond(conn, key, 404, json, id, "", &body)
            }
            Route::Chat | Route::Completions => {
                self.totals.asks += 1;
                let mut hashes = std::mem::take(&mut self.hashes);
                let asked = ask::read(body, head.route == Route::Chat, &self.settings, &mut hashes);
                self.hashes = hashes;
                let asked = asked.and_then(|ask| match &head.shape {
                    Some(Ok(shape)) => Ok(Ask { shape, ..ask }),
                    Some(Err(word)) => Err(Refusal { code: 400, message: format!("there is no shape `{word}`") }),
                    None => Ok(ask),
                });
                match asked {
                    Ok(ask) => self.take(conn, key, head, ask),
                    Err(refusal) => {
                        self.book.add(Truth {
                            id: head.id.clone().unwrap_or_default(),
                            shape: "refused",
                            outcome: Outcome::Refused,
                            mode: "none",
                            http: Some(refusal.code),
                            connection: conn.number,
                            before: conn.requests,
                            received_ns: conn.stamp.kernel,
                            received_user_ns: conn.stamp.user,
                            started_ns: conn.stamp.at(),
                            ..Truth::default()
                        });
                        self.decline(conn, key, id, &refusal)
                    }
                }
            }
        }
    }

    fn decline(&mut self, conn: &mut Conn, key: (u32, u32), id: Option<&str>, refusal: &Refusal) -> ConnAction {
        let kind = if refusal.code == 404 { "NotFoundError" } else { "BadRequestError" };
        let body = error_body(refusal.code, kind, &refusal.message);
        self.respond(conn, key, refusal.code, "application/json", id, "", &body)
    }

    /// A whole response at once.
    #[expect(clippy::too_many_arguments, reason = "the parts of a response, each once")]
    fn respond(
        &mut self,
        conn: &mut Conn,
        key: (u32, u32),
        code: u16,
        content_type: &str,
        id: Option<&str>,
        more: &str,
        body: &[u8],
    ) -> ConnAction {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let close = if conn.keep_alive || more.contains("connection:") { "" } else { "connection: close\r\n" };
        push_response(&mut out, code, content_type, id, &format!("{more}{close}"), body);
        let fate = self.write(conn, &out, now());
        self.out = out;
        if fate == ConnAction::Close { fate } else { self.finish(conn, key, End::Keep) }
    }
}
