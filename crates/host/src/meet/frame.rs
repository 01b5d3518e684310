//! Frames of a connection, and how each side proves that it is the other's peer.
//!
//! In:  messages, a [`Secret`].  Out: bytes with a tag, and back.
//! Not here: sockets.
//!
//! ```text
//! u32 length │ kind, payload │ 32 bytes HMAC-SHA256 over number of the frame, kind, payload
//! ```
//!
//! Each direction has its own key, made from the secret and from random bytes of both sides for this connection. So a frame cannot be
//! replayed, left out or reflected without being noticed. Nothing is encrypted, because frames hold only settings and times.

use ring::hmac::{Context, HMAC_SHA256, Key, Tag, sign, verify};
use serde_json::Value;

use crate::net::Ns;

/// First word of both sides. The number goes up when an older side would no longer understand.
pub(crate) const MAGIC: &[u8; 20] = b"sparkbench-ranks 1\r\n";
/// Bytes that a side draws for a connection.
pub(crate) const DRAWN: usize = 32;
/// Bytes of a tag.
pub(crate) const TAG: usize = 32;
/// Longest frame: what comes with a greater length is not read.
pub(crate) const LONGEST: usize = 1 << 20;
/// Bytes of the number of a frame, which is tagged and not sent.
pub(crate) const NUMBER: usize = 8;

/// The shared secret of the processes of one job.
#[derive(Clone)]
pub struct Secret(Key);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Of a text.
    pub fn new(text: &str) -> Self {
        Self(Key::new(HMAC_SHA256, text.as_bytes()))
    }

    /// A number that all holders of the secret can compute and no one else can guess.
    pub fn number(&self, about: &str) -> u64 {
        let tag = sign(&self.0, about.as_bytes());
        tag.as_ref().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn of(&self, purpose: &str, parts: &[&[u8]]) -> Tag {
        let mut context = Context::with_key(&self.0);
        context.update(purpose.as_bytes());
        parts.iter().for_each(|part| context.update(part));
        context.sign()
    }
}

/// Who wants to talk to rank 0, and what both sides drew.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hello {
    /// By rank 0.
    pub head: [u8; DRAWN],
    /// By the other.
    pub member: [u8; DRAWN],
    pub rank: u32,
    /// How many it believes there are.
    pub world: u32,
}

impl Hello {
    /// Proof that a side knows the secret.
    pub(crate) fn proof(&self, secret: &Secret, side: Side) -> Tag {
        secret.of(side.word(), &[&self.head, &self.member, &self.rank.to_be_bytes(), &self.world.to_be_bytes()])
    }

    /// Whether `shown` is that.
    pub(crate) fn holds(&self, secret: &Secret, side: Side, shown: &[u8]) -> bool {
        let mut said = Vec::new();
        said.extend_from_slice(side.word().as_bytes());
        said.extend_from_slice(&self.head);
        said.extend_from_slice(&self.member);
        said.extend_from_slice(&self.rank.to_be_bytes());
        said.extend_from_slice(&self.world.to_be_bytes());
        verify(&secret.0, &said, shown).is_ok()
    }

    /// The key of frames that `side` sends.
    pub(crate) fn key(&self, secret: &Secret, side: Side) -> Key {
        let tag = secret.of("frames of the ", &[side.word().as_bytes(), &self.head, &self.member]);
        Key::new(HMAC_SHA256, tag.as_ref())
    }
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Rank 0.
    Head,
    /// Any other.
    Member,
}

impl Side {
    const fn word(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Member => "member",
        }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    /// Something said.
    Message(Value),
    /// Part of a file.
    Bytes(Vec<u8>),
    /// Rank 0 wants to be answered at once.
    Ping(u64),
    /// The answer: the number of the question, and the clock of the answering side.
    Pong(u64, Ns),
}

impl Frame {
    /// As bytes, the `number`-th that is sent with this key.
    pub(crate) fn encode(&self, key: &Key, number: u64) -> Vec<u8> {
        let mut body = number.to_be_bytes().to_vec();
        match self {
            Self::Message(value) => {
                body.push(0);
                // A value without maps of odd keys cannot fail to become JSON.
                body.extend_from_slice(serde_json::to_string(value).unwrap_or_default().as_bytes());
            }
            Self::Bytes(bytes) => {
                body.push(1);
                body.extend_from_slice(bytes);
            }
            Self::Ping(id) => {
                body.push(2);
                body.extend_from_slice(&id.to_be_bytes());
            }
            Self::Pong(id, at) => {
                body.push(3);
                body.extend_from_slice(&id.to_be_bytes());
                body.extend_from_slice(&at.to_be_bytes());
            }
        }
        let tag = sign(key, &body);
        let length = u32::try_from(body.len() - NUMBER).unwrap_or(u32::MAX);
        let mut out = length.to_be_bytes().to_vec();
        out.extend_from_slice(body.get(NUMBER..).unwrap_or_default());
        out.extend_from_slice(tag.as_ref());
        out
    }

    /// From what was read: room for the number, kind and payload. And the tag. Nothing where it is not what the other side sent.
    pub(crate) fn decode(mut body: Vec<u8>, tag: &[u8], key: &Key, number: u64) -> Option<Self> {
        body.get_mut(..NUMBER)?.copy_from_slice(&number.to_be_bytes());
        verify(key, &body, tag).ok()?;
        let payload = body.get(NUMBER + 1..)?;
        let word = |at: usize| payload.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map(u64::from_be_bytes);
        match body.get(NUMBER)? {
            0 => serde_json::from_slice(payload).ok().map(Self::Message),
            1 => Some(Self::Bytes(payload.to_vec())),
            2 => word(0).map(Self::Ping),
            3 => Some(Self::Pong(word(0)?, word(8)?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting() -> Hello {
        Hello { head: [1; DRAWN], member: [2; DRAWN], rank: 3, world: 8 }
    }

    fn read(bytes: &[u8], key: &Key, number: u64) -> Option<Frame> {
        let (head, rest) = bytes.split_at(4);
        let length = u32::from_be_bytes(head.try_into().unwrap()) as usize;
        assert_eq!(rest.len(), length + TAG);
        let mut body = vec![0; NUMBER];
        body.extend_from_slice(&rest[..length]);
        Frame::decode(body, &rest[length..], key, number)
    }

    #[test]
    fn a_frame_comes_back_and_a_changed_one_does_not() {
        let secret = Secret::new("s");
        let key = greeting().key(&secret, Side::Head);
        let frames = [
            Frame::Message(serde_json::json!({ "load": { "name": "c8" } })),
            Frame::Bytes(vec![0, 255, 7]),
            Frame::Ping(9),
            Frame::Pong(9, u64::MAX),
        ];
        for (number, frame) in (0..).zip(frames) {
            let bytes = frame.encode(&key, number);
            assert_eq!(read(&bytes, &key, number), Some(frame));
            assert_eq!(read(&bytes, &key, number + 1), None, "sent twice, or one left out");
            assert_eq!(read(&bytes, &greeting().key(&secret, Side::Member), number), None, "sent back");
            for place in 4..bytes.len() {
                let mut changed = bytes.clone();
                changed[place] ^= 1;
                assert_eq!(read(&changed, &key, number), None);
            }
        }
    }

    #[test]
    fn a_proof_holds_for_its_side_its_secret_and_its_rank_alone() {
        let (secret, greeting) = (Secret::new("s"), greeting());
        let proof = greeting.proof(&secret, Side::Member);
        assert!(greeting.holds(&secret, Side::Member, proof.as_ref()));
        assert!(!greeting.holds(&secret, Side::Head, proof.as_ref()));
        assert!(!greeting.holds(&Secret::new("t"), Side::Member, proof.as_ref()));
        assert!(!Hello { rank: 4, ..greeting }.holds(&secret, Side::Member, proof.as_ref()));
        assert!(!Hello { head: [9; DRAWN], ..greeting }.holds(&secret, Side::Member, proof.as_ref()));
    }

    #[test]
    fn a_secret_is_never_printed() {
        assert_eq!(format!("{:?}", Secret::new("hidden")), "Secret");
    }
}
