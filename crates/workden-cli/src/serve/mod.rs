//! `workden serve`: the HTTP service, started with nothing but a directory.

mod greeting;

use std::{io::Write, net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Args;
use workden_core::sandbox::Signal;
use workden_server::{Server, ServerConfig, TlsFiles};

use crate::{
    failure::{Failure, request},
    log,
    mcp::address,
    signals::ToldToEnd,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden serve                                   on 127.0.0.1:8420; prints a key and what to paste
  workden serve --config serve.toml --check       check a configuration, and serve nothing
  workden serve --database postgres://localhost/workden --listen 0.0.0.0:8420
  workden serve --listen 0.0.0.0:443 --tls-certificate cert.pem --tls-key key.pem
  workden serve --new-key                         print another key of an administrator

Sessions go on when the service ends; the next one with the same directory and database finds them.

Signals:
  TERM, INT  finish the calls in progress and end
  HUP        read the configuration and the certificate again

Exit codes:
  0  ended by a signal
  1  the service could not start, or can no longer listen
  2  invalid command line

Environment:
  WORKDEN_DATABASE         the database, unless --database names one
  WORKDEN_LOG=info         a line on standard error for each request
  WORKDEN_LOG_FORMAT=json  each line is a JSON object";

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
    /// Keep records in this database, which several services can share: postgres://USER:PASSWORD@HOST/NAME
    /// [default: WORKDEN_DATABASE].
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Read runtimes, quotas and limits from this file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve HTTPS with this certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Let every program on this machine use the service, as an administrator, without a key.
    #[arg(long)]
    no_key: bool,
    /// Print the address only: no key and nothing to paste. For a service whose output is kept.
    #[arg(long)]
    quiet: bool,
    /// Print a new key of an administrator, and serve nothing.
    #[arg(long, conflicts_with = "no_key")]
    new_key: bool,
    /// Check the configuration, the certificate and the database, and change nothing.
    #[arg(long, conflicts_with = "new_key")]
    check: bool,
}

impl ServeArguments {
    /// Whether there is anything to read again.
    fn has_files(&self) -> bool {
        self.config.is_some() || self.tls_certificate.is_some()
    }

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
        config.database = self.database.clone().or_else(|| variable("WORKDEN_DATABASE")).or(config.database);
        if Server::HAS_TRACES {
            config.otlp_endpoint = config.otlp_endpoint.or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        }
        if let (Some(certificate), Some(key)) = (self.tls_certificate.clone(), self.tls_key.clone()) {
            config.tls = Some(TlsFiles::new(certificate, key));
        }
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

/// Returns the value of a variable that is set. There a password is not among the arguments, which every program of the
/// machine sees.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
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
    log::set_up_service()?;
    let config = arguments.configuration()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Machine)?;
    let outcome = runtime.block_on(serve(arguments, config));
    runtime.shutdown_background();
    outcome
}

async fn serve(arguments: &ServeArguments, mut config: ServerConfig) -> Result<ExitCode, Failure> {
    if arguments.check {
        let steps = Server::check(&config).await.map_err(request)?;
        writeln!(anstream::stdout().lock(), "{}", checked(&steps)).map_err(Failure::Output)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.new_key {
        // Nothing is served: any address will do.
        config.listen.set_port(0);
        let server = Server::start(config).await.map_err(request)?;
        let new = server.new_admin_key("workden serve --new-key").await.map_err(request)?;
        server.stop().await.map_err(request)?;
        writeln!(anstream::stdout().lock(), "{}", new.key).map_err(Failure::Output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut told = ToldToEnd::listen().map_err(Failure::Machine)?;
    let is_open = config.no_key;
    let server = Server::start(config).await.map_err(request)?;
    let greeting = match arguments.quiet {
        true => greeting::address(&server.url()),
        false => {
            let key = if is_open { None } else { server.first_key().await.map_err(request)? };
            greeting::text(&server.url(), is_open, key.as_ref().map(|new| new.key.as_str()))
        }
    };
    let _ = anstream::stderr().lock().write_all(greeting.as_bytes());
    loop {
        match told.next().await {
            (Signal::Hup, _) if arguments.has_files() => reload(arguments, &server),
            (Signal::Hup, _) => {}
            _ => break,
        }
    }
    let _ = writeln!(anstream::stderr(), "workden: ending; sessions go on");
    server.stop().await.map_err(request)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns what a check found.
fn checked(steps: &[&str]) -> String {
    let fine = "The configuration and the database are fine.";
    match steps {
        [] => fine.to_owned(),
        steps => format!("{fine}\nThe first start will change the tables of the database: {}.", steps.join(", ")),
    }
}

/// Reads the configuration and the certificate again. Invalid ones change nothing.
fn reload(arguments: &ServeArguments, server: &Server) {
    let outcome = arguments.configuration().and_then(|config| server.reload(config).map_err(request));
    let _ = match outcome {
        Ok(()) => writeln!(anstream::stderr(), "workden: read the configuration again"),
        Err(failure) => {
            failure.tell();
            writeln!(anstream::stderr(), "workden: the previous configuration stays in use")
        }
    };
}
