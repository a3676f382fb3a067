//! Commands without a network: settings with which package managers fail at once, and use what is stored, instead of
//! trying again for a minute.

use std::collections::BTreeMap;

use workden_core::sandbox::Network;

/// The settings. Variables of the user, of a runtime and of an image are stronger.
const SETTINGS: [(&str, &str); 9] = [
    // One more attempt, at once: pip tells the reason only when it tries again.
    ("PIP_RETRIES", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("UV_OFFLINE", "1"),
    ("npm_config_fetch_retries", "0"),
    ("npm_config_prefer_offline", "true"),
    ("pnpm_config_fetch_retries", "0"),
    ("YARN_HTTP_RETRY", "0"),
    ("CARGO_NET_OFFLINE", "true"),
    ("CARGO_NET_RETRY", "0"),
];

/// Adds the settings to the environment of commands without a network.
pub(crate) fn add_settings(environment: &mut BTreeMap<String, String>, network: Network) {
    match network {
        Network::Host => {}
        Network::None => {
            for (name, value) in SETTINGS {
                environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
    }
}

/// Returns the network of the container of this process: none if there is only a loopback.
pub(crate) fn network_of_container() -> Network {
    network_among(&std::fs::read_to_string("/proc/net/dev").unwrap_or_default())
}

fn network_among(interfaces: &str) -> Network {
    let mut names = interfaces.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).peekable();
    match names.peek().is_some() && names.all(|name| name == "lo") {
        true => Network::None,
        // Unknown is not "none": a wrong hint misleads.
        false => Network::Host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_with_only_a_loopback_has_no_network() {
        let head = "Inter-|   Receive                |  Transmit\n face |bytes    packets |bytes    packets\n";
        let (loopback, ethernet) = ("    lo:       0       0    0\n", "  eth0:     866      11    0\n");
        assert_eq!(network_among(&format!("{head}{loopback}")), Network::None);
        assert_eq!(network_among(&format!("{head}{loopback}{ethernet}")), Network::Host);
        assert_eq!(network_among(""), Network::Host);
    }

    #[test]
    fn a_variable_that_is_set_stays_as_it_is() {
        let mut environment = BTreeMap::from([("UV_OFFLINE".to_owned(), "0".to_owned())]);
        add_settings(&mut environment, Network::None);
        assert_eq!((environment["UV_OFFLINE"].as_str(), environment["PIP_RETRIES"].as_str()), ("0", "1"));
        let mut environment = BTreeMap::new();
        add_settings(&mut environment, Network::Host);
        assert!(environment.is_empty());
    }
}
