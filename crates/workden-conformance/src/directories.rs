//! Directories: made with their parents, and listed in a fixed order up to a bound.

use workden_core::{
    Backend, BackendExt, EntryKind, Removal,
    search::{ListRequest, Listing},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{holds, is_directory, listed, listing, make, path, put, put_all},
    verdict::{ensure, equal},
};

list_checks! { directories:
    a_directory_is_made_with_those_above_it,
    making_a_directory_again_is_fine,
    a_directory_stays_when_it_becomes_empty,
    a_listing_has_directories_first_then_by_name,
    a_listing_shows_one_level,
    a_listing_shows_hidden_names,
    a_listing_says_what_stat_says,
    a_listing_keeps_the_first_and_counts_the_rest,
}

/// All missing parents are made.
pub async fn a_directory_is_made_with_those_above_it(files: &dyn Backend) -> Outcome {
    make(files, "/a/b/c").await?;
    for typed in ["/a", "/a/b", "/a/b/c"] {
        is_directory(files, typed).await?;
    }
    equal("the content of a new directory", listed(files, "/a/b/c").await?, Vec::<String>::new())
}

/// Making a directory again keeps its content; the root always exists.
pub async fn making_a_directory_again_is_fine(files: &dyn Backend) -> Outcome {
    make(files, "/a/b").await?;
    put(files, "/a/b/f", "x").await?;
    for typed in ["/a/b", "/a", "/"] {
        make(files, typed).await?;
    }
    holds(files, "/a/b/f", "x").await
}

/// A directory stays until it is removed itself.
pub async fn a_directory_stays_when_it_becomes_empty(files: &dyn Backend) -> Outcome {
    put(files, "/a/b/f", "x").await?;
    files.remove_path(&path("/a/b/f")?, Removal::One).await?;
    is_directory(files, "/a/b").await?;
    equal("what it lists", listed(files, "/a/b").await?, Vec::<String>::new())
}

/// Directories and files are each sorted by the bytes of their names.
pub async fn a_listing_has_directories_first_then_by_name(files: &dyn Backend) -> Outcome {
    for typed in ["/b", "/a.txt", "/Z", "/a-b", "/é", "/a", "/10", "/9", "/a b"] {
        put(files, typed, "x").await?;
    }
    for typed in ["/z-dir", "/a-dir", "/.d", "/B-dir"] {
        make(files, typed).await?;
    }
    equal(
        "the order of a listing",
        listed(files, "/").await?,
        ["/.d", "/B-dir", "/a-dir", "/z-dir", "/10", "/9", "/Z", "/a", "/a b", "/a-b", "/a.txt", "/b", "/é"],
    )
}

/// A listing shows neither deeper entries nor siblings that share a prefix.
pub async fn a_listing_shows_one_level(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/d/f", "x"), ("/d/e/g", "x"), ("/d-f", "x"), ("/d.txt", "x"), ("/dd/f", "x")]).await?;
    equal("what is in `/d`", listed(files, "/d").await?, ["/d/e", "/d/f"])?;
    equal("what is in `/`", listed(files, "/").await?, ["/d", "/dd", "/d-f", "/d.txt"])
}

/// A backend does not hide names by itself.
pub async fn a_listing_shows_hidden_names(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.git/HEAD", "x"), ("/.gitignore", "shown\n"), ("/.env", "x"), ("/shown", "x")]).await?;
    equal("what is listed", listed(files, "/").await?, ["/.git", "/.env", "/.gitignore", "/shown"])
}

/// Each listed entry equals the entry from `stat`.
pub async fn a_listing_says_what_stat_says(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/d/five", "12345"), ("/d/empty", ""), ("/d/e/f", "x")]).await?;
    let entries = listing(files, "/d").await?.entries;
    equal("how many entries", entries.len(), 3)?;
    for entry in entries {
        let alone = files.entry(&entry.path).await?;
        equal("the kind", entry.kind, alone.kind)?;
        equal("the size", entry.size, alone.size)?;
        equal("whether it is a link, and its name", (entry.link, entry.name), (alone.link, alone.name))?;
        if entry.kind == EntryKind::File {
            equal("the time of change", entry.modified, alone.modified)?;
        }
    }
    Ok(())
}

/// `keep` bounds a listing to its first entries.
pub async fn a_listing_keeps_the_first_and_counts_the_rest(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a", "x"), ("/b", "x"), ("/c", "x"), ("/d/f", "x")]).await?;
    for (keep, expected, left_out) in
        [(0, &[][..], 4), (1, &["/d"], 3), (3, &["/d", "/a", "/b"], 1), (4, &["/d", "/a", "/b", "/c"], 0)]
    {
        let found = kept(files, keep).await?;
        let paths: Vec<_> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
        equal(format!("the first {keep}"), paths, expected)?;
        equal("how many are left out", found.left_out, left_out)?;
    }
    ensure(kept(files, usize::MAX).await?.left_out == 0, "nothing is left out where all may stay")
}

async fn kept(files: &dyn Backend, keep: usize) -> Result<Listing, Failure> {
    Ok(files.list_path(&path("/")?, &ListRequest::default().keep(keep)).await?)
}
