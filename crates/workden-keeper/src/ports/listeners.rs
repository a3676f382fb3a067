//! The addresses on which processes of the sandbox listen, as `/proc` shows them.

use std::{
    collections::HashSet,
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use crate::reaper::descendants;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// The processes whose servers count.
#[derive(Debug)]
pub(super) enum Owners {
    /// Every process that can be seen.
    AllProcesses,
    /// These processes and all that descend from them.
    DescendantsOf(Vec<i32>),
}

/// Returns the addresses to connect to, to reach the servers of these processes on a port; `None` if the kernel does
/// not tell which process has which socket.
pub(super) fn own_listeners(port: u16, owners: &Owners) -> Option<Vec<SocketAddr>> {
    let tables =
        ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let listening: Vec<Listener> = tables.iter().flat_map(|table| parse(table)).collect();
    if matches!(owners, Owners::AllProcesses) && listening.iter().all(|listener| listener.inode == 0) {
        return None;
    }
    let on_port: Vec<Listener> = listening.into_iter().filter(|listener| listener.address.port() == port).collect();
    if on_port.is_empty() {
        return Some(Vec::new());
    }
    let own: HashSet<u64> = pids(owners).into_iter().flat_map(sockets).collect();
    Some(on_port.iter().filter(|listener| own.contains(&listener.inode)).map(|listener| listener.target()).collect())
}

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listener {
    address: SocketAddr,
    inode: u64,
}

impl Listener {
    /// Returns an address that reaches it.
    fn target(&self) -> SocketAddr {
        let ip = match self.address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        (ip, self.address.port()).into()
    }
}

/// Reads the listening sockets of a table of the kernel.
fn parse(table: &str) -> impl Iterator<Item = Listener> + '_ {
    table.lines().skip(1).filter_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        let address = columns.nth(1)?;
        // After the remote address.
        let is_listening = columns.nth(1)? == LISTENING;
        // Between them: the queues, a timer, retransmissions, the user and a timeout.
        let inode = columns.nth(5)?.parse().ok()?;
        is_listening.then_some(Listener { address: socket_address(address)?, inode })
    })
}

/// Parses an address of such a table: words of 32 bits in the byte order of the machine.
fn socket_address(column: &str) -> Option<SocketAddr> {
    let (ip, port) = column.split_once(':')?;
    let word = |nth: usize| {
        let digits = ip.get(nth * 8..nth * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip: IpAddr = match ip.len() {
        8 => word(0)?.into(),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            octets.into()
        }
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?).into())
}

fn pids(owners: &Owners) -> Vec<i32> {
    match owners {
        Owners::AllProcesses => {
            let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
            let own = i32::try_from(std::process::id()).unwrap_or_default();
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| *pid != own).collect()
        }
        Owners::DescendantsOf(reapers) => {
            let mut all = Vec::new();
            let mut next = reapers.clone();
            while let Some(pid) = next.pop() {
                descendants::children(Some(pid), &mut |child| next.push(child));
                all.push(pid);
            }
            all
        }
    }
}

/// Returns the sockets that a process has open.
fn sockets(pid: i32) -> Vec<u64> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.filter_map(|target| target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let word = |octets: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(octets));
        let four = format!("{}:1F90", word([127, 0, 0, 1]));
        assert_eq!(socket_address(&four), Some("127.0.0.1:8080".parse().unwrap()));
        let six = format!("{}{}{}{}:0050", word([0; 4]), word([0; 4]), word([0; 4]), word([0, 0, 0, 1]));
        assert_eq!(socket_address(&six), Some("[::1]:80".parse().unwrap()));
        for invalid in ["", ":", "0100007F", "0100007F:", "0100007F:1F90F", "01:1F90", "G100007F:1F90", "é100007:1F90"]
        {
            assert_eq!(socket_address(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn a_server_of_another_process_is_not_one_of_the_sandbox() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = server.local_addr().unwrap().port();
        let own = i32::try_from(std::process::id()).unwrap();
        let found = own_listeners(port, &Owners::DescendantsOf(vec![own])).unwrap();
        assert_eq!(found, [server.local_addr().unwrap()]);
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let others = Owners::DescendantsOf(vec![i32::try_from(other.id()).unwrap()]);
        assert_eq!(own_listeners(port, &others).unwrap(), []);
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
