//! The memory of processes, as the kernel counts it.
//!
//! A process that ends during the measurement counts as zero.

use std::{
    collections::HashMap,
    fs, io,
    ops::{AddAssign, Div},
    path::Path,
};

use crate::Failure;

/// Bytes of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// Resident memory; shared pages count for each process.
    pub(crate) resident: u64,
    /// Memory without a file behind it.
    pub(crate) anonymous: u64,
    /// Resident memory, with shared pages divided among their processes.
    pub(crate) proportional: u64,
}

impl AddAssign for Held {
    fn add_assign(&mut self, other: Self) {
        self.resident += other.resident;
        self.anonymous += other.anonymous;
        self.proportional += other.proportional;
    }
}

impl Div<u64> for Held {
    type Output = Self;

    fn div(self, by: u64) -> Self {
        Self { resident: self.resident / by, anonymous: self.anonymous / by, proportional: self.proportional / by }
    }
}

/// The memory of a process and all its descendants.
pub(crate) fn of_family(ancestor: u32) -> Result<Held, Failure> {
    let mut held = of_process(ancestor)?;
    held += of_descendants(ancestor)?;
    Ok(held)
}

/// The memory of all descendants of a process.
pub(crate) fn of_descendants(ancestor: u32) -> Result<Held, Failure> {
    let mut held = Held::default();
    for process in descendants(ancestor)? {
        held += of_process(process)?;
    }
    Ok(held)
}

/// The peak memory of the processes of one program, by sampling.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    /// The high-water mark of each process. Their sum is an upper bound, since the peaks differ in time.
    marks: HashMap<u32, u64>,
    proportional: u64,
}

impl Peak {
    /// Samples a process and its descendants that run `program`.
    pub(crate) fn look(&mut self, ancestor: u32, program: &Path) -> Result<(), Failure> {
        let mut proportional = 0;
        for process in [vec![ancestor], descendants(ancestor)?].concat() {
            if !fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|running| running == program) {
                continue;
            }
            let mark = self.marks.entry(process).or_default();
            *mark = (*mark).max(field(process, "status", "VmHWM:")?);
            proportional += of_process(process)?.proportional;
        }
        self.proportional = self.proportional.max(proportional);
        Ok(())
    }

    /// The sum of the peaks of each process.
    pub(crate) fn marks(&self) -> u64 {
        self.marks.values().sum()
    }

    /// The peak of all processes together.
    pub(crate) fn proportional(&self) -> u64 {
        self.proportional
    }

    /// The number of processes seen.
    pub(crate) fn processes(&self) -> usize {
        self.marks.len()
    }
}

/// The memory of one process.
pub(crate) fn of_process(process: u32) -> Result<Held, Failure> {
    let field = |name| field(process, "smaps_rollup", name);
    Ok(Held { resident: field("Rss:")?, anonymous: field("Anonymous:")?, proportional: field("Pss:")? })
}

fn descendants(ancestor: u32) -> Result<Vec<u32>, Failure> {
    let mut all = children(ancestor)?;
    let mut at = 0;
    while let Some(process) = all.get(at).copied() {
        all.extend(children(process)?);
        at += 1;
    }
    Ok(all)
}

fn children(of: u32) -> Result<Vec<u32>, Failure> {
    let mut all = Vec::new();
    let Some(tasks) = there(fs::read_dir(format!("/proc/{of}/task")))? else { return Ok(all) };
    for task in tasks {
        let Some(task) = there(task)? else { continue };
        for word in there(fs::read_to_string(task.path().join("children")))?.unwrap_or_default().split_whitespace() {
            all.push(word.parse()?);
        }
    }
    Ok(all)
}

/// Reads a number of kibibytes from a file of the process, as bytes.
fn field(process: u32, file: &str, name: &str) -> Result<u64, Failure> {
    let Some(text) = there(fs::read_to_string(format!("/proc/{process}/{file}")))? else { return Ok(0) };
    // A zombie process still has the file, but no memory.
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(Ok(0), |line| Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024))
}

/// Returns `None` if the process has ended.
fn there<T>(looked: io::Result<T>) -> Result<Option<T>, Failure> {
    const NO_SUCH_PROCESS: i32 = 3;
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS) => {
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(format!("cannot see the memory of a process: {error}\nhint: sandboxes show theirs to root alone")
                .into())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        process::{Child, Command, Stdio},
    };

    use super::*;

    /// A program that has started and waits for the end of its input, so its memory does not change.
    fn waiting(program: &[&str]) -> Child {
        let mut command = Command::new(program[0]);
        let mut child = command.args(&program[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    #[test]
    fn the_memory_of_a_child_is_seen_and_that_of_one_that_has_gone_is_none() {
        // A shell with a child, and not this process: other tests start and end its children.
        let mut child = waiting(&["sh", "-c", "cat; :"]);
        let held = of_process(child.id()).unwrap();
        assert!(held.resident > 0 && held.proportional > 0 && held.proportional <= held.resident, "{held:?}");
        let (family, below) = (of_family(child.id()).unwrap(), of_descendants(child.id()).unwrap());
        assert!(family.resident > below.resident && below.resident > 0, "{family:?} {below:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(of_process(child.id()).unwrap().resident, 0);
    }

    #[test]
    fn a_peak_counts_one_program_and_forgets_nothing() {
        let mut child = waiting(&["cat"]);
        let program = fs::read_link(format!("/proc/{}/exe", child.id())).unwrap();
        let mut peak = Peak::default();
        peak.look(child.id(), Path::new("/another")).unwrap();
        assert_eq!((peak.processes(), peak.marks()), (0, 0));
        peak.look(child.id(), &program).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        peak.look(child.id(), &program).unwrap();
        assert!(peak.processes() == 1 && peak.marks() >= peak.proportional() && peak.proportional() > 0, "{peak:?}");
    }
}
