//! `run [--root DIR] -- CMD...`, which is what is typed most, understood without a description of
//! everything that could be typed: to make that takes a tenth as long as the whole run of a short command.

use std::ffi::OsString;

use super::arguments::{Kind, LimitsHeld, RunArguments};
use crate::containers::ContainerArguments;

impl RunArguments {
    /// What these words after `run` say, when they are as plain as that. Everything else, and every
    /// mistake, is for the whole description.
    pub(crate) fn plain(words: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut words = words.peekable();
        let root = words.next_if(|word| word == "--root").map(|_| words.next()).map(Option::unwrap_or_default);
        let looks_like_a_directory = |root: &OsString| !root.is_empty() && !root.as_encoded_bytes().starts_with(b"-");
        if root.as_ref().is_some_and(|root| !looks_like_a_directory(root)) || words.next()? != "--" {
            return None;
        }
        let command = words.map(OsString::into_string).collect::<Result<Vec<String>, _>>().ok()?;
        (!command.is_empty()).then(|| Self {
            root: root.map(Into::into),
            sandbox: Kind::Linux,
            container: ContainerArguments::default(),
            session: None,
            level: None,
            net: None,
            memory: None,
            cpus: None,
            pids: None,
            timeout: None,
            env: Vec::new(),
            mount: Vec::new(),
            toolchain: Vec::new(),
            limits: LimitsHeld::Required,
            json: false,
            terminal: false,
            command,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Described {
        #[command(flatten)]
        arguments: RunArguments,
    }

    #[test]
    fn plain_words_say_what_the_whole_description_says() {
        let understood = |line: &[&str]| RunArguments::plain(line.iter().map(Into::into));
        let plain: [&[&str]; 5] = [
            &["--", "true"],
            &["--root", "a dir", "--", "sh", "-c", "echo --root x -- y"],
            &["--", "--", "-t", "--json"],
            &["--", ""],
            &["--root", "x", "--", "--root"],
        ];
        for line in plain {
            let described = Described::try_parse_from(["run"].iter().chain(line)).unwrap().arguments;
            assert_eq!(format!("{:?}", understood(line).unwrap()), format!("{described:?}"), "{line:?}");
        }
        let others: [&[&str]; 9] = [
            &[],
            &["--"],
            &["--root"],
            &["--root", "--", "true"],
            &["--root", "", "--", "true"],
            &["--root", "-x", "--", "true"],
            &["--root=x", "--", "true"],
            &["--json", "--", "true"],
            &["true"],
        ];
        for line in others {
            assert!(understood(line).is_none(), "{line:?}");
        }
    }
}
