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
        let answer = self.tools.call(tool, arguments).await?;
        let spec = self.tools.list().iter().find(|spec| spec.name == tool).unwrap();
        match (&spec.output_schema, &answer.structured) {
            (Some(schema), Some(data)) => conforms(data, schema),
            (Some(_), None) => panic!("{tool} answers without data"),
            (None, _) => {}
        }
        Ok(answer)
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

/// Checks data against the part of JSON Schema that the schemas of answers use.
fn conforms(data: &Value, schema: &Value) {
    let kind = match data {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert_eq!(schema["type"], kind, "{data} against {schema}");
    match data {
        Value::Array(items) => items.iter().for_each(|item| conforms(item, &schema["items"])),
        Value::Object(fields) => {
            assert_eq!(schema["additionalProperties"], false, "{schema}");
            for (name, field) in fields {
                conforms(
                    field,
                    schema["properties"].get(name).unwrap_or_else(|| panic!("`{name}` is not in {schema}")),
                );
            }
            let required = schema["required"].as_array().into_iter().flatten();
            let missing = required.filter_map(Value::as_str).find(|name| !fields.contains_key(*name));
            assert_eq!(missing, None, "{data} against {schema}");
        }
        _ => {}
    }
}
