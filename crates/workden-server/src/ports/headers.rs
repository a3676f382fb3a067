//! Headers on their way to a server in a session, and back.

use axum::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        ALT_SVC, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION,
        SEC_WEBSOCKET_PROTOCOL, SET_COOKIE, STRICT_TRANSPORT_SECURITY, TRANSFER_ENCODING, UPGRADE,
    },
};

use super::access::own_cookie;
use crate::{identity::KEY_PROTOCOL, listening::Arrival};

/// Where a server appears to its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Below this path of the API, without a slash at its end.
    Path(String),
    /// At a host name of its own.
    HostName,
}

/// Headers that are about one connection, and not about a message.
const OF_CONNECTION: [&str; 10] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Headers with keys of this service.
const OF_SERVICE: [&str; 6] = [
    "x-api-key",
    "x-sandbox-token",
    "x-access-token",
    "e2b-traffic-access-token",
    "e2b-sandbox-id",
    "e2b-sandbox-port",
];
/// Where a request came from, as clients and proxies say. Passed on is only what this service knows, or a trusted proxy
/// says.
const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED_HOST: &str = "x-forwarded-host";
const FORWARDED_PROTO: &str = "x-forwarded-proto";
const FORWARDED_PREFIX: &str = "x-forwarded-prefix";
/// Other names for the same, in addition to all others that start with `x-forwarded-`.
const OTHER_ORIGINS: [&str; 5] = ["forwarded", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"];
/// What a server must not decide for the origin of the service.
const OF_ORIGIN: [&str; 2] = ["clear-site-data", "service-worker-allowed"];
/// A page below a path of the API has no origin, so that it cannot call the API as the page of the service.
const SANDBOX: &str = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts";

/// Whether a request or an answer changes the protocol of its connection.
pub(super) fn upgrade_of(headers: &HeaderMap) -> Option<HeaderValue> {
    let asks = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let asks = asks.flat_map(|text| text.split(',')).any(|name| name.trim().eq_ignore_ascii_case("upgrade"));
    headers.get(UPGRADE).filter(|_| asks).cloned()
}

/// Prepares the headers of a request for the server in a session.
pub(super) fn to_server(headers: &mut HeaderMap, place: &Place, port: u16, arrival: &Arrival) {
    let upgrade = upgrade_of(headers);
    // Of two lengths, the one that was used counts, and the other would be a second answer about where a request ends.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    drop_connection_headers(headers);
    restore_upgrade(headers, upgrade);
    for name in OF_SERVICE {
        headers.remove(name);
    }
    // What authenticates at this service is not for the server; it may have tokens of its own.
    let is_own = headers.get(AUTHORIZATION).is_some_and(|value| {
        value.to_str().is_ok_and(|text| ["e2b_", "wds_", "wdp_"].iter().any(|prefix| text.contains(prefix)))
    });
    if is_own || matches!(place, Place::Path(_)) {
        headers.remove(AUTHORIZATION);
    }
    keep_other_cookies(headers, place);
    keep_other_protocols(headers);
    tell_origin(headers, arrival);
    if let Place::Path(prefix) = place {
        set(headers, FORWARDED_PREFIX, HeaderValue::from_str(prefix).ok());
        set(headers, "host", HeaderValue::from_str(&format!("localhost:{port}")).ok());
    }
}

/// Removes the key of this service from the protocols of a websocket.
fn keep_other_protocols(headers: &mut HeaderMap) {
    let all = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let all = all.flat_map(|text| text.split(',')).map(str::trim);
    let others: Vec<&str> = all.filter(|protocol| !protocol.starts_with(KEY_PROTOCOL)).collect();
    let others = HeaderValue::from_str(&others.join(", ")).ok().filter(|others| !others.is_empty());
    match others {
        Some(others) => drop(headers.insert(SEC_WEBSOCKET_PROTOCOL, others)),
        None => drop(headers.remove(SEC_WEBSOCKET_PROTOCOL)),
    }
}

fn set(headers: &mut HeaderMap, name: &'static str, value: Option<HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

/// Says where a request came from, in place of what its client says.
fn tell_origin(headers: &mut HeaderMap, arrival: &Arrival) {
    let said = |name: &str| headers.get(name).filter(|_| arrival.is_from_proxy).cloned();
    let (host, proto) = (said(FORWARDED_HOST).or_else(|| headers.get(HOST).cloned()), said(FORWARDED_PROTO));
    let addresses = headers.get_all(FORWARDED_FOR).iter().filter(|_| arrival.is_from_proxy);
    let addresses = addresses.filter_map(|value| value.to_str().ok().map(str::to_owned));
    let addresses: Vec<String> = addresses.chain([arrival.peer.to_string()]).collect();
    let is_origin = |name: &HeaderName| {
        // Many servers make one variable of both.
        let name = name.as_str().replace('_', "-");
        name.starts_with("x-forwarded-") || OTHER_ORIGINS.contains(&&*name)
    };
    for name in headers.keys().filter(|name| is_origin(name)).cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
    let own = HeaderValue::from_static(if arrival.is_encrypted { "https" } else { "http" });
    set(headers, FORWARDED_PROTO, proto.or(Some(own)));
    set(headers, FORWARDED_FOR, HeaderValue::from_str(&addresses.join(", ")).ok());
    set(headers, FORWARDED_HOST, host);
}

/// Prepares the headers of an answer for the client.
pub(super) fn to_client(headers: &mut HeaderMap, place: &Place) {
    let upgrade = upgrade_of(headers);
    drop_connection_headers(headers);
    restore_upgrade(headers, upgrade);
    headers.remove(ALT_SVC);
    let Place::Path(prefix) = place else { return };
    for name in OF_ORIGIN {
        headers.remove(name);
    }
    headers.remove(SET_COOKIE);
    headers.remove(STRICT_TRANSPORT_SECURITY);
    headers.append(CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX));
    if let Some(inside) = headers.get(LOCATION).and_then(|value| value.to_str().ok())
        && inside.starts_with('/')
        && !inside.starts_with("//")
        && let Ok(outside) = HeaderValue::from_str(&format!("{prefix}{inside}"))
    {
        headers.insert(LOCATION, outside);
    }
}

fn drop_connection_headers(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        named.flat_map(|text| text.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    // A client may not take away what this service adds or checks.
    for name in named.iter().filter(|name| **name != HOST) {
        headers.remove(name);
    }
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}

fn restore_upgrade(headers: &mut HeaderMap, upgrade: Option<HeaderValue>) {
    if let Some(protocol) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
    }
}

/// Removes the cookie of this service; below a path of the API, all cookies.
fn keep_other_cookies(headers: &mut HeaderMap, place: &Place) {
    let texts: Vec<String> =
        headers.get_all(COOKIE).iter().filter_map(|text| text.to_str().ok().map(str::to_owned)).collect();
    headers.remove(COOKIE);
    if *place != Place::HostName {
        return;
    }
    let others = texts.iter().flat_map(|text| text.split(';')).filter(|pair| own_cookie(pair).is_none());
    let others: Vec<&str> = others.map(str::trim).filter(|pair| !pair.is_empty()).collect();
    if let (false, Ok(value)) = (others.is_empty(), HeaderValue::from_str(&others.join("; "))) {
        headers.insert(COOKIE, value);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const DIRECT: Arrival =
        Arrival { peer: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), is_encrypted: false, is_from_proxy: false };

    fn of(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn shown(headers: &HeaderMap) -> Vec<String> {
        let mut all: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        all.sort();
        all
    }

    #[test]
    fn a_server_sees_no_key_among_the_protocols_of_a_websocket() {
        for (sent, expected) in [
            ("chat, workden, workden.key.e2b_00", Some("chat, workden")),
            ("workden.key.e2b_00", None),
            ("chat", Some("chat")),
        ] {
            let mut headers = of(&[("sec-websocket-protocol", sent)]);
            to_server(&mut headers, &Place::Path("/v1/sessions/a/ports/3000".to_owned()), 3000, &DIRECT);
            let passed = headers.get(SEC_WEBSOCKET_PROTOCOL).map(|value| value.to_str().unwrap());
            assert_eq!(passed, expected, "{sent}");
        }
    }

    #[test]
    fn a_server_sees_no_key_and_nothing_of_the_connection() {
        let mut headers = of(&[
            ("host", "3000-abc.localhost:8420"),
            ("authorization", "Bearer e2b_00"),
            ("x-api-key", "e2b_00"),
            ("connection", "close, x-secret, host"),
            ("x-secret", "1"),
            ("transfer-encoding", "chunked"),
            ("content-length", "7"),
            ("cookie", "a=b; workden_token=wdp_1; c=d"),
        ]);
        to_server(&mut headers, &Place::HostName, 3000, &DIRECT);
        let expected = [
            "cookie: a=b; c=d",
            "host: 3000-abc.localhost:8420",
            "x-forwarded-for: 192.0.2.1",
            "x-forwarded-host: 3000-abc.localhost:8420",
            "x-forwarded-proto: http",
        ];
        assert_eq!(shown(&headers), expected);
        let mut headers = of(&[("host", "x"), ("authorization", "Bearer own"), ("cookie", "a=b")]);
        to_server(&mut headers, &Place::HostName, 3000, &DIRECT);
        assert_eq!(headers[AUTHORIZATION], "Bearer own");
        to_server(&mut headers, &Place::Path("/v1/p".into()), 3000, &DIRECT);
        assert_eq!(
            shown(&headers),
            [
                "host: localhost:3000",
                "x-forwarded-for: 192.0.2.1",
                "x-forwarded-host: x",
                "x-forwarded-prefix: /v1/p",
                "x-forwarded-proto: http"
            ]
        );
    }

    #[test]
    fn only_a_trusted_proxy_says_where_a_request_came_from() {
        let said = [
            ("host", "inside"),
            ("forwarded", "for=10.0.0.1"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-for", "10.0.0.2"),
            ("x-forwarded-host", "outside"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-prefix", "/admin"),
            ("x-forwarded-user", "root"),
            ("x-real-ip", "10.0.0.1"),
        ];
        let mut headers = of(&said);
        to_server(&mut headers, &Place::HostName, 1, &DIRECT);
        let own = ["host: inside", "x-forwarded-for: 192.0.2.1", "x-forwarded-host: inside", "x-forwarded-proto: http"];
        assert_eq!(shown(&headers), own);
        let mut headers = of(&said);
        to_server(&mut headers, &Place::HostName, 1, &Arrival { is_from_proxy: true, ..DIRECT });
        let passed = [
            "host: inside",
            "x-forwarded-for: 10.0.0.1, 10.0.0.2, 192.0.2.1",
            "x-forwarded-host: outside",
            "x-forwarded-proto: https",
        ];
        assert_eq!(shown(&headers), passed);
    }

    #[test]
    fn a_server_below_a_path_decides_nothing_for_the_origin() {
        let mut headers = of(&[
            ("set-cookie", "a=b"),
            ("clear-site-data", "*"),
            ("strict-transport-security", "max-age=1"),
            ("location", "/login"),
            ("alt-svc", "h3"),
        ]);
        to_client(&mut headers, &Place::Path("/v1/p".into()));
        assert_eq!(shown(&headers), [format!("content-security-policy: {SANDBOX}"), "location: /v1/p/login".into()]);
        for elsewhere in ["//evil.example/", "https://example.com/", "next"] {
            let mut headers = of(&[("location", elsewhere)]);
            to_client(&mut headers, &Place::Path("/v1/p".into()));
            assert_eq!(headers[LOCATION], elsewhere);
        }
    }

    #[test]
    fn an_upgrade_goes_through() {
        let mut headers = of(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket"), ("keep-alive", "5")]);
        to_server(&mut headers, &Place::HostName, 1, &DIRECT);
        assert_eq!(shown(&headers)[..2], ["connection: upgrade", "upgrade: websocket"]);
        let mut headers = of(&[("upgrade", "h2c")]);
        to_server(&mut headers, &Place::HostName, 1, &DIRECT);
        assert!(!headers.contains_key(UPGRADE) && !headers.contains_key(CONNECTION), "{headers:?}");
    }
}
