//! Scenes of one file at a time: writing, reading, and edits that help when they miss.

use workden_core::{
    BackendExt, Before, ErrorKind, Expect,
    text::{HashlineEdit, Replacement},
};

use super::{Failure, Stage, Transcript, expect_same, path};

const MAIN: &str = "\
mod words;

fn main() {
    println!(\"{}\", words::hello(\"world\"));
    println!(\"{}\", words::goodbye(\"world\"));
}
";

const WORDS: &str = "\
pub fn hello(name: &str) -> String {
    format!(\"Hello, {name}!\")
}

pub fn goodbye(name: &str) -> String {
    format!(\"Goodbye, {name}!\")
}
";

const USAGE: &str = "\
# How to use it

To greet somebody:

    greeter --loud
";

pub(super) async fn write(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("A file is written whole, and never over another by accident")?;
    // From the last path to the first, and later edits in the same order: so "newest first" is the
    // order by path, also where the clock of a file system stands still between two writes.
    for (typed, content) in [("/usage.md", USAGE), ("/src/words.rs", WORDS), ("/src/main.rs", MAIN)] {
        transcript.call(format_args!("write {typed} ({} lines), where nothing may be yet", content.lines().count()))?;
        let written = stage.files.write_path(&path(typed)?, content.into(), Expect::Absent).await?;
        expect_same("what was there before", written.before, Before::Nothing)?;
        transcript.answer(format_args!("made {}", written.path))?;
    }
    transcript.call("write /src/main.rs (1 line), where nothing may be yet")?;
    let again = stage.files.write_path(&path("/src/main.rs")?, "fn main() {}\n".into(), Expect::Absent).await;
    transcript.refusal(ErrorKind::AlreadyExists, again)
}

pub(super) async fn read(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("A read is a window with line numbers, and says how much is left")?;
    transcript.call("read /src/words.rs, 3 lines from the start")?;
    let read = stage.files.read_numbered(&path("/src/words.rs")?, 0, 3).await?;
    expect_same("lines shown and left", (read.shown, read.left()), (3, 4))?;
    transcript.answer(read.text)
}

pub(super) async fn edit(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("An edit replaces a text that stands there exactly once")?;
    transcript.call("edit /src/words.rs: `Hello, ` becomes `Good morning, `")?;
    let file = path("/src/words.rs")?;
    let places = stage.files.edit(&file, &[Replacement::once("Hello, ", "Good morning, ")]).await?;
    transcript.answer(format_args!("replaced in {places} place"))?;
    transcript.call("read /src/words.rs, 1 line after the first")?;
    let read = stage.files.read_numbered(&file, 1, 1).await?;
    transcript.answer(read.text)?;
    let content = stage.files.read_bytes(&file).await?;
    expect_same("the edited file", &content[..], WORDS.replace("Hello", "Good morning").as_bytes())
}

pub(super) async fn ambiguous(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("A text that stands there twice is not guessed at")?;
    let file = path("/src/main.rs")?;
    transcript.call("edit /src/main.rs: `\"world\"` becomes `\"den\"`")?;
    let twice = stage.files.edit(&file, &[Replacement::once("\"world\"", "\"den\"")]).await;
    transcript.refusal(ErrorKind::Ambiguous, twice)?;
    transcript.call("edit /src/main.rs: every `\"world\"` becomes `\"den\"`")?;
    let places = stage.files.edit(&file, &[Replacement::all("\"world\"", "\"den\"")]).await?;
    expect_same("places replaced", places, 2)?;
    transcript.answer(format_args!("replaced in {places} places"))
}

pub(super) async fn not_found(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("A text that is not there is answered with the nearest line, and how it differs")?;
    transcript.call("edit /usage.md: `\\tgreeter --loud` becomes `\\tgreeter --soft`")?;
    let replacement = Replacement::once("\tgreeter --loud", "\tgreeter --soft");
    let missed = stage.files.edit(&path("/usage.md")?, &[replacement]).await;
    transcript.refusal(ErrorKind::NoMatch, missed)
}

pub(super) async fn hashlines(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("Hashlines name a line by number and hash, so that a stale number is noticed")?;
    let file = path("/src/main.rs")?;
    transcript.call("read /src/main.rs as hashlines, 3 lines after the second")?;
    let read = stage.files.read_hashlines(&file, 2, 3).await?;
    transcript.answer(&read.text)?;
    let hash = hash_of_line(&read.text, 4)?;
    let line = "    println!(\"{}\", words::hello(\"everybody\"));";
    let edit = HashlineEdit {
        start_line: 4,
        start_hash: hash.clone(),
        new_content: line.to_owned(),
        ..HashlineEdit::default()
    };
    transcript.call(format_args!("edit /src/main.rs: line 4, if its hash is {hash}, becomes `{}`", line.trim()))?;
    transcript.answer(stage.files.hashline_edit(&file, &edit).await?)?;
    transcript.call(format_args!("edit /src/main.rs: the same again, if the hash of line 4 is still {hash}"))?;
    transcript.refusal(ErrorKind::Conflict, stage.files.hashline_edit(&file, &edit).await)
}

/// The hash that a hashline read shows for a line, as a model would pick it out.
fn hash_of_line(text: &str, number: u64) -> Result<String, Failure> {
    let shown = text.lines().find_map(|line| line.strip_prefix(&format!("{number}:"))?.split_once('|'));
    match shown {
        Some((hash, _)) => Ok(hash.to_owned()),
        None => Err(Failure::Surprise(format!("line {number} is not in the hashlines"))),
    }
}
