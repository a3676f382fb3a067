//! Patterns for the words of a command, in the rules of `execute`.
//!
//! A command is matched word by word, after the shell's quotes are removed: two spaces, quotes or a full path to the
//! program make no difference. `*` within a word also matches `/`.

use workden_core::{Error, ErrorKind, Result, search::TextPattern};

/// A pattern for a program and its arguments.
#[derive(Clone, Debug)]
pub struct ArgvPattern {
    words: Vec<WordPattern>,
}

#[derive(Clone, Debug)]
enum WordPattern {
    /// One word.
    One { pattern: TextPattern, has_slash: bool },
    /// Any number of words, including none.
    Rest,
}

/// The directories of a program that a pattern names without a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramLocation {
    /// Any directory: `/tmp/rm` is `rm`. For rules that forbid.
    Anywhere,
    /// The search path or a directory of the system: `/bin/ls` is `ls`, `/tmp/ls` is another program. For rules that
    /// allow.
    OfTheSystem,
}

impl ArgvPattern {
    /// Compiles a pattern: words that may contain `*`, `?`, `[a-z]` and `{a,b}`. A `*` as the last word, and `**`
    /// anywhere, match any number of words.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if the pattern is empty or one of its words does not parse.
    pub fn new(pattern: &str) -> Result<Self> {
        let texts: Vec<&str> = pattern.split_whitespace().collect();
        if texts.is_empty() {
            return Err(Error::new(ErrorKind::InvalidPattern, "an empty pattern matches no command")
                .hint("`*` matches every command, `git status *` those that start with these words"));
        }
        let word = |(nth, text): (usize, &&str)| match *text {
            "**" => Ok(WordPattern::Rest),
            "*" if nth + 1 == texts.len() => Ok(WordPattern::Rest),
            text => Ok(WordPattern::One { pattern: TextPattern::new(text)?, has_slash: text.contains('/') }),
        };
        Ok(Self { words: texts.iter().enumerate().map(word).collect::<Result<_>>()? })
    }

    /// Whether this command matches, with its program in any directory.
    #[must_use]
    pub fn matches(&self, argv: &[&str]) -> bool {
        self.matches_with(argv, ProgramLocation::Anywhere)
    }

    /// Whether this command matches.
    #[must_use]
    pub fn matches_with(&self, argv: &[&str], programs: ProgramLocation) -> bool {
        self.reached(argv, programs)[argv.len()]
    }

    /// Whether the start of this command matches: `rm` matches the start of `rm -rf x`.
    #[must_use]
    pub fn matches_start(&self, argv: &[&str], programs: ProgramLocation) -> bool {
        self.reached(argv, programs).contains(&true)
    }

    /// Returns, for each number of words of a command, whether the pattern matches exactly these words.
    fn reached(&self, argv: &[&str], programs: ProgramLocation) -> Vec<bool> {
        // All positions are tracked at once, like in a regular expression, so that no pattern takes more than words
        // times words steps.
        let mut reached = vec![false; argv.len() + 1];
        reached[0] = true;
        for word in &self.words {
            let mut next = vec![false; argv.len() + 1];
            match word {
                WordPattern::Rest => {
                    let mut any = false;
                    for (to, from) in next.iter_mut().zip(&reached) {
                        any |= *from;
                        *to = any;
                    }
                }
                WordPattern::One { pattern, has_slash } => {
                    for (at, argument) in argv.iter().enumerate().filter(|(at, _)| reached[*at]) {
                        let by_name = || at == 0 && !has_slash && pattern.is_match(program_name(argument, programs));
                        next[at + 1] = pattern.is_match(argument) || by_name();
                    }
                }
            }
            reached = next;
        }
        reached
    }
}

/// Returns the name of a program without its directory.
fn program_name(program: &str, programs: ProgramLocation) -> &str {
    const OF_THE_SYSTEM: [&str; 6] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    match (program.rsplit_once('/'), programs) {
        (Some((_, name)), ProgramLocation::Anywhere) => name,
        (Some((directory, name)), ProgramLocation::OfTheSystem) if OF_THE_SYSTEM.contains(&directory) => name,
        _ => program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let compiled = ArgvPattern::new(pattern).unwrap();
        for (expected, commands) in [(true, matching), (false, others)] {
            for command in commands {
                let argv: Vec<&str> = command.split_whitespace().collect();
                assert_eq!(compiled.matches(&argv), expected, "{pattern} on {command}");
            }
        }
    }

    #[test]
    fn words_are_matched_one_by_one() {
        check(
            "git status",
            &["git status", "git  status", "/usr/bin/git status"],
            &["git", "git status -s", "got status"],
        );
        check("git status *", &["git status", "git status -s -b"], &["git log", "git"]);
        check("*", &["ls", "rm -rf /"], &[]);
        check("mkfs*", &["mkfs", "mkfs.ext4", "/sbin/mkfs.ext4"], &["mkfs.ext4 /dev/sda1"]);
        check("mkfs* *", &["mkfs.ext4 /dev/sda1", "mkfs"], &["xmkfs"]);
        check("dd * of=/dev/*", &["dd if=x of=/dev/sda"], &["dd of=/dev/sda", "dd a b of=/dev/sda"]);
        check("dd ** of=/dev/* **", &["dd of=/dev/sda", "dd a b of=/dev/disk/x c"], &["dd of=/tmp/x"]);
        check("git {log,diff} *", &["git log -p", "git diff"], &["git push"]);
        check("rm", &["rm", "./rm", "/bin/rm"], &["rm x", "/rm/x", "RM"]);
        check("/bin/rm *", &["/bin/rm x"], &["rm x", "/usr/bin/rm x"]);
        check("npm run [a-z]*", &["npm run build"], &["npm run -x", "npm run"]);
        check("echo ?", &["echo é"], &["echo ab"]);
    }

    #[test]
    fn only_a_program_of_the_system_is_what_its_name_says() {
        let pattern = ArgvPattern::new("ls *").unwrap();
        for (program, expected) in [
            ("ls", true),
            ("/bin/ls", true),
            ("/usr/bin/ls", true),
            ("/tmp/ls", false),
            ("./ls", false),
            ("bin/ls", false),
        ] {
            assert_eq!(pattern.matches_with(&[program, "-l"], ProgramLocation::OfTheSystem), expected, "{program}");
            assert!(pattern.matches(&[program, "-l"]));
        }
    }

    #[test]
    fn what_cannot_be_a_pattern_is_an_error() {
        for bad in ["", "  ", "rm [z-a]", "rm [a", "{a b}", "a\\"] {
            assert_eq!(ArgvPattern::new(bad).unwrap_err().kind(), ErrorKind::InvalidPattern, "{bad:?}");
        }
    }

    #[test]
    fn many_stars_are_matched_without_backtracking() {
        let pattern = ArgvPattern::new(&"** a ".repeat(200)).unwrap();
        let argv = vec!["a"; 199];
        // A backtracking matcher would need 2^200 steps.
        assert!(!pattern.matches(&argv));
    }
}
