//! Parses the values of options.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use workden::{HostEnvironment, MountAccess, Preset, VirtualPath, sandboxes::LEAST_MEMORY};
use workden_core::parse_size;

/// `SRC:DST[:ro]`, or `DST=SRC[:ro]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountArgument {
    pub(crate) source: PathBuf,
    pub(crate) at: VirtualPath,
    pub(crate) access: MountAccess,
}

/// `K=V`, or `K`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VariableArgument {
    Set(String, String),
    Passed(String),
}

/// Returns the named variables; one without a value takes the value of the host environment.
pub(crate) fn with_values(named: &[VariableArgument], host: &HostEnvironment) -> BTreeMap<String, String> {
    let with_value = |variable: &VariableArgument| match variable {
        VariableArgument::Set(name, value) => Some((name.clone(), value.clone())),
        VariableArgument::Passed(name) => host.variable(name).map(|value| (name.clone(), value.to_owned())),
    };
    named.iter().filter_map(with_value).collect()
}

/// Parses the name of a preset.
pub(crate) fn presets() -> impl TypedValueParser<Value = Preset> {
    let named = |name: String| Preset::ALL.into_iter().find(|preset| preset.name() == name).unwrap_or_default();
    // The parser passes only known names to `named`.
    PossibleValuesParser::new(Preset::ALL.map(Preset::name)).map(named)
}

/// Parses a memory limit. `64` means megabytes to people, and bytes to us.
pub(crate) fn memory(typed: &str) -> Result<u64, String> {
    match parse_size(typed) {
        Ok(bytes) if bytes >= LEAST_MEMORY => Ok(bytes),
        Ok(_) if typed.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("no program starts with so little; did you mean `{typed}M`?"))
        }
        Ok(_) => Err("no program starts with so little; use a size like `64M`".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn cpus(typed: &str) -> Result<f64, String> {
    let cpus: f64 = typed.parse().map_err(|_| "use a number, like 1.5".to_owned())?;
    match (0.01..=4096.0).contains(&cpus) {
        true => Ok(cpus),
        false => Err("use a number between 0.01 and 4096".to_owned()),
    }
}

pub(crate) fn time(typed: &str) -> Result<Duration, String> {
    let (number, unit) = typed.split_at(typed.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let unit = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("use seconds, or a time like 500ms, 5m or 1h".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "use seconds, or a time like 500ms, 5m or 1h".to_owned())?;
    match Duration::try_from_secs_f64(number * unit) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("use a time greater than zero".to_owned()),
    }
}

pub(crate) fn variable(typed: &str) -> Result<VariableArgument, String> {
    match typed.split_once('=') {
        Some(("", _)) => Err("a variable needs a name before the `=`".to_owned()),
        Some((name, value)) => Ok(VariableArgument::Set(name.to_owned(), value.to_owned())),
        None if typed.is_empty() => Err("a variable needs a name".to_owned()),
        None => Ok(VariableArgument::Passed(typed.to_owned())),
    }
}

/// Parses a mount, as Docker users write it, or with the path first.
pub(crate) fn mount(typed: &str) -> Result<MountArgument, String> {
    let wanted = || "use SRC:DST or SRC:DST:ro, with an absolute DST".to_owned();
    let (places, access) = match typed.rsplit_once(':') {
        Some((places, "ro")) => (places, MountAccess::ReadOnly),
        Some((places, "rw")) => (places, MountAccess::ReadWrite),
        _ => (typed, MountAccess::ReadWrite),
    };
    let is_mount = |(source, at): &(&str, &str)| !source.is_empty() && at.starts_with('/');
    let path_first = || places.split_once('=').map(|(at, source)| (source, at)).filter(is_mount);
    let source_first = places.rsplit_once(':').filter(is_mount);
    let (source, at) = source_first.or_else(path_first).ok_or_else(wanted)?;
    let at = VirtualPath::parse(at).map_err(|error| error.to_string())?;
    Ok(MountArgument { source: source.into(), at, access })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        for (typed, expected) in [("30", 30_000), ("1.5", 1500), ("500ms", 500), ("5m", 300_000), ("1h", 3_600_000)] {
            assert_eq!(time(typed), Ok(Duration::from_millis(expected)), "{typed}");
        }
        for typed in ["", "0", "-1", "x", "5d", "1e99", "nan", "inf"] {
            assert!(time(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn mounts_have_a_source_a_place_and_an_access() {
        let of = |typed| mount(typed).map(|mount| (mount.source, mount.at.to_string(), mount.access));
        let (ro, rw) = (MountAccess::ReadOnly, MountAccess::ReadWrite);
        assert_eq!(of("a:/b"), Ok(("a".into(), "/b".to_owned(), rw)));
        assert_eq!(of("/a/b:/c:ro"), Ok(("/a/b".into(), "/c".to_owned(), ro)));
        assert_eq!(of("/a:b:/c:rw"), Ok(("/a:b".into(), "/c".to_owned(), rw)));
        assert_eq!(of("/b=a"), Ok(("a".into(), "/b".to_owned(), rw)));
        assert_eq!(of("/c=/a/b:ro"), Ok(("/a/b".into(), "/c".to_owned(), ro)));
        assert_eq!(of("/c=/a:b=d:rw"), Ok(("/a:b=d".into(), "/c".to_owned(), rw)));
        for typed in ["", "/a", "/a:", ":/a", "/a:b", "/a:ro", "/a:/b:wo", "/a:/../..", "/a=", "=/a", "a=b", "/a=:ro"] {
            assert!(mount(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn variables_have_a_value_or_that_of_here() {
        assert_eq!(variable("A=b=c"), Ok(VariableArgument::Set("A".to_owned(), "b=c".to_owned())));
        assert_eq!(variable("A="), Ok(VariableArgument::Set("A".to_owned(), String::new())));
        assert_eq!(variable("A"), Ok(VariableArgument::Passed("A".to_owned())));
        assert!(variable("=b").is_err() && variable("").is_err());
    }

    #[test]
    fn processors_are_a_sensible_number() {
        assert_eq!(cpus("1.5"), Ok(1.5));
        for typed in ["0", "-1", "nan", "inf", "one", "1e9"] {
            assert!(cpus(typed).is_err(), "{typed}");
        }
    }
}
