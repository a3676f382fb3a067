//! Places in a container that commands may not change, or not even read, whatever is mounted there: mounts over
//! them, which only the daemon can take away.
//!
//! Invariant: what is covered exists when the container is made, and stays where it is: the directories on the way
//! to it are mounts as well, which nobody can move or remove. A link is followed, inside of what is mounted only.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use bollard::models::{Mount, MountType, MountVolumeOptions};
use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{Mount as Shown, MountAccess},
};

use super::{
    labels,
    plan::{Volume, VolumeSource},
};
use crate::{GitFiles, linux::hold_what_runs_outside};

/// The volume that covers directories: empty, and read-only wherever it is. Memory would be no cover with Podman,
/// which copies what was there into it.
pub(super) const NOTHING: &str = "workden-nothing";

/// What is covered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Covers {
    pub(crate) masked: Vec<VirtualPath>,
    pub(crate) read_only: Vec<VirtualPath>,
    pub(crate) git_files: GitFiles,
}

/// What is mounted over a place.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cover {
    /// Itself, to be read and not changed.
    ReadOnly(PathBuf),
    /// Itself, so that it stays where it is.
    Held(PathBuf),
    /// A file without content.
    NoFile,
    /// A directory without anything in it.
    NoDirectory,
}

/// The files of the host that commands will be shown, and where.
pub(super) fn shown_files(volumes: &[Volume]) -> Vec<Shown> {
    let shown = |volume: &Volume| match (&volume.source, VirtualPath::parse(&volume.at)) {
        (VolumeSource::Host(source), Ok(at)) => Some(Shown { source: source.clone(), at, access: volume.access }),
        _ => None,
    };
    volumes.iter().filter_map(shown).collect()
}

impl Covers {
    /// The mounts of these volumes, and those that cover what is in them.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a name that a daemon would take for something else.
    pub(super) fn mounts(&self, volumes: &[Volume]) -> Result<Vec<Mount>> {
        let shown = shown_files(volumes);
        let (read_only, _) = self.read_only(&shown);
        let is_read_only = |at: &VirtualPath| read_only.iter().any(|place| at.is_within(place));
        let volumes = volumes.iter().map(|volume| {
            let below = VirtualPath::parse(&volume.at).is_ok_and(|at| is_read_only(&at));
            if below { Volume { access: MountAccess::ReadOnly, ..volume.clone() } } else { volume.clone() }
        });
        let volumes: Vec<Mount> = volumes.map(|volume| volume.mount()).collect();
        let covers = self.covers(&shown, &read_only);
        let misunderstood = covers.keys().find(|at| at.as_str().contains([',', '"', '\n']));
        if let Some(at) = misunderstood {
            // Podman reads mounts as a list with commas, in which a name could be an option.
            let sentence = format!("`{}` cannot be covered in a container", at.as_str().escape_debug());
            return Err(Error::new(ErrorKind::Unsupported, sentence)
                .hint("its name has a comma, a quote or a line break: rename it, or leave it out of what is mounted"));
        }
        Ok(volumes.into_iter().chain(covers.into_iter().map(|(at, cover)| cover.mount(&at))).collect())
    }

    /// What cannot be held in a container: links to git directories, where nothing can be mounted.
    pub(super) fn lacking(&self, volumes: &[Volume]) -> Option<String> {
        let (_, links) = self.read_only(&shown_files(volumes));
        let names: Vec<&str> = links.iter().map(VirtualPath::as_str).collect();
        let sentence = || format!("commands can replace links to git directories: {}", names.join(", "));
        (!names.is_empty()).then(sentence)
    }

    /// All places that are to be read-only, and links to git directories.
    fn read_only(&self, shown: &[Shown]) -> (Vec<VirtualPath>, Vec<VirtualPath>) {
        let (mut places, mut links) = (self.read_only.clone(), Vec::new());
        if self.git_files == GitFiles::Protected {
            for shown in shown.iter().filter(|shown| shown.access == MountAccess::ReadWrite) {
                hold_what_runs_outside(shown, &mut places, &mut links);
            }
        }
        (places, links)
    }

    fn covers(&self, shown: &[Shown], read_only: &[VirtualPath]) -> BTreeMap<VirtualPath, Cover> {
        let mut all = BTreeMap::new();
        let mut held = BTreeSet::new();
        for place in read_only.iter().filter_map(|place| found(shown, place)) {
            held.extend(place.above());
            all.insert(place.at, Cover::ReadOnly(place.on_host));
        }
        for place in self.masked.iter().filter_map(|place| found(shown, place)) {
            held.extend(place.above());
            let cover = if place.on_host.is_dir() { Cover::NoDirectory } else { Cover::NoFile };
            all.insert(place.at, cover);
        }
        for (at, on_host) in held {
            let fixed = all.iter().any(|(place, cover)| matches!(cover, Cover::ReadOnly(_)) && at.is_within(place));
            let cover = if fixed { Cover::ReadOnly(on_host) } else { Cover::Held(on_host) };
            all.entry(at).or_insert(cover);
        }
        // Below nothing there is nothing to cover, nor a place to mount it.
        let empty: Vec<VirtualPath> =
            all.iter().filter(|(_, cover)| **cover == Cover::NoDirectory).map(|(at, _)| at.clone()).collect();
        all.retain(|at, _| !empty.iter().any(|place| at != place && at.is_within(place)));
        all
    }
}

/// A place in what is mounted, where it really is.
struct Found {
    at: VirtualPath,
    on_host: PathBuf,
    /// The volume that it is in: where, and what.
    volume: (VirtualPath, PathBuf),
}

impl Found {
    /// The directories on the way to it, below its volume.
    fn above(&self) -> Vec<(VirtualPath, PathBuf)> {
        let (top, source) = &self.volume;
        let mut all = Vec::new();
        let mut here = self.at.parent();
        while let Some(at) = here.filter(|at| at != top && at.is_within(top)) {
            if let Some(rest) = at.strip_prefix(top) {
                all.push((at.clone(), source.join(rest.relative())));
            }
            here = at.parent();
        }
        all
    }
}

/// Where a place is on the host, by the volume that shows it; `None` when it is not there, or is a volume itself.
fn found(shown: &[Shown], place: &VirtualPath) -> Option<Found> {
    let volume = shown.iter().filter(|shown| place.is_within(&shown.at)).max_by_key(|shown| shown.at.depth())?;
    let source = volume.source.canonicalize().ok()?;
    let typed = source.join(place.strip_prefix(&volume.at)?.relative());
    let real = typed.canonicalize().ok()?;
    // What a link leads to outside is not in the container.
    let rest = real.strip_prefix(&source).ok()?;
    let at = in_volume(&volume.at, rest)?;
    Some(Found { at, on_host: real.clone(), volume: (volume.at.clone(), source) })
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

    fn path(text: &str) -> VirtualPath {
        VirtualPath::parse(text).unwrap()
    }

    fn volume(source: &Path, at: &str, access: MountAccess) -> Volume {
        Volume { source: VolumeSource::Host(source.to_owned()), at: at.to_owned(), access }
    }

    /// What is mounted where: `ro` and `rw` for places over themselves.
    fn mounted(covers: &Covers, volumes: &[Volume]) -> Vec<String> {
        let shown = shown_files(volumes);
        let covers = covers.covers(&shown, &covers.read_only(&shown).0);
        let told = covers.iter().map(|(at, cover)| match cover {
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
        let covers = Covers { masked: masked.iter().chain(&more).map(|at| path(at)).collect(), ..Covers::default() };
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
        let covers = Covers {
            read_only: vec![path("/workspace/given")],
            masked: vec![path("/workspace/given/deep/x")],
            git_files: GitFiles::Writable,
        };
        let fixed = ["/workspace/given ro", "/workspace/given/deep ro", "/workspace/given/deep/x no file"];
        assert_eq!(mounted(&covers, &volumes), fixed);
        let more = covers
            .mounts(&volumes)
            .unwrap()
            .into_iter()
            .find(|mount| mount.target.as_deref() == Some("/workspace/given/more"));
        assert_eq!(more.unwrap().read_only, Some(true));
        assert_eq!(covers.lacking(&volumes), None);

        let git = Covers::default();
        let held = ["/workspace/.git rw", "/workspace/.git/config ro", "/workspace/.git/hooks ro"];
        assert_eq!(mounted(&git, &volumes[..1]), held);
        assert!(git.lacking(&volumes[..1]).unwrap().ends_with(": /workspace/sub/.git"));
    }
}
