//! Groups as a message to another process: what can be written down, and the open files beside it.

use std::{borrow::Cow, os::fd::OwnedFd};

use serde::{Deserialize, Serialize};

use super::{
    Group, Held, Join,
    watch::{Source, Watch},
};

/// What can be written down of the groups of a sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Letter {
    join: Way,
    /// Which numbers are counted, in the order of [`numbers`].
    counted: Vec<Option<Number>>,
    memory: Option<Held>,
    cpus: Option<Held>,
    processes: Option<Held>,
}

/// How a command gets in; the files come first of the enclosed ones.
#[derive(Debug, Serialize, Deserialize)]
enum Way {
    None,
    Tasks(usize),
    CloneInto,
}

#[derive(Debug, Serialize, Deserialize)]
struct Number {
    key: Option<Cow<'static, str>>,
    unit: u64,
}

/// All that can be counted.
fn numbers(watch: &mut Watch) -> [&mut Option<Source>; 6] {
    let Watch { memory, memory_peak, memory_kills, processes, refused_processes, cpu } = watch;
    [memory, memory_peak, memory_kills, processes, refused_processes, cpu]
}

impl Group {
    /// What another process needs of it, which is not its removal.
    pub(crate) fn apart(mut self) -> (Letter, Vec<OwnedFd>) {
        let (join, mut files) = match self.join {
            Join::None => (Way::None, Vec::new()),
            Join::Tasks(files) => (Way::Tasks(files.len()), files),
            Join::CloneInto(directory) => (Way::CloneInto, vec![directory]),
        };
        let counted = numbers(&mut self.watch).map(|source| {
            source.take().map(|source| {
                let (file, key, unit) = source.apart();
                files.push(file);
                Number { key, unit }
            })
        });
        let letter =
            Letter { join, counted: counted.into(), memory: self.memory, cpus: self.cpus, processes: self.processes };
        (letter, files)
    }

    /// The reverse of [`Self::apart`].
    pub(crate) fn together(letter: Letter, files: Vec<OwnedFd>) -> Self {
        let mut files = files.into_iter();
        let join = match letter.join {
            Way::None => Join::None,
            Way::Tasks(count) => Join::Tasks(files.by_ref().take(count).collect()),
            Way::CloneInto => files.next().map_or(Join::None, Join::CloneInto),
        };
        let mut watch = Watch::default();
        for (place, number) in numbers(&mut watch).into_iter().zip(letter.counted) {
            *place = number.and_then(|Number { key, unit }| Some(Source::together(files.next()?, key, unit)));
        }

        Self { join, watch, memory: letter.memory, cpus: letter.cpus, processes: letter.processes, ..Self::default() }
    }
}
