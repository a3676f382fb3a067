//! Unusual names that file systems allow, names that are too long, names reserved for workden, and deeply nested
//! directories.

use workden_core::{
    Backend, BackendExt, ErrorKind, Expect, IfExists, Removal,
    names::TEMPORARY_PREFIX,
    search::{GlobRequest, GrepRequest, Hidden},
};

use crate::{
    Outcome,
    check::list_checks,
    typed::{files_of, holds, is_absent, is_unchanged, listed, make, path, paths_of, put, tree},
    verdict::{ensure, equal, refused},
};

list_checks! { odd_names:
    every_character_but_nul_and_slash_is_legal_in_a_name,
    names_of_255_bytes_are_fine_and_longer_ones_are_refused,
    a_name_that_is_too_long_is_not_echoed_in_full,
    names_of_workdens_own_are_refused,
    three_hundred_nested_directories_are_fine,
}

const ODD: &[&str] = &[
    "a b",
    " ",
    "a\nb",
    "it's",
    "\"",
    "-rf",
    "\\",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "~",
    "...",
    "..a",
    "a.",
    "%41",
    "$HOME",
    "`id`",
    "#",
    "!",
    "&",
    "|",
    ";",
    "<",
    ">",
    "\t",
    "\u{1}",
    "\u{7f}",
    "日本語",
    "😀",
    "\u{e9}",
    "\u{202e}x",
    "C:",
    "CON",
];

/// Every call accepts such names for files and for directories.
pub async fn every_character_but_nul_and_slash_is_legal_in_a_name(files: &dyn Backend) -> Outcome {
    for name in ODD {
        let typed = format!("/d/{name}/{name}");
        put(files, &typed, format!("needle {name}")).await?;
        holds(files, &typed, format!("needle {name}")).await?;
        equal("its path in a listing", listed(files, &format!("/d/{name}")).await?, [typed.clone()])?;
        equal("its path", files.entry(&path(&typed)?).await?.path.to_string(), typed)?;
    }
    let mut expected: Vec<_> = ODD.iter().map(|name| path(&format!("/d/{name}/{name}"))).collect::<Result<_, _>>()?;
    expected.sort();
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    let found = files.glob_path(&path("/d")?, &GlobRequest::new("*/*")).await?;
    equal("what a glob finds", paths_of(&found), &expected[..])?;
    let grep = GrepRequest::regex("needle").hidden(Hidden::Include);
    equal("what a grep finds", files_of(&files.grep_path(&path("/d")?, &grep).await?), &expected[..])?;
    for name in ODD {
        files.move_path(&path(&format!("/d/{name}"))?, &path(&format!("/e/{name}"))?, IfExists::Refuse).await?;
        files.copy_path(&path(&format!("/e/{name}/{name}"))?, &path(&format!("/f/{name}"))?, IfExists::Refuse).await?;
        holds(files, &format!("/f/{name}"), format!("needle {name}")).await?;
        files.remove_path(&path(&format!("/e/{name}/{name}"))?, Removal::One).await?;
    }
    equal("what is left in the old place", listed(files, "/d").await?, Vec::<String>::new())
}

/// A longer name is `InvalidPath` in every call that would create it, as the last or as an earlier part of the path.
pub async fn names_of_255_bytes_are_fine_and_longer_ones_are_refused(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x").await?;
    for longest in ["a".repeat(255), format!("{}a", "é".repeat(127))] {
        put(files, &format!("/{longest}/{longest}"), "x").await?;
        holds(files, &format!("/{longest}/{longest}"), "x").await?;
    }
    let before = tree(files).await?;
    for name in ["a".repeat(256), "é".repeat(128), "a".repeat(5_000)] {
        for typed in [format!("/{name}"), format!("/d/{name}/f")] {
            cannot_be_made(files, &typed).await?;
            let looked = files.entry(&path(&typed)?).await.map_err(|error| error.kind());
            ensure(
                matches!(looked, Err(ErrorKind::NotFound | ErrorKind::InvalidPath)),
                format!("nothing can be at a name of {} bytes, but stat gave {looked:?}", name.len()),
            )?;
            ensure(!files.exists(&path(&typed)?).await, "a name that is too long does not exist")?;
        }
    }
    is_unchanged(files, &before).await
}

async fn cannot_be_made(files: &dyn Backend, typed: &str) -> Outcome {
    let (to, file) = (path(typed)?, path("/f")?);
    let kind = ErrorKind::InvalidPath;
    for expect in [Expect::Anything, Expect::Absent] {
        refused("write", files.write_path(&to, "x".into(), expect).await, kind)?;
    }
    refused("make", files.make_dir_path(&to).await, kind)?;
    refused("move", files.move_path(&file, &to, IfExists::Refuse).await, kind)?;
    refused("copy", files.copy_path(&file, &to, IfExists::Replace).await, kind).map(drop)
}

/// Errors are read by models and must be bounded.
pub async fn a_name_that_is_too_long_is_not_echoed_in_full(files: &dyn Backend) -> Outcome {
    let answer = files.write_path(&path(&"a".repeat(5_000))?, "x".into(), Expect::Anything).await;
    let error = refused("write", answer, ErrorKind::InvalidPath)?;
    let length = error.to_string().len();
    ensure(length < 1_000, format!("an error about a long name has {length} bytes"))
}

/// Temporary files are made beside their destination, under names that no other file may have.
pub async fn names_of_workdens_own_are_refused(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x").await?;
    make(files, "/d").await?;
    let before = tree(files).await?;
    for typed in [format!("/{TEMPORARY_PREFIX}1"), format!("/d/{TEMPORARY_PREFIX}"), format!("/{TEMPORARY_PREFIX}d/f")]
    {
        cannot_be_made(files, &typed).await?;
        ensure(files.read_bytes(&path(&typed)?).await.is_err(), format!("`{typed}` should not be readable"))?;
        ensure(files.entry(&path(&typed)?).await.is_err(), format!("`{typed}` should not be there"))?;
    }
    is_unchanged(files, &before).await?;
    // Only the start of a name makes it reserved.
    put(files, "/not.workden-tmp-1", "x").await?;
    put(files, "/.workden-tm", "x").await?;
    equal("what is listed", listed(files, "/").await?, ["/d", "/.workden-tm", "/f", "/not.workden-tmp-1"])
}

/// Nested files can be written, read, listed, searched, moved and removed.
pub async fn three_hundred_nested_directories_are_fine(files: &dyn Backend) -> Outcome {
    let deep = |top: &str| format!("/{top}{}/f", "/d".repeat(299));
    put(files, &deep("a"), "needle").await?;
    holds(files, &deep("a"), "needle").await?;
    equal("what is listed", listed(files, deep("a").trim_end_matches("/f")).await?, [deep("a")])?;
    let found = files.glob_path(&path("/")?, &GlobRequest::new("**/f")).await?;
    equal("what a glob finds", paths_of(&found), [deep("a")])?;
    let found = files.grep_path(&path("/")?, &GrepRequest::regex("needle")).await?;
    equal("what a grep finds", files_of(&found), [deep("a").as_str()])?;
    files.move_path(&path("/a")?, &path("/b")?, IfExists::Refuse).await?;
    holds(files, &deep("b"), "needle").await?;
    files.remove_path(&path("/b")?, Removal::Tree).await?;
    is_absent(files, "/b").await
}
