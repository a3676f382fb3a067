//! Finding paths by pattern: pattern syntax, visible entries, order and bounds.

use std::time::Duration;

use workden_core::{
    Backend, BackendExt, EntryKind, ErrorKind,
    search::{Completeness, GlobKinds, GlobRequest, Globbed, Hidden},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{make, path, paths_of, put, put_all},
    verdict::{ensure, equal, refused},
};

list_checks! { globbing:
    stars_stay_in_a_name_and_double_stars_cross_directories,
    braces_classes_and_question_marks_match_as_they_should,
    a_pattern_starts_where_the_search_does_or_at_the_root,
    hidden_names_are_found_unless_told_otherwise,
    files_are_found_and_directories_when_asked_for,
    the_newest_come_first_and_ties_go_by_path,
    a_glob_says_what_stat_says,
    a_glob_keeps_the_first_and_counts_the_rest,
    a_glob_out_of_time_says_so,
    a_pattern_that_is_none_is_refused,
}

const TREE: &[(&str, &str)] = &[
    ("/a.py", "x"),
    ("/b.rs", "x"),
    ("/notes.md", "x"),
    ("/.hidden.py", "x"),
    ("/src/a.py", "x"),
    ("/src/deep/b.py", "x"),
    ("/src/deep/c.rs", "x"),
    ("/src-old/a.py", "x"),
    ("/.config/d.py", "x"),
];

async fn glob(files: &dyn Backend, base: &str, request: &GlobRequest) -> Result<Globbed, Failure> {
    Ok(files.glob_path(&path(base)?, request).await?)
}

async fn finds(files: &dyn Backend, base: &str, pattern: &str, expected: &[&str]) -> Outcome {
    let found = glob(files, base, &GlobRequest::new(pattern)).await?;
    equal(format!("what `{pattern}` finds in `{base}`"), paths_of(&found), expected)?;
    equal("whether it came to its end", found.completeness, Completeness::Complete)?;
    equal("how many are left out", found.left_out, 0)
}

/// `**/` matches any number of directories, including none.
pub async fn stars_stay_in_a_name_and_double_stars_cross_directories(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    finds(files, "/", "*.py", &["/.hidden.py", "/a.py"]).await?;
    finds(files, "/", "*", &["/.hidden.py", "/a.py", "/b.rs", "/notes.md"]).await?;
    finds(files, "/", "**/*.rs", &["/b.rs", "/src/deep/c.rs"]).await?;
    finds(files, "/", "src/**/*.py", &["/src/a.py", "/src/deep/b.py"]).await?;
    finds(files, "/", "src/**", &["/src/a.py", "/src/deep/b.py", "/src/deep/c.rs"]).await?;
    finds(files, "/", "*/*.py", &["/.config/d.py", "/src/a.py", "/src-old/a.py"]).await?;
    finds(files, "/", "**/deep/*", &["/src/deep/b.py", "/src/deep/c.rs"]).await?;
    finds(files, "/", "notes.md", &["/notes.md"]).await?;
    finds(files, "/", "missing/*.py", &[]).await?;
    finds(files, "/", "NOTES.md", &[]).await
}

/// A backslash escapes the special characters in a pattern.
pub async fn braces_classes_and_question_marks_match_as_they_should(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    finds(files, "/", "*.{rs,md}", &["/b.rs", "/notes.md"]).await?;
    finds(files, "/", "{src,src-old}/a.py", &["/src/a.py", "/src-old/a.py"]).await?;
    finds(files, "/", "src/{a,deep/b}.py", &["/src/a.py", "/src/deep/b.py"]).await?;
    finds(files, "/", "[ab].*", &["/a.py", "/b.rs"]).await?;
    finds(files, "/", "[!a].*", &["/b.rs"]).await?;
    finds(files, "/", "?.py", &["/a.py"]).await?;
    put_all(files, &[("/odd/*", "x"), ("/odd/[a]", "x"), ("/odd/{b}", "x"), ("/odd/a", "x")]).await?;
    finds(files, "/odd", "\\*", &["/odd/*"]).await?;
    finds(files, "/odd", "\\[a\\]", &["/odd/[a]"]).await?;
    finds(files, "/odd", "\\{b\\}", &["/odd/{b}"]).await
}

/// A leading `/` means the root; paths outside the searched directory are not found.
pub async fn a_pattern_starts_where_the_search_does_or_at_the_root(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    finds(files, "/src", "*.py", &["/src/a.py"]).await?;
    finds(files, "/src", "./*.py", &["/src/a.py"]).await?;
    finds(files, "/src", "**/*.py", &["/src/a.py", "/src/deep/b.py"]).await?;
    finds(files, "/src", "deep/*", &["/src/deep/b.py", "/src/deep/c.rs"]).await?;
    finds(files, "/src", "/src/*.py", &["/src/a.py"]).await?;
    finds(files, "/src", "/*.py", &[]).await?;
    finds(files, "/src/deep", "/src/**/*.py", &["/src/deep/b.py"]).await?;
    finds(files, "/", "/src/deep/c.rs", &["/src/deep/c.rs"]).await
}

/// A hidden name starts with a dot or is below a directory that does.
pub async fn hidden_names_are_found_unless_told_otherwise(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let all = ["/.config/d.py", "/.hidden.py", "/a.py", "/src/a.py", "/src/deep/b.py", "/src-old/a.py"];
    finds(files, "/", "**/*.py", &all).await?;
    let request = GlobRequest::new("**/*.py").hidden(Hidden::Skip);
    equal("what is not hidden", paths_of(&glob(files, "/", &request).await?), &all[2..])
}

/// Empty directories are found as well.
pub async fn files_are_found_and_directories_when_asked_for(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a/f", "x"), ("/a/b/g", "x")]).await?;
    make(files, "/a/empty").await?;
    finds(files, "/", "**", &["/a/b/g", "/a/f"]).await?;
    finds(files, "/", "a", &[]).await?;
    let everything = |pattern: &str| GlobRequest::new(pattern).kinds(GlobKinds::Everything);
    let found = glob(files, "/", &everything("**")).await?;
    equal("everything", paths_of(&found), ["/a", "/a/b", "/a/b/g", "/a/empty", "/a/f"])?;
    equal("one level of it", paths_of(&glob(files, "/a", &everything("*")).await?), ["/a/b", "/a/empty", "/a/f"])?;
    let kinds: Vec<_> = found.entries.iter().filter(|entry| entry.kind == EntryKind::Directory).collect();
    equal("how many are directories", kinds.len(), 3)
}

/// The order follows the modification times of the entries, which may be equal.
pub async fn the_newest_come_first_and_ties_go_by_path(files: &dyn Backend) -> Outcome {
    for number in [3, 1, 4, 0, 5, 9, 2, 6, 8, 7] {
        put(files, &format!("/{}/{number}", number % 2), "x").await?;
    }
    put(files, "/1/3", "again").await?;
    let found = glob(files, "/", &GlobRequest::new("**")).await?;
    equal("how many are found", found.entries.len(), 10)?;
    for pair in found.entries.windows(2) {
        let in_order =
            pair[0].modified > pair[1].modified || pair[0].modified == pair[1].modified && pair[0].path < pair[1].path;
        ensure(in_order, format!("{:?} should not come before {:?}", pair[0], pair[1]))?;
    }
    // Older files may share a time, but the last written file cannot be older than the rest.
    let newest = found.entries.iter().filter(|entry| entry.modified == found.entries[0].modified);
    ensure(
        newest.into_iter().any(|entry| entry.path.as_str() == "/1/3"),
        format!("`/1/3` was written last, but the newest is {:?}", found.entries[0]),
    )
}

/// Each found entry equals the entry from `stat`.
pub async fn a_glob_says_what_stat_says(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a", "12345"), ("/d/b", ""), ("/d/e/c", "x")]).await?;
    let found = glob(files, "/", &GlobRequest::new("**")).await?;
    equal("how many are found", found.entries.len(), 3)?;
    for entry in found.entries {
        let alone = files.entry(&entry.path).await?;
        equal("an entry", &entry, &alone)?;
    }
    Ok(())
}

/// `keep` bounds a glob to the first entries of its order.
pub async fn a_glob_keeps_the_first_and_counts_the_rest(files: &dyn Backend) -> Outcome {
    for number in 0..50 {
        put(files, &format!("/{}/{number}", number % 7), "x").await?;
    }
    let all = glob(files, "/", &GlobRequest::new("**")).await?.entries;
    for keep in [0, 1, 10, 49, 50, 1_000] {
        let found = glob(files, "/", &GlobRequest::new("**").keep(keep)).await?;
        equal(format!("the first {keep}"), &found.entries[..], &all[..keep.min(50)])?;
        equal("how many are left out", found.left_out, 50 - keep.min(50) as u64)?;
    }
    Ok(())
}

/// A glob past its deadline returns its results so far, which may be empty.
pub async fn a_glob_out_of_time_says_so(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let request = GlobRequest::new("**").deadline(Duration::ZERO);
    equal(
        "how a search without time ends",
        glob(files, "/", &request).await?.completeness,
        Completeness::StoppedAtDeadline,
    )
}

/// An invalid pattern is `InvalidPattern`, with a hint about the syntax.
pub async fn a_pattern_that_is_none_is_refused(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    for pattern in ["", "/", ".", "..", "../*", "src/../*.py", "[z-a]", "[a", "{a", "a\0b"] {
        let answer = files.glob_path(&path("/")?, &GlobRequest::new(pattern)).await;
        let error = refused(format!("glob {pattern:?}"), answer, ErrorKind::InvalidPattern)?;
        ensure(error.hint_text().is_some(), format!("an error should have a hint: {error:?}"))?;
    }
    Ok(())
}
