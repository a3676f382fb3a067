//! Sentences about the place where commands run, from what its sandbox tells about itself.

use workden_core::sandbox::{CommandFacts, Network, SHELL};

/// The facts as the items of a description.
pub(crate) fn items(facts: &CommandFacts) -> Vec<String> {
    let mut items = Vec::new();
    match facts.network {
        Some(Network::None) => items.push(
            "There is no network, only localhost inside the sandbox: downloads and package installations fail, so do not \
             try them."
                .to_owned(),
        ),
        Some(Network::Host) | None => {}
    }
    if facts.home_in_memory {
        items.push(
            "HOME, /tmp and the caches of programs are in memory, empty at the start and gone with the sandbox; files of \
             the workspace stay."
                .to_owned(),
        );
    }
    if facts.no_sudo {
        items.push("There is no sudo.".to_owned());
    }
    if !facts.toolchains.is_empty() {
        items.push(format!("Besides the programs in /usr there are the toolchains: {}.", facts.toolchains.join(", ")));
    }
    items
}

/// The shell in words: what it is, and what it is not.
pub(crate) fn shell(facts: &CommandFacts) -> String {
    match facts.shell.as_str() {
        SHELL => "sh (POSIX; it may lack [[ ]], arrays, source, {1..3} and <<<)".to_owned(),
        other => other.to_owned(),
    }
}

/// The facts in one sentence for a system prompt.
pub(crate) fn sentence(facts: &CommandFacts) -> String {
    let mut sentence = format!("Commands run in {}", facts.shell);
    if facts.network == Some(Network::None) {
        sentence.push_str(", without a network");
    }
    if facts.home_in_memory {
        sentence.push_str("; HOME and /tmp are in memory");
    }
    sentence + "."
}
