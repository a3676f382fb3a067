//! The tools, one file each: name, arguments, description and implementation.

mod copy_file;
mod delete_file;
mod edit_file;
mod execute;
mod filesystem;
mod glob;
mod grep;
mod hashline_edit;
mod kill_shell;
mod list_files;
mod list_shells;
mod ls;
mod move_file;
mod multi_edit;
mod read_file;
mod read_output;
mod run_in_background;
mod write_file;

use std::{borrow::Cow, fmt::Write, future::Future, pin::Pin, sync::OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use workden_core::{
    Backend, Completeness, Error, ErrorKind, Link, Result as CoreResult, Symlink, VirtualPath, escape,
    sandbox::CommandFacts, search::Skipped, settled,
};

use crate::{
    Annotations, Dialect, EditFormat, ExtraTool, Profile, ToolAnswer, ToolFailure, ToolSpec, ToolTarget,
    ToolsetOptions, arguments, tool_context::ToolContext,
};

type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolAnswer, ToolFailure>> + Send + 'a>>;

/// A tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    title: &'static str,
    describe: fn(&OfferedTools<'_>) -> String,
    annotations: Annotations,
    /// The operations of a ruleset that it needs. The tool is not offered if one of them is denied everywhere.
    demands: &'static [&'static str],
    needs: Needs,
    make_schema: fn() -> Value,
    schema: OnceLock<Value>,
    /// The schema of its answers; `None` for a tool that answers with text.
    make_output_schema: Option<fn() -> Value>,
    /// Runs the tool with checked arguments.
    pub(crate) run: for<'a> fn(&'a ToolContext<'a>, &'a Value) -> ToolFuture<'a>,
}

/// The part of a workspace that a tool needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Files,
    Commands,
    BackgroundCommands,
}

impl Tool {
    /// Describes the tool to a model.
    pub(crate) fn spec(&self, offered: &OfferedTools<'_>) -> ToolSpec {
        let own = || (self.describe)(offered);
        ToolSpec {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            description: offered.options.descriptions.get(self.name).cloned().unwrap_or_else(own),
            input_schema: offered.options.dialect.schema(self.name, self.schema()),
            output_schema: self.make_output_schema.map(|make| make()),
            annotations: self.annotations,
        }
    }

    /// The schema of the arguments, generated when it is first needed.
    fn schema(&self) -> &Value {
        self.schema.get_or_init(self.make_schema)
    }

    /// Checks the arguments of a call.
    pub(crate) fn checked(&self, arguments: Value) -> Result<Value, ToolFailure> {
        arguments::checked(self.name, self.schema(), arguments)
    }
}

/// The tools that are offered together. The description of one names only others that are offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfferedTools<'a> {
    pub(crate) options: &'a ToolsetOptions,
    /// The place where commands run.
    pub(crate) facts: &'a CommandFacts,
    pub(crate) tools: &'a [&'static Tool],
}

impl OfferedTools<'_> {
    /// Whether a tool of this name is offered.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// Returns the sentence if a tool of this name is offered.
    pub(crate) fn if_has(&self, name: &str, sentence: &'static str) -> &'static str {
        if self.has(name) { sentence } else { "" }
    }

    /// The tool that changes parts of files, if one is offered.
    pub(crate) fn edit_tool(&self) -> Option<&'static str> {
        ["edit_file", "hashline_edit"].into_iter().find(|name| self.has(name))
    }
}

/// Defines a tool. The input type gives the schema and the typed arguments of the function `call`; the output type gives
/// the schema of its data. `=> text` is a tool that answers with text.
macro_rules! tool {
    ($name:ident, $title:literal, $input:ty => text, $($rest:tt)+) => {
        super::tool!(@ $name, $title, $input, None, $($rest)+);
    };
    ($name:ident, $title:literal, $input:ty => $output:ty, $($rest:tt)+) => {
        super::tool!(@ $name, $title, $input, Some(crate::arguments::output_schema_of::<$output>), $($rest)+);
    };
    (@ $name:ident, $title:literal, $input:ty, $output:expr, $needs:ident, $annotations:ident, $demands:expr, $describe:expr) => {
        pub(in crate::tools) static TOOL: super::Tool = super::Tool {
            name: stringify!($name),
            title: $title,
            describe: $describe,
            annotations: crate::Annotations::$annotations,
            demands: $demands,
            needs: super::Needs::$needs,
            make_schema: crate::arguments::schema_of::<$input>,
            schema: std::sync::OnceLock::new(),
            make_output_schema: $output,
            run: |context, arguments| {
                Box::pin(async move {
                    let input: $input = super::parsed(&TOOL, arguments)?;
                    call(context, input).await
                })
            },
        };
    };
}
use tool;

fn parsed<T: DeserializeOwned>(tool: &Tool, checked: &Value) -> Result<T, ToolFailure> {
    arguments::parse(tool.name, tool.schema(), checked)
}

/// The tools of the console, in the order of the list.
static CONSOLE: [&Tool; 17] = [
    &ls::TOOL,
    &read_file::TOOL,
    &write_file::TOOL,
    &edit_file::TOOL,
    &hashline_edit::TOOL,
    &multi_edit::TOOL,
    &glob::TOOL,
    &grep::TOOL,
    &list_files::TOOL,
    &move_file::TOOL,
    &copy_file::TOOL,
    &delete_file::TOOL,
    &execute::TOOL,
    &run_in_background::TOOL,
    &read_output::TOOL,
    &kill_shell::TOOL,
    &list_shells::TOOL,
];

/// The tools of the filesystem profile.
static FILESYSTEM: [&Tool; 7] = [
    &filesystem::read_file::TOOL,
    &filesystem::write_file::TOOL,
    &list_files::TOOL,
    &filesystem::edit_file::TOOL,
    &delete_file::TOOL,
    &move_file::TOOL,
    &copy_file::TOOL,
];

/// The names of all tools. Those of the filesystem profile are among the console's.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CONSOLE.iter().map(|tool| tool.name)
}

/// Selects the tools for a target and its options.
pub(crate) fn offered(target: &ToolTarget, options: &ToolsetOptions) -> Vec<&'static Tool> {
    let profile: &[&'static Tool] = match options.profile {
        Profile::Console => &CONSOLE,
        Profile::Filesystem => &FILESYSTEM,
    };
    let has_commands = target.commands.is_some() && options.include_execute;
    let fits = |tool: &&&'static Tool| {
        let available = match tool.needs {
            Needs::Files => options.profile == Profile::Filesystem || is_selected(tool.name, options),
            Needs::Commands => has_commands,
            Needs::BackgroundCommands => has_commands && options.include_background,
        };
        available && !tool.demands.iter().any(|operation| target.denied.contains(*operation))
    };
    profile.iter().filter(fits).copied().collect()
}

/// Whether the options select this tool of the console for files.
fn is_selected(name: &str, options: &ToolsetOptions) -> bool {
    match ExtraTool::ALL.into_iter().find(|extra| extra.name() == name) {
        Some(extra) => options.extra_tools.contains(&extra),
        None if name == "edit_file" => options.edit_format == EditFormat::StrReplace,
        None if name == "hashline_edit" => options.edit_format == EditFormat::Hashline,
        None => true,
    }
}

fn current_directory() -> String {
    ".".to_owned()
}

/// Quotes a name or a path as in JSON if it has characters that could pass for another line, or change how others
/// appear.
fn escaped_name(name: &str) -> Cow<'_, str> {
    if name.chars().all(|character| character != '\t' && escape::shows_itself(character)) {
        return name.into();
    }
    let mut quoted = String::from('"');
    for character in name.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            shown if escape::shows_itself(shown) => quoted.push(shown),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(quoted, "\\u{unit:04x}");
                }
            }
        }
    }
    quoted.push('"');
    quoted.into()
}

/// Notes on an incomplete search.
fn search_notes(dialect: Dialect, skipped: Skipped, completeness: Completeness) -> String {
    let mut notes = String::new();
    match completeness {
        Completeness::Complete => {}
        Completeness::StoppedAtCeiling => {
            notes.push_str("\n(search stopped at the limit of counted matches; there may be more)");
        }
        Completeness::StoppedAtDeadline => {
            notes.push_str("\n(search timed out; use a narrower path or pattern to find the rest)");
        }
    }
    if skipped.needs_approval > 0 {
        let files = dialect.counted(skipped.needs_approval, "file");
        let _ = write!(notes, "\n({files} skipped: reading them needs approval)");
    }
    if skipped.unreadable > 0 {
        let what = if skipped.unreadable == 1 { "file or directory" } else { "files or directories" };
        let _ = write!(notes, "\n({} {what} skipped: could not be read)", skipped.unreadable);
    }
    if skipped.too_large > 0 {
        let files = dialect.counted(skipped.too_large, "file");
        let _ = write!(notes, "\n({files} skipped: too large to search)");
    }
    notes
}

/// The notes as data, if there are any.
fn as_note(notes: &str) -> Option<String> {
    (!notes.is_empty()).then(|| notes.trim().to_owned())
}

/// Refuses a directory: a tool for files moves or deletes one file.
async fn only_a_file(context: &ToolContext<'_>, verb: &str, path: &VirtualPath) -> CoreResult<()> {
    let entry = settled!(context.files, path, Symlink::NoFollow, |at| context.files.stat(&at).await)?;
    match entry.is_dir() && entry.link == Link::Direct {
        false => Ok(()),
        true => Err(Error::new(ErrorKind::IsDirectory, format!("cannot {verb} `{path}`: it is a directory"))
            .hint("name a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_deceive_a_reader_are_quoted_as_json() {
        assert_eq!(escaped_name("src/Größe 漢字.rs"), "src/Größe 漢字.rs");
        for name in ["a\nb", "\u{202e}gpj.exe", "x\"\\\u{1b}[2J\t", "\u{e0041}"] {
            let quoted = escaped_name(name);
            assert!(quoted.chars().all(escape::shows_itself) && quoted.starts_with('"'), "{quoted}");
            assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), name);
        }
    }
}
