//! Names across mounts: two mounts can show the same host directory, or a file can have a name in each. Rules apply to
//! all names.
//!
//! Invariant: a name that another mount covers does not count, because it does not lead to the file.

use workden_core::{
    BackendExt, Error, ErrorKind, FileIdentity, Resolved, Result, VirtualPath,
    search::{Alias, View},
};

use super::mounts::{Mount, MountTable};

pub(super) async fn other_names(mounts: &MountTable, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
    if let Some(only) = mounts.only() {
        let local: Vec<Resolved> = files.iter().map(|file| only.local(file)).collect();
        let names = only.backend.other_names(&local).await.map_err(|error| only.told(error))?;
        return Ok(names.into_iter().map(|names| below(&names, only.at)).collect());
    }
    let mut others = vec![Vec::new(); files.len()];
    let mut known = Vec::new();
    for (nth, file) in files.iter().enumerate() {
        if let Some(identity) = identify(mounts, file).await? {
            known.push((nth, identity));
        }
    }
    for mount in mounts.all() {
        let is_own = |file: &Resolved| mounts.find(&file.real).is_some_and(|own| own.at == mount.at);
        let (own, foreign): (Vec<_>, Vec<_>) = known.iter().cloned().partition(|(nth, _)| is_own(&files[*nth]));
        // A file's own mount knows its location, and need not search for the name in the call.
        let (own, _): (Vec<usize>, Vec<FileIdentity>) = own.into_iter().unzip();
        let here: Vec<Resolved> = own.iter().map(|nth| mount.local(&files[*nth])).collect();
        let of_own = match here.is_empty() {
            true => Vec::new(),
            false => mount.backend.other_names(&here).await.map_err(|error| mount.told(error))?,
        };
        let (foreign, identities): (Vec<usize>, Vec<FileIdentity>) = foreign.into_iter().unzip();
        let of_foreign = match identities.is_empty() {
            true => Vec::new(),
            false => mount.backend.names_of(&identities).await.map_err(|error| mount.told(error))?,
        };
        for (nth, names) in own.into_iter().zip(of_own).chain(foreign.into_iter().zip(of_foreign)) {
            others[nth].extend(leading_here(mounts, &mount, &names).filter(|name| *name != files[nth].real));
        }
    }
    Ok(others)
}

pub(super) async fn identify(mounts: &MountTable, at: &Resolved) -> Result<Option<FileIdentity>> {
    let Some(mount) = mounts.find(&at.real) else { return Ok(None) };
    match mount.backend.identify(&mount.local(at)).await {
        Ok(identity) => Ok(identity),
        // A missing file has no names.
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(mount.told(error)),
    }
}

fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotDirectory | ErrorKind::Moved)
}

pub(super) async fn names_of(mounts: &MountTable, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
    let mut all = vec![Vec::new(); files.len()];
    if files.is_empty() {
        return Ok(all);
    }
    for mount in mounts.all() {
        let names = mount.backend.names_of(files).await.map_err(|error| mount.told(error))?;
        for (all, names) in all.iter_mut().zip(names) {
            all.extend(leading_here(mounts, &mount, &names));
        }
    }
    Ok(all)
}

/// Returns names in a mount as the agent sees them, without those that another mount covers.
fn leading_here(mounts: &MountTable, mount: &Mount<'_>, names: &[VirtualPath]) -> impl Iterator<Item = VirtualPath> {
    let leads_here = |name: &VirtualPath| mounts.find(name).is_some_and(|found| found.at == mount.at);
    below(names, mount.at).into_iter().filter(leads_here)
}

fn below(names: &[VirtualPath], at: &VirtualPath) -> Vec<VirtualPath> {
    names.iter().map(|name| name.below(at)).collect()
}

pub(super) async fn origins(mounts: &MountTable) -> Result<Vec<(VirtualPath, FileIdentity)>> {
    let mut all = Vec::new();
    for mount in mounts.all() {
        let origins = mount.backend.origins().await.map_err(|error| mount.told(error))?;
        all.extend(origins.into_iter().map(|(path, identity)| (path.below(mount.at), identity)));
    }
    Ok(all)
}

/// Returns the other paths at which the agent sees the files of a mount, for a search under rules.
pub(super) async fn aliases(mounts: &MountTable, mount: &Mount<'_>, outer: &View) -> Result<Vec<Alias>> {
    let mut aliases: Vec<Alias> = outer.aliases.iter().filter_map(|alias| inside(alias, mount.at)).collect();
    if mounts.only().is_some() {
        return Ok(aliases);
    }
    let (places, identities): (Vec<_>, Vec<_>) = origins(mounts).await?.into_iter().unzip();
    let everywhere = names_of(mounts, &identities).await?;
    let here = mount.backend.names_of(&identities).await.map_err(|error| mount.told(error))?;
    for ((place, everywhere), here) in places.iter().zip(everywhere).zip(here) {
        // A directory of this mount is also in another mount, or a directory of another mount is also in this one.
        let own = place.strip_prefix(mount.at).into_iter();
        let pairs = own.flat_map(|local| everywhere.iter().map(move |seen| (local.clone(), seen)));
        for (local, seen) in pairs.chain(here.iter().map(|local| (local.clone(), place))) {
            let is_itself = local.below(mount.at) == *seen;
            let alias = Alias::new(local, outer.seen(seen));
            if !is_itself && !aliases.contains(&alias) {
                aliases.push(alias);
            }
        }
    }
    Ok(aliases)
}

/// Restricts an alias of the table to the mount at `at`.
fn inside(alias: &Alias, at: &VirtualPath) -> Option<Alias> {
    match (at.strip_prefix(&alias.local), alias.local.strip_prefix(at)) {
        (Some(rest), _) => Some(Alias::new(VirtualPath::root(), rest.below(&alias.seen))),
        (None, Some(local)) => Some(Alias::new(local, alias.seen.clone())),
        (None, None) => None,
    }
}
