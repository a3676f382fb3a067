//! The environment of commands: a short default list, and explicitly named variables. The rest of the host's
//! environment stays out.

use std::collections::BTreeMap;

use workden_core::{Error, ErrorKind, Result};

use crate::HostEnvironment;

/// Variables of the host that commands on the host see; also `LC_*`.
const OF_HOST: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV"];

/// Explicitly named variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedVariables {
    set: BTreeMap<String, String>,
    passed: Vec<String>,
}

impl NamedVariables {
    /// Sets a variable to a value.
    pub(crate) fn set(&mut self, name: String, value: String) {
        self.set.insert(name, value);
    }

    /// Passes a variable with the host's value, if the host has it.
    pub(crate) fn pass(&mut self, name: String) {
        self.passed.push(name);
    }

    /// Adds the variables to the defaults.
    pub(crate) fn add_to(&self, all: &mut BTreeMap<String, String>, host: &HostEnvironment) -> Result<()> {
        let passed = self.passed.iter().filter_map(|name| Some((name, host.variables.get(name)?)));
        for (name, value) in passed.chain(&self.set) {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let sentence = format!("invalid variable `{}`", name.replace('\0', "\\0"));
                return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint("the name must not contain `=`, and neither name nor value a NUL"));
            }
            all.insert(name.clone(), value.clone());
        }
        Ok(())
    }
}

/// Returns the default variables of commands on the host.
pub(crate) fn of_host(host: &HostEnvironment) -> BTreeMap<String, String> {
    let is_seen = |name: &str| OF_HOST.contains(&name) || name.starts_with("LC_");
    host.variables.iter().filter(|(name, _)| is_seen(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> HostEnvironment {
        let variables = ["PATH", "HOME", "LC_ALL", "AWS_SECRET_ACCESS_KEY", "EDITOR", "LCX"];
        let variables = variables.iter().map(|name| ((*name).to_owned(), format!("of {name}")));
        HostEnvironment { variables: variables.collect(), directory: "/".into() }
    }

    #[test]
    fn of_the_hosts_variables_only_a_few_are_seen() {
        let seen: Vec<String> = of_host(&host()).into_keys().collect();
        assert_eq!(seen, ["HOME", "LC_ALL", "PATH"]);
    }

    #[test]
    fn what_is_named_is_added_and_what_the_host_lacks_is_not() {
        let mut named = NamedVariables::default();
        named.pass("EDITOR".to_owned());
        named.pass("NOT_THERE".to_owned());
        named.set("PATH".to_owned(), "/bin".to_owned());
        let mut all = of_host(&host());
        named.add_to(&mut all, &host()).unwrap();
        assert_eq!(all["EDITOR"], "of EDITOR");
        assert_eq!(all["PATH"], "/bin");
        assert!(!all.contains_key("NOT_THERE"));
    }

    #[test]
    fn what_cannot_be_a_variable_is_refused() {
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0")] {
            let mut named = NamedVariables::default();
            named.set(name.to_owned(), value.to_owned());
            let error = named.add_to(&mut BTreeMap::new(), &host()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name:?}");
        }
    }
}
