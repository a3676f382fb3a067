//! The effects of a command on files: which of its words are files, and how the command uses them.
//!
//! A word that might be a file is treated as one. The effects of programs that are not in the table are unknown, but a
//! word that names a protected file is a mention.

use super::{
    effects::{CommandEffects, mention, runs},
    embedded_code,
    file_effect::FileEffect,
    options::{Argument, parse_arguments},
    programs::{Operands, Program, Value, names, program},
    special_programs,
};
use crate::shell::{Invocation, Word};

/// Programs whose name among the arguments of an unknown program shows that the arguments contain a command.
const COMMANDS: &[&str] = &[
    "rm", "rmdir", "shred", "dd", "find", "awk", "gawk", "sed", "perl", "python", "python3", "node", "ruby", "php",
    "lua", "sh", "bash", "dash", "zsh", "chmod", "chown", "nc", "ncat", "vim", "tar", "curl", "wget", "mv", "cp",
    "socat", "tee",
];

/// Returns the command in the arguments of an unknown program: `npm exec -- rm -rf x`.
pub(crate) fn handed_on(invocation: &Invocation) -> Option<Invocation> {
    let (name, arguments) = named(invocation)?;
    if program(name).is_some() || matches!(name, "find" | "tar" | "curl" | "git") {
        return None;
    }
    let is_command = |word: &Word| {
        word.literal().is_some_and(|text| COMMANDS.contains(&without_version(text.rsplit('/').next().unwrap_or(text))))
    };
    let at = arguments.iter().position(is_command)?;
    Some(invocation.with_argv(arguments[at..].to_vec()))
}

/// Returns the effects of a command on files.
pub(crate) fn effects(invocation: &Invocation) -> CommandEffects {
    let mut effects = CommandEffects::default();
    invocation.assignments.iter().for_each(|assignment| mention(&assignment.value, &mut effects));
    let Some((name, arguments)) = named(invocation) else { return effects };
    match program(name) {
        Some(program) => known(program, name, arguments, &mut effects),
        None => match name {
            "tar" | "bsdtar" | "gtar" => special_programs::tar(arguments, &mut effects),
            "curl" => special_programs::curl(arguments, &mut effects),
            "find" => special_programs::find(arguments, &mut effects),
            "fd" | "fdfind" => special_programs::fd(arguments, &mut effects),
            name => {
                if name == "git" {
                    special_programs::git(arguments, &mut effects);
                }
                unknown(name, arguments, &mut effects);
            }
        },
    }
    embedded_code::look_into(name, arguments, invocation, &mut effects);
    effects
}

/// Returns the program's name without its directory, and its arguments.
pub(crate) fn named(invocation: &Invocation) -> Option<(&str, &[Word])> {
    let (program, arguments) = invocation.argv.split_first()?;
    let name = program.literal()?;
    Some((without_version(name.rsplit('/').next().unwrap_or(name)), arguments))
}

/// Returns the name without a version: `python3.12` is `python`.
fn without_version(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    match bare {
        "ipython" => "python",
        "python" | "pypy" | "perl" | "ruby" | "lua" | "luajit" | "php" | "node" | "bash" | "vim" => bare,
        _ => name,
    }
}

fn known(program: &Program, name: &str, arguments: &[Word], effects: &mut CommandEffects) {
    if matches!(program.operands, Operands::Dd) {
        return special_programs::dd(arguments, effects);
    }
    let value_of = |option: &str| program.options.iter().find(|(name, _)| *name == option).map(|(_, value)| *value);
    let mut operands: Vec<&Word> = Vec::new();
    let mut given = Vec::new();
    let mut destination = None;
    // The arguments after the script belong to the script.
    let is_script = matches!(program.operands, Operands::Script);
    let limit = if is_script { script_at(arguments, &value_of) } else { arguments.len() };
    let valued = names(program.options);
    for argument in parse_arguments(&arguments[..limit], &valued) {
        match argument {
            Argument::Operand(word) => {
                if PAGERS.contains(&name) && does_more(word) {
                    effects.doubts.push(runs(name, "+", word));
                }
                operands.push(word);
            }
            Argument::Option(option, value) => {
                given.push(option);
                match (value_of(option), value) {
                    (Some(Value::Destination(touch)), Some(word)) => destination = Some((touch, word)),
                    (_, Some(word)) => effects.option(name, program.options, option, word),
                    (_, None) => {}
                }
            }
        }
    }
    if !matches!(program.operands, Operands::None) {
        behind_letters(&arguments[..limit], &valued, effects);
    }
    let mut touch_all =
        |touch, words: &[&Word]| effects.files.extend(words.iter().map(|word| (touch, (*word).clone())));
    match program.operands {
        Operands::All(touch) => touch_all(touch, &operands),
        Operands::AfterFirst(touch, unless) => {
            let skipped = usize::from(!given.iter().any(|option| unless.contains(option)));
            let long = |option: &str| option.len() > 1 && "in-place".starts_with(option);
            let in_place = given.iter().any(|option| *option == "i" || long(option));
            let touch = if in_place && matches!(name, "sed" | "gsed" | "yq") { FileEffect::Edit } else { touch };
            touch_all(touch, operands.get(skipped..).unwrap_or_default());
        }
        Operands::Into { sources, destination: touch } => match (destination, operands.split_last()) {
            (Some((touch, word)), _) => {
                touch_all(sources, &operands);
                effects.files.push((touch, word));
            }
            (None, Some((last, []))) => touch_all(sources, &[last]),
            (None, Some((last, others))) => {
                touch_all(sources, others);
                touch_all(touch, &[last]);
            }
            (None, None) => {}
        },
        Operands::ArchiveFirst => {
            let (archive, sources) = operands.split_at(operands.len().min(1));
            touch_all(FileEffect::Write, archive);
            touch_all(FileEffect::Read, sources);
        }
        Operands::Script => touch_all(FileEffect::Read, &operands),
        Operands::None | Operands::Dd => {}
    }
    // The target of a link can be reached by another name afterwards.
    if matches!(name, "ln" | "link")
        || name == "cp" && given.iter().any(|option| matches!(*option, "s" | "l" | "link" | "symbolic-link"))
    {
        operands.iter().for_each(|word| mention(word, effects));
    }
    if name == "install" && given.iter().any(|option| matches!(*option, "d" | "directory")) {
        effects.files.extend(operands.iter().map(|word| (FileEffect::Write, (*word).clone())));
    }
    if is_script {
        mentions(&arguments[limit..], effects);
    }
}

/// Programs that run the command in a word that starts with a plus.
const PAGERS: &[&str] = &["less", "more", "most", "vi", "vim", "nvim", "view", "ex", "emacs"];

/// Whether the word is more than a line number or a text to search for.
fn does_more(word: &Word) -> bool {
    let Some(command) = word.literal().and_then(|text| text.strip_prefix('+')) else { return false };
    !(command.bytes().all(|byte| byte.is_ascii_digit()) || matches!(command, "G" | "F") || command.starts_with('/'))
}

/// Returns how many of an interpreter's arguments are its own: options, and the script.
fn script_at(arguments: &[Word], value_of: &impl Fn(&str) -> Option<Value>) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        at += 1;
        let Some(option) = word.literal().and_then(|text| text.strip_prefix('-')) else { return at };
        match option.trim_start_matches('-') {
            // Code or a module, followed by its arguments.
            "c" | "e" | "E" | "m" | "p" | "eval" | "print" | "r" | "lc" => return at,
            name if value_of(name).is_some() => at += 1,
            _ => {}
        }
    }
    at
}

/// Options whose values are sentences, like commit messages.
const SENTENCES: &[&str] =
    &["-m", "-am", "--message", "--body", "--title", "--notes", "--description", "--grep", "-S", "-G"];
const DIARIES: &[&str] = &["git", "gh", "hg", "jj", "glab", "svn"];
/// Options of test runners whose values select tests.
const CHOICES: &[&str] = &["-k", "-t", "-run", "--filter", "--testNamePattern", "--grep"];
const TESTERS: &[&str] = &["pytest", "py.test", "jest", "vitest", "mocha", "go"];
/// Options that name directories from which compilers read.
const INCLUDES: &[&str] = &["-I", "-L", "-isystem"];
const COMPILERS: &[&str] = &["gcc", "g++", "cc", "c++", "clang", "clang++"];

/// Adds the effects of a program that is not in the table.
fn unknown(name: &str, arguments: &[Word], effects: &mut CommandEffects) {
    let mut before = "";
    for word in arguments {
        let text = word.shown();
        let is_text = is_sentence_after(name, before, text);
        // Plain words are subcommands and names of tests.
        let is_plain = name == "cargo" && word.literal().is_some() && !text.contains(['/', '=', '.', ' ']);
        if COMPILERS.contains(&name) && INCLUDES.iter().any(|option| before == *option || text.starts_with(option)) {
            let path = text.trim_start_matches("-isystem").trim_start_matches("-I").trim_start_matches("-L");
            effects.files.push((FileEffect::Mention, Word::Literal(path.to_owned())));
        } else if !is_text && !is_plain {
            mention(word, effects);
        }
        before = text;
    }
}

/// Whether an argument is a sentence, like a commit message.
pub(crate) fn is_sentence(name: &str, arguments: &[Word], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| arguments.get(before)).map_or("", Word::shown);
    program(name).is_none() && is_sentence_after(name, before, arguments[at].shown())
}

fn is_sentence_after(name: &str, before: &str, text: &str) -> bool {
    let told_by = |options: &[&str]| {
        options.contains(&before) || text.split_once('=').is_some_and(|(option, _)| options.contains(&option))
    };
    DIARIES.contains(&name) && told_by(SENTENCES) || TESTERS.contains(&name) && told_by(CHOICES)
}

fn mentions(arguments: &[Word], effects: &mut CommandEffects) {
    arguments.iter().for_each(|word| mention(word, effects));
}

/// Mentions the text after an option letter that is not known to take a value: `-oFILE`.
fn behind_letters(arguments: &[Word], valued: &[&str], effects: &mut CommandEffects) {
    let words = arguments.iter().filter_map(Word::literal).take_while(|text| *text != "--");
    for letters in words.filter_map(|text| text.strip_prefix('-')).filter(|letters| !letters.starts_with('-')) {
        let mut all = letters.char_indices();
        let first_known =
            all.next().is_none_or(|(_, first)| valued.iter().any(|option| option.strip_prefix(first) == Some("")));
        if let (false, Some((at, _))) = (first_known, all.next()) {
            mention(&Word::Literal(letters[at..].to_owned()), effects);
        }
    }
}
