//! Both services: started for the run, and ended with it.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::ground::Ground;
use crate::{Failure, reference::target_directory};

/// The version of pydantic-ai-backend whose service is the peer.
pub(super) const VERSION: &str = "0.2.37";
const TOKEN: &str = "bench-token-that-is-long-enough";
/// How long a service may take to start.
const START: Duration = Duration::from_secs(60);

/// How a service is spoken to.
#[derive(Clone, Debug)]
pub(super) enum Face {
    /// Ours, with the runtime of new sessions.
    Workden { runtime: &'static str },
    /// The peer.
    Sandboxd,
}

impl Face {
    /// Returns the path of a session.
    pub(super) fn session(&self, id: &str) -> String {
        match self {
            Self::Workden { .. } => format!("/v1/sessions/{id}"),
            Self::Sandboxd => format!("/sessions/{id}"),
        }
    }
}

/// A service, as clients see it.
pub(super) struct Side {
    pub(super) address: String,
    pub(super) key: String,
    pub(super) face: Face,
    program: Option<Running>,
}

impl Side {
    /// The id of its process.
    pub(super) fn process(&self) -> u32 {
        self.program.as_ref().map_or(0, |program| program.0.id())
    }
}

/// A program that is ended with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It ends its containers.
        let _ = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(15) {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ours, with containers and with Linux sandboxes.
pub(super) struct Workden {
    docker: Side,
    linux: Side,
    ready: Side,
    pub(super) state: PathBuf,
}

impl Workden {
    pub(super) fn start(program: &Path, ground: &Ground) -> Result<Self, Failure> {
        let state = std::env::temp_dir().join(format!("workden-bench-service-{}", std::process::id()));
        std::fs::create_dir_all(&state)?;
        let config = state.join("serve.toml");
        let image = &ground.image;
        let text = format!(
            "idle_seconds = 0\n[quotas]\nmax_sessions = 5000\n[runtimes.linux]\n[runtimes.ready]\nspares = 10\n[runtimes.base]\n\
             sandbox = \"docker\"\nimage = \"{image}\"\n"
        );
        std::fs::write(&config, text)?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--state"]).arg(state.join("state"));
        command.arg("--config").arg(&config).env("DOCKER_HOST", &ground.host).stderr(Stdio::piped());
        // As installed beside each other.
        if let Some(keeper) = std::env::var_os("WORKDEN_KEEPER") {
            command.env("WORKDEN_LINUX_KEEPER", keeper);
        }
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no log")?).lines().map_while(Result::ok);
        let program = Running(child);
        let mut after = |start: &str| {
            let line = lines.find_map(|line| line.strip_prefix(start).map(str::to_owned));
            line.ok_or_else(|| format!("`workden serve` did not print {start:?}"))
        };
        let address = after("workden: serving http://")?;
        let key = after("workden: your key, shown once: ")?;
        std::thread::spawn(move || lines.for_each(drop));
        let side = |runtime, program| Side {
            address: address.clone(),
            key: key.clone(),
            face: Face::Workden { runtime },
            program,
        };
        Ok(Self { docker: side("base", Some(program)), linux: side("linux", None), ready: side("ready", None), state })
    }

    /// Its containers.
    pub(super) fn side(&self) -> &Side {
        &self.docker
    }

    /// Its Linux sandboxes.
    pub(super) fn linux(&self) -> &Side {
        &self.linux
    }

    /// Its Linux sandboxes, of which ten are started before they are wanted.
    pub(super) fn ready(&self) -> &Side {
        &self.ready
    }

    /// The id of its process.
    pub(super) fn process(&self) -> u32 {
        self.docker.process()
    }
}

impl Drop for Workden {
    fn drop(&mut self) {
        self.docker.program = None;
        let _ = std::fs::remove_dir_all(&self.state);
    }
}

/// Installs the peer if it is missing, and starts it.
pub(super) fn sandboxd(ground: &Ground) -> Result<Side, Failure> {
    let home = target_directory()?.join("bench-sandboxd");
    let python = home.join("bin/python");
    let mark = home.join("installed");
    if std::fs::read_to_string(&mark).ok().as_deref() != Some(VERSION) {
        eprintln!("installing pydantic-ai-backend {VERSION} into {}", home.display());
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
        let package = format!("pydantic-ai-backend[server]=={VERSION}");
        done(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", &package]))?;
        std::fs::write(&mark, VERSION)?;
    }
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new(&python);
    command.args(["-m", "pydantic_ai_backends.remote.server"]).env_remove("PYTHONPATH");
    command.env("DOCKER_HOST", &ground.host).env("SANDBOXD_TOKEN", TOKEN).env("SANDBOXD_PORT", port.to_string());
    command.env("SANDBOXD_RUNTIMES", format!("base={}", ground.image)).env("SANDBOXD_NETWORK_MODE", "none");
    // Its fast way: files of a session are a directory of the host.
    command.env("SANDBOXD_NATIVE_FILES", "true").env("SANDBOXD_WORKSPACE_ROOT", ground.peer_files());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let address = format!("127.0.0.1:{port}");
    let side =
        Side { address: address.clone(), key: TOKEN.to_owned(), face: Face::Sandboxd, program: Some(Running(child)) };
    let began = Instant::now();
    while std::net::TcpStream::connect(&address).is_err() {
        if began.elapsed() > START {
            return Err("sandboxd did not start".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(side)
}

fn done(command: &mut Command) -> Result<(), Failure> {
    let status = command.env_remove("PYTHONPATH").status()?;
    if status.success() { Ok(()) } else { Err(format!("{:?} failed ({status})", command.get_program()).into()) }
}
