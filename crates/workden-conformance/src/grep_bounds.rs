//! The bounds of a grep, and how it reports them.

use std::time::Duration;

use workden_core::{
    Backend, BackendExt,
    search::{Completeness, Context, Detail, GrepRequest, Grepped},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{files_of, lines_of, path, put, put_all},
    verdict::{ensure, equal},
};

list_checks! { grep_bounds:
    the_first_lines_by_path_are_kept_and_all_are_counted,
    only_paths_when_only_paths_are_asked_for,
    counts_when_counts_are_asked_for,
    a_grep_stops_at_its_ceiling_and_says_so,
    a_grep_out_of_time_says_so,
}

const TREE: &[(&str, &str)] = &[("/a/f", "x1\nx2\ny\nx3\n"), ("/b", "x4\nx5\n"), ("/c", "y\n"), ("/d", "x6\n")];

async fn grep(files: &dyn Backend, base: &str, request: &GrepRequest) -> Result<Grepped, Failure> {
    let found = files.grep_path(&path(base)?, request).await?;
    Ok(found)
}

/// Requested context lines count toward `keep`.
pub async fn the_first_lines_by_path_are_kept_and_all_are_counted(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let all = ["/a/f:1:x1", "/a/f:2:x2", "/a/f:4:x3", "/b:1:x4", "/b:2:x5", "/d:1:x6"];
    for keep in [0, 1, 3, 4, 6, 100] {
        let found = grep(files, "/", &GrepRequest::regex("x").keep(keep)).await?;
        equal(format!("the first {keep} lines"), lines_of(&found), &all[..keep.min(6)])?;
        equal("all that match", (found.matches, found.files_matched, found.files_searched), (6, 3, 4))?;
        equal("how many are left out", found.left_out(), 6 - keep.min(6) as u64)?;
        equal("whether it came to its end", found.completeness, Completeness::Complete)?;
    }
    let context = Context::new(0, 1);
    let found = grep(files, "/", &GrepRequest::regex("x").keep(4).context(context)).await?;
    equal("four lines with context", lines_of(&found), ["/a/f:1:x1", "/a/f:2:x2", "/a/f-3-y", "/a/f:4:x3"])
}

/// `Detail::Paths` returns no lines; `keep` counts files.
pub async fn only_paths_when_only_paths_are_asked_for(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let request = GrepRequest::regex("x").detail(Detail::Paths);
    let found = grep(files, "/", &request).await?;
    equal("the files", files_of(&found), ["/a/f", "/b", "/d"])?;
    equal("the lines", found.kept_lines(), 0)?;
    equal("how many match", (found.files_matched, found.files_searched), (3, 4))?;
    let two = grep(files, "/", &request.keep(2)).await?;
    equal("the first two files", files_of(&two), ["/a/f", "/b"])?;
    equal("how many match", two.files_matched, 3)
}

/// `Detail::Counts` returns no lines, but the number of matches in each file.
pub async fn counts_when_counts_are_asked_for(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let found = grep(files, "/", &GrepRequest::regex("x").detail(Detail::Counts)).await?;
    let counts: Vec<_> = found.files.iter().map(|file| (file.path.as_str(), file.count)).collect();
    equal("the counts", counts, [("/a/f", 3), ("/b", 2), ("/d", 1)])?;
    equal("the lines", found.kept_lines(), 0)?;
    equal("how many match in all", found.matches, 6)
}

/// The ceiling holds for a directory and for a single file; the matches so far are returned.
pub async fn a_grep_stops_at_its_ceiling_and_says_so(files: &dyn Backend) -> Outcome {
    for number in 0..200 {
        put(files, &format!("/{}/{number}", number % 10), "x\nx\nx\n").await?;
    }
    put(files, "/one", "x\n".repeat(500)).await?;
    for base in ["/", "/one"] {
        let found = grep(files, base, &GrepRequest::regex("x").ceiling(7)).await?;
        equal(format!("how it ended in `{base}`"), found.completeness, Completeness::StoppedAtCeiling)?;
        ensure(found.matches >= 7, format!("it stopped at {} matches, before its ceiling of 7", found.matches))?;
        ensure(found.kept_lines() > 0, "what it had found should come back")?;
    }
    let alone = grep(files, "/one", &GrepRequest::regex("x").ceiling(7)).await?;
    ensure(alone.matches <= 7, format!("of one file it counted {} matches, past its ceiling of 7", alone.matches))?;
    let whole = grep(files, "/", &GrepRequest::regex("x").ceiling(1_101)).await?;
    equal("how it ends below its ceiling", (whole.completeness, whole.matches), (Completeness::Complete, 1_100))
}

/// A grep past its deadline returns its results so far, which may be empty.
pub async fn a_grep_out_of_time_says_so(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let request = GrepRequest::regex("x").deadline(Duration::ZERO);
    let found = grep(files, "/", &request).await?;
    equal("how a search without time ends", found.completeness, Completeness::StoppedAtDeadline)
}
