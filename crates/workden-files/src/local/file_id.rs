//! File identities: device and inode, scrambled with a key of this process, so that they disclose nothing about the
//! host.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hash},
    sync::LazyLock,
};

use rustix::fs::Stat;
use workden_core::FileId;

/// Returns the identity of a file.
pub(super) fn file_id(stat: &Stat) -> FileId {
    scrambled((stat.st_dev, stat.st_ino))
}

/// Returns the identity for a device and an inode.
pub(super) fn scrambled(device_and_inode: impl Hash) -> FileId {
    static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);
    let [high, low] = [0, 1].map(|key| u128::from(KEYS[key].hash_one(&device_and_inode)));
    FileId::from_scrambled(high << 64 | low)
}
