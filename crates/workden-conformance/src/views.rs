//! A backend below a mount: requests carry the agent's names for its paths, so that rules, patterns and filters apply
//! to the paths that the agent sees. Results have the backend's own paths.

use workden_core::{
    Backend, BackendExt, Layer, Rule, RuleCase, Rules, Sight, Visibility,
    search::{Alias, GlobKinds, GlobRequest, GrepRequest, ListRequest, View},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{files_of, path, paths_of, put_all},
    verdict::equal,
};

list_checks! { views:
    rules_mean_the_paths_that_the_agent_sees,
    patterns_and_filters_mean_the_paths_that_the_agent_sees,
    what_another_mount_covers_is_not_entered,
    a_file_on_the_way_to_another_mount_is_covered,
    rules_hold_under_the_names_that_other_mounts_give,
}

const TREE: &[(&str, &str)] = &[("/a.md", "x"), ("/b.rs", "x"), ("/data/c.md", "x"), ("/sub/d.md", "x")];

fn mounted_at(prefix: &str) -> Result<View, Failure> {
    Ok(View::default().prefix(path(prefix)?))
}

/// For a backend mounted at `/data`, the agent's `/data/a.md` is the backend's `/a.md`.
pub async fn rules_mean_the_paths_that_the_agent_sees(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let hide =
        Rule { pattern: "/data/*.md".into(), except: Vec::new(), sight: Sight::Hidden, case: RuleCase::Sensitive };
    let rules = Rules { rules: vec![hide], otherwise: Sight::Shown };
    let visibility =
        Visibility { layers: vec![Layer { under: path("/data")?, list: rules.clone(), read: rules, ..Layer::open() }] };
    let (root, view) = (path("/")?, mounted_at("/data")?);
    let grep = GrepRequest::regex("x").visibility(visibility.clone()).view(view.clone());
    equal("a grep", files_of(&files.grep_path(&root, &grep).await?), ["/b.rs", "/data/c.md", "/sub/d.md"])?;
    let named = files.grep_path(&path("/a.md")?, &grep).await?;
    equal("a grep in a hidden file", (named.matches, named.skipped.denied), (0, 1))?;
    let glob = GlobRequest::new("**").visibility(visibility.clone()).view(view.clone());
    equal("a glob", paths_of(&files.glob_path(&root, &glob).await?), ["/b.rs", "/data/c.md", "/sub/d.md"])?;
    let list = ListRequest::default().visibility(visibility).view(view);
    let listed = files.list_path(&root, &list).await?;
    let paths: Vec<_> = listed.entries.iter().map(|entry| entry.path.as_str()).collect();
    equal("a listing", paths, ["/data", "/sub", "/b.rs"])
}

/// Patterns may be absolute or relative to the agent's starting directory, which may be above the mount.
pub async fn patterns_and_filters_mean_the_paths_that_the_agent_sees(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let root = path("/")?;
    let view = mounted_at("/data")?;
    let from_above = view.clone().base(path("/")?);
    for (pattern, view, expected) in [
        ("*.md", &view, &["/a.md"][..]),
        ("/data/*.md", &view, &["/a.md"]),
        ("/*.md", &view, &[]),
        ("data/*.md", &from_above, &["/a.md"]),
        ("*/*.md", &from_above, &["/a.md"]),
        ("**/*.md", &from_above, &["/a.md", "/data/c.md", "/sub/d.md"]),
    ] {
        let request = GlobRequest::new(pattern).view(view.clone());
        let found = files.glob_path(&root, &request).await?;
        equal(format!("the glob `{pattern}`"), paths_of(&found), expected)?;
    }
    for (filter, view, expected) in [
        ("/*.md", &view, &["/a.md"][..]),
        ("/data/*.md", &view, &["/data/c.md"]),
        ("/data/*.md", &from_above, &["/a.md"]),
    ] {
        let request = GrepRequest::regex("x").view(view.clone()).filter([filter]);
        let found = files.grep_path(&root, &request).await?;
        equal(format!("a grep with the filter `{filter}`"), files_of(&found), expected)?;
    }
    Ok(())
}

/// The agent sees the other mount there; siblings that share a prefix stay visible.
pub async fn what_another_mount_covers_is_not_entered(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    put_all(files, &[("/subway/e.md", "x")]).await?;
    let root = path("/")?;
    let view = mounted_at("/data")?.shadowed(vec![path("/data/sub")?, path("/data/a.md")?]);
    let grep = GrepRequest::regex("x").view(view.clone());
    equal("a grep", files_of(&files.grep_path(&root, &grep).await?), ["/b.rs", "/data/c.md", "/subway/e.md"])?;
    let glob = GlobRequest::new("**").view(view.clone()).kinds(GlobKinds::Everything);
    let found = files.glob_path(&root, &glob).await?;
    equal("a glob", paths_of(&found), ["/b.rs", "/data", "/data/c.md", "/subway", "/subway/e.md"])?;
    let listed = files.list_path(&root, &ListRequest::default().view(view)).await?;
    let paths: Vec<_> = listed.entries.iter().map(|entry| entry.path.as_str()).collect();
    equal("a listing", paths, ["/data", "/subway", "/b.rs"])
}

/// The agent sees a directory there, because another mount is below it.
pub async fn a_file_on_the_way_to_another_mount_is_covered(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let root = path("/")?;
    let view = mounted_at("/data")?.shadowed(vec![path("/data/b.rs/mount")?, path("/data/sub/mount")?]);
    let grep = GrepRequest::regex("x").view(view.clone());
    equal("a grep", files_of(&files.grep_path(&root, &grep).await?), ["/a.md", "/data/c.md", "/sub/d.md"])?;
    let glob = GlobRequest::new("**").view(view.clone());
    equal("a glob", paths_of(&files.glob_path(&root, &glob).await?), ["/a.md", "/data/c.md", "/sub/d.md"])?;
    let listed = files.list_path(&root, &ListRequest::default().view(view)).await?;
    let paths: Vec<_> = listed.entries.iter().map(|entry| entry.path.as_str()).collect();
    equal("a listing", paths, ["/data", "/sub", "/a.md"])
}

/// A file that a rule hides under its name in another mount is hidden here, too.
pub async fn rules_hold_under_the_names_that_other_mounts_give(files: &dyn Backend) -> Outcome {
    put_all(files, TREE).await?;
    let root = path("/")?;
    let hide = |pattern: &str| Rule {
        pattern: pattern.into(),
        sight: Sight::Hidden,
        except: Vec::new(),
        case: RuleCase::Sensitive,
    };
    let rules = Rules { rules: vec![hide("/all/a.md"), hide("/part/d.md")], otherwise: Sight::Shown };
    let visibility = Visibility { layers: vec![Layer { list: rules.clone(), read: rules, ..Layer::open() }] };
    let aliases = vec![Alias::new(root.clone(), path("/all")?), Alias::new(path("/sub")?, path("/part")?)];
    let view = mounted_at("/data")?.aliases(aliases);
    let grep = GrepRequest::regex("x").view(view.clone()).visibility(visibility.clone());
    let found = files.grep_path(&root, &grep).await?;
    equal("a grep", files_of(&found), ["/b.rs", "/data/c.md"])?;
    equal("what was passed over", found.skipped.denied, 2)?;
    let glob = GlobRequest::new("**").view(view.clone()).visibility(visibility.clone());
    equal("a glob", paths_of(&files.glob_path(&root, &glob).await?), ["/b.rs", "/data/c.md"])?;
    let listed = files.list_path(&root, &ListRequest::default().view(view).visibility(visibility)).await?;
    let paths: Vec<_> = listed.entries.iter().map(|entry| entry.path.as_str()).collect();
    equal("a listing", paths, ["/data", "/sub", "/b.rs"])
}
