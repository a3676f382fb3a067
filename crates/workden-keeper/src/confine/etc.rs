//! The /etc of a sandbox: an allow-list of the host's files without secrets, and synthetic users, groups and names.

use std::{
    fs,
    mem::MaybeUninit,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, RawDir, openat},
    io::{Errno, read},
};
use workden_core::{
    Error,
    sandbox::{Confinement, Network},
};

use super::{
    detached_mounts::{attach, clone_of_open},
    errors::refused,
    layout::{HOME, HOST_NAME, INSIDE, USER},
    root::NewRoot,
    root_entry::RootEntry,
    sources::SourceKind,
};

/// The files of the host's /etc that are shown: library paths, alternatives, certificates, time zone, and number
/// tables.
const SHOWN: [&str; 15] = [
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "timezone",
    "protocols",
    "services",
    "mime.types",
    "os-release",
    "debian_version",
    "bash.bashrc",
    "profile",
    "fonts",
    "perl",
];

/// Prefixes of versioned names that links in /usr refer to.
const SHOWN_FROM: [&str; 3] = ["java-", "python3", "ImageMagick-"];

/// Nested paths, shown without their siblings (private keys).
const SHOWN_BELOW: [(&[&str], &str); 5] = [
    (&["ssl"], "ssl/certs"),
    (&["ssl"], "ssl/openssl.cnf"),
    (&["pki", "pki/tls"], "pki/tls/certs"),
    (&["pki", "pki/ca-trust"], "pki/ca-trust/extracted"),
    (&["ca-certificates"], "ca-certificates/extracted"),
];

/// Up to this size a copy is cheaper than a mount.
const COPIED: u64 = 32 * 1024;

/// Bytes of directory entries that are read at a time.
const ROOM_FOR_NAMES: usize = 8 * 1024;

/// The content of /etc.
pub(super) enum EtcFiles {
    /// These entries, beside the synthetic files.
    Parts(Vec<(String, RootEntry)>),
    /// A whole directory, with synthetic files over those of the same name.
    Whole(Option<RootEntry>),
}

/// Gathers the entries of the host's /etc that are shown.
pub(super) fn of_host(etc: &Path) -> Result<EtcFiles, Error> {
    let mut parts = Vec::new();
    let mut show = |path: &str| -> Result<(), Error> {
        parts.extend(copy_or_part(&etc.join(path))?.map(|part| (format!("etc/{path}"), part)));
        Ok(())
    };
    for name in names_in(etc) {
        match name.as_str() {
            shown if is_shown(shown) => show(shown)?,
            above => below(above).try_for_each(&mut show)?,
        }
    }
    Ok(EtcFiles::Parts(parts))
}

/// Returns the names in a directory that matter here. Allocating all names would take too long for a sandbox that
/// runs one short command.
fn names_in(etc: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut room = [MaybeUninit::uninit(); ROOM_FOR_NAMES];
    let Ok(directory) = openat(CWD, etc, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else {
        return names;
    };
    let mut entries = RawDir::new(directory, &mut room);
    while let Some(Ok(entry)) = entries.next() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if is_shown(name) || below(name).next().is_some() {
            names.push(name.to_owned());
        }
    }
    names
}

fn is_shown(name: &str) -> bool {
    SHOWN.contains(&name) || SHOWN_FROM.iter().any(|start| name.starts_with(start))
}

/// Returns the paths shown below a directory that is not shown itself.
fn below(above: &str) -> impl Iterator<Item = &'static str> {
    SHOWN_BELOW.iter().filter(move |(on_the_way, _)| on_the_way.first() == Some(&above)).map(|(_, path)| *path)
}

/// Returns the paths of the host's /etc that are shown, without those that are synthetic in a sandbox with its own
/// root.
pub(super) fn shown_of_host(etc: &Path) -> Vec<PathBuf> {
    let versioned = fs::read_dir(etc).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        SHOWN_FROM.iter().any(|start| name.starts_with(start))
    };
    let fixed = SHOWN.iter().copied().chain(SHOWN_BELOW.iter().map(|(_, path)| *path)).map(|path| etc.join(path));
    fixed.chain(versioned.filter(named)).collect()
}

/// Gathers the whole /etc of another root: an image has no secrets of this machine.
pub(super) fn of_directory(etc: &Path) -> Result<EtcFiles, Error> {
    RootEntry::of(etc).map(EtcFiles::Whole)
}

/// Returns a small world-readable file as a copy, and anything else as an entry.
fn copy_or_part(path: &Path) -> Result<Option<RootEntry>, Error> {
    let Ok(there) = fs::symlink_metadata(path) else { return Ok(None) };
    if !there.is_file() || there.len() > COPIED || there.permissions().mode() & 0o004 == 0 {
        return RootEntry::with_metadata(path, &there);
    }
    // One read is enough: the size is known, and there are many of these files.
    let mut content = vec![0; usize::try_from(there.len()).unwrap_or(0)];
    let length = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| read(file, &mut content))
        .map_err(|errno| refused("read a file of /etc", errno))?;
    content.truncate(length);
    Ok(Some(RootEntry::Copy(content)))
}

/// Synthetic files that differ between sandboxes.
pub(super) struct SyntheticFiles {
    resolv: Vec<u8>,
    /// The configuration of git, if there is an identity.
    git: Option<Vec<u8>>,
}

impl SyntheticFiles {
    /// Returns the host's name resolution for the host's network, and an empty one for none; and the identity for git.
    pub(super) fn of(confinement: &Confinement) -> Self {
        let resolv = match confinement.network {
            Network::None => Vec::new(),
            Network::Host => fs::read("/etc/resolv.conf").unwrap_or_default(),
        };
        let git = confinement.git_identity.as_ref().map(|identity| identity.config_text().into_bytes());
        Self { resolv, git }
    }

    /// Returns all synthetic files.
    fn all(&self) -> impl Iterator<Item = (&'static str, Vec<u8>)> {
        let passwd = format!(
            "root:x:0:0:root:/root:/usr/sbin/nologin\n{USER}:x:{INSIDE}:{INSIDE}:{USER}:{HOME}:/bin/sh\n\
             nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        );
        let group = format!("root:x:0:\n{USER}:x:{INSIDE}:\nnogroup:x:65534:\n");
        let hosts = format!("127.0.0.1 localhost {HOST_NAME}\n::1 localhost ip6-localhost ip6-loopback\n");
        let of_all = [
            ("passwd", passwd.into_bytes()),
            ("group", group.into_bytes()),
            ("hosts", hosts.into_bytes()),
            ("hostname", format!("{HOST_NAME}\n").into_bytes()),
            ("resolv.conf", self.resolv.clone()),
            ("nsswitch.conf", b"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n".to_vec()),
            ("machine-id", Vec::new()),
        ];
        of_all.into_iter().chain(self.git.clone().map(|text| ("gitconfig", text)))
    }
}

impl EtcFiles {
    /// Puts the entries into the new root.
    pub(super) fn place(self, root: &NewRoot, files: &SyntheticFiles) -> Result<(), Errno> {
        match self {
            Self::Parts(parts) => {
                root.directory("etc")?;
                for (path, part) in parts {
                    let below = SHOWN_BELOW.iter().find(|(_, shown)| path.strip_prefix("etc/") == Some(*shown));
                    for above in below.map(|(above, _)| *above).unwrap_or_default() {
                        match root.directory(&format!("etc/{above}")) {
                            Ok(_) | Err(Errno::EXIST) => {}
                            Err(errno) => return Err(errno),
                        }
                    }
                    part.place(root, &path)?;
                }
                files.all().try_for_each(|(name, content)| root.file(&format!("etc/{name}"), &content, 0o644))
            }
            Self::Whole(Some(part @ RootEntry::Tree(_, SourceKind::Directory))) => {
                part.place(root, "etc")?;
                root.directory("run/etc")?;
                for (name, content) in files.all() {
                    let place = match root.place(&format!("etc/{name}")) {
                        Ok(place) => place,
                        // Missing, or a link into the image.
                        Err(Errno::NOENT | Errno::LOOP) => continue,
                        Err(errno) => return Err(errno),
                    };
                    let path = format!("run/etc/{name}");
                    root.file(&path, &content, 0o644)?;
                    attach(clone_of_open(root.place(&path)?)?, place)?;
                }
                Ok(())
            }
            Self::Whole(_) => Self::Parts(Vec::new()).place(root, files),
        }
    }
}
