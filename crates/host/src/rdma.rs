//! The link between two machines by RDMA: `ib_write_bw` of perftest, where it is installed.
//!
//! In:  names of RDMA devices, an address.  Out: Gbit/s.
//! Not here: TCP (see `link`), which machines (see `run::nodes`).
//!
//! Source: perftest, README "Running tests" and the columns of its reports. Not run here with a real device.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use super::remote::Remote;
use super::{Host, Question};

pub const PROGRAM: &str = "ib_write_bw";
/// Time limit in addition to the measurement.
const BESIDE: Duration = Duration::from_secs(30);
/// Time until one that cannot listen has reported it.
const FAILS: Duration = Duration::from_millis(500);

/// The side that receives. Dropping it ends it.
#[derive(Debug)]
pub struct RdmaReceiver {
    _program: Remote,
    /// Port that the other side connects to.
    pub port: u16,
}

/// Command line of both sides. The one that sends adds the address.
fn argv(device: &str, port: u16, seconds: f64) -> Vec<String> {
    let seconds = (seconds.ceil() as u64).max(1).to_string();
    let words = [PROGRAM, "-d", device, "-F", "--report_gbits", "-D", &seconds, "-p", &port.to_string()];
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl RdmaReceiver {
    /// Starts it on a device of this machine.
    ///
    /// # Errors
    /// When it is not installed, or does not take the device. With its words.
    pub fn start(device: &str, seconds: f64) -> io::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?.local_addr()?.port();
        let mut program = Remote::start(&argv(device, port, seconds))?;
        loop {
            match program.hear(FAILS) {
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::TimedOut => return Ok(Self { _program: program, port }),
                Err(cause) => return Err(cause),
            }
        }
    }
}

/// Bandwidth from this machine to one that listens, Gbit/s.
///
/// # Errors
/// When it is not installed, fails, or prints no figure.
pub fn measure(host: &dyn Host, device: &str, address: &str, port: u16, seconds: f64) -> io::Result<f64> {
    let mut words = argv(device, port, seconds);
    words.push(address.to_owned());
    let answer = host.ask(&Question::new(words).within(BESIDE + Duration::from_secs_f64(seconds)))?;
    if !answer.ok() {
        return Err(io::Error::other(answer.complaint()));
    }
    average(&answer.text()).ok_or_else(|| io::Error::other(format!("{PROGRAM} printed no average")))
}

/// The column `BW average[Gb/sec]` of the last row.
fn average(text: &str) -> Option<f64> {
    let mut lines = text.lines().skip_while(|line| !line.contains("BW average[Gb/sec]")).skip(1);
    let row = lines.find(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))?;
    // bytes, iterations, peak, average, rate of messages
    row.split_whitespace().nth(3)?.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form of perftest's own documentation. The figures are made up.
    const REPORT: &str = "\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : rocep1s0f1
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      1050000          0.00               92.41  \t\t   0.176262
---------------------------------------------------------------------------------------
";

    #[test]
    fn the_average_is_read_and_nothing_else() {
        assert_eq!(average(REPORT), Some(92.41));
        assert_eq!(average("no table"), None);
        let other_unit = REPORT.replace("[Gb/sec]", "[MB/sec]");
        assert_eq!(average(&other_unit), None, "that would be another unit");
    }

    #[test]
    fn what_is_not_installed_is_an_error() {
        assert!(RdmaReceiver::start("mlx5_0", 1.0).is_err());
    }
}
