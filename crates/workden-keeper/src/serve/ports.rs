//! A keeper on a port of the loopback interface, to which a proxy leads, in a sandbox of a hosting service. Standard
//! input has one line, the launch; standard output gets two, the reply and the port.
//!
//! Invariant: the secret is in no file, argument or variable of the sandbox, so commands cannot learn it, although they
//! run as the same user.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    sync::Arc,
};

use rustix::{
    fs::{Mode, OFlags},
    process::{DumpableBehavior, set_dumpable_behavior},
};
use workden_core::{Error, ErrorKind, Result, Sandbox};
use workden_wire::{LaunchTarget, Lifetime, PortAccess, Reply, SharedSecret, read_launch, write_reply};

use super::{
    launch_config,
    lifetime::{self, EndConditions},
    runtime,
    web_clients::{self, WebEntrance},
};
use crate::{config::KeeperConfig, keeper::Keeper, sys};

/// Reads the launch, and serves the first of these ports that is free until the end.
pub(super) fn run(ports: &[u16]) -> Result<()> {
    sys::give_memory_back();
    // Before the secret arrives.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let prepared = match prepare(ports) {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = write_reply(&mut io::stdout(), &Reply::Refused(error.clone()));
            return Err(error);
        }
    };
    let (config, entrance, ends) = prepared;
    write_reply(&mut io::stdout(), &Reply::Ready)?;
    let told = writeln!(io::stdout(), "port {}", entrance.port);
    told.map_err(|error| Error::new(ErrorKind::Io, format!("cannot print the port: {}", error.kind())))?;
    release_standard_streams()?;
    let runtime = runtime::build()?;
    let done = runtime.block_on(async {
        let keeper = Arc::new(Keeper::new(config)?);
        let sandbox: Arc<dyn Sandbox> = Arc::clone(&keeper) as _;
        lifetime::serve_clients_until_end(keeper, ends, |clients| web_clients::serve(entrance, sandbox, clients)).await
    });
    runtime.shutdown_background();
    done
}

fn prepare(ports: &[u16]) -> Result<(KeeperConfig, WebEntrance, EndConditions)> {
    let launch = read_launch(&mut io::stdin().lock())?;
    let (LaunchTarget::Container { directory, environment: more }, Lifetime::Port(PortAccess { ttl, secret })) =
        (launch.target, launch.lifetime)
    else {
        return Err(Error::new(ErrorKind::InvalidArgument, "`serve --port` requires a launch for a port"));
    };
    let secret = SharedSecret::parse(&secret)?;
    let (port, listeners) = listen(ports)?;
    let mut environment: BTreeMap<_, _> = std::env::vars().collect();
    environment.extend(more);
    let config = launch_config::container(directory, environment);
    let ends = EndConditions { lease: ttl, ..EndConditions::default() };
    Ok((config, WebEntrance { port, listeners, secret }, ends))
}

/// Listens on both loopback addresses, so that no other process can take the port of the other one. A machine may have
/// only one kind.
fn listen(ports: &[u16]) -> Result<(u16, Vec<TcpListener>)> {
    let mut why = io::ErrorKind::AddrNotAvailable;
    for port in ports {
        match listen_on(*port) {
            Ok(listeners) => return Ok(listeners),
            Err(error) => why = error.kind(),
        }
    }
    let tried: Vec<String> = ports.iter().map(ToString::to_string).collect();
    Err(Error::new(ErrorKind::Busy, format!("cannot listen on port {}: {why}", tried.join(", "))))
}

fn listen_on(port: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    // The kernel chooses port 0 once.
    let port = first.as_ref().ok().and_then(|first| first.local_addr().ok()).map_or(port, |address| address.port());
    let second = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port)));
    let is_taken =
        |bound: &io::Result<TcpListener>| bound.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
    if is_taken(&first) || is_taken(&second) {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    let listeners = match (first, second) {
        (Err(error), Err(_)) => return Err(error),
        (first, second) => first.into_iter().chain(second).collect::<Vec<_>>(),
    };
    for listener in &listeners {
        listener.set_nonblocking(true)?;
    }
    Ok((port, listeners))
}

/// Replaces the standard streams, which belong to the service, by /dev/null: commands must not have them, and the
/// service may close them.
fn release_standard_streams() -> Result<()> {
    let failed = |_| Error::new(ErrorKind::Io, "the keeper cannot close its standard streams");
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    rustix::stdio::dup2_stdin(&null).map_err(failed)?;
    rustix::stdio::dup2_stdout(&null).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_on_one_address_is_not_used_on_the_other() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = (taken.local_addr().unwrap().port(), taken);
        assert_eq!(listen(&[taken.0]).unwrap_err().kind(), ErrorKind::Busy);
        let (port, listeners) = listen(&[taken.0, 0]).unwrap();
        assert!(port != taken.0 && !listeners.is_empty());
        assert!(listeners.iter().all(|listener| listener.local_addr().unwrap().port() == port));
    }
}
