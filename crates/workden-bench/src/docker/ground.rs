//! The image of the contenders, on one daemon, with a label of this run. By the label every container
//! made from the image is found and removed, whichever side made it and however the run ended.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::Failure;

/// The image that xtask provides.
const BASE: &str = "workden-test/python:latest";
/// The side that made a container.
const LABEL: &str = "workden.bench";
/// How long a container may take to end.
const GOING: Duration = Duration::from_secs(20);

/// Entries of the listed directory.
pub(super) const ENTRIES: u64 = 100;
/// A tree to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Its path.
    pub(super) name: &'static str,
    /// Its number of files.
    pub(super) files: u64,
}

/// A project of a usual size, where the call dominates the cost of a search.
pub(super) const PROJECT: Tree = Tree { name: "project", files: 200 };
/// A larger one, where opening files dominates, which costs every contender the same.
pub(super) const LARGE_TREE: Tree = Tree { name: "tree", files: 1_000 };
/// Each search finds one in this many files.
const EACH: u64 = 20;

impl Tree {
    /// The number of files that each search finds.
    pub(super) const fn found(self) -> u64 {
        self.files / EACH
    }
}
/// The text of the search by content.
pub(super) const WORD: &str = "zyzzyva";
/// A text that occurs once in the edited file, and its replacement.
pub(super) const EDITED: [&str; 2] = ["the old words", "the new words"];
/// Bytes of a small file.
pub(super) const SMALL: u64 = 4 << 10;

/// The image, which is removed with this value.
pub(super) struct Ground {
    /// The daemon.
    pub(super) host: String,
    /// The image of all containers.
    pub(super) image: String,
    /// The label of the image and of all its containers.
    label: String,
    /// Volumes of workden that existed before.
    volumes: Vec<String>,
}

impl Ground {
    /// Creates the image.
    pub(super) fn prepare(host: String) -> Result<Self, Failure> {
        let name = format!("workden-bench-{}", std::process::id());
        // Listed before this run creates any.
        let volumes = keeper_volumes(&host)?;
        let ground = Self { host, image: name.clone(), label: format!("{LABEL}={name}"), volumes };
        let hint = "hint: `cargo xtask bench docker` provides a daemon and the image";
        ground
            .docker(&["create", "--name", &name, "--label", &ground.label, BASE, "true"])
            .map_err(|failure| format!("cannot create a container of {BASE} on {}: {failure}\n{hint}", ground.host))?;
        ground.docker(&["commit", "--change", &format!("LABEL {}", ground.label), &name, &ground.image])?;
        ground.docker(&["rm", &name])?;
        Ok(ground)
    }

    /// Returns the client for this daemon.
    pub(super) fn client(&self) -> Command {
        client(&self.host)
    }

    /// Returns the output of the client, in lines.
    pub(super) fn docker(&self, arguments: &[&str]) -> Result<Vec<String>, Failure> {
        docker(&self.host, arguments)
    }

    /// Waits until nothing is left of a container, so that the next contender does not pay for its removal.
    pub(super) fn wait_until_gone(&self, id: &str) -> Result<(), Failure> {
        let began = Instant::now();
        while !self.docker(&["ps", "--all", "--quiet", "--filter", &format!("id={id}")])?.is_empty() {
            if began.elapsed() > GOING {
                return Err(format!("removing a container timed out after {} s", GOING.as_secs()).into());
            }
        }
        Ok(())
    }

    /// The host process id of the first process of a container.
    pub(super) fn first_process(&self, id: &str) -> Result<u32, Failure> {
        let said = self.docker(&["inspect", "--format", "{{.State.Pid}}", id])?;
        Ok(said.first().ok_or("docker did not report the process id")?.parse()?)
    }

    fn remove_all(&self) -> Result<(), Failure> {
        let all = self.docker(&["ps", "--all", "--quiet", "--filter", &format!("label={}", self.label)])?;
        for id in &all {
            // It may be ending.
            if self.docker(&["rm", "--force", "--volumes", id]).is_err() {
                self.wait_until_gone(id)?;
            }
        }
        if !self.docker(&["images", "--quiet", &self.image])?.is_empty() {
            self.docker(&["rmi", "--force", &self.image])?;
        }
        for volume in keeper_volumes(&self.host)?.iter().filter(|volume| !self.volumes.contains(volume)) {
            // Another process may use it by now.
            let _ = self.docker(&["volume", "rm", volume]);
        }
        Ok(())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Err(failure) = self.remove_all() {
            eprintln!("cannot remove all containers: {failure}\nhint: docker ps --all --filter label={}", self.label);
        }
    }
}

fn client(host: &str) -> Command {
    let mut command = Command::new("docker");
    command.args(["--host", host]).env_remove("DOCKER_CONTEXT").stdin(Stdio::null());
    command
}

fn docker(host: &str, arguments: &[&str]) -> Result<Vec<String>, Failure> {
    let said = client(host).args(arguments).output().map_err(|error| format!("cannot start docker: {error}"))?;
    match said.status.success() {
        true => Ok(String::from_utf8_lossy(&said.stdout).lines().map(str::to_owned).collect()),
        false => Err(String::from_utf8_lossy(&said.stderr).trim().to_owned().into()),
    }
}

fn keeper_volumes(host: &str) -> Result<Vec<String>, Failure> {
    docker(host, &["volume", "ls", "--quiet", "--filter", "label=workden"])
}

/// The script that creates the files to read, list and search in each container.
pub(super) fn script() -> String {
    let [old, _] = EDITED;
    let filler = "nothing of note is written here, and no search wants it";
    let trees: String = [PROJECT, LARGE_TREE].map(|tree| format!("{}:{} ", tree.name, tree.files)).concat();
    format!(
        "set -e; mkdir -p many
        i=0; while [ $i -lt {ENTRIES} ]; do echo $i > many/entry_$i.txt; i=$((i + 1)); done
        for tree in {trees}; do i=0; while [ $i -lt ${{tree#*:}} ]; do
            part=${{tree%:*}}/part_$((i / 50)); mkdir -p $part; name=module_$i.txt; word=meadow
            if [ $((i % {EACH})) -eq 0 ]; then name=ledger_$i.py; fi
            if [ $((i % {EACH})) -eq 1 ]; then word={WORD}; fi
            j=0; while [ $j -lt 20 ]; do echo \"line $j: {filler}\"; j=$((j + 1)); done > $part/$name
            echo \"file $i speaks of $word\" >> $part/$name
            i=$((i + 1))
        done; done
        ( echo '{old}'; yes '{filler}' ) | head -c {SMALL} > edited.txt"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn found(directory: &Path, command: &str) -> u64 {
        let said = Command::new("sh").args(["-c", command]).current_dir(directory).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
    }

    #[test]
    fn the_script_makes_what_the_numbers_say() {
        let directory = std::env::temp_dir().join(format!("workden-bench-docker-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let made = Command::new("sh").args(["-c", &script()]).current_dir(&directory).output().unwrap();
        assert!(made.status.success() && made.stdout.is_empty() && made.stderr.is_empty(), "{made:?}");
        for (command, expected) in [
            ("ls many | wc -l".to_owned(), ENTRIES),
            ("find tree -type f | wc -l".to_owned(), 1_000),
            ("find tree -name '*.py' | wc -l".to_owned(), 50),
            (format!("grep -r {WORD} tree | wc -l"), 50),
            ("find project -type f | wc -l".to_owned(), 200),
            ("find project -name '*.py' | wc -l".to_owned(), 10),
            (format!("grep -r {WORD} project | wc -l"), 10),
            ("wc -c < edited.txt".to_owned(), SMALL),
            (format!("grep -c '{}' edited.txt", EDITED[0]), 1),
        ] {
            assert_eq!(found(&directory, &command), expected, "{command}");
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
