//! `Daemon`: a connection to a Docker or Podman daemon.
//!
//! Invariant: constructing one does no I/O. The first call connects and negotiates the API version; after a failed
//! connection the next call tries again.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bollard::{API_DEFAULT_VERSION, Docker};
use tokio::{
    sync::{OnceCell, Semaphore, SemaphorePermit},
    time::timeout,
};
use workden_core::{Error, ErrorKind, Result};

use super::errors;
use crate::HostEnvironment;

/// How long a daemon may take to report its version.
const GREETING_TIME: Duration = Duration::from_secs(20);
/// How long any other call may take, in seconds: starting a container on a busy machine is slow.
const CALL_SECONDS: u64 = 60;
/// Containers that are started or removed at the same time.
const TURNS: usize = 8;
/// Default socket of Docker.
const USUAL_SOCKET: &str = "/var/run/docker.sock";
/// Default socket of Podman.
const PODMAN_SOCKET: &str = "/run/podman/podman.sock";

/// A Docker or Podman daemon. Clones share its connection.
#[derive(Clone)]
pub struct Daemon {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address,
    client: OnceCell<Docker>,
    /// Permits for starting and removing containers, which is expensive for a daemon.
    turns: Semaphore,
    /// Volumes that are known to exist and to be filled.
    volumes: Mutex<BTreeSet<String>>,
}

/// The address of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    Socket(PathBuf),
    Tcp(String),
    /// TCP with the certificates in this directory.
    Tls(String, PathBuf),
}

impl Daemon {
    /// Returns the daemon that `DOCKER_HOST` names (with `DOCKER_TLS_VERIFY` and `DOCKER_CERT_PATH`); otherwise the
    /// one at Docker's default socket, or at Podman's if only that exists.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an invalid address.
    pub fn of_environment(host: &HostEnvironment) -> Result<Self> {
        if let Some(address) = host.variable("DOCKER_HOST") {
            let tls = host.variable("DOCKER_TLS_VERIFY").map(|_| {
                host.place("DOCKER_CERT_PATH").or_else(|| Some(host.home()?.join(".docker"))).unwrap_or_default()
            });
            return Address::parse(address, tls).map(Self::new);
        }
        let own_podman = host.place("XDG_RUNTIME_DIR").map(|place| place.join("podman/podman.sock"));
        let others = [Some(PathBuf::from(PODMAN_SOCKET)), own_podman];
        let there = |path: &PathBuf| Path::new(path).exists();
        let usual = PathBuf::from(USUAL_SOCKET);
        let socket = if there(&usual) { None } else { others.into_iter().flatten().find(there) };
        Ok(Self::new(Address::Socket(socket.unwrap_or(usual))))
    }

    /// Returns the daemon at this address: `unix:///var/run/docker.sock` or `tcp://host:2375`.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an invalid address.
    pub fn at(address: &str) -> Result<Self> {
        Address::parse(address, None).map(Self::new)
    }

    fn new(address: Address) -> Self {
        Self {
            shared: Arc::new(Shared {
                address,
                client: OnceCell::new(),
                turns: Semaphore::new(TURNS),
                volumes: Mutex::default(),
            }),
        }
    }

    /// Returns the address for display.
    #[must_use]
    pub fn address(&self) -> String {
        self.shared.address.to_string()
    }

    /// Whether the daemon shares this machine's files, judging by its address.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        match &self.shared.address {
            Address::Socket(_) => true,
            Address::Tcp(address) | Address::Tls(address, _) => {
                let host = address.trim_start_matches("tcp://").rsplit_once(':').map_or("", |(host, _)| host);
                matches!(host, "localhost" | "127.0.0.1" | "[::1]")
            }
        }
    }

    /// Returns the connected client.
    pub(crate) async fn client(&self) -> Result<&Docker> {
        self.shared.client.get_or_try_init(|| self.connect()).await
    }

    /// Whether the daemon has this image.
    pub(crate) async fn has_image(&self, image: &str) -> Result<bool> {
        match self.client().await?.inspect_image(image).await {
            Ok(_) => Ok(true),
            Err(error) if errors::is_not_found(&error) => Ok(false),
            Err(error) => Err(self.failed(&format!("look for the image `{image}`"), &error)),
        }
    }

    /// Waits for a permit to start or remove a container, held until it is dropped. This many at a time take no
    /// longer than one after the other; with more, callers would time out.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.shared.turns.acquire().await.ok()
    }

    /// Whether this volume is known to exist and to be filled.
    pub(crate) fn knows_volume(&self, name: &str) -> bool {
        self.shared.volumes.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// Remembers that this volume exists and is filled.
    pub(crate) fn remember_volume(&self, name: &str) {
        self.shared.volumes.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    async fn connect(&self) -> Result<Docker> {
        let client = match &self.shared.address {
            Address::Socket(path) => {
                Docker::connect_with_unix(&path.display().to_string(), CALL_SECONDS, API_DEFAULT_VERSION)
            }
            Address::Tcp(address) => Docker::connect_with_http(address, CALL_SECONDS, API_DEFAULT_VERSION),
            Address::Tls(address, certificates) => connect_with_tls(address, certificates)?,
        };
        let client = client.map_err(|error| self.unreachable(&error))?;
        match timeout(GREETING_TIME, client.negotiate_version()).await {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(_) => Err(self.silent(GREETING_TIME)),
        }
    }

    /// Converts the error of a call. `what` names the failed action: "create a container".
    pub(crate) fn failed(&self, what: &str, error: &bollard::errors::Error) -> Error {
        match errors::failed(what, error) {
            Some(error) => error,
            None => self.unreachable(error),
        }
    }

    /// Returns the error for a daemon that did not answer within `time`.
    pub(crate) fn silent(&self, time: Duration) -> Error {
        let sentence = format!("the Docker daemon at `{self}` did not answer within {} s", time.as_secs());
        Error::new(ErrorKind::Unreachable, sentence).hint("check the load of the daemon and the network to it")
    }

    fn unreachable(&self, error: &bollard::errors::Error) -> Error {
        let why = errors::innermost(error);
        let sentence = format!("there is no Docker daemon at `{self}`: {why}");
        let hint = if why.contains("ermission denied") {
            "you may not open its socket: join the group `docker` (`sudo usermod -aG docker $USER`, then log in \
             again), or set DOCKER_HOST to another daemon"
        } else {
            "start one: `sudo systemctl start docker`, or `systemctl --user start podman.socket` for Podman; or set \
             DOCKER_HOST=unix:///path/to.sock or tcp://host:2375"
        };
        Error::new(ErrorKind::Unreachable, sentence).hint(hint)
    }
}

impl Address {
    fn parse(text: &str, certificates: Option<PathBuf>) -> Result<Self> {
        let address = match text.split_once("://") {
            Some(("unix", path)) if path.starts_with('/') => Self::Socket(path.into()),
            None if text.starts_with('/') => Self::Socket(text.into()),
            Some(("tcp" | "http", host)) if !host.is_empty() => match certificates {
                Some(certificates) => Self::Tls(format!("tcp://{host}"), certificates),
                None => Self::Tcp(format!("tcp://{host}")),
            },
            Some(("https", host)) if !host.is_empty() => {
                Self::Tls(format!("tcp://{host}"), certificates.unwrap_or_default())
            }
            _ => {
                let sentence = format!("invalid Docker daemon address `{}`", text.escape_debug());
                return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint("use unix:///path/to.sock or tcp://host:port; for ssh, forward the socket with `ssh -L`"));
            }
        };
        Ok(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) | Self::Tls(address, _) => f.write_str(address),
        }
    }
}

impl fmt::Display for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.address.fmt(f)
    }
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Daemon({self})")
    }
}

type Connected = std::result::Result<Docker, bollard::errors::Error>;

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "as on other systems")]
fn connect_with_tls(address: &str, certificates: &Path) -> Result<Connected> {
    let [key, certificate, authority] = ["key.pem", "cert.pem", "ca.pem"].map(|name| certificates.join(name));
    Ok(Docker::connect_with_ssl(address, &key, &certificate, &authority, CALL_SECONDS, API_DEFAULT_VERSION))
}

/// The TLS of the client library links the frameworks of the macOS SDK, which a build on Linux does not have.
#[cfg(not(target_os = "linux"))]
fn connect_with_tls(address: &str, _certificates: &Path) -> Result<Connected> {
    let sentence = format!("cannot connect to the Docker daemon at `{address}`: TLS is supported on Linux only");
    Err(Error::new(ErrorKind::Unsupported, sentence)
        .hint("forward its socket with `ssh -L` and set DOCKER_HOST=unix://PATH"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> HostEnvironment {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        HostEnvironment { variables: owned.collect::<BTreeMap<_, _>>(), directory: "/".into() }
    }

    #[test]
    fn addresses_are_understood_or_refused() {
        for (text, address) in [
            ("unix:///run/d.sock", "unix:///run/d.sock"),
            ("/run/d.sock", "unix:///run/d.sock"),
            ("tcp://127.0.0.1:2375", "tcp://127.0.0.1:2375"),
        ] {
            assert_eq!(Daemon::at(text).unwrap().address(), address);
        }
        for text in ["", "unix://relative", "ssh://host", "tcp://", "host:2375"] {
            assert_eq!(Daemon::at(text).unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
        }
    }

    #[test]
    fn the_environment_names_the_daemon() {
        let daemon = Daemon::of_environment(&environment(&[("DOCKER_HOST", "unix:///x.sock")])).unwrap();
        assert_eq!(daemon.shared.address, Address::Socket("/x.sock".into()));
        let tls = [("DOCKER_HOST", "tcp://h:2376"), ("DOCKER_TLS_VERIFY", "1"), ("HOME", "/srv/me")];
        let daemon = Daemon::of_environment(&environment(&tls)).unwrap();
        assert_eq!(daemon.shared.address, Address::Tls("tcp://h:2376".into(), "/srv/me/.docker".into()));
        assert!(Daemon::of_environment(&environment(&[("DOCKER_HOST", "ssh://h")])).is_err());
    }

    #[tokio::test]
    async fn without_a_daemon_it_is_said_how_to_start_one() {
        let place = tempfile::tempdir().unwrap();
        let daemon = Daemon::at(&place.path().join("none.sock").display().to_string()).unwrap();
        let error = daemon.client().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.to_string().contains("systemctl start docker"), "{error}");
        // A socket without a listener.
        let dead = place.path().join("dead.sock");
        drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
        let error = Daemon::at(&dead.display().to_string()).unwrap().client().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.sentence().to_lowercase().contains("connection refused"), "{error}");
    }
}
