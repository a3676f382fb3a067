//! `PerProcess`: a value that a forked child makes anew.
//!
//! Servers fork workers after they have imported everything. A child has one thread, and the sockets it
//! inherits are those of its parent's sandboxes: whatever has threads or connections belongs to the
//! process that made it, and is neither used nor dropped by another.

use std::{mem::ManuallyDrop, process, sync::OnceLock};

use workden_core::{Error, ErrorKind, Result};

/// How deep processes may fork one another and each have a value of their own.
const GENERATIONS: usize = 16;

/// One value for each process that asks. There is no lock that a fork could leave locked behind: a place
/// is only ever filled with a value that is finished.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    made: [OnceLock<Made<T>>; GENERATIONS],
}

#[derive(Debug)]
struct Made<T> {
    process: u32,
    value: ManuallyDrop<T>,
}

impl<T> PerProcess<T> {
    /// Nothing yet, in any process.
    pub(crate) const fn new() -> Self {
        Self { made: [const { OnceLock::new() }; GENERATIONS] }
    }

    /// That of this process, if it has made one.
    pub(crate) fn get(&self) -> Option<&T> {
        let process = process::id();
        let own = |made: &&Made<T>| made.process == process;
        self.made.iter().map_while(OnceLock::get).find(own).map(|made| &*made.value)
    }

    /// That of this process, made now if it has none.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let mut made = Made { process: process::id(), value: ManuallyDrop::new(make()?) };
        for place in &self.made {
            match place.set(made) {
                // Another thread may have been quicker: then that one is everybody's.
                Ok(()) => return self.get().ok_or_else(too_deep),
                Err(back) if place.get().is_some_and(|there| there.process == back.process) => {
                    drop(ManuallyDrop::into_inner(back.value));
                    return self.get().ok_or_else(too_deep);
                }
                Err(back) => made = back,
            }
        }
        Err(too_deep())
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let process = process::id();
        for place in &mut self.made {
            if let Some(Made { process: of, value }) = place.take()
                && of == process
            {
                drop(ManuallyDrop::into_inner(value));
            }
        }
    }
}

fn too_deep() -> Error {
    Error::new(ErrorKind::Unsupported, format!("this process is a fork of more than {GENERATIONS} others"))
        .hint("start a process anew instead of forking once more")
}
