//! TLS over our own non-blocking connections, so that the kernel's receive times stay available.
//!
//! In:  a [`Stream`] that is connected, whom to trust.  Out: [`Secure`], which gives plain bytes with the stamp of the packet that
//! completed them.
//! Not here: sockets and stamps themselves (see `stream`), what the bytes mean.
//!
//! `rustls` never touches a socket here: what [`Stream::receive`] took is handed to it, and what it wants to send goes out through
//! [`Stream::send`]. The caller lends the room for the ciphertext, so that ten thousand connections do not need ten thousand buffers.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::{Received, Stream};
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::escape::shown;

/// Room that a caller lends for ciphertext. One read of it gives at most so much plain text plus what was left of a record before
/// ([`PLAIN_MIN`] in all).
pub const CIPHER: usize = 64 * 1024;

/// Room for plain text that always suffices for one read.
pub const PLAIN_MIN: usize = CIPHER + 32 * 1024;

/// Whom to believe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// Anyone: certificates are not checked.
    pub insecure: bool,
    /// Authorities in a PEM file, instead of those of the machine.
    pub ca_file: Option<PathBuf>,
}

/// Why a connection did not come about or broke.
#[derive(Debug)]
pub enum Fault {
    /// The certificate or the protocol. A sentence with what to do.
    Tls(String),
    /// The connection below.
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Shared state of all connections to servers.
#[derive(Debug, Clone)]
pub struct TlsClient(Arc<ClientConfig>);

impl TlsClient {
    /// Reads the authorities.
    ///
    /// # Errors
    /// When the file cannot be read or holds no certificate, or the machine has no trusted certificate.
    pub fn new(trust: &Trust) -> Result<Self, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(Kind::Preflight, "TLS cannot be set up").because(error))?;
        let mut config = if trust.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider))).with_no_client_auth()
        } else {
            let roots = match &trust.ca_file {
                Some(path) => from_file(path)?,
                None => of_the_machine()?,
            };
            builder.with_root_certificates(roots).with_no_client_auth()
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// Begins a session over a connection. `host` is the name (or number) that the certificate must be for.
    ///
    /// # Errors
    /// When the name is invalid.
    pub fn start(&self, stream: Stream, host: &str) -> Result<Secure, Fault> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Fault::Tls(format!("'{host}' is not a name that a certificate can be for")))?;
        let session = ClientConnection::new(Arc::clone(&self.0), name).map_err(|error| Fault::Tls(explain(&error)))?;
        Ok(Secure { stream, session })
    }
}

fn from_file(path: &Path) -> Result<RootCertStore, Error> {
    let unfit = |what: String| {
        Error::usage(format!("cannot read '{}' as certificates of authorities", shown(path)))
            .detail(what)
            .hint("give a PEM file with '-----BEGIN CERTIFICATE-----' in it")
    };
    let unreadable = |cause: pem::Error| {
        let mut error = unfit(cause.to_string());
        if matches!(cause, pem::Error::Io(_)) {
            error.kind = Kind::Archive;
        }
        error
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
        let certificate = certificate.map_err(unreadable)?;
        roots.add(certificate).map_err(|error| unfit(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unfit("it holds no certificate".into()));
    }
    Ok(roots)
}

fn of_the_machine() -> Result<RootCertStore, Error> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let detail = found.errors.first().map_or_else(|| "no store was found".to_owned(), ToString::to_string);
        return Err(Error::new(Kind::Preflight, "this machine trusts no certificate authority")
            .detail(detail)
            .hint("install the package ca-certificates, or give the server's authority with --ca-file"));
    }
    Ok(roots)
}

/// A connection with TLS on it.
#[derive(Debug)]
pub struct Secure {
    stream: Stream,
    session: ClientConnection,
}

impl Secure {
    /// Whether bytes of ours can not be sent yet.
    pub fn handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Whether something waits for room in the socket.
    pub fn wants_write(&self) -> bool {
        self.session.wants_write()
    }

    /// Sends what there is room for.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn flush(&mut self) -> Result<(), Fault> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Out(&self.stream)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes as much as is wanted for sending, and sends what there is room for. 0 when nothing more can be taken at the moment.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        let mut taken = 0;
        while taken < bytes.len() {
            let part = self.session.writer().write(&bytes[taken..])?;
            self.flush()?;
            taken += part;
            if part == 0 {
                break;
            }
        }
        Ok(taken)
    }

    /// Takes what has arrived. `cipher` is room of [`CIPHER`] bytes, `into` of at least [`PLAIN_MIN`]. Bytes of the protocol alone give
    /// [`Received::Nothing`].
    ///
    /// # Errors
    /// When the certificate is not trusted, what came is no TLS, or the connection is broken.
    pub fn receive(&mut self, cipher: &mut [u8], into: &mut [u8]) -> Result<Received, Fault> {
        let room = cipher.len().min(CIPHER);
        let (count, stamp) = match self.stream.receive(&mut cipher[..room])? {
            Received::Bytes(count, stamp) => (count, stamp),
            other => return Ok(other),
        };
        let mut rest = &cipher[..count];
        let mut given = 0;
        while !rest.is_empty() {
            self.session.read_tls(&mut rest)?;
            if let Err(error) = self.session.process_new_packets() {
                // The alert that says why we leave.
                let _ = self.flush();
                return Err(Fault::Tls(explain(&error)));
            }
            loop {
                match self.session.reader().read(&mut into[given..]) {
                    // The other side has said goodbye. The end of the connection follows.
                    Ok(0) => {
                        return Ok(if given > 0 { Received::Bytes(given, stamp) } else { Received::End(stamp) });
                    }
                    Ok(count) => given += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.flush()?;
        Ok(if given > 0 { Received::Bytes(given, stamp) } else { Received::Nothing })
    }

    /// Ends it with a reset instead of an orderly close.
    pub fn reset(self) {
        self.stream.reset();
    }
}

impl AsFd for Secure {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The socket as `rustls` wants it.
struct Out<'a>(&'a Stream);

impl io::Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.send(bytes)? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            sent => Ok(sent),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The fault and its remedy.
fn explain(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(why) => {
            let (what, remedy) = untrusted(why);
            format!("{what}: {remedy}")
        }
        rustls::Error::InvalidMessage(_) => {
            "the answer of the server is not TLS. Give its address with http://".to_owned()
        }
        other => format!("the TLS handshake failed: {other}"),
    }
}

/// The fault of a server's certificate, and its remedy.
pub(crate) fn untrusted(why: &CertificateError) -> (String, &'static str) {
    match why {
        CertificateError::UnknownIssuer => (
            "the server's certificate is not signed by an authority that this machine trusts".to_owned(),
            "give the authority that signed it with --ca-file (ca_file in a suite), or --insecure for a server of your own",
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "the server's certificate has expired".to_owned(),
            "renew it, or do not check it with --insecure if the server is your own",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => (
            "the server's certificate is not valid yet".to_owned(),
            "set the clock of this machine right, or do not check it with --insecure if the server is your own",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            "the server's certificate is for another name than the one in the address".to_owned(),
            "write the name that it is for, or do not check it with --insecure if the server is your own",
        ),
        // What `openssl req -x509` makes unless told otherwise. The checker has no word of its own for it.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => (
            "the server's certificate is that of an authority, signed by itself: no --ca-file makes it a server's"
                .to_owned(),
            "make one for a server (openssl req -x509 with -addext basicConstraints=CA:FALSE), or do not check it with --insecure",
        ),
        other => (
            format!("the server's certificate is not accepted: {other}"),
            "do not check it with --insecure if the server is your own",
        ),
    }
}

/// Believes any certificate, but still checks that the server holds its key.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
