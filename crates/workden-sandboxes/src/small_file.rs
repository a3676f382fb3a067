//! Reads small files that commands may have put there: without following a link, without waiting, and only as much as
//! such a file can need.

use std::{
    fs::File,
    io::{Read, Result},
    path::Path,
};

use rustix::fs::{Mode, OFlags, open};

/// Returns the text of a regular file, or of its first `most` bytes.
///
/// # Errors
///
/// When the file does not exist, is a link or not a regular file, or is not UTF-8.
pub(crate) fn read(path: &Path, most: u64) -> Result<String> {
    // Without waiting: a FIFO would block, and a terminal would become ours.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut content = String::new();
    file.take(most).read_to_string(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_the_beginning_of_a_regular_file_is_read() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "0123456789").unwrap();
        symlink("file", place.path().join("link")).unwrap();
        symlink("/dev/zero", place.path().join("endless")).unwrap();
        let fifo = place.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let read = |name: &str| read(&place.path().join(name), 4).ok();
        assert_eq!(read("file").as_deref(), Some("0123"));
        for name in ["link", "endless", "fifo", "missing", "."] {
            assert_eq!(read(name), None, "{name}");
        }
    }
}
