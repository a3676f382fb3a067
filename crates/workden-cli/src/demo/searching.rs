//! Scenes of searching: by name, by content, and over several places at once.

use std::fmt::Write;

use workden_backends::{CompositeBackend, memory};
use workden_core::{
    BackendExt, Completeness, Entry, EntryKind, Existing, Expect, VirtualPath,
    search::{Context, GlobRequest, GrepRequest, Grepped, LineRole, ListRequest},
};

use super::{Failure, Stage, Transcript, expect_same, path};

pub(super) async fn glob(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("A glob finds paths, the newest first")?;
    transcript.call("glob **/*.{rs,md} below /")?;
    let found = stage.files.glob_path(&VirtualPath::root(), &GlobRequest::new("**/*.{rs,md}")).await?;
    let paths: Vec<&str> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
    transcript.answer(paths.join("\n"))?;
    expect_same("the paths found", paths, vec!["/src/main.rs", "/src/words.rs", "/usage.md"])
}

pub(super) async fn grep(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("A grep finds lines, with the lines around them if asked")?;
    transcript.call("grep `words::\\w+` below /, 1 line around each match")?;
    let request = GrepRequest { context: Context { before: 1, after: 1 }, ..GrepRequest::regex(r"words::\w+") };
    let found = stage.files.grep_path(&VirtualPath::root(), &request).await?;
    expect_same("how far it came", found.completeness, Completeness::Complete)?;
    expect_same("lines, files with matches, files searched", counts(&found), (2, 1, 3))?;
    transcript.answer(shown(&found))
}

pub(super) async fn mounts(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("A mount table makes one workspace of a directory and of memory")?;
    transcript.call("mount the directory at /project, and an empty memory at /scratch")?;
    let files =
        CompositeBackend::builder().mount("/project", stage.files.clone())?.mount("/scratch", memory())?.build();
    transcript.answer("mounted")?;
    transcript.call("list /")?;
    let listing = files.list_path(&VirtualPath::root(), &ListRequest::default()).await?;
    transcript.answer(listing.entries.iter().map(line_of).collect::<Vec<_>>().join("\n"))?;

    let plan = path("/scratch/plan.md")?;
    transcript.call("write /scratch/plan.md (1 line)")?;
    let written = files.write_path(&plan, "Give words::hello a second language.\n".into(), Expect::Absent).await?;
    transcript.answer(format_args!("made {}", written.path))?;

    transcript.call("grep `words::hello` below /, in every mount")?;
    let found = files.grep_path(&VirtualPath::root(), &GrepRequest::literal("words::hello")).await?;
    expect_same("lines, files with matches, files searched", counts(&found), (2, 2, 4))?;
    transcript.answer(shown(&found))?;

    transcript.call("copy /scratch/plan.md to /project/PLAN.md, from memory to disk")?;
    let copied = files.copy_path(&plan, &path("/project/PLAN.md")?, Existing::Refuse).await?;
    expect_same("the copy's version", copied.version, written.version)?;
    let on_the_host = std::fs::read(stage.root.join("PLAN.md")).map_err(Failure::Machine)?;
    expect_same("the copy on the host", &on_the_host[..], &files.read_bytes(&plan).await?[..])?;
    transcript.answer(format_args!("made {}", copied.path))
}

/// An entry as a listing shows it.
pub(super) fn line_of(entry: &Entry) -> String {
    let what = match entry.kind {
        EntryKind::File => "",
        EntryKind::Directory => "/",
        EntryKind::BrokenLink => "  (a link that cannot be followed)",
        EntryKind::Special => "  (not a regular file)",
    };
    format!("{}{what}", entry.path)
}

fn counts(found: &Grepped) -> (u64, u64, u64) {
    (found.matches, found.files_matched, found.files_searched)
}

fn shown(found: &Grepped) -> String {
    let mut text = String::new();
    for file in &found.files {
        let _ = writeln!(text, "{}", file.path);
        for line in &file.lines {
            let mark = match line.role {
                LineRole::Match => ':',
                LineRole::Context => '-',
            };
            let _ = writeln!(text, "{:>4}{mark} {}", line.number, line.text);
        }
    }
    let _ = write!(text, "{} lines in {} of {} files", found.matches, found.files_matched, found.files_searched);
    text
}
