//! The calls in a running container, the same for both sides, with their expected results.

use bytes::Bytes;
use serde_json::{Value, json};
use workden_core::{
    BackendExt, Expect, Sandbox, VirtualPath,
    sandbox::ExecuteRequest,
    search::{GlobRequest, GrepRequest, ListRequest},
    text::Replacement,
};
use workden_sandboxes::docker::DockerSandbox;

use super::ground::{EDITED, ENTRIES, LARGE_TREE, PROJECT, SMALL, Tree, WORD};
use crate::{Failure, lines::Target};

/// How much faster a call must be than an exec per call.
const FASTER: Target = Target::FasterBy(30.0);
/// Bytes of a large file.
const LARGE: u64 = 8 << 20;

/// One call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Execute,
    Read { bytes: u64 },
    Write { bytes: u64 },
    List,
    Glob { tree: Tree },
    Grep { tree: Tree },
    Edit,
}

/// In the order of the table; a file is written before it is read.
pub(super) const CALLS: [Call; 11] = [
    Call::Execute,
    Call::Write { bytes: SMALL },
    Call::Read { bytes: SMALL },
    Call::List,
    Call::Glob { tree: PROJECT },
    Call::Grep { tree: PROJECT },
    Call::Edit,
    Call::Glob { tree: LARGE_TREE },
    Call::Grep { tree: LARGE_TREE },
    Call::Write { bytes: LARGE },
    Call::Read { bytes: LARGE },
];

impl Call {
    pub(super) fn name(self) -> String {
        match self {
            Self::Execute => "`execute(\"true\")`".to_owned(),
            Self::Read { bytes } => format!("read, {}", size(bytes)),
            Self::Write { bytes } => format!("write, {}", size(bytes)),
            Self::List => "ls, 100 entries".to_owned(),
            Self::Glob { tree } => format!("glob, {} files", tree.files),
            Self::Grep { tree } => format!("grep, {} files", tree.files),
            Self::Edit => "edit, 4 KiB".to_owned(),
        }
    }

    pub(super) fn target(self) -> Target {
        match self {
            Self::Read { bytes: LARGE } | Self::Write { bytes: LARGE } => Target::Shown,
            Self::Glob { tree } | Self::Grep { tree } if tree == LARGE_TREE => Target::Shown,
            _ => FASTER,
        }
    }

    /// How often ours makes the call in one turn.
    pub(super) fn batch(self) -> usize {
        match self {
            Self::Read { bytes: LARGE } | Self::Write { bytes: LARGE } => 1,
            _ => 10,
        }
    }

    /// The result that both sides must return.
    pub(super) fn expected(self) -> u64 {
        match self {
            Self::Execute | Self::Edit => 1,
            Self::Read { bytes } | Self::Write { bytes } => bytes,
            Self::List => ENTRIES,
            Self::Glob { tree } | Self::Grep { tree } => tree.found(),
        }
    }

    /// Runs ours and returns what it found. `turn` counts the calls: every second edit reverts the previous one.
    pub(super) async fn make(self, sandbox: &DockerSandbox, turn: usize) -> Result<u64, Failure> {
        let path = VirtualPath::parse(&self.path())?;
        Ok(match self {
            Self::Execute => u64::from(sandbox.execute(&ExecuteRequest::shell("true")).await?.exit_code() == 0),
            Self::Read { .. } => sandbox.read_bytes(&path).await?.len() as u64,
            Self::Write { bytes } => {
                let content = Bytes::from(vec![b'x'; usize::try_from(bytes)?]);
                sandbox.write_path(&path, content, Expect::Anything).await?;
                bytes
            }
            Self::List => sandbox.list_path(&path, &ListRequest::default()).await?.entries.len() as u64,
            Self::Glob { .. } => sandbox.glob_path(&path, &GlobRequest::new("**/*.py")).await?.entries.len() as u64,
            Self::Grep { .. } => sandbox.grep_path(&path, &GrepRequest::literal(WORD)).await?.kept_lines() as u64,
            Self::Edit => {
                let (old, new) = texts(turn);
                sandbox.edit(&path, &[Replacement::once(old, new)]).await?
            }
        })
    }

    /// The same for the peer.
    pub(super) fn order(self, turn: usize) -> Value {
        let path = self.path();
        match self {
            Self::Execute => json!({ "order": "execute", "command": "true" }),
            Self::Read { .. } => json!({ "order": "read", "path": path }),
            Self::Write { bytes } => json!({ "order": "write", "path": path, "size": bytes }),
            Self::List => json!({ "order": "list", "path": path }),
            Self::Glob { .. } => json!({ "order": "glob", "path": path, "pattern": "*.py" }),
            Self::Grep { .. } => json!({ "order": "grep", "path": path, "pattern": WORD }),
            Self::Edit => {
                let (old, new) = texts(turn);
                json!({ "order": "edit", "path": path, "old": old, "new": new })
            }
        }
    }

    fn path(self) -> String {
        let name = match self {
            Self::Execute => String::new(),
            Self::Read { bytes } | Self::Write { bytes } => format!("{bytes}.txt"),
            Self::List => "many".to_owned(),
            Self::Glob { tree } | Self::Grep { tree } => tree.name.to_owned(),
            Self::Edit => "edited.txt".to_owned(),
        };
        format!("/workspace/{name}")
    }
}

fn texts(turn: usize) -> (&'static str, &'static str) {
    let [old, new] = EDITED;
    if turn.is_multiple_of(2) { (old, new) } else { (new, old) }
}

fn size(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_before_it_is_read_and_large_ones_have_no_target() {
        let names: Vec<String> = CALLS.iter().map(|call| call.name()).collect();
        for size in ["4 KiB", "8 MiB"] {
            let at = |what: &str| names.iter().position(|name| *name == format!("{what}, {size}")).unwrap();
            assert!(at("write") < at("read"), "{names:?}");
        }
        for call in CALLS {
            let is_large = call.name().contains("MiB") || call.name().contains("1000 files");
            assert_eq!(matches!(call.target(), Target::Shown), is_large, "{call:?}");
        }
    }

    #[test]
    fn an_edit_is_put_back_by_the_next_one() {
        let edit = |turn| Call::Edit.order(turn);
        assert_eq!(edit(0)["old"], edit(1)["new"]);
        assert_eq!(edit(0), edit(2));
        assert_ne!(edit(0), edit(1));
    }
}
