//! The scene of many editors of one file.

use futures_util::future::join_all;
use workden_backends::LocalBackend;
use workden_core::{BackendExt, Expect, VirtualPath, text::Replacement};

use super::{Failure, Stage, Transcript, expect_same, path};

const EDITORS: usize = 64;

pub(super) async fn edits(transcript: &mut Transcript<'_>, stage: &Stage) -> Result<(), Failure> {
    transcript.scene("Edits of one file at the same time are all applied")?;
    let file = path("/seats.txt")?;
    transcript.call(format_args!("write /seats.txt: {EDITORS} seats, all free"))?;
    let written = stage.files.write_path(&file, seats("free").into(), Expect::Absent).await?;
    transcript.answer(format_args!("made {}", written.path))?;

    transcript.call(format_args!("edit /seats.txt {EDITORS} times at once, each through a handle of its own"))?;
    let editors = (1..=EDITORS).map(|seat| {
        let (root, file) = (stage.root.clone(), file.clone());
        tokio::spawn(async move { take_seat(&LocalBackend::open(root)?, &file, seat).await })
    });
    let mut applied = 0;
    for outcome in join_all(editors).await {
        applied += outcome.map_err(|error| Failure::Surprise(format!("an editor ended early: {error}")))??;
    }
    let content = std::fs::read_to_string(stage.root.join("seats.txt")).map_err(Failure::Machine)?;
    expect_same("edits answered", applied, EDITORS as u64)?;
    expect_same("the file after them", content, seats("taken"))?;
    transcript.answer(format_args!("{applied} of {EDITORS} applied, and no seat is free any more"))
}

async fn take_seat(files: &LocalBackend, file: &VirtualPath, seat: usize) -> workden_core::Result<u64> {
    files.edit(file, &[Replacement::once(line(seat, "free"), line(seat, "taken"))]).await
}

fn seats(state: &str) -> String {
    (1..=EDITORS).map(|seat| line(seat, state)).collect()
}

fn line(seat: usize, state: &str) -> String {
    format!("seat {seat:02}: {state}\n")
}
