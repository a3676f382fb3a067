//! Sizes as people write and read them: `512M` in, `512 MB` out. Units have one meaning everywhere: a step from unit to
//! unit is 1,024, however the unit is spelled, as is usual for memory.

use crate::{Error, ErrorKind, Result};

const UNITS: [&str; 5] = ["bytes", "KB", "MB", "GB", "TB"];

/// Parses a size: a number, optionally with a fraction and a unit: `65536`, `512M`, `1.5G`, `2 GiB`.
///
/// # Errors
///
/// Returns `InvalidArgument` if `typed` is not a size, is zero, or is more than 2^53 bytes.
pub fn parse_size(typed: &str) -> Result<u64> {
    let text = typed.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let is_fraction = number.contains('.');
    let number: f64 = number.parse().map_err(|_| invalid_size(typed))?;
    let step = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 0,
        "k" | "kb" | "ki" | "kib" => 1,
        "m" | "mb" | "mi" | "mib" => 2,
        "g" | "gb" | "gi" | "gib" => 3,
        "t" | "tb" | "ti" | "tib" => 4,
        _ => return Err(invalid_size(typed)),
    };
    let bytes = number * 1024_f64.powi(step);
    // Beyond 2^53 the arithmetic is no longer exact, and no machine has that much of anything.
    if !(1.0..=9_007_199_254_740_992.0).contains(&bytes) || (is_fraction && step == 0) {
        return Err(invalid_size(typed));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the range above")]
    Ok(bytes.round() as u64)
}

fn invalid_size(typed: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("invalid size `{typed}`"))
        .hint("use a number with K, M or G, like `65536`, `512M` or `1.5G`")
}

/// Formats a size for people: `512 MB`, `1.5 GB`, `300 bytes`.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    let mut step = 0;
    let mut unit: u64 = 1;
    while step + 1 < UNITS.len() && bytes / unit >= 1024 {
        step += 1;
        unit *= 1024;
    }
    let mut tenths = (u128::from(bytes) * 10 + u128::from(unit) / 2) / u128::from(unit);
    if tenths >= 10_240 && step + 1 < UNITS.len() {
        (step, tenths) = (step + 1, 10);
    }
    match tenths % 10 {
        0 => format!("{} {}", tenths / 10, UNITS[step]),
        tenth => format!("{}.{tenth} {}", tenths / 10, UNITS[step]),
    }
}

/// Formats a size as an option takes it: `512M`, `1.5G`, `65537`. [`parse_size`] reads the same size back.
#[must_use]
pub fn type_size(bytes: u64) -> String {
    for (letter, step) in [("T", 4), ("G", 3), ("M", 2), ("K", 1)] {
        let unit = 1024_u64.pow(step);
        if bytes < unit {
            continue;
        }
        for decimals in 0..=2 {
            #[expect(clippy::cast_precision_loss, reason = "a text that does not read back is not used")]
            let text = format!("{:.decimals$}{letter}", bytes as f64 / unit as f64);
            if parse_size(&text).is_ok_and(|read| read == bytes) {
                return text;
            }
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1024 * 1024;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (typed, bytes) in [
            ("65536", 65536),
            ("1b", 1),
            ("512M", 512 * MB),
            ("512m", 512 * MB),
            ("512 MB", 512 * MB),
            ("1.5G", 1536 * MB),
            ("2GiB", 2048 * MB),
            ("64Mi", 64 * MB),
            (" 64k ", 64 * 1024),
            ("1T", 1024 * 1024 * MB),
            ("0.5K", 512),
        ] {
            assert_eq!(parse_size(typed).unwrap(), bytes, "{typed}");
        }
    }

    #[test]
    fn what_is_invalid_size_is_said_to_be_none() {
        for typed in ["", "M", "-1", "0", "0M", "1.5", "1,5G", "12X", "1..5G", ".", "1e9", "9999999T", "∞", "1 2M"] {
            let error = parse_size(typed).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{typed}");
            assert_eq!(error.sentence(), format!("invalid size `{typed}`"));
        }
    }

    #[test]
    fn sizes_are_shown_as_people_say_them() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (300, "300 bytes"),
            (1024, "1 KB"),
            (1536, "1.5 KB"),
            (512 * MB, "512 MB"),
            (1536 * MB, "1.5 GB"),
            (1024 * MB - 1, "1 GB"),
            (u64::MAX, "16777216 TB"),
        ] {
            assert_eq!(show_size(bytes), shown);
        }
    }

    #[test]
    fn sizes_are_written_as_they_are_typed() {
        for typed in ["1", "1000", "1K", "64K", "256M", "1M", "1.5G", "1.1G", "0.5K", "2T", "65537"] {
            let bytes = parse_size(typed).unwrap();
            assert_eq!(type_size(bytes), if typed == "0.5K" { "512" } else { typed });
            assert_eq!(parse_size(&type_size(bytes)).unwrap(), bytes);
        }
        assert_eq!(type_size(1536 * MB), "1.5G");
        assert_eq!(type_size(u64::MAX), u64::MAX.to_string());
    }

    #[test]
    fn what_is_shown_of_round_sizes_reads_back() {
        for bytes in [1024, 64 * 1024, 512 * MB, 1536 * MB, 4096 * MB] {
            assert_eq!(parse_size(&show_size(bytes)).unwrap(), bytes);
        }
    }
}
