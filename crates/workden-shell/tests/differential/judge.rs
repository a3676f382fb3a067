//! The comparison: everything that ran must have been foreseen, or there must have been a doubt.
//!
//! To show that it can fail, the same comparison is made with analyses that were weakened on
//! purpose; each of these must be caught.

use workden_core::VirtualPath;
use workden_shell::{Analysis, Invocation, StandardInput, Word, WorkingDirectories, analyse};

use super::{
    driver::WORK,
    oracle::{self, Reading, Text},
    sandbox::{Call, Ran, Trace},
};

/// An analysis that has been made worse.
type Weakened = (&'static str, fn(&mut Analysis));

const WEAKENED: &[Weakened] = &[
    ("without commands that are fed", |analysis| {
        analysis.invocations.retain(|found| found.input != StandardInput::Fed)
    }),
    ("without commands behind wrappers", |analysis| analysis.invocations.retain(|found| found.through.is_empty())),
    ("without the last command", |analysis| _ = analysis.invocations.pop()),
    ("without arguments", |analysis| analysis.invocations.iter_mut().for_each(|found| found.argv.truncate(1))),
    ("without files", |analysis| analysis.redirections.clear()),
    ("without doubts", |analysis| analysis.doubts.clear()),
    ("always in one directory", |analysis| {
        let here = VirtualPath::parse(WORK).expect("a path");
        analysis
            .invocations
            .iter_mut()
            .for_each(|found| found.directories = WorkingDirectories::AnyOf(vec![here.clone()]));
    }),
];

/// How many findings are shown, the shortest first.
const SHOWN: usize = 5;

/// The counts of a run.
#[derive(Default)]
pub(crate) struct Tally {
    scripts: usize,
    accepted: usize,
    ran: usize,
    programs: usize,
    clear: usize,
    /// Scripts without a doubt that the oracle reads as well.
    compared: usize,
    findings: Vec<String>,
    caught: [usize; WEAKENED.len()],
    /// Weakened analyses that the oracle alone notices.
    caught_by_oracle: usize,
}

/// Compares one script; what is wrong with its analysis is returned and counted.
pub(crate) fn judge(script: &str, ran: &Ran, tally: &mut Tally) -> Vec<String> {
    tally.scripts += 1;
    if !ran.accepted {
        return Vec::new();
    }
    let from = VirtualPath::parse(WORK).expect("a path");
    let analysis = analyse(script, &from, StandardInput::Inherited);
    tally.accepted += 1;
    let programs: usize = ran.shells.iter().map(|trace| trace.calls.len()).sum();
    tally.programs += programs;
    tally.ran += usize::from(programs > 0);
    tally.clear += usize::from(analysis.doubts.is_empty());
    let reading = if analysis.doubts.is_empty() { oracle::read(script) } else { None };
    tally.compared += usize::from(reading.is_some());
    let unlike = |analysis: &Analysis| reading.as_ref().map(|reading| unlike(script, analysis, reading));
    let mut findings = missed(&analysis, ran);
    findings.extend(unlike(&analysis).into_iter().flatten());
    for finding in &findings {
        tally.findings.push(format!("{script:?}\n    {finding}\n    {analysis:?}"));
    }
    for ((_, weaken), caught) in WEAKENED.iter().zip(&mut tally.caught) {
        let mut analysis = analysis.clone();
        weaken(&mut analysis);
        *caught += usize::from(!missed(&analysis, ran).is_empty());
        tally.caught_by_oracle += usize::from(unlike(&analysis).is_some_and(|found| !found.is_empty()));
    }
    findings
}

/// Returns the commands and files that a shell ran or made and the analysis does not have.
fn missed(analysis: &Analysis, ran: &Ran) -> Vec<String> {
    if !analysis.doubts.is_empty() {
        return Vec::new();
    }
    let mut missed = Vec::new();
    for (shell, trace) in ["bash", "sh"].iter().zip(&ran.shells) {
        // To sh braces and `$'...'` are text, so that arguments may differ.
        let exact = *shell == "bash";
        for call in &trace.calls {
            if !analysis.invocations.iter().any(|found| foresees(found, call, exact)) {
                missed.push(format!("{shell} ran {call:?}"));
            }
        }
        missed.extend(files(analysis, trace).map(|file| format!("{shell} made {file}")));
    }
    missed
}

/// Programs that the analysis looks through, so that they may not be among its invocations.
const LOOKED_THROUGH: &[&str] = &[
    "env", "nice", "timeout", "nohup", "command", "exec", "eval", "setsid", "stdbuf", "builtin", "find", "xargs", "sh",
    "bash", "dash", "ash", "trap", "time",
];

/// Where the analysis and the oracle read different commands or files.
fn unlike(script: &str, analysis: &Analysis, reading: &Reading) -> Vec<String> {
    let mut found = Vec::new();
    for command in &reading.commands {
        // A call of a function is what the function does.
        let is_function =
            |name: &str| script.contains(&format!("{name}()")) || script.contains(&format!("function {name}"));
        let through = command
            .first()
            .and_then(Option::as_deref)
            .is_none_or(|name| LOOKED_THROUGH.contains(&name) || is_function(name));
        if !through && !analysis.invocations.iter().any(|invocation| same_words(&invocation.argv, command)) {
            found.push(format!("the oracle reads the command {command:?}"));
        }
    }
    for file in &reading.files {
        if !analysis.redirections.iter().any(|redirection| same_word(&redirection.target, file)) {
            found.push(format!("the oracle reads the file {file:?}"));
        }
    }
    // The oracle does not look for scripts in `${...}`, and not for those after a here-document in a substitution.
    if script.contains("${") || script.contains("<<") && script.contains("$(") {
        return found;
    }
    for invocation in analysis.invocations.iter().filter(|invocation| invocation.through.is_empty()) {
        if !reading.commands.iter().any(|command| same_words(&invocation.argv, command)) {
            found.push(format!("the oracle does not read the command {:?}", invocation.argv));
        }
    }
    found
}

/// Whether these are the same words, as far as the oracle can tell what they become. Braces make
/// several words of one.
fn same_words(argv: &[Word], command: &[Text]) -> bool {
    let exact = argv.len() == command.len() && argv.iter().zip(command).all(|(word, text)| same_word(word, text));
    let known = |text: &&Text| text.is_some();
    let before = command.iter().take_while(known).count();
    let after = command.iter().rev().take_while(known).count();
    let braces = before < command.len()
        && argv.len() + 1 >= command.len()
        && before + after <= argv.len()
        && argv.iter().zip(&command[..before]).all(|(word, text)| same_word(word, text))
        && argv.iter().rev().zip(command.iter().rev().take(after)).all(|(word, text)| same_word(word, text));
    exact || braces
}

fn same_word(word: &Word, text: &Text) -> bool {
    let Some(text) = text else { return true };
    // A text that only looks like a home has a dot in front.
    word.literal().is_none_or(|word| word == text || word.strip_prefix("./") == Some(text) && text.starts_with('~'))
}

fn foresees(found: &Invocation, call: &Call, exact: bool) -> bool {
    let Some((Word::Literal(program), arguments)) = found.argv.split_first() else { return false };
    let name = program.rsplit('/').next() == Some(call.name.as_str());
    let directory = match &found.directories {
        WorkingDirectories::Unknown => true,
        WorkingDirectories::AnyOf(paths) => paths.iter().any(|path| path.as_str() == call.directory),
    };
    let literal: Option<Vec<&str>> = arguments.iter().map(Word::literal).collect();
    // A number of the shell's, such as its process, stands as 0.
    // A home that is only known when it runs keeps its tilde, and a text that only looks like one gets a dot.
    let one = |(word, argument): (&&str, &String)| {
        let number = *word == "0" && argument.bytes().all(|byte| byte.is_ascii_digit());
        number
            || word.starts_with('~')
            || word.strip_prefix("./").filter(|word| word.starts_with('~')).unwrap_or(word) == argument
    };
    let all = |words: Vec<&str>| words.len() == call.arguments.len() && words.iter().zip(&call.arguments).all(one);
    let same = literal.is_none_or(all);
    let by_sh = found.through.iter().any(|wrapper| matches!(wrapper.as_str(), "sh" | "dash"));
    name && directory && (same || by_sh || !exact)
}

fn files<'a>(analysis: &'a Analysis, trace: &'a Trace) -> impl Iterator<Item = &'a String> {
    trace.files.iter().filter(|file| {
        let name = file.rsplit('/').next();
        !analysis.redirections.iter().any(|redirection| match &redirection.target {
            Word::Literal(target) => target.rsplit('/').next() == name,
            Word::Pattern(_) | Word::Pieces(_) | Word::Stamp(_) | Word::Token(_) | Word::Unknown(_) => true,
        })
    })
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.scripts += other.scripts;
        self.accepted += other.accepted;
        self.ran += other.ran;
        self.programs += other.programs;
        self.clear += other.clear;
        self.compared += other.compared;
        self.caught_by_oracle += other.caught_by_oracle;
        self.findings.extend(other.findings);
        self.caught.iter_mut().zip(other.caught).for_each(|(all, more)| *all += more);
    }

    /// How many scripts ran a program.
    pub(crate) fn ran(&self) -> usize {
        self.ran
    }

    fn clear_share(&self) -> f64 {
        self.clear as f64 / self.accepted.max(1) as f64
    }

    pub(crate) fn summary(&self) -> String {
        let Self { scripts, accepted, ran, programs, clear, compared, .. } = self;
        let mut text = format!(
            "differential: {scripts} scripts, {accepted} accepted by bash -n, {ran} of these ran programs ({programs} \
             in all), {clear} without a doubt ({:.0} %), {} with a doubt; {compared} compared with the oracle; {} \
             findings",
            100.0 * self.clear_share(),
            accepted - clear,
            self.findings.len(),
        );
        for ((name, _), caught) in WEAKENED.iter().zip(self.caught) {
            text.push_str(&format!("\n    control: {name}: caught {caught} times"));
        }
        text.push_str(&format!(
            "\n    control: weakened analyses: caught {} times by the oracle",
            self.caught_by_oracle
        ));
        text
    }

    pub(crate) fn verdict(&self, least_clear: f64) -> Result<(), String> {
        if !self.findings.is_empty() {
            let mut findings = self.findings.clone();
            findings.sort_by_key(String::len);
            findings.truncate(SHOWN);
            return Err(format!("something ran that was not foreseen:\n{}", findings.join("\n")));
        }
        if self.ran < 100 {
            return Err(format!("only {} scripts ran anything, which shows nothing", self.ran));
        }
        if self.clear_share() < least_clear {
            return Err("nearly everything was doubted, which shows nothing".to_owned());
        }
        if self.compared * 2 < self.clear || self.caught_by_oracle == 0 {
            return Err("the oracle read too little, which shows nothing".to_owned());
        }
        match WEAKENED.iter().zip(self.caught).find(|(_, caught)| *caught == 0) {
            Some(((name, _), _)) => Err(format!("an analysis {name} was not caught, so this test cannot fail")),
            None => Ok(()),
        }
    }
}
