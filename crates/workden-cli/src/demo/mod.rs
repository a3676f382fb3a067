//! `workden demo`: the file half at work, scene by scene, in a temporary directory.
//!
//! What a scene prints is what a call answered, and what it answered is checked: against what the
//! scene claims, and on the host's own view of the directory. Times and host paths are not shown, so
//! the transcript is the same on every machine.

mod editing;
mod searching;
mod together;
mod transcript;
mod walls;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use transcript::Transcript;
use workden_backends::LocalBackend;
use workden_core::VirtualPath;

use crate::failure::{Failure, expect_same};

/// The temporary directory: a workspace, and beside it what the workspace must not reach.
struct Stage {
    home: TempDir,
    root: PathBuf,
    outside: PathBuf,
    files: LocalBackend,
}

const SECRET: &str = "nobody in the workspace may read this\n";

impl Stage {
    fn set() -> Result<Self, Failure> {
        let home = tempfile::Builder::new().prefix("workden-demo-").tempdir().map_err(Failure::NoStage)?;
        let (root, outside) = (home.path().join("workspace"), home.path().join("outside"));
        for directory in [&root, &outside] {
            fs::create_dir(directory).map_err(Failure::Machine)?;
        }
        fs::write(outside.join("secret.txt"), SECRET).map_err(Failure::Machine)?;
        let files = LocalBackend::open(&root)?;
        Ok(Self { home, root, outside, files })
    }

    /// Makes sure that the scenes left nothing outside, and nothing half done inside.
    fn check(&self) -> Result<(), Failure> {
        expect_same("the names outside", names_in(&self.outside)?, vec!["secret.txt".to_owned()])?;
        let secret = fs::read_to_string(self.outside.join("secret.txt")).map_err(Failure::Machine)?;
        expect_same("the file outside", secret.as_str(), SECRET)?;
        let mut left = names_in(&self.root)?;
        left.extend(names_in(&self.root.join("src"))?);
        left.retain(|name| workden_core::names::is_temporary(name.as_bytes()));
        expect_same("temporary files left behind", left, Vec::new())
    }
}

/// Plays every scene.
pub(crate) async fn run(out: &mut dyn Write) -> Result<(), Failure> {
    let stage = Stage::set()?;
    let transcript = &mut Transcript::new(out);
    transcript.say("The file half of workden at work, in a temporary directory.")?;

    editing::write(transcript, &stage).await?;
    editing::read(transcript, &stage).await?;
    editing::edit(transcript, &stage).await?;
    editing::ambiguous(transcript, &stage).await?;
    editing::not_found(transcript, &stage).await?;
    editing::hashlines(transcript, &stage).await?;
    searching::glob(transcript, &stage).await?;
    searching::grep(transcript, &stage).await?;
    searching::mounts(transcript, &stage).await?;
    walls::dots(transcript, &stage).await?;
    walls::links(transcript, &stage).await?;
    together::edits(transcript, &stage).await?;

    stage.check()?;
    stage.home.close().map_err(Failure::Machine)?;
    let (scenes, calls) = transcript.counts();
    transcript.say(format_args!(
        "\nAll {scenes} scenes and {calls} calls came out as shown. The temporary directory is gone again."
    ))
}

fn path(typed: &str) -> Result<VirtualPath, Failure> {
    Ok(VirtualPath::parse(typed)?)
}

fn names_in(directory: &Path) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(directory).map_err(Failure::Machine)?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    names.collect::<Result<_, _>>().map_err(Failure::Machine)
}
