//! The network of our own daemon, which image builds need.
//!
//! It has its own bridge, since two daemons with the default one assign the same addresses. The routing rules are ours
//! too: a daemon that may write rules first clears those of any other, and never removes its own.

use std::{fs, process::Command};

use super::succeed;
use crate::Outcome;

/// The names of our bridges start with this; the number of the process that made one follows.
pub(super) const BRIDGE: &str = "workden";

/// How the containers of a daemon reach other hosts.
pub(super) enum Network {
    /// By a bridge of this name, created by us.
    OwnBridge(String),
    /// By the default bridge of every daemon.
    Usual,
    /// Not at all, if the packet filter is not accessible; a container can still use the host's network.
    None,
}

impl Network {
    /// Returns the arguments of the daemon.
    pub(super) fn arguments(&self) -> Vec<String> {
        // Some networks silently drop packets that are larger than the outgoing interface allows.
        let mtu = way_out_mtu().map(|bytes| format!("--mtu={bytes}"));
        match self {
            Self::OwnBridge(name) => {
                let own = [format!("--bridge={name}"), "--iptables=false".to_owned()];
                own.into_iter().chain(mtu).collect()
            }
            Self::Usual => mtu.into_iter().collect(),
            Self::None => ["--bridge=none", "--iptables=false", "--ip6tables=false"].map(Into::into).into(),
        }
    }

    pub(super) fn words(&self) -> &'static str {
        match self {
            Self::OwnBridge(_) => "its own bridge",
            Self::Usual => "the default bridge",
            Self::None => "only the host's network",
        }
    }
}

/// Returns networks, the best first. If another daemon has the default bridge, only our own bridge works: with the
/// default one our daemon would assign the same addresses, and without a network it would remove that bridge.
pub(super) fn to_try() -> Vec<Network> {
    let own = Network::OwnBridge(format!("{BRIDGE}{}", std::process::id()));
    let is_taken = interfaces().iter().any(|name| name == "docker0");
    if is_taken { vec![own] } else { vec![own, Network::Usual, Network::None] }
}

/// Returns the interfaces of this network namespace. `/sys` may belong to another one.
fn interfaces() -> Vec<String> {
    let listed = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    listed.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned()).collect()
}

/// Returns the bridges that this program has created, now or in an earlier run.
pub(super) fn own_bridges() -> Vec<String> {
    interfaces().into_iter().filter(|name| name.starts_with(BRIDGE)).collect()
}

pub(super) fn make_bridge(name: &str) -> Outcome {
    succeed(Command::new("ip").args(["link", "add", "name", name, "type", "bridge"]))
}

/// Lets the containers on a bridge reach the outside, once the daemon has assigned it an address.
pub(super) fn open_bridge(name: &str) -> Outcome {
    let said = Command::new("ip").args(["-4", "-oneline", "address", "show", "dev", name]).output();
    let said = said.map_err(|error| format!("cannot start ip: {error}"))?;
    let said = String::from_utf8_lossy(&said.stdout);
    let addresses = address(&said).ok_or_else(|| format!("the bridge {name} has no address"))?;
    for rule in [
        format!("--insert FORWARD --in-interface {name} --jump ACCEPT"),
        format!("--insert FORWARD --out-interface {name} --jump ACCEPT"),
        format!("--table nat --append POSTROUTING --source {addresses} ! --out-interface {name} --jump MASQUERADE"),
    ] {
        succeed(Command::new("iptables").arg("--wait").args(rule.split_whitespace()))?;
    }
    Ok(())
}

/// Returns the address of a bridge with its prefix length.
fn address(said: &str) -> Option<&str> {
    said.split_whitespace().skip_while(|word| *word != "inet").nth(1)
}

/// Removes the bridge, and the rules that name it.
pub(super) fn remove_bridge(name: &str) {
    for table in ["filter", "nat"] {
        let listed = Command::new("iptables").args(["--wait", "--table", table, "--list-rules"]).output();
        let listed = listed.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default();
        for removal in removals(&listed, name) {
            let _ = succeed(Command::new("iptables").args(["--wait", "--table", table]).args(removal));
        }
    }
    let _ = succeed(Command::new("ip").args(["link", "delete", name]));
}

/// Returns the arguments that delete each rule about a bridge.
fn removals<'a>(listed: &'a str, name: &str) -> Vec<Vec<&'a str>> {
    let words = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rules = words.filter(|words| words.first() == Some(&"-A") && words.contains(&name));
    rules.map(|words| ["-D"].into_iter().chain(words.into_iter().skip(1)).collect()).collect()
}

/// Returns the MTU of the outgoing interface.
fn way_out_mtu() -> Option<u32> {
    let routes = fs::read_to_string("/proc/net/route").ok()?;
    let mtu = fs::read_to_string(format!("/sys/class/net/{}/mtu", way_out(&routes)?)).ok()?;
    mtu.trim().parse().ok()
}

/// Returns the interface of the default route.
fn way_out(routes: &str) -> Option<&str> {
    routes.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace();
        let interface = words.next()?;
        (words.next()? == "00000000").then_some(interface)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_is_the_interface_of_the_default_route() {
        let header = "Iface\tDestination\tGateway\n";
        assert_eq!(way_out(&format!("{header}br0\t000011AC\t00000000\neth1\t00000000\t010200C0\n")), Some("eth1"));
        assert_eq!(way_out(header), None);
    }

    #[test]
    fn the_address_of_a_bridge_is_found_and_none_is_none() {
        let said = "14: workden7    inet 172.18.0.1/16 brd 172.18.255.255 scope global workden7\\ valid_lft forever\n";
        assert_eq!(address(said), Some("172.18.0.1/16"));
        assert_eq!(address(""), None);
    }

    #[test]
    fn rules_about_another_bridge_stay() {
        let listed = "-P FORWARD ACCEPT\n-N DOCKER\n\
                      -A FORWARD -o workden7 -j DOCKER\n\
                      -A FORWARD -o workden71 -j DOCKER\n\
                      -A POSTROUTING -s 172.18.0.0/16 ! -o workden7 -j MASQUERADE\n";
        assert_eq!(
            removals(listed, "workden7"),
            [
                vec!["-D", "FORWARD", "-o", "workden7", "-j", "DOCKER"],
                vec!["-D", "POSTROUTING", "-s", "172.18.0.0/16", "!", "-o", "workden7", "-j", "MASQUERADE"],
            ]
        );
    }
}
