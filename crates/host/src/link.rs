//! The link between two machines, by TCP alone: round trip and bandwidth.
//!
//! In:  an address of the other machine on that link.  Out: [`Measured`].
//! Not here: which machines (see `run::nodes`), RDMA.
//!
//! One side listens. It echoes what it receives, or discards it and reports the amount. The other side counts. A round trip is one small
//! message and its echo, on a connection without Nagle's delay. Bandwidth is the received amount over the time from the first byte to the
//! report of the other side that it has everything. So bytes in a buffer of ours do not count.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::net::now;

/// Bytes of a message of which the round trip is taken.
const MESSAGE: usize = 64;
/// Round trips before those that count, and most of those that do.
const WARM: usize = 50;
const TRIPS: usize = 2000;
/// No longer than this for round trips: a slow link gives fewer.
const TRIPS_S: f64 = 3.0;
/// Bytes of one write.
const BLOCK: usize = 1 << 20;
/// Nothing takes longer to connect or to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// First byte of a connection: what it is for.
const ECHO: u8 = b'e';
const SWALLOW: u8 = b's';

/// Measurement between two machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Round trips that counted.
    pub trips: usize,
    /// Median round trip of 64 bytes, µs.
    pub rtt_p50_us: f64,
    /// 99th percentile, µs. Absent below 100 trips.
    pub rtt_p99_us: Option<f64>,
    /// Shortest, µs.
    pub rtt_min_us: f64,
    /// Bandwidth by the number of connections at a time.
    pub bandwidth: Vec<Bandwidth>,
}

/// Throughput of a number of connections together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Connections at a time.
    pub streams: usize,
    /// Of what the other side has received, Gbit/s.
    pub gbit_s: f64,
    /// Duration, seconds.
    pub seconds: f64,
}

/// The side that answers. Dropping it ends it.
#[derive(Debug)]
pub struct Listening {
    /// Where.
    pub address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Listening {
    /// Listens at an address of this machine, on a port that is free.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn start(address: IpAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0))?;
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        std::thread::Builder::new().name("link".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(stream) = stream {
                    std::thread::spawn(move || drop(answer(stream)));
                }
            }
        })?;
        Ok(Self { address, over })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The thread waits for a connection: this is the last.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
    }
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut purpose = [0];
    stream.read_exact(&mut purpose)?;
    if purpose[0] == ECHO {
        let mut message = [0; MESSAGE];
        while stream.read_exact(&mut message).is_ok() {
            stream.write_all(&message)?;
        }
        return Ok(());
    }
    let mut block = vec![0; BLOCK];
    let mut all = 0_u64;
    loop {
        match stream.read(&mut block)? {
            0 => break,
            read => all += read as u64,
        }
    }
    stream.write_all(&all.to_be_bytes())
}

/// Measures the way to a machine that is [`Listening`]: bandwidth for `seconds` with each of these numbers of connections.
///
/// # Errors
/// When it cannot be reached, or breaks off.
pub fn measure(to: SocketAddr, streams: &[usize], seconds: f64) -> io::Result<Measured> {
    let mut trips = round_trips(to)?;
    trips.sort_unstable();
    let at = |share: f64| {
        let place = ((trips.len() as f64 * share) as usize).min(trips.len().saturating_sub(1));
        trips.get(place).map_or(0.0, |ns| *ns as f64 / 1e3)
    };
    let bandwidth = streams.iter().map(|streams| carry(to, *streams, seconds)).collect::<io::Result<_>>()?;
    Ok(Measured {
        trips: trips.len(),
        rtt_p50_us: at(0.5),
        rtt_p99_us: (trips.len() >= 100).then(|| at(0.99)),
        rtt_min_us: at(0.0),
        bandwidth,
    })
}

fn connect(to: SocketAddr, purpose: u8) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&[purpose])?;
    Ok(stream)
}

/// Each of them, ns.
fn round_trips(to: SocketAddr) -> io::Result<Vec<u64>> {
    let mut stream = connect(to, ECHO)?;
    let mut message = [7; MESSAGE];
    let mut trips = Vec::with_capacity(TRIPS);
    let began = now();
    for trip in 0..WARM + TRIPS {
        let sent = now();
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        if trip >= WARM || now().saturating_sub(began) as f64 / 1e9 > TRIPS_S / 2.0 {
            trips.push(now().saturating_sub(sent));
        }
        if now().saturating_sub(began) as f64 / 1e9 > TRIPS_S {
            break;
        }
    }
    Ok(trips)
}

fn carry(to: SocketAddr, streams: usize, seconds: f64) -> io::Result<Bandwidth> {
    let connections = (0..streams).map(|_| connect(to, SWALLOW)).collect::<io::Result<Vec<_>>>()?;
    let began = now();
    let until = began.saturating_add((seconds * 1e9) as u64);
    let each: Vec<io::Result<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = connections.into_iter().map(|stream| scope.spawn(move || fill(stream, until))).collect();
        let broke = || Err(io::Error::other("a thread of the measurement stopped unexpectedly"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| broke())).collect()
    });
    let bytes = each.into_iter().sum::<io::Result<u64>>()?;
    let seconds = now().saturating_sub(began) as f64 / 1e9;
    Ok(Bandwidth { streams, gbit_s: bytes as f64 * 8.0 / seconds / 1e9, seconds })
}

/// Sends until then. Gives what the other side says to have received.
fn fill(mut stream: TcpStream, until: u64) -> io::Result<u64> {
    let block = vec![0x5a; BLOCK];
    while now() < until {
        stream.write_all(&block)?;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut all = [0; 8];
    stream.read_exact(&mut all)?;
    Ok(u64::from_be_bytes(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_measured_in_every_figure() {
        let there = Listening::start("127.0.0.1".parse().unwrap()).unwrap();
        let found = measure(there.address, &[1, 3], 0.2).unwrap();
        assert!(found.trips >= 1 && found.rtt_min_us > 0.0, "{found:?}");
        assert_eq!(found.rtt_p99_us.is_some(), found.trips >= 100, "{found:?}");
        assert!(found.rtt_min_us <= found.rtt_p50_us, "{found:?}");
        assert!(found.rtt_p99_us.is_none_or(|p99| found.rtt_p50_us <= p99), "{found:?}");
        assert_eq!(found.bandwidth.iter().map(|one| one.streams).collect::<Vec<_>>(), [1, 3]);
        // How much that is follows from the machine.
        assert!(found.bandwidth.iter().all(|one| one.gbit_s >= 0.0 && one.seconds >= 0.2), "{found:?}");
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Measured>(&text).unwrap(), found);
    }

    #[test]
    fn the_other_side_counts_what_it_has_received() {
        let there = Listening::start("127.0.0.1".parse().unwrap()).unwrap();
        let mut stream = connect(there.address, SWALLOW).unwrap();
        stream.write_all(&vec![1; 3 * BLOCK + 7]).unwrap();
        // Nothing more is sent from now on.
        assert_eq!(fill(stream, 0).unwrap(), (3 * BLOCK + 7) as u64);
    }

    #[test]
    fn nobody_there_is_an_error() {
        assert!(measure("127.0.0.1:1".parse().unwrap(), &[1], 0.1).is_err());
    }
}
