//! The tools of a model over a workspace.

use std::{collections::BTreeMap, sync::Arc};

use pyo3::{prelude::*, types::PyBytes};
use serde::Deserialize;
use serde_json::{Value, json};
use workden_core::{Error, ErrorKind, Result};
use workden_tools::{
    Attachment, CallContext, Dialect, EditFormat, ExtraTool, Profile, RequireApproval, ToolAnswer, ToolFailure,
    Toolset, ToolsetOptions,
};

use crate::{asking, failure, native_workspace::NativeWorkspace, runtime};

/// The tools over a workspace. They remember the files that the model has read.
#[pyclass(frozen, weakref, module = "workden._native")]
pub(crate) struct Tools {
    tools: Toolset,
}

/// Options as Python passes them; missing ones have defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    profile: Option<String>,
    include_execute: Option<bool>,
    include_background: Option<bool>,
    extra_tools: Vec<String>,
    edit_format: Option<String>,
    ignore_hidden: Option<bool>,
    images: Option<bool>,
    max_image_bytes: Option<u64>,
    documents: Option<bool>,
    max_document_bytes: Option<u64>,
    descriptions: BTreeMap<String, String>,
    retries: Option<u32>,
    write_approval: Option<String>,
    execute_approval: Option<String>,
}

impl Options {
    fn read(self) -> Result<ToolsetOptions> {
        let mut options = ToolsetOptions::default();
        // Callers of the reference library match on its answers.
        options.dialect = Dialect::PydanticAiBackend;
        options.profile = match self.profile.as_deref() {
            None | Some("console") => Profile::Console,
            Some("filesystem") => Profile::Filesystem,
            Some(other) => return Err(unknown("profile", other, "console, filesystem")),
        };
        options.edit_format = match self.edit_format.as_deref() {
            None | Some("str_replace") => EditFormat::StrReplace,
            Some("hashline") => EditFormat::Hashline,
            Some(other) => return Err(unknown("edit_format", other, "str_replace, hashline")),
        };
        options.extra_tools = self.extra_tools.iter().map(|name| extra(name)).collect::<Result<_>>()?;
        options.write_approval = approval(self.write_approval.as_deref())?;
        options.execute_approval = approval(self.execute_approval.as_deref())?;
        options.include_execute = self.include_execute.unwrap_or(options.include_execute);
        options.include_background = self.include_background.unwrap_or(options.include_background);
        options.ignore_hidden = self.ignore_hidden.unwrap_or(options.ignore_hidden);
        options.images = self.images.unwrap_or(options.images);
        options.max_image_bytes = self.max_image_bytes.unwrap_or(options.max_image_bytes);
        options.documents = self.documents.unwrap_or(options.documents);
        options.max_document_bytes = self.max_document_bytes.unwrap_or(options.max_document_bytes);
        options.retries = self.retries.unwrap_or(options.retries);
        options.descriptions = self.descriptions;
        Ok(options)
    }
}

fn unknown(what: &str, given: &str, known: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("invalid {what} `{given}`")).hint(format!("one of: {known}"))
}

fn extra(name: &str) -> Result<ExtraTool> {
    let found = ExtraTool::ALL.into_iter().find(|tool| tool.name() == name);
    found.ok_or_else(|| unknown("extra tool", name, &ExtraTool::ALL.map(ExtraTool::name).join(", ")))
}

fn approval(named: Option<&str>) -> Result<RequireApproval> {
    match named {
        None | Some("as_policy") => Ok(RequireApproval::AsPolicy),
        Some("always") => Ok(RequireApproval::Always),
        Some(other) => Err(unknown("approval", other, "as_policy, always")),
    }
}

/// An answer in Python: the text, accompanying content, and the structured result.
pub(crate) struct Answer(ToolAnswer);

impl<'py> IntoPyObject<'py> for Answer {
    type Target = pyo3::types::PyTuple;
    type Output = Bound<'py, pyo3::types::PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let beside: Vec<(&str, String, String, Bound<'py, PyBytes>)> = self
            .0
            .attachments
            .into_iter()
            .filter_map(|attachment| match attachment {
                Attachment::Image { media_type, bytes } => {
                    Some(("image", media_type, String::new(), PyBytes::new(py, &bytes)))
                }
                Attachment::Document { media_type, name, bytes } => {
                    Some(("document", media_type, name, PyBytes::new(py, &bytes)))
                }
                _ => None,
            })
            .collect();
        (self.0.text, beside, self.0.structured.map(|value| value.to_string())).into_pyobject(py)
    }
}

#[pymethods]
impl NativeWorkspace {
    /// Returns the tools over this workspace; `options` is JSON.
    fn tools(&self, options: &str) -> PyResult<Tools> {
        let options: Options = serde_json::from_str(options)
            .map_err(|error| failure::raised(failure::invalid("options of tools", error)))?;
        let tools = options.read().and_then(|options| self.parts()?.workspace.toolset(options));
        Ok(Tools { tools: tools.map_err(failure::raised)? })
    }
}

#[pymethods]
impl Tools {
    /// Returns the tools as JSON.
    fn specs(&self) -> String {
        let spec = |tool: &workden_tools::ToolSpec| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
                "read_only": tool.annotations.read_only,
            })
        };
        Value::Array(self.tools.list().iter().map(spec).collect()).to_string()
    }

    /// Returns the system prompt for them.
    fn prompt(&self) -> String {
        self.tools.system_prompt()
    }

    /// Calls a tool, and blocks until it answers.
    #[pyo3(signature = (name, arguments, asks=None))]
    fn call(&self, py: Python<'_>, name: String, arguments: &str, asks: Option<Py<PyAny>>) -> PyResult<Answer> {
        let call = self.called(name, arguments, asks)?;
        runtime::wait(py, runtime::Lock::LetGo, call)
    }

    /// Calls a tool, as an awaitable.
    #[pyo3(signature = (name, arguments, asks=None))]
    fn call_async<'py>(
        &self,
        py: Python<'py>,
        name: String,
        arguments: &str,
        asks: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = self.called(name, arguments, asks)?;
        runtime::awaitable(py, call)
    }
}

impl Tools {
    fn called(
        &self,
        name: String,
        arguments: &str,
        asks: Option<Py<PyAny>>,
    ) -> PyResult<impl Future<Output = Result<Answer>> + Send + 'static> {
        let arguments: Value = serde_json::from_str(arguments)
            .map_err(|error| failure::raised(failure::invalid("arguments of a tool", error)))?;
        let mut context = CallContext::new();
        if asks.is_some() {
            context = context.approver(Arc::new(asking::approvals(asks)));
        }
        let tools = self.tools.clone();
        Ok(async move { tools.call_with(&name, arguments, context).await.map(Answer).map_err(told) })
    }
}

/// The text of a failure is for the model, unchanged.
fn told(failed: ToolFailure) -> Error {
    Error::new(failed.kind, failed.text)
}
