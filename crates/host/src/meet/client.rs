//! The side of every other rank: a connection to rank 0.
//!
//! In:  addresses of rank 0, the secret, the own rank.  Out: [`Client`].
//! Not here: an established connection (see `connection`).

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::connection::{Out, Outbox, Terms, connection, thread};
use super::frame::{DRAWN, Frame, Hello, MAGIC, Secret, Side, TAG};
use super::server::drawn;
use super::{Event, GREETING, Handler, SILENCE};
use sparkbench_text::error::{Error, Kind};

/// Between two tries: rank 0 may start later than the others.
const AGAIN: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug)]
pub struct Client {
    outbox: Outbox,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Client {
    /// Connects, as often as it takes within `patience`.
    ///
    /// # Errors
    /// When rank 0 cannot be reached, or the two do not know the same secret.
    pub fn connect(
        addresses: Vec<SocketAddr>,
        secret: Secret,
        place: (u32, u32),
        patience: Duration,
        handler: Handler,
    ) -> Result<Self, Error> {
        Self::connect_until(SILENCE, addresses, secret, place, patience, handler)
    }

    /// As [`Client::connect`], with another `silence` after which rank 0 counts as gone.
    pub(super) fn connect_until(
        silence: Duration,
        addresses: Vec<SocketAddr>,
        secret: Secret,
        (rank, world): (u32, u32),
        patience: Duration,
        handler: Handler,
    ) -> Result<Self, Error> {
        let (outbox, inbox) = Outbox::new();
        let (told, tell) = mpsc::channel();
        let shown = addresses.first().map(ToString::to_string).unwrap_or_default();
        let work = async move {
            let met = meet(&addresses, &secret, (rank, world), patience).await;
            let (stream, greeting) = match met {
                Ok(met) => met,
                Err(why) => {
                    let _ = told.send(Err(why));
                    return;
                }
            };
            let terms =
                Terms { ours: greeting.key(&secret, Side::Member), theirs: greeting.key(&secret, Side::Head), silence };
            let _ = told.send(Ok(()));
            handler(Event::Joined(0));
            if let Some(why) = connection(stream, terms, (0, Side::Member), inbox, Arc::clone(&handler)).await {
                handler(Event::Left(0, why));
            }
        };
        let failed =
            |cause: io::Error| Error::new(Kind::Preflight, "cannot start a thread for the ranks").because(cause);
        let thread = thread("ranks", work).map_err(failed)?;
        match tell.recv() {
            Ok(Ok(())) => Ok(Self { outbox, thread: Mutex::new(Some(thread)) }),
            Ok(Err(why)) => {
                Err(Error::new(Kind::Preflight, format!("rank {rank} cannot reach rank 0 at {shown}: {why}"))
                    .hint("give the machine of rank 0 with --meet, and give all ranks the same SPARKBENCH_TOKEN"))
            }
            Err(_) => Err(Error::new(Kind::Workload, "the thread of the ranks stopped unexpectedly")),
        }
    }

    /// Says something to rank 0.
    pub fn say(&self, value: Value) {
        self.outbox.say(Out::Frame(Frame::Message(value)));
    }

    /// Sends part of a file. Waits while the link is busy. False where rank 0 is gone.
    pub fn part(&self, bytes: Vec<u8>) -> bool {
        self.outbox.part(Frame::Bytes(bytes))
    }

    /// Says something behind the parts that were sent. False where rank 0 is gone.
    pub fn say_behind(&self, value: Value) -> bool {
        self.outbox.part(Frame::Message(value))
    }

    /// Ends the connection when all before was sent.
    pub fn close(&self) {
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.outbox.end();
            let _ = thread.join();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
    }
}

async fn meet(
    addresses: &[SocketAddr],
    secret: &Secret,
    (rank, world): (u32, u32),
    patience: Duration,
) -> Result<(TcpStream, Hello), String> {
    let until = Instant::now() + patience;
    let mut last = "it has no address".to_owned();
    loop {
        for address in addresses {
            match timeout(GREETING, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    return timeout(GREETING, greet(stream, secret, (rank, world)))
                        .await
                        .unwrap_or_else(|_| Err("it does not answer the greeting".to_owned()));
                }
                Ok(Err(cause)) => last = cause.to_string(),
                Err(_) => last = "it does not answer".to_owned(),
            }
        }
        if Instant::now() >= until {
            return Err(format!("{last}, tried for {} s", patience.as_secs()));
        }
        sleep(AGAIN).await;
    }
}

async fn greet(
    mut stream: TcpStream,
    secret: &Secret,
    (rank, world): (u32, u32),
) -> Result<(TcpStream, Hello), String> {
    let gone = |cause: io::Error| format!("it left in the greeting ({cause})");
    stream.set_nodelay(true).map_err(gone)?;
    let mut magic = [0; MAGIC.len()];
    stream.read_exact(&mut magic).await.map_err(gone)?;
    if magic != *MAGIC {
        return Err("the program that listens there is not a rank of this version".to_owned());
    }
    let mut head = [0; DRAWN];
    stream.read_exact(&mut head).await.map_err(gone)?;
    let greeting = Hello { head, member: drawn()?, rank, world };
    let mut said = MAGIC.to_vec();
    said.extend_from_slice(&greeting.member);
    said.extend_from_slice(&rank.to_be_bytes());
    said.extend_from_slice(&world.to_be_bytes());
    said.extend_from_slice(greeting.proof(secret, Side::Member).as_ref());
    stream.write_all(&said).await.map_err(gone)?;
    let mut proof = [0; TAG];
    stream.read_exact(&mut proof).await.map_err(|_| "it ended the greeting: the token is another one".to_owned())?;
    if !greeting.holds(secret, Side::Head, &proof) {
        return Err("it does not know the token".to_owned());
    }
    Ok((stream, greeting))
}
