//! What a sandbox has in /etc: of the host's an allow-list that holds no secret, and in place of
//! users, groups and names its own.

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
use workden_core::{Error, sandbox::Network};

use super::{
    detached_mounts::{attach, clone_of_open},
    errors::refused,
    layout::{HOME, HOST_NAME, INSIDE, USER},
    root::NewRoot,
    root_entry::RootEntry,
    sources::SourceKind,
};

/// What of the host's /etc is shown: where libraries are, which program a name means, whom to
/// trust, what time it is, and the tables of numbers.
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

/// Beginnings of names with a version in them: what /usr refers to by links.
const SHOWN_FROM: [&str; 3] = ["java-", "python3", "ImageMagick-"];

/// Deeper places, so that what lies beside them (private keys) is not shown.
const SHOWN_BELOW: [(&[&str], &str); 5] = [
    (&["ssl"], "ssl/certs"),
    (&["ssl"], "ssl/openssl.cnf"),
    (&["pki", "pki/tls"], "pki/tls/certs"),
    (&["pki", "pki/ca-trust"], "pki/ca-trust/extracted"),
    (&["ca-certificates"], "ca-certificates/extracted"),
];

/// Up to here a copy is cheaper than a mount.
const COPIED: u64 = 32 * 1024;

/// Bytes of names that are read at a time.
const ROOM_FOR_NAMES: usize = 8 * 1024;

/// What is to be shown in /etc.
pub(super) enum EtcFiles {
    /// These, beside the synthetic ones.
    Parts(Vec<(String, RootEntry)>),
    /// A whole directory, with the synthetic ones over those of the same name.
    Whole(Option<RootEntry>),
}

/// The host's, as far as it is shown.
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

/// The names in a directory that are of any interest, without room for all the others: of these there
/// are many, and a sandbox for one short command has no time for them.
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

/// What is shown below a directory that is not shown itself.
fn below(above: &str) -> impl Iterator<Item = &'static str> {
    SHOWN_BELOW.iter().filter(move |(on_the_way, _)| on_the_way.first() == Some(&above)).map(|(_, path)| *path)
}

/// Where what is shown of the host's /etc is, without what a sandbox with a root has of its own.
pub(super) fn shown_of_host(etc: &Path) -> Vec<PathBuf> {
    let versioned = fs::read_dir(etc).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        SHOWN_FROM.iter().any(|start| name.starts_with(start))
    };
    let fixed = SHOWN.iter().copied().chain(SHOWN_BELOW.iter().map(|(_, path)| *path)).map(|path| etc.join(path));
    fixed.chain(versioned.filter(named)).collect()
}

/// All of another root's: it is somebody's image, not this machine.
pub(super) fn of_directory(etc: &Path) -> Result<EtcFiles, Error> {
    RootEntry::of(etc).map(EtcFiles::Whole)
}

/// A small file as a copy, when everybody may read it; everything else as it is.
fn copy_or_part(path: &Path) -> Result<Option<RootEntry>, Error> {
    let Ok(there) = fs::symlink_metadata(path) else { return Ok(None) };
    if !there.is_file() || there.len() > COPIED || there.permissions().mode() & 0o004 == 0 {
        return RootEntry::with_metadata(path, &there);
    }
    // There are many of these, and a second read would only say that the first was all.
    let mut content = vec![0; usize::try_from(there.len()).unwrap_or(0)];
    let length = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| read(file, &mut content))
        .map_err(|errno| refused("a file of /etc", errno))?;
    content.truncate(length);
    Ok(Some(RootEntry::Copy(content)))
}

/// How names are looked up: `resolv.conf`.
pub(super) struct NameResolution {
    resolv: Vec<u8>,
}

impl NameResolution {
    /// The host's way with the host's network, none without.
    pub(super) fn of(network: Network) -> Self {
        let resolv = match network {
            Network::None => Vec::new(),
            Network::Host => fs::read("/etc/resolv.conf").unwrap_or_default(),
        };
        Self { resolv }
    }

    /// The files that every sandbox has of its own.
    fn synthetic(&self) -> [(&'static str, Vec<u8>); 7] {
        let passwd = format!(
            "root:x:0:0:root:/root:/usr/sbin/nologin\n{USER}:x:{INSIDE}:{INSIDE}:{USER}:{HOME}:/bin/sh\n\
             nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        );
        let group = format!("root:x:0:\n{USER}:x:{INSIDE}:\nnogroup:x:65534:\n");
        let hosts = format!("127.0.0.1 localhost {HOST_NAME}\n::1 localhost ip6-localhost ip6-loopback\n");
        [
            ("passwd", passwd.into_bytes()),
            ("group", group.into_bytes()),
            ("hosts", hosts.into_bytes()),
            ("hostname", format!("{HOST_NAME}\n").into_bytes()),
            ("resolv.conf", self.resolv.clone()),
            ("nsswitch.conf", b"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n".to_vec()),
            ("machine-id", Vec::new()),
        ]
    }
}

impl EtcFiles {
    /// Shows them in the new root.
    pub(super) fn place(self, root: &NewRoot, names: &NameResolution) -> Result<(), Errno> {
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
                names
                    .synthetic()
                    .into_iter()
                    .try_for_each(|(name, content)| root.file(&format!("etc/{name}"), &content, 0o644))
            }
            Self::Whole(Some(part @ RootEntry::Tree(_, SourceKind::Directory))) => {
                part.place(root, "etc")?;
                root.directory("run/etc")?;
                for (name, content) in names.synthetic() {
                    let place = match root.place(&format!("etc/{name}")) {
                        Ok(place) => place,
                        // Not there, or a link: a link to something of the image's own.
                        Err(Errno::NOENT | Errno::LOOP) => continue,
                        Err(errno) => return Err(errno),
                    };
                    let path = format!("run/etc/{name}");
                    root.file(&path, &content, 0o644)?;
                    attach(clone_of_open(root.place(&path)?)?, place)?;
                }
                Ok(())
            }
            Self::Whole(_) => Self::Parts(Vec::new()).place(root, names),
        }
    }
}
