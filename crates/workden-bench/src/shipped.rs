//! The options of the benchmarks that measure shipped programs. xtask builds these programs and passes their paths.

use std::path::{Path, PathBuf};

use crate::{
    Failure,
    lines::{self, Line},
};

/// The options of such a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
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
    pub(crate) fn parse(words: &[&str], rounds: usize) -> Result<Self, Failure> {
        let mut options = Self { rounds, missed: Missed::Shown, program: None, keeper: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--check" => options.missed = Missed::Fails,
                "--program" => options.program = words.next().map(PathBuf::from),
                "--keeper" => options.keeper = words.next().map(PathBuf::from),
                "--rounds" => options.rounds = words.next().ok_or("--rounds requires a number")?.parse()?,
                other => return Err(format!("unknown option `{other}`").into()),
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
        match lines.iter().filter(|line| !line.passes()).count() {
            missed @ 1.. if self.missed == Missed::Fails => Err(format!("{missed} targets were missed").into()),
            _ => Ok(()),
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

    #[test]
    fn options_are_read_and_what_makes_no_sense_is_refused() {
        let options = Options::parse(&["--check", "--rounds", "3", "--keeper", "/keeper"], 41).unwrap();
        assert_eq!((options.rounds, options.missed), (3, Missed::Fails));
        assert_eq!(options.keeper().unwrap(), Path::new("/keeper"));
        assert!(options.program().unwrap_err().to_string().contains("xtask"));
        assert_eq!(Options::parse(&[], 41).unwrap().rounds, 41);
        for wrong in [&["--fast"][..], &["--rounds", "many"], &["--rounds", "0"], &["--rounds"]] {
            assert!(Options::parse(wrong, 41).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_missed_target_fails_a_run_only_when_that_was_asked_for() {
        let missed = [Line::bytes("memory", 2, 1)];
        assert!(Options::parse(&[], 1).unwrap().conclude("", &missed, &[]).is_ok());
        assert!(Options::parse(&["--check"], 1).unwrap().conclude("", &missed, &[]).is_err());
        let met = [Line::bytes("memory", 1, 2)];
        assert!(Options::parse(&["--check"], 1).unwrap().conclude("", &met, &[]).is_ok());
    }
}
