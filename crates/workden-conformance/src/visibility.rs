//! Rules that travel with a request: evaluated before a name is shown or a file is opened.

use workden_core::{
    Backend, BackendExt, ErrorKind, Layer, Rule, RuleCase, Rules, Sight, VirtualPath, Visibility,
    search::{GlobKinds, GlobRequest, GrepRequest, Hidden, ListRequest},
};

use crate::{
    Outcome,
    check::list_checks,
    typed::{files_of, path, paths_of, put, put_all},
    verdict::{equal, refused},
};

list_checks! { visibility:
    a_listing_leaves_out_what_may_not_be_listed,
    a_glob_leaves_out_what_may_not_be_listed_and_counts_it,
    a_grep_passes_over_what_may_not_be_read_and_counts_it,
    a_file_that_is_named_is_held_to_the_rules_too,
    no_filter_takes_back_in_what_is_hidden,
    endings_limit_what_is_searched,
    size_limits_what_is_searched,
    the_first_rule_decides_and_the_strictest_layer_wins,
    a_layer_speaks_only_of_its_part,
    a_rule_that_is_no_pattern_shows_nothing,
}

const TREE: &[(&str, &str)] =
    &[("/.env", "x"), ("/a.md", "x"), ("/ask/b.md", "x"), ("/secret/c.md", "x"), ("/secret/deep/d.md", "x")];

fn rules(rules: &[(&str, Sight)]) -> Rules {
    let rule = |(pattern, sight): &(&str, Sight)| Rule {
        pattern: (*pattern).into(),
        except: Vec::new(),
        sight: *sight,
        case: RuleCase::Sensitive,
    };
    Rules { rules: rules.iter().map(rule).collect(), otherwise: Sight::Shown }
}

fn listing(list: &[(&str, Sight)]) -> Visibility {
    Visibility { layers: vec![Layer { list: rules(list), ..Layer::open() }] }
}

fn reading(read: &[(&str, Sight)]) -> Visibility {
    Visibility { layers: vec![Layer { read: rules(read), ..Layer::open() }] }
}

/// Returns a request for every file, including hidden ones, under these rules.
fn grep(visibility: Visibility) -> GrepRequest {
    GrepRequest::regex("x").visibility(visibility).hidden(Hidden::Include)
}

const SECRET: &[(&str, Sight)] = &[("/secret/**", Sight::Hidden), ("/ask/**", Sight::Asks)];

/// A listing omits files and directories that are hidden or need approval, and does not count them.
pub async fn a_listing_leaves_out_what_may_not_be_listed(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    for (base, rule, expected) in [
        ("/", ("/secret", Sight::Hidden), &["/ask", "/.env", "/a.md"][..]),
        ("/", ("/*.md", Sight::Asks), &["/ask", "/secret", "/.env"]),
        ("/", ("**/.env", Sight::Hidden), &["/ask", "/secret", "/a.md"]),
        ("/secret", ("/secret/**", Sight::Hidden), &[]),
        ("/secret", ("**/deep", Sight::Hidden), &["/secret/c.md"]),
    ] {
        let request = ListRequest::default().visibility(listing(&[rule]));
        let found = files.list_path(&path(base)?, &request).await?;
        let paths: Vec<_> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
        equal(format!("the listing of `{base}` under {rule:?}"), paths, expected)?;
        equal("how many are left out", found.left_out, 0)?;
    }
    let request = ListRequest::default().visibility(reading(SECRET));
    equal("rules of reading are not of listing", files.list_path(&path("/")?, &request).await?.entries.len(), 4)
}

/// A glob omits directories as well, when the request includes them.
pub async fn a_glob_leaves_out_what_may_not_be_listed_and_counts_it(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let request = GlobRequest::new("**/*.md").visibility(listing(SECRET));
    let found = files.glob_path(&path("/")?, &request).await?;
    equal("what is found", paths_of(&found), ["/a.md"])?;
    equal("what was passed over", (found.skipped.denied, found.skipped.needs_approval), (2, 1))?;
    equal("how many are left out", found.left_out, 0)?;
    let hides = listing(&[("/secret", Sight::Hidden), ("/secret/**", Sight::Hidden)]);
    let request = GlobRequest::new("**").visibility(hides).kinds(GlobKinds::Everything);
    let found = files.glob_path(&path("/")?, &request).await?;
    equal("everything that is found", paths_of(&found), ["/.env", "/a.md", "/ask", "/ask/b.md"])
}

/// A grep skips files that the rules forbid to list or to read.
pub async fn a_grep_passes_over_what_may_not_be_read_and_counts_it(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    for visibility in [reading(SECRET), listing(SECRET)] {
        let found = files.grep_path(&path("/")?, &grep(visibility)).await?;
        equal("what is found", files_of(&found), ["/.env", "/a.md"])?;
        equal("what was passed over", (found.skipped.denied, found.skipped.needs_approval), (2, 1))?;
        equal("what was searched", (found.files_searched, found.matches), (2, 2))?;
    }
    Ok(())
}

/// Naming a file does not bypass the rules.
pub async fn a_file_that_is_named_is_held_to_the_rules_too(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    for (typed, denied, needs_approval) in [("/secret/c.md", 1, 0), ("/ask/b.md", 0, 1)] {
        let found = files.grep_path(&path(typed)?, &grep(reading(SECRET))).await?;
        equal(format!("what is found in `{typed}`"), files_of(&found), Vec::<&str>::new())?;
        equal("what was passed over", (found.skipped.denied, found.skipped.needs_approval), (denied, needs_approval))?;
        equal("what was searched", found.files_searched, 0)?;
    }
    let found = files.grep_path(&path("/secret")?, &grep(reading(SECRET))).await?;
    equal("what is found from inside", files_of(&found), Vec::<&str>::new())?;
    let most = Visibility { layers: vec![Layer { max_bytes: Some(0), ..Layer::open() }] };
    let found = files.grep_path(&path("/a.md")?, &grep(most)).await?;
    equal("a file that is too large to read", (found.matches, found.skipped.denied), (0, 1))
}

/// Neither a filter nor a rule of an ignore file shows a hidden file.
pub async fn no_filter_takes_back_in_what_is_hidden(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    put_all(files, &[("/.git/HEAD", ""), ("/.gitignore", "!.env\n")]).await?;
    let visibility = reading(&[("**/.env", Sight::Hidden)]);
    let request = grep(visibility).filter([".env"]);
    let found = files.grep_path(&path("/")?, &request).await?;
    equal("what is found", files_of(&found), Vec::<&str>::new())?;
    equal("what was passed over", found.skipped.denied, 1)
}

/// Suffixes match in any letter case; an empty list allows no file.
pub async fn endings_limit_what_is_searched(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a.md", "x"), ("/b.MD", "x"), ("/c.rs", "x"), ("/Makefile", "x"), ("/.md", "x")]).await?;
    for (suffixes, expected) in
        [(&[".md"][..], &["/a.md", "/b.MD"][..]), (&[".rs", ""], &["/.md", "/Makefile", "/c.rs"]), (&[], &[])]
    {
        let suffixes: Vec<String> = suffixes.iter().map(ToString::to_string).collect();
        let layer = Layer { suffixes: Some(suffixes.clone()), ..Layer::open() };
        let found = files.grep_path(&path("/")?, &grep(Visibility { layers: vec![layer] })).await?;
        equal(format!("what is found with {suffixes:?}"), files_of(&found), expected)?;
        equal("what was passed over", found.skipped.denied, 5 - expected.len() as u64)?;
    }
    Ok(())
}

/// A file of exactly the largest allowed size is searched.
pub async fn size_limits_what_is_searched(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/empty", ""), ("/five", "x2345"), ("/six", "x23456")]).await?;
    put(files, "/large", "x".repeat(100_000)).await?;
    let layer = Layer { max_bytes: Some(5), ..Layer::open() };
    let found = files.grep_path(&path("/")?, &grep(Visibility { layers: vec![layer] })).await?;
    equal("what is found", files_of(&found), ["/five"])?;
    equal("what was searched and passed over", (found.files_searched, found.skipped.denied), (2, 2))
}

/// The first rule decides within a layer, and the strictest layer decides overall.
pub async fn the_first_rule_decides_and_the_strictest_layer_wins(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let first = &[("/secret/c.md", Sight::Shown), ("/secret/**", Sight::Hidden)];
    let found = files.grep_path(&path("/")?, &grep(reading(first))).await?;
    equal("under an exception", files_of(&found), ["/.env", "/a.md", "/ask/b.md", "/secret/c.md"])?;
    let both = reading(first).and(&reading(&[("/secret/**", Sight::Asks), ("/a.md", Sight::Hidden)]));
    let found = files.grep_path(&path("/")?, &grep(both)).await?;
    equal("under both", files_of(&found), ["/.env", "/ask/b.md"])?;
    equal("what was passed over", (found.skipped.denied, found.skipped.needs_approval), (2, 1))
}

/// Outside its directory a layer hides nothing, not even siblings that share a prefix.
pub async fn a_layer_speaks_only_of_its_part(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/in/a", "x"), ("/inner", "x"), ("/out/a", "x")]).await?;
    let hides = Rules { rules: Vec::new(), otherwise: Sight::Hidden };
    let layer = Layer { under: VirtualPath::parse("/in")?, list: hides.clone(), read: hides, ..Layer::open() };
    let visibility = Visibility { layers: vec![layer] };
    let found = files.grep_path(&path("/")?, &grep(visibility.clone())).await?;
    equal("what is found", files_of(&found), ["/inner", "/out/a"])?;
    let found = files.list_path(&path("/")?, &ListRequest::default().visibility(visibility)).await?;
    let paths: Vec<_> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
    equal("what is listed", paths, ["/out", "/inner"])
}

/// An invalid rule is `InvalidPattern`: it must not be treated as a rule that allows.
pub async fn a_rule_that_is_no_pattern_shows_nothing(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let broken = listing(&[("[z-a]", Sight::Hidden)]);
    let root = path("/")?;
    let list = ListRequest::default().visibility(broken.clone());
    refused("list", files.list_path(&root, &list).await, ErrorKind::InvalidPattern)?;
    let glob = GlobRequest::new("**").visibility(broken.clone());
    refused("glob", files.glob_path(&root, &glob).await, ErrorKind::InvalidPattern)?;
    refused("grep", files.grep_path(&root, &grep(broken)).await, ErrorKind::InvalidPattern).map(drop)
}
