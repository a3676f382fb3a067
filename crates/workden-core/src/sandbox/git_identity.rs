//! `GitIdentity`: who commits in a sandbox, unless a repository or a command says otherwise.

use serde::{Deserialize, Serialize};

/// A name and an address for commits. Git in a sandbox sees them as the configuration of the machine, which is weaker
/// than that of a user, of a repository and of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitIdentity {
    /// `user.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `user.email`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

impl GitIdentity {
    /// Returns the text of a configuration file.
    #[must_use]
    pub fn config_text(&self) -> String {
        let line = |(key, value): (&str, &Option<String>)| Some(format!("\t{key} = {}\n", quoted(value.as_deref()?)));
        let lines: String = [("name", &self.name), ("email", &self.email)].into_iter().filter_map(line).collect();
        format!("[user]\n{lines}")
    }
}

/// Quotes a value. Line ends and other controls, which no identity has, are left out.
fn quoted(value: &str) -> String {
    let plain = value.chars().filter(|character| !character.is_control());
    let escaped: String = plain.flat_map(|c| matches!(c, '"' | '\\').then_some('\\').into_iter().chain([c])).collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_a_value() {
        let odd = GitIdentity { name: Some("A \"B\" \\ #;\n[core]\n\tpager = x".into()), email: Some("a@b.c".into()) };
        let text = "[user]\n\tname = \"A \\\"B\\\" \\\\ #;[core]pager = x\"\n\temail = \"a@b.c\"\n";
        assert_eq!(odd.config_text(), text);
        assert_eq!(GitIdentity::default().config_text(), "[user]\n");
    }
}
