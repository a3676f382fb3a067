//! Removing one entry, or a tree on request, and never the root.

use workden_core::{Backend, BackendExt, ErrorKind, Expect, Removal};

use crate::{
    Outcome,
    check::list_checks,
    typed::{holds, is_absent, is_unchanged, make, path, put, put_all, tree},
    verdict::{equal, refused},
};

list_checks! { removing:
    a_file_is_removed_and_its_neighbours_stay,
    an_empty_directory_is_removed,
    a_directory_that_holds_something_is_not_removed_by_accident,
    a_tree_is_removed_with_all_that_is_in_it,
    the_root_cannot_be_removed,
    what_was_removed_can_be_made_anew,
}

/// `Removal::One` and `Removal::Tree` both remove a file.
pub async fn a_file_is_removed_and_its_neighbours_stay(files: &dyn Backend) -> Outcome {
    for what in [Removal::One, Removal::Tree] {
        put_all(files, &[("/d/f", "x"), ("/d/f2", "y"), ("/d/f.txt", "z")]).await?;
        files.remove_path(&path("/d/f")?, what).await?;
        is_absent(files, "/d/f").await?;
        holds(files, "/d/f2", "y").await?;
        holds(files, "/d/f.txt", "z").await?;
        let again = files.remove_path(&path("/d/f")?, what).await;
        refused("remove what is gone", again, ErrorKind::NotFound)?;
    }
    Ok(())
}

/// `Removal::One` and `Removal::Tree` both remove an empty directory.
pub async fn an_empty_directory_is_removed(files: &dyn Backend) -> Outcome {
    for what in [Removal::One, Removal::Tree] {
        make(files, "/d/e").await?;
        files.remove_path(&path("/d/e")?, what).await?;
        is_absent(files, "/d/e").await?;
        equal("what is left", tree(files).await?, [("/d".to_owned(), None)])?;
    }
    Ok(())
}

/// `Removal::One` is `NotEmpty`, even if the directory holds only an empty directory or a hidden file.
pub async fn a_directory_that_holds_something_is_not_removed_by_accident(files: &dyn Backend) -> Outcome {
    make(files, "/a/empty").await?;
    put_all(files, &[("/b/.hidden", "x"), ("/c/d/f", "x")]).await?;
    let before = tree(files).await?;
    for typed in ["/a", "/b", "/c", "/c/d"] {
        let answer = files.remove_path(&path(typed)?, Removal::One).await;
        refused(format!("remove `{typed}`"), answer, ErrorKind::NotEmpty)?;
    }
    is_unchanged(files, &before).await
}

/// Siblings that share a prefix with the tree stay.
pub async fn a_tree_is_removed_with_all_that_is_in_it(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a/b/c/f", "x"), ("/a/.h", "x"), ("/a/g", "x")]).await?;
    make(files, "/a/empty").await?;
    put_all(files, &[("/a-b/f", "1"), ("/a.b", "2"), ("/ab", "3"), ("/b/a/f", "4")]).await?;
    files.remove_path(&path("/a")?, Removal::Tree).await?;
    for typed in ["/a", "/a/b/c/f", "/a/.h", "/a/empty"] {
        is_absent(files, typed).await?;
    }
    for (typed, content) in [("/a-b/f", "1"), ("/a.b", "2"), ("/ab", "3"), ("/b/a/f", "4")] {
        holds(files, typed, content).await?;
    }
    Ok(())
}

/// Removing the root, empty or not, is `InvalidArgument` and removes nothing.
pub async fn the_root_cannot_be_removed(files: &dyn Backend) -> Outcome {
    for round in ["an empty root", "a root with a file"] {
        let before = tree(files).await?;
        for what in [Removal::One, Removal::Tree] {
            let answer = files.remove_path(&path("/")?, what).await;
            refused(format!("remove {round}"), answer, ErrorKind::InvalidArgument)?;
        }
        is_unchanged(files, &before).await?;
        put(files, "/d/f", "x").await?;
    }
    Ok(())
}

/// A removed path can become a file or a directory, without the old content.
pub async fn what_was_removed_can_be_made_anew(files: &dyn Backend) -> Outcome {
    put(files, "/x/f", "old").await?;
    files.remove_path(&path("/x")?, Removal::Tree).await?;
    files.write_path(&path("/x")?, "a file now".into(), Expect::Absent).await?;
    holds(files, "/x", "a file now").await?;
    files.remove_path(&path("/x")?, Removal::One).await?;
    make(files, "/x").await?;
    equal("all there is", tree(files).await?, [("/x".to_owned(), None)])
}
