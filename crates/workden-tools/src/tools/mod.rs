//! The tools, one file each: what it is called, what its arguments are, what a model is told of it,
//! and what it does.

mod execute;
mod ls;
mod read_file;

use std::{future::Future, pin::Pin};

use serde_json::Value;

use crate::{
    Annotations, Place, Profile, ToolAnswer, ToolFailure, ToolSpec, ToolsetOptions, arguments, context::Context,
};

type Answering<'a> = Pin<Box<dyn Future<Output = Result<ToolAnswer, ToolFailure>> + Send + 'a>>;

/// A tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    describe: fn(&ToolsetOptions) -> String,
    annotations: Annotations,
    /// What it demands, in the words of a ruleset: denied everywhere, the tool is of no use.
    demands: &'static [&'static str],
    kind: Kind,
    schema: fn() -> Value,
    run: for<'a> fn(&'a Context<'a>, Value) -> Answering<'a>,
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
    pub(crate) fn spec(&self, options: &ToolsetOptions) -> ToolSpec {
        let own = || (self.describe)(options);
        ToolSpec {
            name: self.name.to_owned(),
            description: options.descriptions.get(self.name).cloned().unwrap_or_else(own),
            input_schema: (self.schema)(),
            annotations: self.annotations,
        }
    }

    pub(crate) async fn call(&self, context: &Context<'_>, arguments: Value) -> Result<ToolAnswer, ToolFailure> {
        (self.run)(context, arguments).await
    }
}

/// A tool from its parts: the input type gives the schema, and typed arguments to the function.
macro_rules! tool {
    ($name:ident, $input:ty, $kind:ident, $annotations:ident, $demands:expr, $describe:expr) => {
        pub(super) static TOOL: super::Tool = super::Tool {
            name: stringify!($name),
            describe: $describe,
            annotations: crate::Annotations::$annotations,
            demands: $demands,
            kind: super::Kind::$kind,
            schema: crate::arguments::schema_of::<$input>,
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

fn parsed<T: serde::de::DeserializeOwned>(tool: &Tool, given: Value) -> Result<T, ToolFailure> {
    arguments::parse(tool.name, &(tool.schema)(), given)
}

/// The console, in the order in which it is listed.
static CONSOLE: [&Tool; 3] = [&ls::TOOL, &read_file::TOOL, &execute::TOOL];

/// Every tool there is, in any profile.
fn all() -> impl Iterator<Item = &'static Tool> {
    CONSOLE.iter().copied()
}

/// The tool of this name, in any profile.
pub(crate) fn named(name: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.name == name)
}

/// The names of all tools.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().map(|tool| tool.name)
}

/// The tools that fit a place and the options.
pub(crate) fn offered(place: &Place, options: &ToolsetOptions) -> Vec<&'static Tool> {
    let has_commands = place.commands.is_some() && options.include_execute;
    let fits = |tool: &&&'static Tool| {
        let there = match tool.kind {
            Kind::Files => true,
            Kind::Commands => has_commands,
            Kind::Background => has_commands && options.include_background,
        };
        there && !tool.demands.iter().any(|operation| place.denied.contains(*operation))
    };
    let profile: &[&'static Tool] = match options.profile {
        Profile::Console | Profile::Filesystem => &CONSOLE,
    };
    profile.iter().filter(fits).copied().collect()
}
