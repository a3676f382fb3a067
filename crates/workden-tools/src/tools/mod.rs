//! The tools, one file each: what it is called, what its arguments are, what a model is told of it,
//! and what it does.

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
    Backend, Completeness, Error, ErrorKind, Link, Result as CoreResult, Symlink, VirtualPath, search::Skipped,
};

use crate::{
    Annotations, EditFormat, ExtraTool, Place, Profile, ToolAnswer, ToolFailure, ToolSpec, ToolsetOptions, arguments,
    changing::settled, context::Context,
};

type Answering<'a> = Pin<Box<dyn Future<Output = Result<ToolAnswer, ToolFailure>> + Send + 'a>>;

/// A tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    describe: fn(&Offer<'_>) -> String,
    annotations: Annotations,
    /// What it demands, in the words of a ruleset: denied everywhere, the tool is of no use.
    demands: &'static [&'static str],
    kind: Kind,
    make_schema: fn() -> Value,
    schema: OnceLock<Value>,
    run: for<'a> fn(&'a Context<'a>, &'a Value) -> Answering<'a>,
}

/// What a tool needs to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Files.
    Files,
    /// Commands.
    Commands,
    /// Commands in the background.
    Background,
}

impl Tool {
    /// The tool as a model is told of it.
    pub(crate) fn spec(&self, offer: &Offer<'_>) -> ToolSpec {
        let own = || (self.describe)(offer);
        ToolSpec {
            name: self.name.to_owned(),
            description: offer.options.descriptions.get(self.name).cloned().unwrap_or_else(own),
            input_schema: self.schema().clone(),
            annotations: self.annotations,
        }
    }

    /// The schema of its arguments, made when it is first asked for.
    fn schema(&self) -> &Value {
        self.schema.get_or_init(self.make_schema)
    }

    /// Checks the arguments of a call.
    pub(crate) fn checked(&self, arguments: Value) -> Result<Value, ToolFailure> {
        arguments::checked(self.name, self.schema(), arguments)
    }

    /// Calls it with checked arguments.
    pub(crate) async fn call(&self, context: &Context<'_>, arguments: &Value) -> Result<ToolAnswer, ToolFailure> {
        (self.run)(context, arguments).await
    }
}

/// What is offered together: a tool is described without a word of others that are not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) options: &'a ToolsetOptions,
    pub(crate) tools: &'a [&'static Tool],
}

impl Offer<'_> {
    /// Whether there is a tool of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// A sentence that makes sense only where there is a tool of this name.
    pub(crate) fn if_has(&self, name: &str, sentence: &'static str) -> &'static str {
        if self.has(name) { sentence } else { "" }
    }

    /// The tool that changes parts of files, if there is one.
    pub(crate) fn edit_tool(&self) -> Option<&'static str> {
        ["edit_file", "hashline_edit"].into_iter().find(|name| self.has(name))
    }
}

/// A tool from its parts: the input type gives the schema, and typed arguments to the function.
macro_rules! tool {
    ($name:ident, $input:ty, $kind:ident, $annotations:ident, $demands:expr, $describe:expr) => {
        pub(in crate::tools) static TOOL: super::Tool = super::Tool {
            name: stringify!($name),
            describe: $describe,
            annotations: crate::Annotations::$annotations,
            demands: $demands,
            kind: super::Kind::$kind,
            make_schema: crate::arguments::schema_of::<$input>,
            schema: std::sync::OnceLock::new(),
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

/// The console, in the order in which it is listed.
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

/// The tools for documents in mounted directories.
static FILESYSTEM: [&Tool; 7] = [
    &filesystem::read_file::TOOL,
    &filesystem::write_file::TOOL,
    &list_files::TOOL,
    &filesystem::edit_file::TOOL,
    &delete_file::TOOL,
    &move_file::TOOL,
    &copy_file::TOOL,
];

/// The names of all tools, in any profile: those of the one for documents are among the console's.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CONSOLE.iter().map(|tool| tool.name)
}

/// The tools that fit a place and the options.
pub(crate) fn offered(place: &Place, options: &ToolsetOptions) -> Vec<&'static Tool> {
    let profile: &[&'static Tool] = match options.profile {
        Profile::Console => &CONSOLE,
        Profile::Filesystem => &FILESYSTEM,
    };
    let has_commands = place.commands.is_some() && options.include_execute;
    let fits = |tool: &&&'static Tool| {
        let there = match tool.kind {
            Kind::Files => options.profile == Profile::Filesystem || is_wanted(tool.name, options),
            Kind::Commands => has_commands,
            Kind::Background => has_commands && options.include_background,
        };
        there && !tool.demands.iter().any(|operation| place.denied.contains(*operation))
    };
    profile.iter().filter(fits).copied().collect()
}

/// Whether the console has this tool for files.
fn is_wanted(name: &str, options: &ToolsetOptions) -> bool {
    match ExtraTool::ALL.into_iter().find(|extra| extra.name() == name) {
        Some(extra) => options.extra_tools.contains(&extra),
        None if name == "edit_file" => options.edit_format == EditFormat::StrReplace,
        None if name == "hashline_edit" => options.edit_format == EditFormat::Hashline,
        None => true,
    }
}

fn here() -> String {
    ".".to_owned()
}

/// A name or a path on a line of its own: as it is, or quoted as in JSON when it could break the line and
/// pass for another one. So it can be given back to any tool.
fn on_a_line(name: &str) -> Cow<'_, str> {
    match name.contains(char::is_control) {
        true => Value::from(name).to_string().into(),
        false => name.into(),
    }
}

/// What is to be said of a search besides what it found.
fn footnotes(skipped: Skipped, completeness: Completeness) -> String {
    let mut notes = String::new();
    match completeness {
        Completeness::Complete => {}
        Completeness::StoppedAtCeiling => {
            notes.push_str("\n(stopped at the most matches that are counted; there may be more)");
        }
        Completeness::StoppedAtDeadline => {
            notes.push_str("\n(stopped when its time was over; a narrower path or pattern finds the rest)");
        }
    }
    if skipped.needs_approval > 0 {
        let files = skipped.needs_approval;
        let _ = write!(notes, "\n({files} file(s) passed over, because reading them has to be approved)");
    }
    if skipped.too_large > 0 {
        let files = skipped.too_large;
        let _ = write!(notes, "\n({files} file(s) passed over, because they are too large to search)");
    }
    notes
}

/// Refuses a directory, of which a tool for files could move more than anybody thinks of.
async fn only_a_file(context: &Context<'_>, verb: &str, path: &VirtualPath) -> CoreResult<()> {
    let (_, entry) = settled!(context, path, Symlink::NoFollow, |at| context.files.stat(&at).await)?;
    match entry.is_dir() && entry.link == Link::Direct {
        false => Ok(()),
        true => Err(Error::new(ErrorKind::IsDirectory, format!("cannot {verb} `{path}`: it is a directory"))
            .hint("this tool is for files")),
    }
}
