//! Scenes of attempts to leave the workspace.

use std::os::unix::fs::symlink;

use workden_core::{
    BackendExt, ErrorKind, Expect, VirtualPath,
    search::{GrepRequest, Hidden, ListRequest},
};

use super::{Failure, SECRET, Stage, Transcript, expect_same, path, searching::line_of};

pub(super) async fn dots(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("`..` cannot climb above the root (in the directory again, without the mounts)")?;
    let typed = "/src/../../outside/secret.txt";
    transcript.call(format_args!("read {typed}"))?;
    let outcome = match VirtualPath::parse(typed) {
        Ok(path) => stage.files.read_bytes(&path).await,
        Err(error) => Err(error),
    };
    transcript.refusal(ErrorKind::Escapes, outcome)
}

pub(super) async fn links(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("Links are followed inside the workspace, and not out of it")?;
    symlink("src", stage.root.join("shortcut")).map_err(Failure::Machine)?;
    symlink("../outside", stage.root.join("way-out")).map_err(Failure::Machine)?;
    let through_the_host = std::fs::read_to_string(stage.root.join("way-out/secret.txt")).map_err(Failure::Machine)?;
    expect_same("what the link leads to for the host", through_the_host.as_str(), SECRET)?;
    transcript.note(format_args!(
        "The host has made two links: /shortcut leads to src, and /way-out to ../outside, beside the\n\
         workspace. In there is secret.txt, with the text `{}`.",
        SECRET.trim()
    ))?;

    transcript.call("list /")?;
    let listing = stage.files.list_path(&VirtualPath::root(), &ListRequest::default()).await?;
    transcript.answer(listing.entries.iter().map(line_of).collect::<Vec<_>>().join("\n"))?;

    transcript.call("read /shortcut/words.rs, 1 line from the start")?;
    let read = stage.files.read_numbered(&path("/shortcut/words.rs")?, 0, 1).await?;
    transcript.answer(read.text)?;

    transcript.call("read /way-out/secret.txt")?;
    transcript.refusal(ErrorKind::Escapes, stage.files.read_bytes(&path("/way-out/secret.txt")?).await)?;

    transcript.call("write /way-out/new.txt (1 line)")?;
    let written = stage.files.write_path(&path("/way-out/new.txt")?, "out!\n".into(), Expect::Anything).await;
    transcript.refusal(ErrorKind::Escapes, written)?;

    transcript.call("grep `nobody in the workspace` below /, hidden files too")?;
    let request = GrepRequest { hidden: Hidden::Include, ..GrepRequest::literal("nobody in the workspace") };
    let found = stage.files.grep_path(&VirtualPath::root(), &request).await?;
    expect_same("lines found", found.matches, 0)?;
    transcript.answer(format_args!("0 lines in 0 of {} files", found.files_searched))
}
