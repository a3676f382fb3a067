//! An analysis in one line, for tables.
//!
//! Commands are separated by ` ; `. The wrappers (`env>`) and the variables of a command are in front of it; after it
//! are its directories if they are not `/w` (`@/w/a,/w`), and `<` if its input is fed, `<<` if it is a file. A pattern is
//! in `/.../`, pieces of names in `//...//`, a name with a number in `#...#`, a token in `=...=`, an unknown word in
//! `?...?`, a word with blanks in quotes. Files follow ` | ` as `<name`, `>name` or `<>name`, doubts
//! follow ` ! `.

use workden_core::VirtualPath;

use super::super::{
    Analysis, DoubtKind, Invocation, OpenMode, Redirection, StandardInput, Word, WorkingDirectories, analyse,
};

/// Compares the analysis of a script, run in `/w`, with the expected one.
#[track_caller]
pub(super) fn check(script: &str, expected: &str) {
    let from = VirtualPath::parse("/w").unwrap();
    let found = rendered(&analyse(script, &from, StandardInput::Inherited));
    assert_eq!(found, expected, "\nin: {script}");
}

pub(super) fn rendered(analysis: &Analysis) -> String {
    let invocations: Vec<String> = analysis.invocations.iter().map(invocation).collect();
    let mut text = invocations.join(" ; ");
    for redirection in &analysis.redirections {
        text.push_str(" | ");
        text.push_str(&file(redirection));
    }
    let mut kinds: Vec<&str> = Vec::new();
    for doubt in &analysis.doubts {
        let kind = match doubt.kind {
            DoubtKind::Syntax => "syntax",
            DoubtKind::TooMuch => "much",
            DoubtKind::NotLiteral => "unknown",
            DoubtKind::Argument => "argument",
            DoubtKind::Construct => "construct",
            DoubtKind::Environment => "environment",
            DoubtKind::ForeignCode => "foreign",
            DoubtKind::Recursion => "recursion",
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if !kinds.is_empty() {
        text.push_str(" ! ");
        text.push_str(&kinds.join(" "));
    }
    text.trim_start().to_owned()
}

fn invocation(invocation: &Invocation) -> String {
    let mut text = String::new();
    for wrapper in &invocation.through {
        text.push_str(&format!("{wrapper}>"));
    }
    for assignment in &invocation.assignments {
        text.push_str(&format!("{}={} ", assignment.name, word(&assignment.value)));
    }
    let argv: Vec<String> = invocation.argv.iter().map(word).collect();
    text.push_str(&argv.join(" "));
    text.push_str(&place(&invocation.directories));
    match invocation.input {
        StandardInput::Inherited => {}
        StandardInput::Fed => text.push_str(" <"),
        StandardInput::File => text.push_str(" <<"),
    }
    text
}

fn place(directories: &WorkingDirectories) -> String {
    match directories {
        WorkingDirectories::Unknown => "@?".to_owned(),
        WorkingDirectories::AnyOf(paths) => match paths.as_slice() {
            [only] if only.as_str() == "/w" => String::new(),
            paths => format!("@{}", paths.iter().map(VirtualPath::as_str).collect::<Vec<_>>().join(",")),
        },
    }
}

fn file(redirection: &Redirection) -> String {
    let usage = match redirection.usage {
        OpenMode::Read => "<",
        OpenMode::Write => ">",
        OpenMode::ReadWrite => "<>",
    };
    format!("{usage}{}{}", word(&redirection.target), place(&redirection.directories))
}

fn word(word: &Word) -> String {
    match word {
        Word::Literal(text) if text.is_empty() || text.contains([' ', '\n', ';']) => format!("{text:?}"),
        Word::Literal(text) => text.clone(),
        Word::Pattern(text) => format!("/{text}/"),
        Word::Pieces(text) => format!("//{text}//"),
        Word::Stamp(text) => format!("#{text}#"),
        Word::Token(text) => format!("={text}="),
        Word::Unknown(text) => format!("?{text}?"),
    }
}
