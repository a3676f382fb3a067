//! `workden serve`: the HTTP service, started with nothing but a directory.

mod greeting;

use std::{
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use workden_core::sandbox::Signal;
use workden_server::{Server, ServerConfig};

use crate::{
    failure::{Failure, request},
    mcp::address,
    signals::ToldToEnd,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden serve                                   on 127.0.0.1:8420; prints a key and what to paste
  workden serve --config serve.toml --check       check a configuration, and serve nothing
  workden serve --database postgres://localhost/workden --listen 0.0.0.0:8420
  workden serve --new-key                         print another key of an administrator

Sessions go on when the service ends; the next one with the same directory and database finds them.

Signals:
  TERM, INT  finish the calls in progress and end
  HUP        read the configuration again

Exit codes:
  0  ended by a signal
  1  the service could not start, or can no longer listen
  2  invalid command line

Environment:
  WORKDEN_LOG=info  a line on standard error for each request";

/// Arguments of `workden serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Listen on this address. A port alone means an address of this machine; port 0 is any free port.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Keep the files of sessions, and by default the database, in this directory
    /// [default: `server` in $XDG_STATE_HOME/workden].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Keep records in this database, which several services can share: postgres://USER:PASSWORD@HOST/NAME.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Read runtimes, quotas and limits from this file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Let every program on this machine use the service, as an administrator, without a key.
    #[arg(long)]
    no_key: bool,
    /// Print a new key of an administrator, and serve nothing.
    #[arg(long, conflicts_with = "no_key")]
    new_key: bool,
    /// Check the configuration and the database, and serve nothing.
    #[arg(long)]
    check: bool,
}

impl ServeArguments {
    fn configuration(&self) -> Result<ServerConfig, Failure> {
        let mut config = match &self.config {
            None => ServerConfig::default(),
            Some(file) => {
                let shown = file.display();
                let text = std::fs::read_to_string(file)
                    .map_err(|error| Failure::Request(format!("cannot read `{shown}`: {}", error.kind())))?;
                ServerConfig::parse(&text).map_err(|error| Failure::Request(format!("{shown}: {error}")))?
            }
        };
        config.listen = self.listen.unwrap_or(config.listen);
        config.no_key |= self.no_key;
        config.database = self.database.clone().or(config.database);
        match (&self.state, &self.config) {
            (Some(state), _) => config.state.clone_from(state),
            (None, None) => config.state = default_state()?,
            (None, Some(_)) if config.state == ServerConfig::default().state => config.state = default_state()?,
            (None, Some(_)) => {}
        }
        config.check().map_err(request)?;
        Ok(config)
    }
}

/// Returns the directory of the service of this user.
fn default_state() -> Result<PathBuf, Failure> {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")));
    let missing = "directory for the service not found\nhint: name one with `--state DIR`, or set HOME";
    Ok(state.ok_or_else(|| Failure::Request(missing.to_owned()))?.join("workden/server"))
}

/// Serves until a signal.
pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let config = arguments.configuration()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Machine)?;
    let outcome = runtime.block_on(serve(arguments, config));
    runtime.shutdown_background();
    outcome
}

async fn serve(arguments: &ServeArguments, mut config: ServerConfig) -> Result<ExitCode, Failure> {
    if arguments.check || arguments.new_key {
        // Nothing is served: any address will do.
        config.listen.set_port(0);
        let server = Server::start(config).await.map_err(request)?;
        let text = match arguments.new_key {
            true => server.new_admin_key("workden serve --new-key").await.map_err(request)?.key,
            false => "The configuration and the database are fine.".to_owned(),
        };
        server.stop().await.map_err(request)?;
        writeln!(anstream::stdout().lock(), "{text}").map_err(Failure::Output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut told = ToldToEnd::listen().map_err(Failure::Machine)?;
    let is_open = config.no_key;
    let server = Server::start(config).await.map_err(request)?;
    let key = if is_open { None } else { server.first_key().await.map_err(request)? };
    let greeting = greeting::text(&server.url(), is_open, key.as_ref().map(|new| new.key.as_str()));
    let _ = anstream::stderr().lock().write_all(greeting.as_bytes());
    loop {
        match told.next().await {
            (Signal::Hup, _) if arguments.config.is_some() => reload(arguments, &server),
            (Signal::Hup, _) => {}
            _ => break,
        }
    }
    let _ = writeln!(anstream::stderr(), "workden: ending; sessions go on");
    server.stop().await.map_err(request)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the configuration again. An invalid one changes nothing.
fn reload(arguments: &ServeArguments, server: &Server) {
    let shown = arguments.config.as_deref().map_or(Path::new("").display(), Path::display);
    let outcome = arguments.configuration().and_then(|config| server.reload(config).map_err(request));
    let _ = match outcome {
        Ok(()) => writeln!(anstream::stderr(), "workden: read `{shown}` again"),
        Err(failure) => {
            failure.tell();
            writeln!(anstream::stderr(), "workden: the previous configuration stays in use")
        }
    };
}
