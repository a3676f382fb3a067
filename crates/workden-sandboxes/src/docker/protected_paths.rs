//! Paths in a container that commands may not change, or not even read. Mounts cover them, which only the daemon can
//! remove.
//!
//! Invariant: a covered path exists when the container is created, and stays where it is: its parent directories are
//! mounts as well, which commands cannot move or remove. A link is followed only inside the mounted directory. The
//! daemon gets names, so the container is checked against what these names were opened as here.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use bollard::models::{Mount, MountType, MountVolumeOptions};
use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{InodeId, Mount as Shown, MountAccess},
};
use workden_files::{Looked, OpenMount, open_mounts};

use super::{
    labels,
    volumes::{Volume, shown_files},
};
use crate::{GitFiles, git_files::hold_what_runs_outside};

/// The empty, read-only volume that covers directories. A tmpfs does not work with Podman, which copies the covered
/// files into it.
pub(super) const NOTHING: &str = "workden-nothing";

/// The paths to cover.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProtectedPaths {
    pub(crate) masked: Vec<VirtualPath>,
    pub(crate) read_only: Vec<VirtualPath>,
    pub(crate) git_files: GitFiles,
    /// The identities of the volumes that the workspace has open.
    pub(crate) expected: BTreeMap<VirtualPath, InodeId>,
}

/// The mount that covers a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cover {
    /// The path itself, read-only.
    ReadOnly(PathBuf),
    /// The path itself, writable, so that it cannot be moved.
    Held(PathBuf),
    /// An empty file.
    NoFile,
    /// An empty directory.
    NoDirectory,
}

impl ProtectedPaths {
    /// Returns the mounts of these volumes, and those that cover paths in them.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a name that a daemon would misread; `Moved` when another process replaces a path during the
    /// check.
    pub(super) fn mounts(&self, volumes: &[Volume]) -> Result<Mounts> {
        let shown = shown_files(volumes);
        let opened = open_mounts(&shown)?;
        if let Some(other) = opened.iter().find(|open| self.expected.get(open.at()).is_some_and(|id| *id != open.id()))
        {
            return Err(moved(other.at()));
        }
        let (read_only, _) = self.read_only(&shown);
        let is_read_only = |at: &VirtualPath| read_only.iter().any(|place| at.is_within(place));
        let volumes = volumes.iter().map(|volume| {
            let below = VirtualPath::parse(&volume.at).is_ok_and(|at| is_read_only(&at));
            if below { Volume { access: MountAccess::ReadOnly, ..volume.clone() } } else { volume.clone() }
        });
        let volumes: Vec<Mount> = volumes.map(|volume| volume.mount()).collect();
        let covers = self.covers(&shown, &opened, &read_only)?;
        let misunderstood = covers.keys().find(|at| at.as_str().contains([',', '"', '\n']));
        if let Some(at) = misunderstood {
            // Podman parses mounts as a list with commas, so a name could inject an option.
            let sentence = format!("cannot protect `{}` in a container", at.as_str().escape_debug());
            return Err(Error::new(ErrorKind::Unsupported, sentence)
                .hint("its name has a comma, a quote or a line break: rename it, or do not mount it"));
        }
        let mut expected = Vec::new();
        for (at, (cover, real)) in &covers {
            let is = match cover {
                Cover::ReadOnly(path) | Cover::Held(path) => Expected::This(HostFile { path: path.clone(), id: *real }),
                Cover::NoFile | Cover::NoDirectory => Expected::Nothing { over: *real },
            };
            expected.push((at.clone(), is));
        }
        for (shown, open) in shown.iter().zip(&opened).filter(|(shown, _)| !covers.contains_key(&shown.at)) {
            let path = shown.source.canonicalize().map_err(|_| moved(&shown.at))?;
            expected.push((shown.at.clone(), Expected::This(HostFile { path, id: open.id() })));
        }
        let mounts = volumes.into_iter().chain(covers.iter().map(|(at, (cover, _))| cover.mount(at))).collect();
        Ok(Mounts { mounts, expected })
    }

    /// Describes what cannot be protected in a container: links to git directories, over which nothing can be
    /// mounted.
    pub(super) fn lacking(&self, volumes: &[Volume]) -> Option<String> {
        let (_, links) = self.read_only(&shown_files(volumes));
        let names: Vec<&str> = links.iter().map(VirtualPath::as_str).collect();
        let sentence = || format!("commands can replace links to git directories: {}", names.join(", "));
        (!names.is_empty()).then(sentence)
    }

    /// Returns all read-only paths, and the links to git directories.
    fn read_only(&self, shown: &[Shown]) -> (Vec<VirtualPath>, Vec<VirtualPath>) {
        let (mut places, mut links) = (self.read_only.clone(), Vec::new());
        if self.git_files == GitFiles::Protected {
            for shown in shown.iter().filter(|shown| shown.access == MountAccess::ReadWrite) {
                hold_what_runs_outside(shown, &mut places, &mut links);
            }
        }
        (places, links)
    }

    fn covers(&self, shown: &[Shown], opened: &[OpenMount], read_only: &[VirtualPath]) -> Result<Covered> {
        let mut all: Covered = BTreeMap::new();
        let mut held = BTreeMap::new();
        for place in read_only.iter().filter_map(|place| found(shown, place)) {
            held.extend(place.above());
            let real = place.look(opened)?.id;
            all.insert(place.at, (Cover::ReadOnly(place.on_host), real));
        }
        for place in &self.masked {
            let Some(place) = found(shown, place) else {
                if is_behind_a_link(shown, place) {
                    return Err(moved(place));
                }
                continue;
            };
            held.extend(place.above());
            let real = place.look(opened)?;
            let cover = if real.is_directory { Cover::NoDirectory } else { Cover::NoFile };
            all.insert(place.at, (cover, real.id));
        }
        for (at, place) in held {
            let below = |(other, (cover, _)): (&VirtualPath, &(Cover, InodeId))| {
                matches!(cover, Cover::ReadOnly(_)) && at.is_within(other)
            };
            let is_fixed = place.access == MountAccess::ReadOnly || all.iter().any(below);
            let real = place.look(opened)?.id;
            let cover = if is_fixed { Cover::ReadOnly(place.on_host) } else { Cover::Held(place.on_host) };
            all.entry(at).or_insert((cover, real));
        }
        // Below an empty directory there is nothing to cover, and no mount point.
        let is_empty = |cover: &Cover| *cover == Cover::NoDirectory;
        let empty: Vec<VirtualPath> =
            all.iter().filter(|(_, (cover, _))| is_empty(cover)).map(|(at, _)| at.clone()).collect();
        all.retain(|at, _| !empty.iter().any(|place| at != place && at.is_within(place)));
        Ok(all)
    }
}

/// Covers by path, each with the file that it covers.
type Covered = BTreeMap<VirtualPath, (Cover, InodeId)>;

/// The mounts of a container, and what to verify in it. The daemon resolves names later, and a process that can write
/// to a mounted directory can replace a path in between.
#[derive(Debug)]
pub(super) struct Mounts {
    pub(super) mounts: Vec<Mount>,
    pub(super) expected: Vec<(VirtualPath, Expected)>,
}

/// What must be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// This file of the host.
    This(HostFile),
    /// Something without content, mounted over this file.
    Nothing { over: InodeId },
}

/// A file or directory of the host, by its path without links and by its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostFile {
    pub(super) path: PathBuf,
    pub(super) id: InodeId,
}

/// The real location of a path in a volume.
#[derive(Clone)]
struct ProtectedPath {
    at: VirtualPath,
    on_host: PathBuf,
    /// The volume's mount point and source.
    volume: (VirtualPath, PathBuf),
    /// The volume's access.
    access: MountAccess,
}

impl ProtectedPath {
    /// Returns the parent directories up to its volume.
    fn above(&self) -> Vec<(VirtualPath, Self)> {
        let (top, source) = &self.volume;
        let mut all = Vec::new();
        let mut here = self.at.parent();
        while let Some(at) = here.filter(|at| at != top && at.is_within(top)) {
            if let Some(rest) = at.strip_prefix(top) {
                let on_host = source.join(rest.relative());
                all.push((at.clone(), Self { at: at.clone(), on_host, ..self.clone() }));
            }
            here = at.parent();
        }
        all
    }

    /// Looks at the file without following links. A canonical path has none, unless another process inserts one.
    fn look(&self, opened: &[OpenMount]) -> Result<Looked> {
        let volume = opened.iter().find(|open| *open.at() == self.volume.0);
        let below = self.at.strip_prefix(&self.volume.0);
        let looked = volume.zip(below).and_then(|(volume, below)| volume.look_below(&below).ok());
        looked.ok_or_else(|| moved(&self.at))
    }
}

fn moved(at: &VirtualPath) -> Error {
    Error::new(ErrorKind::Moved, format!("`{at}` was replaced during the check"))
        .hint("another process changes these files: stop it, then try again")
}

/// Returns where a path is on the host, by the volume that shows it; `None` when it does not exist, or is a volume
/// itself.
fn found(shown: &[Shown], place: &VirtualPath) -> Option<ProtectedPath> {
    let volume = shown.iter().filter(|shown| place.is_within(&shown.at)).max_by_key(|shown| shown.at.depth())?;
    let source = volume.source.canonicalize().ok()?;
    let typed = source.join(place.strip_prefix(&volume.at)?.relative());
    let real = typed.canonicalize().ok()?;
    // A link that leads outside of the volume is broken in the container.
    let rest = real.strip_prefix(&source).ok()?;
    let at = in_volume(&volume.at, rest)?;
    Some(ProtectedPath { at, on_host: real, volume: (volume.at.clone(), source), access: volume.access })
}

/// Whether a missing path has a link among its parents. It existed when the policy was evaluated, so it was replaced.
fn is_behind_a_link(shown: &[Shown], place: &VirtualPath) -> bool {
    let volumes = shown.iter().filter(|shown| place.is_within(&shown.at));
    let Some(volume) = volumes.max_by_key(|shown| shown.at.depth()) else { return false };
    let Some(rest) = place.strip_prefix(&volume.at) else { return false };
    let mut here = volume.source.clone();
    let names: Vec<_> = Path::new(rest.relative()).components().collect();
    let above = names.split_last().map(|(_, above)| above).unwrap_or_default();
    above.iter().any(|name| {
        here.push(name);
        here.is_symlink()
    })
}

fn in_volume(at: &VirtualPath, rest: &Path) -> Option<VirtualPath> {
    let rest = rest.to_str()?;
    if rest.is_empty() { Some(at.clone()) } else { VirtualPath::parse(rest).ok().map(|rest| rest.below(at)) }
}

impl Cover {
    fn mount(&self, at: &VirtualPath) -> Mount {
        let (typ, source, volume_options) = match self {
            Self::ReadOnly(on_host) | Self::Held(on_host) => (MountType::BIND, on_host.display().to_string(), None),
            Self::NoFile => (MountType::BIND, "/dev/null".to_owned(), None),
            Self::NoDirectory => {
                let labels = Some(labels::of([]));
                let options = MountVolumeOptions { no_copy: Some(true), labels, ..MountVolumeOptions::default() };
                (MountType::VOLUME, NOTHING.to_owned(), Some(options))
            }
        };
        Mount {
            typ: Some(typ),
            source: Some(source),
            target: Some(at.as_str().to_owned()),
            read_only: Some(!matches!(self, Self::Held(_))),
            volume_options,
            ..Mount::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::docker::volumes::VolumeSource;

    fn path(text: &str) -> VirtualPath {
        VirtualPath::parse(text).unwrap()
    }

    fn volume(source: &Path, at: &str, access: MountAccess) -> Volume {
        Volume { source: VolumeSource::Host(source.to_owned()), at: at.to_owned(), access }
    }

    /// Lists the covers: `ro` and `rw` for paths over themselves.
    fn mounted(covers: &ProtectedPaths, volumes: &[Volume]) -> Vec<String> {
        let shown = shown_files(volumes);
        let opened = open_mounts(&shown).unwrap();
        let covers = covers.covers(&shown, &opened, &covers.read_only(&shown).0).unwrap();
        let told = covers.iter().map(|(at, (cover, _))| match cover {
            Cover::ReadOnly(_) => format!("{at} ro"),
            Cover::Held(_) => format!("{at} rw"),
            Cover::NoFile => format!("{at} no file"),
            Cover::NoDirectory => format!("{at} no directory"),
        });
        told.collect()
    }

    #[test]
    fn masks_hide_what_is_there_and_hold_what_is_above() {
        let place = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        for directory in ["a/b", "secrets/deep"] {
            std::fs::create_dir_all(place.path().join(directory)).unwrap();
        }
        for file in ["a/b/.env", ".env", "secrets/deep/key", "plain"] {
            std::fs::write(place.path().join(file), "x").unwrap();
        }
        symlink("plain", place.path().join("link")).unwrap();
        symlink(outside.path(), place.path().join("out")).unwrap();
        let masked = ["/workspace/a/b/.env", "/workspace/.env", "/workspace/secrets", "/workspace/secrets/deep/key"];
        let more = ["/workspace/none", "/workspace/link", "/workspace/out", "/elsewhere/x"];
        let covers = ProtectedPaths {
            masked: masked.iter().chain(&more).map(|at| path(at)).collect(),
            ..ProtectedPaths::default()
        };
        let volumes = [volume(place.path(), "/workspace", MountAccess::ReadWrite)];
        assert_eq!(
            mounted(&covers, &volumes),
            [
                "/workspace/.env no file",
                "/workspace/a rw",
                "/workspace/a/b rw",
                "/workspace/a/b/.env no file",
                "/workspace/plain no file",
                "/workspace/secrets no directory"
            ]
        );
    }

    #[test]
    fn what_git_runs_is_read_only_and_nothing_below_what_is_read_only_is_writable() {
        let place = tempfile::tempdir().unwrap();
        for directory in [".git/hooks", "sub", "given/deep"] {
            std::fs::create_dir_all(place.path().join(directory)).unwrap();
        }
        for file in [".git/config", "given/deep/x"] {
            std::fs::write(place.path().join(file), "").unwrap();
        }
        symlink("../.git", place.path().join("sub/.git")).unwrap();
        let volumes = [
            volume(place.path(), "/workspace", MountAccess::ReadWrite),
            volume(place.path(), "/workspace/given/more", MountAccess::ReadWrite),
        ];
        let covers = ProtectedPaths {
            read_only: vec![path("/workspace/given")],
            masked: vec![path("/workspace/given/deep/x")],
            git_files: GitFiles::Writable,
            ..ProtectedPaths::default()
        };
        let fixed = ["/workspace/given ro", "/workspace/given/deep ro", "/workspace/given/deep/x no file"];
        assert_eq!(mounted(&covers, &volumes), fixed);
        let more = covers
            .mounts(&volumes)
            .unwrap()
            .mounts
            .into_iter()
            .find(|mount| mount.target.as_deref() == Some("/workspace/given/more"));
        assert_eq!(more.unwrap().read_only, Some(true));
        assert_eq!(covers.lacking(&volumes), None);

        let git = ProtectedPaths::default();
        let held = ["/workspace/.git rw", "/workspace/.git/config ro", "/workspace/.git/hooks ro"];
        assert_eq!(mounted(&git, &volumes[..1]), held);
        assert!(git.lacking(&volumes[..1]).unwrap().ends_with(": /workspace/sub/.git"));
    }

    #[test]
    fn what_is_mounted_read_only_stays_so_where_something_in_it_is_covered() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        std::fs::write(place.path().join("a/b/.env"), "").unwrap();
        let volumes = [volume(place.path(), "/data", MountAccess::ReadOnly)];
        let covers = ProtectedPaths { masked: vec![path("/data/a/b/.env")], ..ProtectedPaths::default() };
        assert_eq!(mounted(&covers, &volumes), ["/data/a ro", "/data/a/b ro", "/data/a/b/.env no file"]);
    }
}
