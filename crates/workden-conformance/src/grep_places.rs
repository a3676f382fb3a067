//! The files that a grep searches, their order, and the files it skips.

use workden_core::{
    Backend, BackendExt, ErrorKind,
    search::{GrepRequest, Grepped, Hidden},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{files_of, lines_of, path, put, put_all},
    verdict::{equal, refused},
};

list_checks! { grep_places:
    files_are_found_below_the_start_in_the_order_of_their_paths,
    a_single_file_can_be_searched,
    hidden_files_are_skipped_unless_told_otherwise,
    a_file_that_is_named_is_searched_hidden_or_filtered_out,
    filters_match_as_ripgrep_does,
    a_filter_that_is_no_pattern_is_refused,
    binary_files_are_skipped_and_counted,
}

async fn grep(files: &dyn Backend, base: &str, request: &GrepRequest) -> Result<Grepped, Failure> {
    Ok(files.grep_path(&path(base)?, request).await?)
}

/// A directory's content follows the directory's name.
pub async fn files_are_found_below_the_start_in_the_order_of_their_paths(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/b", "x"), ("/a.b", "x"), ("/a/z", "x"), ("/a/b/c", "x"), ("/a-b", "x"), ("/ab/d", "y")])
        .await?;
    let found = grep(files, "/", &GrepRequest::regex("x")).await?;
    equal("the files from the root", files_of(&found), ["/a/b/c", "/a/z", "/a-b", "/a.b", "/b"])?;
    equal("the counts", (found.matches, found.files_matched, found.files_searched), (5, 5, 6))?;
    let below = grep(files, "/a", &GrepRequest::regex("x")).await?;
    equal("the files below `/a`", files_of(&below), ["/a/b/c", "/a/z"])?;
    equal("how many were searched", below.files_searched, 2)
}

/// A match in a single file has the path of that file.
pub async fn a_single_file_can_be_searched(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/d/f", "x1\ny\nx2\n"), ("/d/g", "x3\n")]).await?;
    let found = grep(files, "/d/f", &GrepRequest::regex("x")).await?;
    equal("its lines", lines_of(&found), ["/d/f:1:x1", "/d/f:3:x2"])?;
    equal("the counts", (found.matches, found.files_matched, found.files_searched), (2, 1, 1))
}

/// A hidden name starts with a dot or is below a directory that does; the files of a hidden directory that the caller
/// named are not hidden.
pub async fn hidden_files_are_skipped_unless_told_otherwise(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.env", "x"), ("/.d/f", "x"), ("/.d/.g", "x"), ("/a/.h/i", "x"), ("/a/b", "x")]).await?;
    let request = GrepRequest::regex("x");
    equal("what is not hidden", files_of(&grep(files, "/", &request).await?), ["/a/b"])?;
    equal("what is below a hidden start", files_of(&grep(files, "/.d", &request).await?), ["/.d/f"])?;
    let all = request.hidden(Hidden::Include);
    let expected = ["/.d/.g", "/.d/f", "/.env", "/a/.h/i", "/a/b"];
    equal("all files", files_of(&grep(files, "/", &all).await?), expected)
}

/// Only the policy may refuse a named file.
pub async fn a_file_that_is_named_is_searched_hidden_or_filtered_out(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.env", "x"), ("/.d/.f", "x"), ("/a.rs", "x")]).await?;
    let request = GrepRequest::regex("x").filter(["*.py"]);
    for typed in ["/.env", "/.d/.f", "/a.rs"] {
        equal("the file that was named", files_of(&grep(files, typed, &request).await?), [typed])?;
    }
    Ok(())
}

/// A bare pattern matches at any depth, a leading `/` means the start of the search, `!` excludes; a filter that names
/// a hidden file includes it.
pub async fn filters_match_as_ripgrep_does(files: &dyn Backend) -> Outcome {
    put_all(
        files,
        &[("/a.py", "x"), ("/b.rs", "x"), ("/src/a.py", "x"), ("/src/deep/test_a.py", "x"), ("/.hid.py", "x")],
    )
    .await?;
    for (base, filter, expected) in [
        ("/", &["*.rs"][..], &["/b.rs"][..]),
        ("/", &["*a.py"], &["/a.py", "/src/a.py", "/src/deep/test_a.py"]),
        ("/", &["*.{py,rs}"], &["/.hid.py", "/a.py", "/b.rs", "/src/a.py", "/src/deep/test_a.py"]),
        ("/", &["/src/*.py"], &["/src/a.py"]),
        ("/", &["src/**/*.py"], &["/src/a.py", "/src/deep/test_a.py"]),
        ("/src", &["/*.py"], &["/src/a.py"]),
        ("/", &["!*.py"], &["/b.rs"]),
        ("/", &["!deep"], &["/a.py", "/b.rs", "/src/a.py"]),
        ("/src", &["*.py", "!test_*"], &["/src/a.py"]),
        ("/", &["*.none"], &[]),
    ] {
        let found = grep(files, base, &GrepRequest::regex("x").filter(filter.iter().copied())).await?;
        equal(format!("the files in `{base}` with {filter:?}"), files_of(&found), expected)?;
    }
    Ok(())
}

/// An invalid filter is `InvalidPattern`.
pub async fn a_filter_that_is_no_pattern_is_refused(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x").await?;
    for filter in ["", "!", "[z-a]", "{a"] {
        let request = GrepRequest::regex("x").filter([filter]);
        let answer = files.grep_path(&path("/")?, &request).await;
        refused(format!("grep with the filter {filter:?}"), answer, ErrorKind::InvalidPattern)?;
    }
    Ok(())
}

/// A file with a NUL is binary and is skipped, even if the caller named it.
pub async fn binary_files_are_skipped_and_counted(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a", "x\0"), ("/d/b", "\0x"), ("/text", "x")]).await?;
    put(files, "/late", [vec![b'x'; 30_000], vec![0]].concat()).await?;
    let found = grep(files, "/", &GrepRequest::regex("x")).await?;
    equal("the files that match", files_of(&found), ["/text"])?;
    equal("how many were searched and skipped", (found.files_searched, found.skipped.binary), (1, 3))?;
    let named = grep(files, "/a", &GrepRequest::regex("x")).await?;
    equal("a binary file that was named", (named.matches, named.skipped.binary), (0, 1))
}
