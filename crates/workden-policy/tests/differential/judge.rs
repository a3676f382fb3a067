//! The comparison: everything that ran must have been foreseen, or there must have been a doubt.
//!
//! To show that it can fail, the same comparison is made with analyses that were weakened on
//! purpose; each of these must be caught.

use workden_core::VirtualPath;
use workden_policy::shell::{Analysis, Directories, Input, Invocation, Word, analyse};

use super::{
    driver::WORK,
    sandbox::{Call, Ran, Trace},
};

/// An analysis that has been made worse.
type Weakened = (&'static str, fn(&mut Analysis));

const WEAKENED: &[Weakened] = &[
    ("without commands that are fed", |analysis| analysis.invocations.retain(|found| found.input != Input::Fed)),
    ("without commands behind wrappers", |analysis| analysis.invocations.retain(|found| found.through.is_empty())),
    ("without the last command", |analysis| _ = analysis.invocations.pop()),
    ("without arguments", |analysis| analysis.invocations.iter_mut().for_each(|found| found.argv.truncate(1))),
    ("without files", |analysis| analysis.redirections.clear()),
    ("without doubts", |analysis| analysis.doubts.clear()),
    ("always in one directory", |analysis| {
        let here = VirtualPath::parse(WORK).expect("a path");
        analysis.invocations.iter_mut().for_each(|found| found.directories = Directories::AnyOf(vec![here.clone()]));
    }),
];

/// How many findings are shown, the shortest first.
const SHOWN: usize = 5;

/// What was seen.
#[derive(Default)]
pub(crate) struct Tally {
    scripts: usize,
    accepted: usize,
    ran: usize,
    programs: usize,
    clear: usize,
    findings: Vec<String>,
    caught: [usize; WEAKENED.len()],
}

/// Compares one script; what is wrong with its analysis is returned and counted.
pub(crate) fn judge(script: &str, ran: &Ran, tally: &mut Tally) -> Vec<String> {
    tally.scripts += 1;
    if !ran.accepted {
        return Vec::new();
    }
    let from = VirtualPath::parse(WORK).expect("a path");
    let analysis = analyse(script, &from);
    tally.accepted += 1;
    let programs: usize = ran.shells.iter().map(|trace| trace.calls.len()).sum();
    tally.programs += programs;
    tally.ran += usize::from(programs > 0);
    tally.clear += usize::from(analysis.doubts.is_empty());
    let findings = missed(&analysis, ran);
    for finding in &findings {
        tally.findings.push(format!("{script:?}\n    {finding}\n    {analysis:?}"));
    }
    for ((_, weaken), caught) in WEAKENED.iter().zip(&mut tally.caught) {
        let mut analysis = analysis.clone();
        weaken(&mut analysis);
        *caught += usize::from(!missed(&analysis, ran).is_empty());
    }
    findings
}

/// What ran without having been foreseen.
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

fn foresees(found: &Invocation, call: &Call, exact: bool) -> bool {
    let Some((Word::Literal(program), arguments)) = found.argv.split_first() else { return false };
    let name = program.rsplit('/').next() == Some(call.name.as_str());
    let directory = match &found.directories {
        Directories::Unknown => true,
        Directories::AnyOf(paths) => paths.iter().any(|path| path.as_str() == call.directory),
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
            Word::Pattern(_) | Word::Unknown(_) => true,
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
        self.findings.extend(other.findings);
        self.caught.iter_mut().zip(other.caught).for_each(|(all, more)| *all += more);
    }

    fn clear_share(&self) -> f64 {
        self.clear as f64 / self.accepted.max(1) as f64
    }

    pub(crate) fn summary(&self) -> String {
        let Self { scripts, accepted, ran, programs, clear, .. } = self;
        let mut text = format!(
            "differential: {scripts} scripts, {accepted} accepted by bash -n, {ran} of these ran programs ({programs} \
             in all), {clear} without a doubt ({:.0} %), {} with a doubt; {} not foreseen",
            100.0 * self.clear_share(),
            accepted - clear,
            self.findings.len(),
        );
        for ((name, _), caught) in WEAKENED.iter().zip(self.caught) {
            text.push_str(&format!("\n    control: {name}: caught {caught} times"));
        }
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
        match WEAKENED.iter().zip(self.caught).find(|(_, caught)| *caught == 0) {
            Some(((name, _), _)) => Err(format!("an analysis {name} was not caught, so this test cannot fail")),
            None => Ok(()),
        }
    }
}
