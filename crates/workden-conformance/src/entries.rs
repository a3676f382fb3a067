//! The answers of `resolve` and `stat`.

use workden_core::{Attributes, Backend, BackendExt, EntryKind, ErrorKind, Link, NameForm, Presence, Symlink};

use crate::{
    Outcome,
    check::list_checks,
    typed::{at, holds, listed, make, path, put},
    verdict::{ensure, equal, refused},
};

list_checks! { entries:
    a_new_workspace_is_an_empty_directory,
    every_spelling_of_a_path_leads_to_one_file,
    without_links_a_path_resolves_to_itself,
    resolving_says_what_is_there_as_stat_does,
    a_file_is_described_with_its_size,
    a_directory_is_described_without_a_size,
    a_time_of_change_does_not_go_back,
    only_files_are_said_to_exist,
    what_has_one_name_has_no_others,
    attributes_stay_with_a_file_or_are_refused,
}

/// A backend from the factory has an empty root.
pub async fn a_new_workspace_is_an_empty_directory(files: &dyn Backend) -> Outcome {
    let root = files.entry(&path("/")?).await?;
    equal("the kind of the root", root.kind, EntryKind::Directory)?;
    equal("the path of the root", root.path.as_str(), "/")?;
    equal("the content of a new workspace", listed(files, "/").await?, Vec::<String>::new())
}

/// `./a//b` and `/a/x/../b/` are `/a/b`.
pub async fn every_spelling_of_a_path_leads_to_one_file(files: &dyn Backend) -> Outcome {
    put(files, "a/./b.txt", "one").await?;
    for typed in ["/a/b.txt", "a/b.txt", "./a//b.txt", "/a/x/../b.txt", "a/b.txt/"] {
        holds(files, typed, "one").await?;
    }
    equal("the files there are", listed(files, "/a").await?, ["/a/b.txt"])
}

/// Existing and missing paths resolve to themselves, with `Symlink::Follow` and `Symlink::NoFollow`.
pub async fn without_links_a_path_resolves_to_itself(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "x").await?;
    for typed in ["/", "/d", "/d/f", "/d/new", "/new/deep/er"] {
        for symlink in [Symlink::Follow, Symlink::NoFollow] {
            let resolved = files.resolve(&path(typed)?, symlink).await?;
            equal("the typed path", resolved.typed.as_str(), typed)?;
            equal("the real path", resolved.real.as_str(), typed)?;
        }
    }
    equal("what resolving has made", listed(files, "/").await?, ["/d"])
}

/// `resolve` reports the same entry as `stat`, or `Presence::Unknown`.
pub async fn resolving_says_what_is_there_as_stat_does(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "x").await?;
    for typed in ["/", "/d", "/d/f", "/d/new", "/new/deep/er"] {
        for symlink in [Symlink::Follow, Symlink::NoFollow] {
            let resolved = files.resolve(&path(typed)?, symlink).await?;
            match resolved.presence() {
                Presence::Unknown => {}
                Presence::Absent => refused(typed, files.stat(&resolved).await, ErrorKind::NotFound).map(drop)?,
                Presence::Present(entry) => equal(typed, entry.clone(), files.stat(&resolved).await?)?,
            }
        }
    }
    Ok(())
}

/// A file's entry has its path, kind and size, and is neither a link nor a lossy name.
pub async fn a_file_is_described_with_its_size(files: &dyn Backend) -> Outcome {
    for (typed, text) in [("/empty", ""), ("/d/five", "12345"), ("/umlaut", "ä")] {
        put(files, typed, text).await?;
        let entry = files.stat(&at(files, typed).await?).await?;
        equal("its path", entry.path.as_str(), typed)?;
        equal("its kind", entry.kind, EntryKind::File)?;
        equal("its size", entry.size, Some(text.len() as u64))?;
        equal("whether it is a link", entry.link, Link::Direct)?;
        equal("how its name is spelled", entry.name, NameForm::Exact)?;
    }
    Ok(())
}

/// A directory's entry has a path and a kind.
pub async fn a_directory_is_described_without_a_size(files: &dyn Backend) -> Outcome {
    make(files, "/d/e").await?;
    for typed in ["/", "/d", "/d/e"] {
        let entry = files.stat(&at(files, typed).await?).await?;
        equal("its path", entry.path.as_str(), typed)?;
        equal("its kind", entry.kind, EntryKind::Directory)?;
        equal("its size", entry.size, None)?;
        equal("whether it is a link", entry.link, Link::Direct)?;
    }
    Ok(())
}

/// A rewritten file is not older than before, nor older than a file written earlier.
pub async fn a_time_of_change_does_not_go_back(files: &dyn Backend) -> Outcome {
    let mut latest = None;
    for typed in ["/a", "/b", "/a", "/b"] {
        put(files, typed, "x").await?;
        let modified = files.entry(&path(typed)?).await?.modified;
        ensure(modified.is_some(), "a file that was written should have a time of change")?;
        ensure(modified >= latest, format!("`{typed}` was changed at {latest:?} or later, but says {modified:?}"))?;
        latest = modified;
    }
    Ok(())
}

/// `exists` is true only for files: a directory or a path through a file is `false`, not an error.
pub async fn only_files_are_said_to_exist(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "x").await?;
    for (typed, expected) in [("/d/f", true), ("/d", false), ("/", false), ("/d/g", false), ("/d/f/x", false)] {
        equal(format!("whether the file `{typed}` exists"), files.exists(&path(typed)?).await, expected)?;
    }
    Ok(())
}

/// Neither a file with one name nor a missing path has other names; an identified file is found by its identity.
pub async fn what_has_one_name_has_no_others(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "x").await?;
    put(files, "/d/same", "x").await?;
    let mut asked = Vec::new();
    for typed in ["/d/f", "/d", "/missing", "/d/same"] {
        asked.push(at(files, typed).await?);
    }
    equal("the other names", files.other_names(&asked).await?, vec![Vec::new(); 4])?;
    equal("the other names of nothing", files.other_names(&[]).await?.len(), 0)?;
    for here in [&asked[0], &asked[1], &asked[3]] {
        equal("how many names it has", files.stat(here).await?.names, 1)?;
        if let Some(identity) = files.identify(here).await? {
            equal("the names of what it is", files.names_of(&[identity]).await?, vec![vec![here.real.clone()]])?;
        }
    }
    Ok(())
}

/// Attributes stay when the content is written anew, until they are replaced. A backend without attributes says so when
/// there are some to set.
pub async fn attributes_stay_with_a_file_or_are_refused(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x").await?;
    let (none, some) = (Attributes::none("suite."), Attributes::new("suite.", [("note", "mine")])?);
    let file = at(files, "/f").await?;
    let kept = match files.set_attributes(&file, &some).await {
        Ok(()) => &some,
        answer => {
            refused("attributes", answer, ErrorKind::Unsupported)?;
            &none
        }
    };
    equal("the attributes", &files.attributes(&file, "suite.").await?, kept)?;
    put(files, "/f", "y").await?;
    equal("the attributes after a write", &files.attributes(&file, "suite.").await?, kept)?;
    files.set_attributes(&file, &none).await?;
    equal("the attributes after they were cleared", files.attributes(&file, "suite.").await?, none)?;
    holds(files, "/f", "y").await
}
