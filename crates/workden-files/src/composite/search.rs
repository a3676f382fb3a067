//! Listing, glob and grep over every mount below a directory: one order, no duplicates, and the
//! paths that the agent sees.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use workden_core::{
    Completeness, Entry, Error, ErrorKind, Resolved, Result, VirtualPath, directory_entry,
    search::{
        Alias, GlobKinds, GlobRequest, Globbed, GrepRequest, Grepped, Linked, ListRequest, Listing, PathPattern,
        Skipped, View,
    },
};

use super::{
    mounts::{Mount, MountTable},
    names,
};
use crate::search::{Admission, TopEntries, TopMatches, WalkFilter, line_pattern};

pub(super) async fn list(mounts: &MountTable, at: &Resolved, request: &ListRequest) -> Result<Listing> {
    let screen = WalkFilter::for_list(request, &at.real)?;
    let context = screen.enter(None, at.real.clone(), None, false);
    let inner: BTreeMap<VirtualPath, Entry> = names_below(mounts, &at.real)
        .filter(|name| screen.admits(&context, name, true) == Admission::Admit)
        .map(|name| at.real.child_unchecked(&name))
        .map(|path| (path.clone(), directory_entry(path)))
        .collect();

    let stored = match mounts.find(&at.real) {
        None if inner.is_empty() && !mounts.leads_to_mounts(&at.real) => {
            return Err(Error::not_found("list", &at.real).hint(mounts.hint()));
        }
        None => Listing::default(),
        Some(mount) => {
            let aliases = aliases(mounts, &mount, &screen, &request.view).await?;
            let view = mounts.view(&mount, None, aliases, &request.view);
            let request = request.clone().view(view);
            match mount.backend.list(&mount.local(at), &request).await {
                Ok(listing) => listing,
                // No backend stores the directory, but a mount is below it.
                Err(error) if is_absence(&error) && mounts.leads_to_mounts(&at.real) && !mounts.is_mount(&at.real) => {
                    Listing::default()
                }
                Err(error) => return Err(mount.told(error)),
            }
        }
    };
    let own = mounts.find(&at.real);
    let shown = stored.entries.into_iter().map(|entry| match &own {
        Some(mount) => mount.shown(entry),
        None => entry,
    });
    let uncovered = shown.filter(|entry| !inner.contains_key(&entry.path)).collect::<Vec<_>>();
    let mut listing = Listing::of(uncovered.into_iter().chain(inner.into_values()).collect(), request.keep);
    listing.left_out += stored.left_out;
    Ok(listing)
}

fn is_absence(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotDirectory)
}

/// Returns the names in a directory that are mounts or lead to mounts.
fn names_below(mounts: &MountTable, directory: &VirtualPath) -> impl Iterator<Item = String> {
    let depth = directory.depth();
    mounts.below(directory).filter_map(move |mount| mount.at.components().nth(depth).map(str::to_owned))
}

pub(super) async fn glob(mounts: &MountTable, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
    let screen = WalkFilter::for_glob(request, &at.real)?;
    let pattern = PathPattern::new(&request.pattern, screen.base())?;
    let places = places(mounts, at, &screen);
    let views = views(mounts, &places, &screen, &request.view).await?;
    let searches = places.iter().zip(views).map(|((mount, local), view)| {
        let request = request.clone().view(view);
        async move { mount.backend.glob(local, &request).await }
    });
    let mut kept = TopEntries::new(request.keep);
    let mut skipped = Skipped::default();
    let mut completeness = Completeness::Complete;
    let mut stored_directories = Vec::new();
    for (found, (mount, _)) in answers(mounts, at, &places, join_all(searches).await, &mut skipped)? {
        completeness = completeness.max(found.completeness);
        skipped += found.skipped;
        kept.count_left_out(found.left_out);
        let entries: Vec<Entry> = found.entries.into_iter().map(|entry| mount.shown(entry)).collect();
        stored_directories.extend(entries.iter().filter(|entry| entry.is_dir()).map(|entry| entry.path.clone()));
        kept.extend(entries);
    }
    if request.kinds == GlobKinds::Everything {
        let inner = directories_to_mounts(mounts, &at.real).filter(|directory| {
            let seen = request.view.seen(directory);
            let name = directory.name().unwrap_or_default();
            let parent = directory.parent().unwrap_or_else(VirtualPath::root);
            let context = screen.enter(None, parent, None, false);
            pattern.is_match(&seen)
                && !stored_directories.contains(directory)
                && screen.admits(&context, name, true).counted_in(&mut skipped)
        });
        kept.extend(inner.map(directory_entry).collect::<Vec<_>>());
    }
    Ok(kept.finish(skipped, completeness))
}

/// Returns every directory below `at` that is a mount or leads to one.
fn directories_to_mounts(mounts: &MountTable, at: &VirtualPath) -> impl Iterator<Item = VirtualPath> {
    let mut all: Vec<VirtualPath> = mounts
        .below(at)
        .flat_map(|mount| std::iter::successors(Some(mount.at.clone()), VirtualPath::parent))
        .filter(|path| path != at && path.is_within(at))
        .collect();
    all.sort();
    all.dedup();
    all.into_iter()
}

pub(super) async fn grep(mounts: &MountTable, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
    let screen = WalkFilter::for_grep(request, &at.real)?;
    line_pattern::compile(&request.pattern)?;
    let mut places = places(mounts, at, &screen);
    if let Some((mount, local)) = places.first()
        && mounts.leads_to_mounts(&at.real)
        && mount.backend.stat(local).await.is_ok_and(|entry| !entry.is_dir())
    {
        // A file with the name of a directory that leads to mounts is covered by them.
        places.remove(0);
    }
    // With several mounts, no backend knows all names of a file.
    let settles = request.view.linked == Linked::Look && screen.has_rules() && mounts.only().is_none();
    let linked = if settles { Linked::Defer } else { request.view.linked.clone() };
    let outer = &request.view.clone().linked(linked);
    let views = views(mounts, &places, &screen, outer).await?;
    let searches = places.iter().zip(views).map(|((mount, local), view)| {
        let request = request.clone().view(view);
        async move {
            let found = mount.backend.grep(local, &request).await?;
            match settles && !found.doubtful.is_empty() {
                true => search_cleared(mounts, (mount, local), outer, found, request).await,
                false => Ok(found),
            }
        }
    });
    let mut kept = TopMatches::new(request.keep);
    let mut skipped = Skipped::default();
    let mut doubtful = Vec::new();
    for (mut found, (mount, _)) in answers(mounts, at, &places, join_all(searches).await, &mut skipped)? {
        for file in &mut found.files {
            file.path = file.path.below(mount.at);
        }
        doubtful.extend(found.doubtful.drain(..).map(|path| path.below(mount.at)));
        kept.merge(found);
    }
    kept.count_searched(0, skipped, Completeness::Complete);
    let mut found = kept.finish();
    found.doubtful = doubtful;
    Ok(found)
}

/// Checks all names, in all mounts, of the files that a mount deferred, and searches the mount again for the files
/// without a hidden name.
async fn search_cleared(
    mounts: &MountTable,
    (mount, local): (&Mount<'_>, &Resolved),
    outer: &View,
    mut found: Grepped,
    request: GrepRequest,
) -> Result<Grepped> {
    // Rules are about paths as the agent sees them, and this table may be inside another view.
    let everywhere = View::default().prefix(outer.prefix.clone()).part(outer.part.clone());
    let screen = WalkFilter::for_grep(&request.clone().view(everywhere.clone()), &VirtualPath::root())?;
    let paths: Vec<Resolved> = found.doubtful.iter().map(|path| Resolved::literal(path.below(mount.at))).collect();
    let mut skipped = Skipped::default();
    let mut cleared = Vec::new();
    for (path, others) in paths.iter().zip(names::other_names(mounts, &paths).await?) {
        let admissions = others.iter().map(|name| screen.admits_named(&everywhere.seen(name)));
        let strictest = admissions.max_by_key(|admission| match admission {
            Admission::Admit | Admission::Skip | Admission::Ignored => 0,
            Admission::NeedsApproval => 1,
            Admission::Denied => 2,
        });
        if strictest.unwrap_or(Admission::Admit).counted_in(&mut skipped) {
            cleared.extend(names::identify(mounts, path).await?.map(|identity| identity.file));
        }
    }
    let mut settled = match cleared.is_empty() {
        true => {
            found.doubtful.clear();
            found
        }
        false => {
            let view = request.view.clone().linked(Linked::Cleared(cleared));
            mount.backend.grep(local, &request.view(view)).await?
        }
    };
    settled.skipped += skipped;
    Ok(settled)
}

/// Returns the view of each mount.
async fn views(
    mounts: &MountTable,
    places: &[(Mount<'_>, Resolved)],
    screen: &WalkFilter,
    outer: &View,
) -> Result<Vec<View>> {
    let mut views = Vec::new();
    for (mount, _) in places {
        let aliases = aliases(mounts, mount, screen, outer).await?;
        views.push(mounts.view(mount, Some(screen.base().clone()), aliases, outer));
    }
    Ok(views)
}

/// Returns the aliases of a mount, if rules apply.
async fn aliases(mounts: &MountTable, mount: &Mount<'_>, screen: &WalkFilter, outer: &View) -> Result<Vec<Alias>> {
    match screen.has_rules() {
        true => names::aliases(mounts, mount, outer).await,
        false => Ok(Vec::new()),
    }
}

/// Returns the mounts to search, each with its starting path: the mount that contains the directory, and those below it
/// that the request would enter.
fn places<'a>(mounts: &'a MountTable, at: &Resolved, screen: &WalkFilter) -> Vec<(Mount<'a>, Resolved)> {
    let own = mounts.find(&at.real).map(|mount| {
        let local = mount.local(at);
        (mount, local)
    });
    let inner = mounts
        .below(&at.real)
        .filter(|mount| is_entered(screen, &at.real, mount.at))
        .map(|mount| (mount, Resolved::literal(VirtualPath::root())));
    own.into_iter().chain(inner).collect()
}

/// Whether a walk from `from` would enter the directory `to`, judged by names.
fn is_entered(screen: &WalkFilter, from: &VirtualPath, to: &VirtualPath) -> bool {
    std::iter::successors(Some(to.clone()), VirtualPath::parent).take_while(|path| path != from).all(|path| {
        let parent = path.parent().unwrap_or_else(VirtualPath::root);
        let context = screen.enter(None, parent, None, false);
        screen.enters(&context, path.name().unwrap_or_default())
    })
}

/// Returns the successful answers. A mount below that cannot be searched is skipped and counted; the requested
/// directory must exist or lead to a mount.
fn answers<'p, 'm, T>(
    mounts: &MountTable,
    at: &Resolved,
    places: &'p [(Mount<'m>, Resolved)],
    outcomes: Vec<Result<T>>,
    skipped: &mut Skipped,
) -> Result<Vec<(T, &'p (Mount<'m>, Resolved))>> {
    if places.is_empty() && !mounts.leads_to_mounts(&at.real) {
        return Err(Error::not_found("search", &at.real).hint(mounts.hint()));
    }
    let mut answers = Vec::new();
    for (outcome, place) in outcomes.into_iter().zip(places) {
        let is_below = place.0.at != &at.real && place.0.at.is_within(&at.real);
        match outcome {
            Ok(answer) => answers.push((answer, place)),
            Err(_) if is_below => skipped.unreadable += 1,
            Err(error) if is_absence(&error) && mounts.leads_to_mounts(&at.real) && !mounts.is_mount(&at.real) => {}
            Err(error) => return Err(place.0.told(error)),
        }
    }
    Ok(answers)
}
