//! The options of the benchmarks. xtask builds the shipped programs that some of them measure, and passes their paths.

use std::path::{Path, PathBuf};

use crate::{
    Failure,
    lines::{self, Line},
};

/// The options of benchmarks that consist of rows.
pub(crate) const OF_ROWS: &[&str] = &["--check", "--rounds", "--only"];
/// The options of benchmarks that measure shipped programs.
pub(crate) const OF_SHIPPED: &[&str] = &["--check", "--rounds", "--program", "--keeper"];
/// The options of the benchmark of the service.
pub(crate) const OF_SERVICE: &[&str] = &["--check", "--rounds", "--program", "--keeper", "--soak"];
/// The options of the benchmark of session managers.
pub(crate) const OF_PODS: &[&str] = &["--check", "--rounds", "--sessions"];

/// The options of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    /// Selects the rows whose name contains it.
    pub(crate) only: Option<String>,
    /// How many sessions to invent.
    pub(crate) sessions: Option<usize>,
    /// How many seconds to soak.
    pub(crate) soak: Option<u64>,
    missed: Missed,
    program: Option<PathBuf>,
    keeper: Option<PathBuf>,
}

/// The effect of a missed target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missed {
    Shown,
    Fails,
}

impl Options {
    /// Parses the command line; `rounds` is the default number of rounds.
    pub(crate) fn parse(words: &[&str], known: &[&str], rounds: usize) -> Result<Self, Failure> {
        let mut options =
            Self { rounds, only: None, sessions: None, soak: None, missed: Missed::Shown, program: None, keeper: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().ok_or_else(|| format!("{word} requires a value"));
            match *word {
                other if !known.contains(&other) => {
                    return Err(format!("unknown option `{other}`\n{}", crate::USAGE).into());
                }
                "--rounds" => options.rounds = value()?.parse()?,
                "--only" => options.only = Some(value()?.to_owned()),
                "--sessions" => options.sessions = Some(value()?.parse()?),
                "--soak" => options.soak = Some(value()?.parse()?),
                "--program" => options.program = Some(value()?.into()),
                "--keeper" => options.keeper = Some(value()?.into()),
                _ => options.missed = Missed::Fails,
            }
        }
        match options.rounds {
            0 => Err("--rounds must be at least 1".into()),
            _ => Ok(options),
        }
    }

    /// The shipped command line program.
    pub(crate) fn program(&self) -> Result<&Path, Failure> {
        named(self.program.as_deref())
    }

    /// The shipped keeper.
    pub(crate) fn keeper(&self) -> Result<&Path, Failure> {
        named(self.keeper.as_deref())
    }

    /// Prints the table between `title` and `notes`. Fails on a missed target if the options say so.
    pub(crate) fn conclude(&self, title: &str, lines: &[Line], notes: &[String]) -> Result<(), Failure> {
        println!("{title}{} rounds, in turn\n", self.rounds);
        println!("{}", lines::markdown(lines));
        notes.iter().for_each(|note| println!("{note}"));
        let missed = lines.iter().filter(|line| !line.passes()).map(|line| line.what().to_owned());
        self.judge(&missed.collect::<Vec<_>>())
    }

    /// Fails if there are missed targets and the options say so.
    pub(crate) fn judge(&self, missed: &[String]) -> Result<(), Failure> {
        match self.missed {
            Missed::Fails if !missed.is_empty() => Err(format!("missed: {}", missed.join("; ")).into()),
            Missed::Fails | Missed::Shown => Ok(()),
        }
    }
}

fn named(file: Option<&Path>) -> Result<&Path, Failure> {
    file.ok_or_else(|| {
        "missing `--program` or `--keeper`\nhint: `cargo xtask bench` builds the programs and passes their paths".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, Failure> {
        Options::parse(words, OF_SHIPPED, 41)
    }

    #[test]
    fn options_are_read_and_what_makes_no_sense_is_refused() {
        let options = parse(&["--check", "--rounds", "3", "--keeper", "/keeper"]).unwrap();
        assert_eq!((options.rounds, options.missed), (3, Missed::Fails));
        assert_eq!(options.keeper().unwrap(), Path::new("/keeper"));
        assert!(options.program().unwrap_err().to_string().contains("xtask"));
        assert_eq!(parse(&[]).unwrap().rounds, 41);
        for wrong in [&["--only", "grep"][..], &["--rounds", "many"], &["--rounds", "0"], &["--rounds"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
        let only = Options::parse(&["--only", "grep"], OF_ROWS, 7).unwrap().only;
        assert_eq!(only.as_deref(), Some("grep"));
    }

    #[test]
    fn a_missed_target_fails_a_run_only_when_that_was_asked_for() {
        let missed = [Line::bytes("memory", 2, 1)];
        assert!(parse(&[]).unwrap().conclude("", &missed, &[]).is_ok());
        assert!(parse(&["--check"]).unwrap().conclude("", &missed, &[]).is_err());
        let met = [Line::bytes("memory", 1, 2)];
        assert!(parse(&["--check"]).unwrap().conclude("", &met, &[]).is_ok());
    }
}
