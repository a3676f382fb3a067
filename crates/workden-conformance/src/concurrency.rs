//! Many concurrent callers: no update is lost, one caller wins where only one can, and no reader sees half a file.

use bytes::Bytes;
use futures_util::future::join_all;
use workden_core::{
    Backend, BackendExt, ErrorKind, Expect, Result, Version,
    text::{Change, Replacement},
};

use crate::{
    Outcome,
    check::list_checks,
    typed::{content, holds, is_directory, listed, path, put},
    verdict::{ensure, equal},
};

list_checks! { concurrency:
    sixty_four_edits_of_one_file_are_all_applied,
    of_many_who_create_a_file_one_wins,
    of_many_who_replace_a_version_one_wins,
    of_many_who_change_a_version_one_wins,
    a_reader_sees_the_old_or_the_new_content,
    many_can_make_the_same_directory,
}

/// Each edit reads the file and changes one line while the others do the same.
pub async fn sixty_four_edits_of_one_file_are_all_applied(files: &dyn Backend) -> Outcome {
    let line = |number: usize, state: &str| format!("line {number:02} {state}\n");
    put(files, "/f", (0..64).map(|number| line(number, "open")).collect::<String>()).await?;
    let file = path("/f")?;
    let edits = join_all((0..64).map(|number| {
        let file = &file;
        async move {
            // The new line is longer than the old one, so an edit at a stale offset would show.
            let done = line(number, &format!("done {}", "!".repeat(number)));
            files.edit(file, &[Replacement::once(line(number, "open"), done)]).await
        }
    }));
    for edited in edits.await {
        edited?;
    }
    let expected: String = (0..64).map(|number| line(number, &format!("done {}", "!".repeat(number)))).collect();
    holds(files, "/f", expected).await
}

/// Holds when one writer succeeded, the others were refused with `kind`, and the file has the winner's content.
async fn one_won<T>(files: &dyn Backend, typed: &str, answers: Vec<Result<T>>, kind: ErrorKind) -> Outcome {
    let mut winners = Vec::new();
    for (number, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(_) => winners.push(number),
            Err(error) => equal("why a writer was refused", error.kind(), kind)?,
        }
    }
    equal("how many writers won", winners.len(), 1)?;
    holds(files, typed, format!("by {}", winners[0])).await
}

/// The other writers get `AlreadyExists`.
pub async fn of_many_who_create_a_file_one_wins(files: &dyn Backend) -> Outcome {
    let file = path("/d/f")?;
    let answers =
        join_all((0..16).map(|number| files.write_path(&file, Bytes::from(format!("by {number}")), Expect::Absent)));
    one_won(files, "/d/f", answers.await, ErrorKind::AlreadyExists).await
}

/// The other writers get `Conflict`.
pub async fn of_many_who_replace_a_version_one_wins(files: &dyn Backend) -> Outcome {
    put(files, "/f", "old").await?;
    let file = path("/f")?;
    let expect = Expect::Version(Version::of(b"old"));
    let answers = join_all((0..16).map(|number| files.write_path(&file, Bytes::from(format!("by {number}")), expect)));
    one_won(files, "/f", answers.await, ErrorKind::Conflict).await
}

/// The other callers get `Conflict`, as for writes.
pub async fn of_many_who_change_a_version_one_wins(files: &dyn Backend) -> Outcome {
    put(files, "/f", "by no writer").await?;
    let file = &path("/f")?;
    let expect = Expect::Version(Version::of(b"by no writer"));
    let answers = join_all((0..16).map(|number| async move {
        let change = Change::Replace(vec![Replacement::once("no writer", number.to_string())]);
        files.change_path(file, &change, expect).await
    }));
    one_won(files, "/f", answers.await, ErrorKind::Conflict).await
}

/// A reader never sees a mix of two contents or an empty file.
pub async fn a_reader_sees_the_old_or_the_new_content(files: &dyn Backend) -> Outcome {
    let whole = |letter: u8| Bytes::from(vec![letter; 200_000]);
    put(files, "/f", whole(b'a')).await?;
    let write = |round: u8| async move { put(files, "/f", whole(b'a' + round % 26)).await.map(drop) };
    let read = || async move {
        let seen = content(files, "/f").await?;
        let letter = seen.first().copied().unwrap_or(b'-');
        ensure(seen == whole(letter), format!("a reader saw {} bytes, not all of them the same", seen.len()))
    };
    for _ in 0..4 {
        let writers = join_all((0..8).map(write));
        let readers = join_all((0..8).map(|_| read()));
        let (written, seen) = futures_util::future::join(writers, readers).await;
        written.into_iter().chain(seen).collect::<Outcome>()?;
    }
    Ok(())
}

/// Concurrent calls may make the same directory, by `make_dir` or as the parent of a written file.
pub async fn many_can_make_the_same_directory(files: &dyn Backend) -> Outcome {
    let directory = path("/a/b/c")?;
    for made in join_all((0..16).map(|_| files.make_dir_path(&directory))).await {
        made?;
    }
    is_directory(files, "/a/b/c").await?;
    let names: Vec<String> = (10..26).map(|number| format!("/x/y/z/{number}")).collect();
    for written in join_all(names.iter().map(|typed| put(files, typed, "x"))).await {
        written?;
    }
    equal("all files that were written", listed(files, "/x/y/z").await?, names)
}
