//! Rank 0's side: accepts the other ranks.
//!
//! In:  an address, the secret, how many there are.  Out: [`Server`]: messages to each of the others.
//! Not here: an established connection (see `connection`).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::connection::{Out, Outbox, Terms, connection, thread};
use super::frame::{DRAWN, Frame, Hello, MAGIC, Secret, Side, TAG};
use super::{Event, GREETING, Handler, SILENCE};
use sparkbench_text::error::{Error, Kind};

/// Greetings under way at a time: others wait before they are accepted.
const GREETINGS: usize = 64;

/// Outboxes of those who are there.
type Boxes = Arc<Mutex<BTreeMap<u32, Outbox>>>;

/// See the module.
#[derive(Debug)]
pub struct Server {
    boxes: Boxes,
    address: SocketAddr,
    /// Ends the thread, until it has been ended.
    open: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

/// Expected values of a greeting.
#[derive(Clone)]
struct Admission {
    secret: Secret,
    world: u32,
    silence: Duration,
    boxes: Boxes,
    handler: Handler,
}

impl Server {
    /// Listens at this address and no other.
    ///
    /// # Errors
    /// When the address is not this machine's, or is taken.
    pub fn open(address: SocketAddr, secret: Secret, world: u32, handler: Handler) -> Result<Self, Error> {
        Self::open_until(SILENCE, address, secret, world, handler)
    }

    /// As [`Server::open`], with another `silence` after which a rank counts as gone.
    pub(super) fn open_until(
        silence: Duration,
        address: SocketAddr,
        secret: Secret,
        world: u32,
        handler: Handler,
    ) -> Result<Self, Error> {
        let failed = |cause: io::Error| {
            let taken = cause.kind() == io::ErrorKind::AddrInUse;
            Error::new(Kind::Preflight, format!("rank 0 cannot listen at {address}"))
                .hint(if taken {
                    "another job listens there. Give each its own port: --meet HOST:PORT"
                } else {
                    "--meet names an address of the machine that rank 0 runs on"
                })
                .because(cause)
        };
        let listener = std::net::TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let boxes = Boxes::default();
        let admission = Admission { secret, world, silence, boxes: Arc::clone(&boxes), handler };
        let (close, closed) = oneshot::channel();
        let thread = thread("ranks", async move {
            tokio::select! {
                _ = closed => {}
                () = receive(listener, admission.clone()) => {}
            }
            // Sends the end to the connected ones and reads them to their end.
            let gone = async {
                while !admission.boxes.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            };
            let _ = timeout(GREETING, gone).await;
        })
        .map_err(failed)?;
        Ok(Self { boxes, address, open: Mutex::new(Some((close, thread))) })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says something to one of them.
    pub fn say(&self, rank: u32, value: Value) {
        self.out(rank, Out::Frame(Frame::Message(value)));
    }

    /// Asks for the clock of one of them. The answer is an [`Event::Clock`].
    pub fn ask_clock(&self, rank: u32) {
        self.out(rank, Out::Clock);
    }

    fn out(&self, rank: u32, out: Out) {
        if let Some(outbox) = self.boxes.lock().unwrap_or_else(PoisonError::into_inner).get(&rank) {
            outbox.say(out);
        }
    }

    /// Ends every connection when all before was sent.
    pub fn close(&self) {
        let Some((close, thread)) = self.open.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        for outbox in self.boxes.lock().unwrap_or_else(PoisonError::into_inner).values() {
            outbox.say(Out::End);
        }
        drop(close);
        let _ = thread.join();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
    }
}

async fn receive(listener: std::net::TcpListener, admission: Admission) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let greetings = Arc::new(Semaphore::new(GREETINGS));
    loop {
        let Ok(permit) = Arc::clone(&greetings).acquire_owned().await else { return };
        let Ok((stream, from)) = listener.accept().await else {
            // Without descriptors: those who have some may give one back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let admission = admission.clone();
        tokio::spawn(async move {
            let greeted = timeout(GREETING, greet(stream, &admission)).await;
            drop(permit);
            match greeted {
                Ok(Ok((stream, greeting))) => admit(stream, greeting, admission).await,
                Ok(Err(why)) => (admission.handler)(Event::Refused(format!("{from}: {why}"))),
                Err(_) => (admission.handler)(Event::Refused(format!("{from}: it did not say who it is"))),
            }
        });
    }
}

/// Both sides show that they know the secret.
async fn greet(mut stream: TcpStream, admission: &Admission) -> Result<(TcpStream, Hello), String> {
    let gone = |cause: io::Error| format!("it left in the greeting ({cause})");
    stream.set_nodelay(true).map_err(gone)?;
    let mut greeting = Hello { head: drawn()?, member: [0; DRAWN], rank: 0, world: 0 };
    stream.write_all(MAGIC).await.map_err(gone)?;
    stream.write_all(&greeting.head).await.map_err(gone)?;
    let mut magic = [0; MAGIC.len()];
    stream.read_exact(&mut magic).await.map_err(gone)?;
    if magic != *MAGIC {
        return Err("it is not a rank of this version".to_owned());
    }
    stream.read_exact(&mut greeting.member).await.map_err(gone)?;
    greeting.rank = stream.read_u32().await.map_err(gone)?;
    greeting.world = stream.read_u32().await.map_err(gone)?;
    let mut proof = [0; TAG];
    stream.read_exact(&mut proof).await.map_err(gone)?;
    if !greeting.holds(&admission.secret, Side::Member, &proof) {
        return Err("it does not know the token".to_owned());
    }
    stream.write_all(greeting.proof(&admission.secret, Side::Head).as_ref()).await.map_err(gone)?;
    Ok((stream, greeting))
}

/// Unpredictable bytes.
pub fn drawn() -> Result<[u8; DRAWN], String> {
    let mut bytes = [0; DRAWN];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the machine has no random numbers".to_owned())?;
    Ok(bytes)
}

async fn admit(stream: TcpStream, greeting: Hello, admission: Admission) {
    let rank = greeting.rank;
    let terms = Terms {
        ours: greeting.key(&admission.secret, Side::Head),
        theirs: greeting.key(&admission.secret, Side::Member),
        silence: admission.silence,
    };
    let (outbox, inbox) = Outbox::new();
    let refused = {
        let mut boxes = admission.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        if greeting.world != admission.world {
            Some(format!(
                "rank {rank} believes that there are {} ranks, and there are {}",
                greeting.world, admission.world
            ))
        } else if rank == 0 || rank >= admission.world {
            Some(format!("there is no rank {rank} to join: they go from 1 to {}", admission.world.saturating_sub(1)))
        } else {
            match boxes.entry(rank) {
                Entry::Occupied(_) => Some(format!("rank {rank} has already joined")),
                Entry::Vacant(free) => {
                    free.insert(outbox.clone());
                    None
                }
            }
        }
    };
    if let Some(why) = refused {
        outbox.say(Out::Frame(Frame::Message(json!({ "refused": why }))));
        outbox.say(Out::End);
        (admission.handler)(Event::Refused(why));
        let nobody: Handler = Arc::new(|_| ());
        let _ = connection(stream, terms, (rank, Side::Head), inbox, nobody).await;
        return;
    }
    (admission.handler)(Event::Joined(rank));
    let ended = connection(stream, terms, (rank, Side::Head), inbox, Arc::clone(&admission.handler)).await;
    admission.boxes.lock().unwrap_or_else(PoisonError::into_inner).remove(&rank);
    if let Some(why) = ended {
        (admission.handler)(Event::Left(rank, why));
    }
}
