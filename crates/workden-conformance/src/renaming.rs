//! Moving files and directories, with and without an entry at the destination.

use workden_core::{Backend, BackendExt, ErrorKind, IfExists};

use crate::{
    Outcome,
    check::list_checks,
    typed::{holds, is_absent, is_unchanged, make, path, put, put_all, tree},
    verdict::{equal, refused},
};

list_checks! { renaming:
    a_file_moves_with_its_content,
    a_directory_moves_with_all_that_is_in_it,
    a_file_replaces_a_file_only_when_told_to,
    nothing_replaces_a_directory_and_a_directory_replaces_nothing,
    a_directory_cannot_move_into_itself,
    what_moves_to_its_own_name_stays,
}

const BOTH: [IfExists; 2] = [IfExists::Refuse, IfExists::Replace];

/// A file moves to another name, or into directories that are made for it.
pub async fn a_file_moves_with_its_content(files: &dyn Backend) -> Outcome {
    for if_exists in BOTH {
        put(files, "/a", "\0content\r\n").await?;
        files.move_path(&path("/a")?, &path("/b")?, if_exists).await?;
        is_absent(files, "/a").await?;
        holds(files, "/b", "\0content\r\n").await?;
        files.move_path(&path("/b")?, &path("/new/deep/er")?, if_exists).await?;
        is_absent(files, "/b").await?;
        holds(files, "/new/deep/er", "\0content\r\n").await?;
        files.remove_path(&path("/new")?, workden_core::Removal::Tree).await?;
    }
    Ok(())
}

/// Empty directories and hidden files move too; siblings that share a prefix stay.
pub async fn a_directory_moves_with_all_that_is_in_it(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a/f", "1"), ("/a/b/g", "2"), ("/a/.h", "3"), ("/a-b", "4"), ("/ab/f", "5")]).await?;
    make(files, "/a/empty").await?;
    files.move_path(&path("/a")?, &path("/new/a")?, IfExists::Refuse).await?;
    let expected = [
        ("/a-b", Some("4")),
        ("/ab", None),
        ("/ab/f", Some("5")),
        ("/new", None),
        ("/new/a", None),
        ("/new/a/.h", Some("3")),
        ("/new/a/b", None),
        ("/new/a/b/g", Some("2")),
        ("/new/a/empty", None),
        ("/new/a/f", Some("1")),
    ];
    let expected = expected.map(|(typed, content)| (typed.to_owned(), content.map(bytes::Bytes::from)));
    equal("all there is after the move", tree(files).await?, expected)
}

/// Without `IfExists::Replace` an existing destination is `AlreadyExists`, and both files stay.
pub async fn a_file_replaces_a_file_only_when_told_to(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a", "from"), ("/d/b", "to, and longer")]).await?;
    let before = tree(files).await?;
    let answer = files.move_path(&path("/a")?, &path("/d/b")?, IfExists::Refuse).await;
    refused("move over a file", answer, ErrorKind::AlreadyExists)?;
    is_unchanged(files, &before).await?;
    files.move_path(&path("/a")?, &path("/d/b")?, IfExists::Replace).await?;
    is_absent(files, "/a").await?;
    holds(files, "/d/b", "from").await
}

/// A move onto a directory is `AlreadyExists`, even with `IfExists::Replace` and an empty directory.
pub async fn nothing_replaces_a_directory_and_a_directory_replaces_nothing(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/f", "x"), ("/full/g", "y"), ("/d/h", "z")]).await?;
    make(files, "/empty").await?;
    let before = tree(files).await?;
    for if_exists in BOTH {
        for (from, to) in
            [("/f", "/empty"), ("/f", "/full"), ("/d", "/empty"), ("/d", "/full"), ("/d", "/f"), ("/f", "/")]
        {
            let answer = files.move_path(&path(from)?, &path(to)?, if_exists).await;
            refused(format!("move `{from}` to `{to}` ({if_exists:?})"), answer, ErrorKind::AlreadyExists)?;
        }
    }
    is_unchanged(files, &before).await
}

/// The move is `InvalidArgument`, also for the root. A sibling that shares a prefix is a valid destination.
pub async fn a_directory_cannot_move_into_itself(files: &dyn Backend) -> Outcome {
    put(files, "/d/e/f", "x").await?;
    let before = tree(files).await?;
    for if_exists in BOTH {
        for (from, to) in [("/d", "/d/x"), ("/d", "/d/e/x"), ("/d/e", "/d/e/f2/x"), ("/", "/x")] {
            let answer = files.move_path(&path(from)?, &path(to)?, if_exists).await;
            refused(format!("move `{from}` to `{to}`"), answer, ErrorKind::InvalidArgument)?;
        }
    }
    is_unchanged(files, &before).await?;
    files.move_path(&path("/d")?, &path("/d2/d")?, IfExists::Refuse).await?;
    holds(files, "/d2/d/e/f", "x").await
}

/// Moving a path onto itself may succeed or fail, but loses nothing.
pub async fn what_moves_to_its_own_name_stays(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "x").await?;
    let before = tree(files).await?;
    for if_exists in BOTH {
        for typed in ["/d/f", "/d"] {
            // The backend may do nothing or refuse: the contract is only about the files afterwards.
            let _ = files.move_path(&path(typed)?, &path(typed)?, if_exists).await;
            is_unchanged(files, &before).await?;
        }
    }
    Ok(())
}
