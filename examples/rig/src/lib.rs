//! Converts a workden [`Toolset`] into tools of [rig](https://docs.rs/rig-core), one for each.
//!
//! A failure goes to the model as the text of its tool and never ends the agent's run.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use workden_rig::rig_tools;
//! use workden_tools::{ToolTarget, Toolset, ToolsetOptions};
//!
//! let tools = Toolset::new(ToolTarget::backend(workden_files::memory()), ToolsetOptions::default())?;
//! let for_rig = rig_tools(&tools); // AgentBuilder::new(model).dynamic_tools(for_rig)
//! let ls = for_rig.iter().find(|tool| tool.name().as_str() == "ls").unwrap();
//! let answer = ls.execute(serde_json::json!({})).await.unwrap();
//! assert_eq!(answer.as_text(), Some("Directory '.' is empty"));
//! # Ok::<(), workden_core::Error>(()) }).unwrap();
//! ```

use base64::{Engine, engine::general_purpose::STANDARD};
use rig_core::{
    message::{DocumentSourceKind, Image, ImageMediaType, Text, ToolName, ToolResultContent},
    tool::{DynamicTool, ToolErrorKind, ToolExecutionError, ToolOutput},
};
use workden_core::ErrorKind;
use workden_tools::{Attachment, ToolAnswer, ToolFailure, Toolset};

/// Returns the tools as rig takes them. They share their record of seen files with `tools`.
///
/// A tool result in rig holds images but no documents: of a PDF the model gets the text.
#[must_use]
pub fn rig_tools(tools: &Toolset) -> Vec<DynamicTool> {
    let tools = tools.with_documents_as_text();
    let one = |spec: &workden_tools::ToolSpec| {
        let (tools, called) = (tools.clone(), spec.name.clone());
        let call = move |arguments| {
            let (tools, called) = (tools.clone(), called.clone());
            let answering = async move { tools.call(&called, arguments).await.map_err(failed).and_then(answered) };
            Box::pin(answering) as _
        };
        // Every tool has a name, so that nothing is skipped here.
        let name = ToolName::new(spec.name.as_str()).ok()?;
        Some(DynamicTool::new(name, spec.description.as_str(), spec.input_schema.clone(), call))
    };
    tools.list().iter().filter_map(one).collect()
}

fn answered(answer: ToolAnswer) -> Result<ToolOutput, ToolExecutionError> {
    if answer.attachments.is_empty() {
        return Ok(ToolOutput::text(answer.text));
    }
    let images = answer.attachments.into_iter().filter_map(|attachment| match attachment {
        Attachment::Image { media_type, bytes } => Some(ToolResultContent::Image(Image {
            data: DocumentSourceKind::Base64(STANDARD.encode(bytes)),
            media_type: known(&media_type),
            ..Image::default()
        })),
        _ => None,
    });
    ToolOutput::content(std::iter::once(ToolResultContent::Text(Text::new(answer.text))).chain(images).collect())
}

fn known(media_type: &str) -> Option<ImageMediaType> {
    match media_type {
        "image/png" => Some(ImageMediaType::PNG),
        "image/jpeg" => Some(ImageMediaType::JPEG),
        "image/gif" => Some(ImageMediaType::GIF),
        "image/webp" => Some(ImageMediaType::WEBP),
        _ => None,
    }
}

fn failed(failure: ToolFailure) -> ToolExecutionError {
    match failure.kind {
        ErrorKind::Denied | ErrorKind::ApprovalNeeded | ErrorKind::ReadOnly => {
            ToolExecutionError::refused(failure.text)
        }
        ErrorKind::PermissionDenied => ToolExecutionError::new(ToolErrorKind::PermissionDenied, failure.text),
        ErrorKind::InvalidArgument | ErrorKind::InvalidPattern | ErrorKind::InvalidPath => {
            ToolExecutionError::new(ToolErrorKind::InvalidArgs, failure.text)
        }
        ErrorKind::NotFound => ToolExecutionError::new(ToolErrorKind::NotFound, failure.text),
        ErrorKind::TimedOut => ToolExecutionError::new(ToolErrorKind::Timeout, failure.text),
        _ => ToolExecutionError::new(ToolErrorKind::Other, failure.text),
    }
}
