//! `Hint`: what a person or a model can do after a command failed because of the sandbox, found in its output.

use serde::{Deserialize, Serialize};

use super::{Network, Output};

/// The part of an output that is searched, from its end: programs say last why they fail.
const SEARCHED: usize = 16 * 1024;

/// How programs say that they reach no server. Each is a part of a message that means nothing else.
const UNREACHABLE: &[&str] = &[
    // The resolver of the C library: curl, git, pip, ssh, wget and others.
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "Name or service not known",
    "unable to resolve host address",
    "failed to lookup address information",
    "Network is unreachable",
    // Node.js: npm, pnpm, yarn.
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
    // Go.
    "no such host",
    "dial tcp: lookup",
    // Tools that know of it: cargo, uv, npm.
    "you're using offline mode",
    "--offline was specified",
    "the network was disabled",
    "cache mode is 'only-if-cached'",
    // pip, which says no more than this after its last attempt.
    "(from versions: none)",
];

/// Programs of toolchains that are often in a home directory, which a sandbox does not see by itself.
const TOOLCHAINS: &[&str] =
    &["python", "python3", "pip", "pip3", "pytest", "uv", "node", "npm", "npx", "cargo", "rustc", "go"];

/// Advice for a command that failed because of the sandbox it runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Hint {
    /// The command needs a network, and the sandbox has none.
    NoNetwork,
    /// The command runs a program of a toolchain that the sandbox does not have.
    NoToolchain,
    /// The command writes the configuration of a git repository.
    GitConfig,
    /// The command writes the hooks of a git repository.
    GitHooks,
}

impl Hint {
    /// Returns the hints for a command that failed with this output.
    #[must_use]
    pub fn of(output: &Output, network: Network) -> Vec<Self> {
        let text = if output.left_out.is_some() { &output.tail } else { &output.head };
        let text = text.get(text.ceil_char_boundary(text.len().saturating_sub(SEARCHED))..).unwrap_or_default();
        let has = |part: &str| text.contains(part);
        let mut hints = Vec::new();
        if network == Network::None && UNREACHABLE.iter().any(|part| has(part)) {
            hints.push(Self::NoNetwork);
        }
        // As bash, dash and busybox say it.
        let is_missing =
            |name: &&str| has(&format!(": {name}: command not found")) || has(&format!(": {name}: not found"));
        if TOOLCHAINS.iter().any(is_missing) {
            hints.push(Self::NoToolchain);
        }
        // Git renames a new file over the old one, which is a mount here.
        if has("could not write config file") && has("Device or resource busy") {
            hints.push(Self::GitConfig);
        }
        if has(".git/hooks") && has("Read-only file system") {
            hints.push(Self::GitHooks);
        }
        hints
    }

    /// Returns the advice as a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoNetwork => {
                "this sandbox has no network; use what is installed, or ask for a sandbox that is started with `--net host`"
            }
            Self::NoToolchain => {
                "this sandbox has the programs of /usr, and toolchains that its user names; use `python3` if it is there, \
                 or ask for a sandbox that is started with `--toolchain python`, `node`, `rust` or `go`"
            }
            Self::GitConfig => {
                "`.git/config` is read-only here, because git outside runs programs that it names; use `git config \
                 --global`, which lasts as long as this sandbox, or `git -c KEY=VALUE` for one command"
            }
            Self::GitHooks => {
                "`.git/hooks` is read-only here, because git outside runs what it contains; run the script of a hook \
                 by its own path"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::LeftOut;

    fn hints(output: &str, network: Network) -> Vec<Hint> {
        Hint::of(&Output::new(output), network)
    }

    #[test]
    fn what_programs_say_without_a_network_gets_a_hint() {
        for said in [
            "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com\n",
            "npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org\n",
            "ERROR: Could not find a version that satisfies the requirement x (from versions: none)\n",
            "As a reminder, you're using offline mode (--offline) which can sometimes cause\n",
            "  hint: Packages were unavailable because the network was disabled.\n",
            "dial tcp: lookup proxy.golang.org on 127.0.0.1:53: read udp: connection refused\n",
        ] {
            assert_eq!(hints(said, Network::None), [Hint::NoNetwork], "{said}");
            assert_eq!(hints(said, Network::Host), [], "{said}");
        }
        assert_eq!(hints("FAILED tests/test_a.py::test_b\n", Network::None), []);
    }

    #[test]
    fn a_toolchain_that_is_not_there_gets_a_hint() {
        for said in ["bash: line 1: cargo: command not found\n", "sh: 1: python: not found\n", "sh: npm: not found\n"] {
            assert_eq!(hints(said, Network::Host), [Hint::NoToolchain], "{said}");
        }
        assert_eq!(hints("bash: line 1: frobnicate: command not found\n", Network::None), []);
    }

    #[test]
    fn files_that_git_runs_outside_get_a_hint() {
        let config = "error: could not write config file .git/config: Device or resource busy\n";
        let hooks = "OSError: [Errno 30] Read-only file system: '/workspace/.git/hooks/pre-commit'\n";
        assert_eq!(hints(config, Network::Host), [Hint::GitConfig]);
        assert_eq!(hints(hooks, Network::None), [Hint::GitHooks]);
        assert_eq!(hints("touch: cannot touch '/usr/x': Read-only file system\n", Network::None), []);
    }

    #[test]
    fn only_the_end_of_a_long_output_is_searched() {
        let why = "Could not resolve host: a\n";
        let late = format!("{}{why}", "ä".repeat(SEARCHED));
        let early = format!("{why}{}", "ä".repeat(SEARCHED));
        assert_eq!(hints(&late, Network::None), [Hint::NoNetwork]);
        assert_eq!(hints(&early, Network::None), []);
        let cut = Output::new("begin").left_out(LeftOut::new(10, 1)).tail(why);
        assert_eq!(Hint::of(&cut, Network::None), [Hint::NoNetwork]);
    }
}
