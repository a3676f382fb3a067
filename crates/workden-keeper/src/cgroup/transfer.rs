//! Sends groups to another process: a serialisable part, and the open files beside it.

use std::{borrow::Cow, os::fd::OwnedFd};

use serde::{Deserialize, Serialize};

use super::{
    counters::{Counter, GroupCounters},
    group::{Group, LimitOutcome},
};
use crate::config::CgroupJoin;

/// The serialisable part of the groups of a sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GroupParts {
    join: JoinPart,
    /// The counters that exist, in the order of [`numbers`].
    counted: Vec<Option<CounterPart>>,
    memory: Option<LimitOutcome>,
    cpus: Option<LimitOutcome>,
    processes: Option<LimitOutcome>,
}

/// How a command joins. Its files are the first of the attached ones.
#[derive(Debug, Serialize, Deserialize)]
enum JoinPart {
    None,
    Tasks(usize),
    CloneInto,
}

#[derive(Debug, Serialize, Deserialize)]
struct CounterPart {
    key: Option<Cow<'static, str>>,
    unit: u64,
}

/// All counters, in a fixed order.
fn numbers(watch: &mut GroupCounters) -> [&mut Option<Counter>; 6] {
    let GroupCounters { memory, memory_peak, memory_kills, processes, refused_processes, cpu } = watch;
    [memory, memory_peak, memory_kills, processes, refused_processes, cpu]
}

impl Group {
    /// Splits the group into what another process needs. The duty to remove it stays here.
    pub(crate) fn into_parts(mut self) -> (GroupParts, Vec<OwnedFd>) {
        let (join, mut files) = match self.join {
            CgroupJoin::None => (JoinPart::None, Vec::new()),
            CgroupJoin::Tasks(files) => (JoinPart::Tasks(files.len()), files),
            CgroupJoin::CloneInto(directory) => (JoinPart::CloneInto, vec![directory]),
        };
        let counted = numbers(&mut self.watch).map(|source| {
            source.take().map(|source| {
                let (file, key, unit) = source.into_parts();
                files.push(file);
                CounterPart { key, unit }
            })
        });
        let parts = GroupParts {
            join,
            counted: counted.into(),
            memory: self.memory,
            cpus: self.cpus,
            processes: self.processes,
        };
        (parts, files)
    }

    /// Builds the group from the parts of [`Self::into_parts`].
    pub(crate) fn from_parts(parts: GroupParts, files: Vec<OwnedFd>) -> Self {
        let mut files = files.into_iter();
        let join = match parts.join {
            JoinPart::None => CgroupJoin::None,
            JoinPart::Tasks(count) => CgroupJoin::Tasks(files.by_ref().take(count).collect()),
            JoinPart::CloneInto => files.next().map_or(CgroupJoin::None, CgroupJoin::CloneInto),
        };
        let mut watch = GroupCounters::default();
        for (place, number) in numbers(&mut watch).into_iter().zip(parts.counted) {
            *place = number.and_then(|CounterPart { key, unit }| Some(Counter::from_parts(files.next()?, key, unit)));
        }

        Self { join, watch, memory: parts.memory, cpus: parts.cpus, processes: parts.processes, ..Self::default() }
    }
}
