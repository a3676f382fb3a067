//! `.gitignore`: honoured inside repositories, nearest rule first, and only on request.

use workden_core::{
    Backend, BackendExt,
    search::{GlobKinds, GlobRequest, GrepRequest, IgnoreFiles},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{path, paths_of, put_all},
    verdict::equal,
};

list_checks! { ignoring:
    outside_a_repository_nothing_is_ignored,
    inside_a_repository_rules_are_honoured,
    the_nearest_rule_wins_and_can_take_back_in,
    a_repository_inside_another_has_its_own_rules,
    rules_above_the_start_of_a_search_hold_below_it,
    rules_are_disregarded_when_told_to,
    a_file_that_is_named_is_searched_though_ignored,
    a_glob_honours_rules_when_told_to,
    a_glob_that_honours_rules_does_not_enter_git,
}

async fn grep(files: &dyn Backend, base: &str) -> Result<Vec<String>, Failure> {
    let found = files.grep_path(&path(base)?, &GrepRequest::regex("x")).await?;
    Ok(found.files.iter().map(|file| file.path.to_string()).collect())
}

/// A `.gitignore` without a `.git` beside or above it is an ordinary file.
pub async fn outside_a_repository_nothing_is_ignored(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.gitignore", "*.log\n"), ("/a.log", "x"), ("/d/.gitignore", "b\n"), ("/d/b", "x")]).await?;
    equal("what is searched", grep(files, "/").await?, ["/a.log", "/d/b"])
}

/// Rules may name files at any depth, directories and anchored paths; `.git` may be a file, as in a work tree.
pub async fn inside_a_repository_rules_are_honoured(files: &dyn Backend) -> Outcome {
    for git in ["/.git/HEAD", "/.git"] {
        put_all(files, &[(git, "x"), ("/.gitignore", "# a comment\n*.log\nbuild/\n/top\n[z-a]\n\nsub/*.tmp\n")])
            .await?;
        put_all(files, &[("/a.log", "x"), ("/d/b.log", "x"), ("/build/c", "x"), ("/d/build/e/f", "x")]).await?;
        put_all(files, &[("/top", "x"), ("/d/top", "x"), ("/sub/a.tmp", "x"), ("/d/sub/a.tmp", "x")]).await?;
        put_all(files, &[("/kept", "x"), ("/d/kept", "x")]).await?;
        let expected = ["/d/kept", "/d/sub/a.tmp", "/d/top", "/kept"];
        equal(format!("what is searched with `{git}`"), grep(files, "/").await?, expected)?;
        files.remove_path(&path("/.git")?, workden_core::Removal::Tree).await?;
    }
    Ok(())
}

/// A rule can also include a hidden name, which a search otherwise skips.
pub async fn the_nearest_rule_wins_and_can_take_back_in(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.git/HEAD", ""), ("/.gitignore", "*.log\n!keep.log\n")]).await?;
    put_all(files, &[("/d/.gitignore", "!a.log\nkeep.log\n!.shown\n"), ("/d/a.log", "x"), ("/d/keep.log", "x")])
        .await?;
    put_all(files, &[("/a.log", "x"), ("/keep.log", "x"), ("/d/.shown", "x"), ("/d/.hidden", "x")]).await?;
    equal("what is searched", grep(files, "/").await?, ["/d/.shown", "/d/a.log", "/keep.log"])
}

/// The rules of the outer repository do not apply in the inner one.
pub async fn a_repository_inside_another_has_its_own_rules(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.git/HEAD", ""), ("/.gitignore", "*.log\n"), ("/a.log", "x"), ("/a.tmp", "x")]).await?;
    put_all(files, &[("/in/.git/HEAD", ""), ("/in/.gitignore", "*.tmp\n"), ("/in/a.log", "x"), ("/in/a.tmp", "x")])
        .await?;
    equal("what is searched", grep(files, "/").await?, ["/a.tmp", "/in/a.log"])
}

/// Ignore files are read up to the root.
pub async fn rules_above_the_start_of_a_search_hold_below_it(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.git/HEAD", ""), ("/.gitignore", "*.log\n/d/e/anchored\n"), ("/d/.gitignore", "*.tmp\n")])
        .await?;
    put_all(files, &[("/d/e/a.log", "x"), ("/d/e/a.tmp", "x"), ("/d/e/anchored", "x"), ("/d/e/kept", "x")]).await?;
    for base in ["/", "/d", "/d/e"] {
        equal(format!("what is searched from `{base}`"), grep(files, base).await?, ["/d/e/kept"])?;
    }
    Ok(())
}

/// With `IgnoreFiles::Disregard` an ignored file is searched like any other.
pub async fn rules_are_disregarded_when_told_to(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.git/HEAD", ""), ("/.gitignore", "*.log\n"), ("/a.log", "x"), ("/b", "x")]).await?;
    let request = GrepRequest::regex("x").ignore_files(IgnoreFiles::Disregard);
    let found = files.grep_path(&path("/")?, &request).await?;
    equal("what is searched", crate::typed::files_of(&found), ["/a.log", "/b"])?;
    equal("what is searched otherwise", grep(files, "/").await?, ["/b"])
}

/// A caller who names a file wants it searched.
pub async fn a_file_that_is_named_is_searched_though_ignored(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/.git/HEAD", ""), ("/.gitignore", "*.log\n"), ("/d/a.log", "x")]).await?;
    equal("from the root", grep(files, "/").await?, Vec::<String>::new())?;
    equal("the file itself", grep(files, "/d/a.log").await?, ["/d/a.log"])
}

/// By default a glob shows ignored files.
pub async fn a_glob_honours_rules_when_told_to(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/d/.git/HEAD", ""), ("/d/.gitignore", "*.log\nbuild/\n"), ("/d/a.log", "x")]).await?;
    put_all(files, &[("/d/build/b", "x"), ("/d/kept", "x"), ("/a.log", "x")]).await?;
    let everything = GlobRequest::new("**/[abk]*").kinds(GlobKinds::Everything);
    let all = ["/a.log", "/d/a.log", "/d/build", "/d/build/b", "/d/kept"];
    equal("all there is", paths_of(&files.glob_path(&path("/")?, &everything).await?), all)?;
    let honouring = everything.ignore_files(IgnoreFiles::Honour);
    let found = files.glob_path(&path("/")?, &honouring).await?;
    equal("what is not ignored", paths_of(&found), ["/a.log", "/d/kept"])?;
    let counted = (found.skipped.ignored_files, found.skipped.ignored_directories);
    equal("the ignored files that match, and the directories that were not entered", counted, (1, 1))
}

/// Git's own files are not files of a project.
pub async fn a_glob_that_honours_rules_does_not_enter_git(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/d/.git/HEAD", ""), ("/d/.github/a.yml", ""), ("/d/a", "x")]).await?;
    let found = files.glob_path(&path("/")?, &GlobRequest::new("**/*").ignore_files(IgnoreFiles::Honour)).await?;
    equal("what is found", paths_of(&found), ["/d/.github/a.yml", "/d/a"])?;
    equal("what is counted", found.skipped.ignored_directories, 0)
}
