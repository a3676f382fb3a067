//! Addresses at which a cloud gives its credentials to any program on a machine.

/// Names of such services.
const NAMES: &[&str] = &["metadata.google.internal", "metadata.goog", "instance-data"];
/// Addresses outside of the link-local network.
const OTHERS: &[u32] = &[u32::from_be_bytes([100, 100, 100, 200]), u32::from_be_bytes([192, 0, 0, 192])];

/// Whether a text names such an address, in any spelling that programs accept.
pub(crate) fn names_metadata(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    if NAMES.iter().any(|name| lower.contains(name)) || lower.contains("://metadata/") {
        return true;
    }
    // A number that is only known when it runs.
    if lower.contains('*') && (lower.contains("254.169.254") || lower.contains(".169.254") || lower.contains("169.254"))
    {
        return true;
    }
    if lower.contains("169.254.") || lower.contains("fd00:ec2:") || lower.contains("ffff:a9fe:") {
        return true;
    }
    lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).filter_map(address).any(|address| {
        let [first, second, ..] = address.to_be_bytes();
        (first, second) == (169, 254) || OTHERS.contains(&address)
    })
}

/// Returns the address that a text stands for: up to four numbers, decimal, octal or hexadecimal, the last of which
/// fills the rest.
fn address(text: &str) -> Option<u32> {
    let text = text.trim_end_matches('.');
    let parts: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) || first.is_empty() && *last < 1 << 24 {
        return None;
    }
    let high = first.iter().enumerate().map(|(at, part)| part << (24 - 8 * at)).sum::<u32>();
    let room = 32 - 8 * u32::try_from(first.len()).ok()?;
    (u64::from(*last) < 1 << room).then_some(high | last)
}

fn number(text: &str) -> Option<u32> {
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return u32::from_str_radix(hexadecimal, 16).ok();
    }
    match text.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        Some(octal) => u32::from_str_radix(octal, 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::names_metadata;

    #[test]
    fn every_spelling_is_recognised() {
        for text in [
            "http://169.254.169.254/latest/",
            "169.254.169.254",
            "http://2852039166/",
            "http://0xa9fea9fe/",
            "http://0xA9.0xFE.0xA9.0xFE/",
            "http://0251.0376.0251.0376/",
            "http://025177524776/",
            "http://169.16689662/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[FD00:EC2::254]:80/",
            "http://METADATA.google.Internal./",
            "http://metadata/computeMetadata/",
            "100.100.100.200",
        ] {
            assert!(names_metadata(text), "{text}");
        }
        for text in [
            "http://127.0.0.1:8000/",
            "1.2.3.4",
            "metadata.json",
            "src/metadata/",
            "v2.10.1",
            "16777216",
            "10",
            "0x10",
            "3.14",
        ] {
            assert!(!names_metadata(text), "{text}");
        }
    }
}
