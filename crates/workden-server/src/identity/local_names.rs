//! Whether a request names this machine. A page that a browser shows can reach loopback addresses, too, by a host name
//! that leads there or by a form; it cannot hide its own name. The pages of servers in sessions have names below
//! `localhost`, which therefore do not count.

use axum::http::{
    HeaderMap, Uri,
    header::{HOST, ORIGIN},
};

/// Whether `Host` and, if there is one, `Origin` name this machine.
pub(super) fn is_local(headers: &HeaderMap) -> bool {
    let all = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
    // HTTP/2 has no `Host`; browsers speak it only over TLS, which this server does not.
    all(HOST).all(|host| names_this_machine(&format!("http://{host}"))) && all(ORIGIN).all(names_this_machine)
}

/// Whether the host of an address is a loopback address or `localhost`.
fn names_this_machine(address: &str) -> bool {
    let Ok(address) = address.parse::<Uri>() else { return false };
    let Some(host) = address.host().map(|host| host.trim_matches(['[', ']']).to_ascii_lowercase()) else {
        return false;
    };
    let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host == "localhost"
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        let check = |pairs: &[(HeaderName, &'static str)]| {
            let pairs = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            is_local(&pairs.collect())
        };
        for host in ["localhost", "127.0.0.1:8420", "[::1]:8420", "LOCALHOST:1"] {
            assert!(check(&[(HOST, host)]), "{host}");
        }
        for host in [
            "example.com",
            "localhost.example.com",
            "3000-abc.localhost:1",
            "127.0.0.1.example.com",
            "192.168.0.1",
            "",
            "a b",
        ] {
            assert!(!check(&[(HOST, host)]), "{host}");
        }
        assert!(check(&[(HOST, "localhost"), (ORIGIN, "http://localhost:3000")]));
        for origin in ["https://example.com", "null", "http://localhost.example.com", "http://3000-abc.localhost:8420"]
        {
            assert!(!check(&[(HOST, "localhost"), (ORIGIN, origin)]), "{origin}");
        }
    }
}
