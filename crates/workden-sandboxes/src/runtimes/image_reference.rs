//! Names of images, as Docker reads them: `[host[:port]/]path[:tag][@digest]`.

use workden_core::Result;

use super::field_errors::{shown, wrong};

/// Checks an image reference.
pub(crate) fn check(reference: &str) -> Result<()> {
    if is_reference(reference) {
        return Ok(());
    }
    let why = format!("invalid image name `{}`", shown(reference));
    Err(wrong(&why, "use a name like python:3.12-slim, ghcr.io/me/tools:1 or name@sha256:..."))
}

fn is_reference(text: &str) -> bool {
    let (text, digest) = match text.split_once('@') {
        Some((text, digest)) => (text, Some(digest)),
        None => (text, None),
    };
    // A colon before the last slash belongs to a port.
    let name_end = text.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match text[name_end..].split_once(':') {
        Some((last, tag)) => (&text[..name_end + last.len()], Some(tag)),
        None => (text, None),
    };
    name.len() <= 255 && is_name(name) && tag.is_none_or(is_tag) && digest.is_none_or(is_digest)
}

fn is_name(name: &str) -> bool {
    match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => {
            is_host(host) && path.split('/').all(is_component)
        }
        _ => name.split('/').all(is_component),
    }
}

fn is_host(host: &str) -> bool {
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (host, None),
    };
    let number = |port: &str| !port.is_empty() && port.bytes().all(|each| each.is_ascii_digit());
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|each| each.is_ascii_alphanumeric() || each == b'-')
    };
    let numeric = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_host = match numeric {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.split('.').all(label),
    };
    is_host && port.is_none_or(number)
}

/// Lower-case letters and digits, with one `.`, one or two `_` or any number of `-` between them.
fn is_component(component: &str) -> bool {
    let is_word = |each: char| each.is_ascii_lowercase() || each.is_ascii_digit();
    let separators = component.split(is_word).filter(|between| !between.is_empty());
    let allowed = |between: &str| matches!(between, "." | "_" | "__") || between.bytes().all(|each| each == b'-');
    component.starts_with(is_word) && component.ends_with(is_word) && separators.into_iter().all(allowed)
}

fn is_tag(tag: &str) -> bool {
    let begins = tag.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
    begins && tag.len() <= 128 && tag.bytes().all(|each| each.is_ascii_alphanumeric() || b"_.-".contains(&each))
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let named = algorithm.starts_with(|first: char| first.is_ascii_alphabetic())
        && algorithm.bytes().all(|each| each.is_ascii_alphanumeric() || b"+._-".contains(&each));
    named && hex.len() >= 32 && hex.bytes().all(|each| each.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_are_told_from_everything_else() {
        let digest = format!("x@sha256:{}", "0af".repeat(20));
        for fine in [
            "busybox",
            "python:3.12-slim",
            "library/python",
            "ghcr.io/me/tools:1",
            "localhost/x",
            "localhost:5000/a/b:v1",
            "127.0.0.1:5000/x",
            "[::1]:5000/x",
            "a__b/c--d.e_f",
            &digest,
            "workden-test/python:latest",
            "x:_A.b-c",
        ] {
            assert!(is_reference(fine), "{fine}");
        }
        for wrong in [
            "",
            " ",
            "-x",
            "--platform=linux",
            "X",
            "a b",
            "a\nRUN x",
            "a AS b",
            "a:",
            "a:b:c",
            "a@",
            "a@sha256:00",
            "/a",
            "a/",
            "a//b",
            "a..b",
            "a___b",
            "a$b",
            "${x}",
            "a:$b",
            "http://a/b",
            "a.b:x/y",
            "a:-b",
            "a;b",
            "a\u{a0}b",
            "é",
            ":x",
            "@x",
            "a.b/",
            "[::g]:1/x",
        ] {
            assert!(!is_reference(wrong), "{wrong:?}");
        }
        assert!(!is_reference(&"a".repeat(256)) && !is_reference(&format!("a:{}", "b".repeat(129))));
    }
}
