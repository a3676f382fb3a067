//! Toolsets over files in memory and in directories, and calls by name.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use workden_core::{Backend, ErrorKind};
use workden_files::{LocalBackend, memory};
use workden_tools::{ExtraTool, ToolAnswer, ToolFailure, ToolTarget, Toolset, ToolsetOptions};

/// A toolset, and the files behind it as another program sees them.
pub(crate) struct Desk {
    pub(crate) tools: Toolset,
    pub(crate) files: Arc<dyn Backend>,
    /// The directory on the host, unless the files are in memory.
    pub(crate) directory: Option<tempfile::TempDir>,
}

/// All options of the console that are off by default, on.
pub(crate) fn everything() -> ToolsetOptions {
    let mut options = ToolsetOptions::default();
    options.extra_tools = ExtraTool::ALL.to_vec();
    options
}

/// A toolset whose images may take long to decode, as on a busy machine.
fn toolset(files: &Arc<dyn Backend>, mut options: ToolsetOptions) -> Toolset {
    options.decode_timeout = Duration::from_secs(600);
    Toolset::new(ToolTarget::backend(Arc::clone(files)), options).unwrap()
}

/// A desk over files in memory.
pub(crate) fn in_memory(options: ToolsetOptions) -> Desk {
    let files: Arc<dyn Backend> = Arc::new(memory());
    let tools = toolset(&files, options);
    Desk { tools, files, directory: None }
}

/// A desk over a directory of the host.
pub(crate) fn in_directory(options: ToolsetOptions) -> Desk {
    let directory = tempfile::tempdir().unwrap();
    let files: Arc<dyn Backend> = Arc::new(LocalBackend::open(directory.path()).unwrap());
    let tools = toolset(&files, options);
    Desk { tools, files, directory: Some(directory) }
}

/// One of each.
pub(crate) fn both(options: &ToolsetOptions) -> [Desk; 2] {
    [in_memory(options.clone()), in_directory(options.clone())]
}

impl Desk {
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolFailure> {
        self.tools.call(tool, arguments).await
    }

    /// Checks the text of a call that must succeed.
    pub(crate) async fn says(&self, tool: &str, arguments: Value, expected: &str) {
        let answer = self.call(tool, arguments.clone()).await.unwrap_or_else(|failure| panic!("{tool}: {failure}"));
        assert_eq!(answer.text, expected, "{tool} {arguments}");
    }

    /// Checks the text of a call that must fail.
    pub(crate) async fn refuses(&self, tool: &str, arguments: Value, kind: ErrorKind, expected: &str) {
        let failure = self.call(tool, arguments.clone()).await.unwrap_err();
        assert_eq!((failure.kind, failure.text.as_str()), (kind, expected), "{tool} {arguments}");
    }
}
