//! `ContainerKeepers`: the static keepers for containers and pods, one for each architecture.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use workden_core::{Error, ErrorKind, Result};

use crate::HostEnvironment;

/// The variable with the path of a keeper for containers.
const VARIABLE: &str = "WORKDEN_KEEPER";

/// The keepers for containers. An image may have no shared libraries, so these are static: `workden-keeper` as `cargo
/// xtask keeper` builds it, or the released `workden`.
#[derive(Clone, Debug, Default)]
pub struct ContainerKeepers {
    files: Vec<PathBuf>,
    known: Arc<Mutex<Vec<KeeperFile>>>,
}

/// A keeper in memory.
#[derive(Clone)]
pub(crate) struct KeeperFile {
    pub(crate) architecture: &'static str,
    pub(crate) content: Bytes,
    /// Its SHA-256, as hexadecimal digits.
    pub(crate) hash: String,
}

impl fmt::Debug for KeeperFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeeperFile({}, {})", self.architecture, self.hash)
    }
}

impl KeeperFile {
    /// Returns the architecture as `uname -m` prints it.
    #[cfg(any(feature = "kubernetes", feature = "daytona"))]
    pub(crate) fn machine(&self) -> &'static str {
        if self.architecture == "arm64" { "aarch64" } else { "x86_64" }
    }
}

impl ContainerKeepers {
    /// Uses the keeper in this file.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self { files: vec![file.into()], ..Self::default() }
    }

    /// Adds a keeper for another architecture.
    #[must_use]
    pub fn and(mut self, file: impl Into<PathBuf>) -> Self {
        self.files.push(file.into());
        self
    }

    /// Finds keepers: the file that `WORKDEN_KEEPER` names; the program itself, if it is static and supports the
    /// argument `keeper` as `workden` does; and `workden-keeper-ARCHITECTURE` beside it, in `../lib/workden`, or
    /// where `cargo xtask keeper` puts it.
    #[must_use]
    pub fn found(host: &HostEnvironment, program: &Path) -> Self {
        let named = host.variable(VARIABLE).map(PathBuf::from);
        let mut files: Vec<PathBuf> = named.into_iter().collect();
        files.push(program.to_owned());
        let beside = program.canonicalize().ok().and_then(|program| Some(program.parent()?.to_owned()));
        if let Some(directory) = beside {
            for place in [directory.clone(), directory.join("../lib/workden"), directory.join("../keepers")] {
                files.extend(ARCHITECTURES.map(|(_, name)| place.join(format!("workden-keeper-{name}"))));
            }
        }
        Self { files, ..Self::default() }
    }

    /// Reads the keeper for an image of this architecture on a blocking thread.
    pub(crate) async fn read(&self, architecture: &str) -> Result<KeeperFile> {
        let (keepers, architecture) = (self.clone(), architecture.to_owned());
        let read = tokio::task::spawn_blocking(move || keepers.for_architecture(&architecture)).await;
        read.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "reading the keeper was interrupted")))
    }

    /// Reads the keepers of all architectures that there are.
    ///
    /// # Errors
    ///
    /// When there is none.
    #[cfg(any(feature = "kubernetes", feature = "daytona"))]
    pub(crate) async fn read_all(&self) -> Result<Vec<KeeperFile>> {
        let (mut all, mut why) = (Vec::new(), None);
        for (_, architecture) in ARCHITECTURES {
            match self.read(architecture).await {
                Ok(keeper) => all.push(keeper),
                Err(error) => why = why.or(Some(error)),
            }
        }
        match why {
            Some(error) if all.is_empty() => Err(error),
            _ => Ok(all),
        }
    }

    /// Returns the keeper for an image of this architecture, in the daemon's spelling.
    fn for_architecture(&self, architecture: &str) -> Result<KeeperFile> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = known.iter().find(|file| file.architecture == architecture) {
            return Ok(file.clone());
        }
        let mut others = Vec::new();
        for path in &self.files {
            match is_for(path) {
                Some(name) if name == architecture => {
                    let content = fs::read(path).map_err(|error| unreadable(path, &error))?;
                    let hash = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
                    let file = KeeperFile { architecture: name, content: content.into(), hash };
                    known.push(file.clone());
                    return Ok(file);
                }
                Some(other) => others.push(other),
                None => {}
            }
        }
        Err(missing(architecture, &others))
    }
}

/// Architectures in ELF files, and in the daemon's spelling.
const ARCHITECTURES: [(u16, &str); 2] = [(0x3e, "amd64"), (0xb7, "arm64")];

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot read the keeper `{}`: {}", path.display(), error.kind()))
}

fn missing(architecture: &str, others: &[&str]) -> Error {
    let there = match others {
        [] => "none is installed".to_owned(),
        others => format!("found one for {}", others.join(" and ")),
    };
    let sentence = format!("keeper for a container of `{architecture}` not found: {there}");
    Error::new(ErrorKind::NotFound, sentence).hint(format!(
        "a keeper for containers is a static program: build it with `cargo xtask keeper`, and set \
         {VARIABLE}=FILE, or use `.keepers(ContainerKeepers::at(FILE))`"
    ))
}

/// Returns the architecture of a static program; `None` for any other file. Reads only the head of the file.
fn is_for(path: &Path) -> Option<&'static str> {
    const LOADER: u64 = 3;
    let mut head = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(fs::File::open(path).ok()?, 4096), &mut head).ok()?;
    let number = |at: u64, bytes: usize| -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let found = head.get(at..at.checked_add(bytes)?)?;
        Some(found.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    };
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        if number(first.checked_add(index.checked_mul(size)?)?, 4)? == LOADER {
            return None;
        }
    }
    let machine = number(18, 2)?;
    ARCHITECTURES.iter().find(|(code, _)| u64::from(*code) == machine).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the head of a static program.
    fn elf(machine: u8) -> Vec<u8> {
        let mut head = vec![0; 64 + 56];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[18], head[32], head[54], head[56], head[64]) = (machine, 64, 56, 1, 1);
        head
    }

    #[test]
    fn the_keeper_of_the_architecture_is_taken_and_a_missing_one_is_said() {
        let place = tempfile::tempdir().unwrap();
        let (amd, arm) = (place.path().join("a"), place.path().join("b"));
        fs::write(&amd, elf(0x3e)).unwrap();
        fs::write(&arm, elf(0xb7)).unwrap();
        let both = ContainerKeepers::at(&amd).and(&arm);
        assert_eq!(both.for_architecture("arm64").unwrap().content, elf(0xb7));
        assert_ne!(both.for_architecture("amd64").unwrap().hash, both.for_architecture("arm64").unwrap().hash);
        let error = ContainerKeepers::at(&amd).for_architecture("arm64").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.sentence().contains("arm64") && error.sentence().contains("amd64"), "{error}");
    }

    #[test]
    fn what_needs_a_loader_or_is_no_program_is_no_keeper() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        let mut dynamic = elf(0x3e);
        dynamic[64] = 3;
        for content in [dynamic, b"#!/bin/sh\n".to_vec(), elf(0x3e)[..40].to_vec(), elf(0x08), Vec::new()] {
            fs::write(&file, content).unwrap();
            assert_eq!(is_for(&file), None);
        }
        assert_eq!(is_for(&place.path().join("missing")), None);
    }

    #[test]
    fn a_keeper_is_found_beside_the_program() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("bin/workden");
        fs::create_dir_all(place.path().join("bin")).unwrap();
        fs::create_dir_all(place.path().join("lib/workden")).unwrap();
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::write(place.path().join("lib/workden/workden-keeper-amd64"), elf(0x3e)).unwrap();
        let found = ContainerKeepers::found(&HostEnvironment::default(), &program);
        assert_eq!(found.for_architecture("amd64").unwrap().content, elf(0x3e));
    }
}
