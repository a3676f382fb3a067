//! Every call of the protocol with JSON in at least one direction: its path, its arguments and its answer, defined once
//! for both sides.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use workden_core::{
    Attributes, ByteRange, Changed, Entry, Expect, FileIdentity, IfExists, Presence, Removal, Resolved, Symlink,
    Timestamp, VirtualPath, Written, sandbox,
    sandbox::{
        ExecuteRequest, Executed, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed, Signal, SpawnRequest,
        Usage, WatchRequest, WindowSize,
    },
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

use crate::limits::{self, AnswerLimits};

/// A call with its arguments.
pub(crate) trait Call: Serialize + Sync {
    /// The path of the call.
    const PATH: &'static str;
    /// The answer to the call.
    type Answer: Serialize + DeserializeOwned + Send + 'static;
    /// What a client accepts as an answer.
    const LIMITS: AnswerLimits;
}

macro_rules! calls {
    ($([$limits:ident] $($name:ident at $path:literal { $($field:ident: $type:ty),* } -> $answer:ty;)*)*) => {$($(
        #[derive(Serialize, Deserialize)]
        pub(crate) struct $name<'a> {
            $(pub(crate) $field: Cow<'a, $type>,)*
            #[serde(skip)]
            pub(crate) of: std::marker::PhantomData<&'a ()>,
        }

        impl<'a> $name<'a> {
            pub(crate) fn new($($field: &'a $type),*) -> Self {
                Self { $($field: Cow::Borrowed($field),)* of: std::marker::PhantomData }
            }
        }

        impl Call for $name<'_> {
            const PATH: &'static str = $path;
            type Answer = $answer;
            const LIMITS: AnswerLimits = limits::$limits;
        }
    )*)*};
}

calls! {
    [GREETING]
    Hello at "/hello" {} -> HelloAnswer;

    [SHORT_ANSWER]
    Resolve at "/v1/resolve" { path: VirtualPath, symlink: Symlink } -> ResolveAnswer;
    Stat at "/v1/stat" { at: Resolved } -> Entry;
    ReadAttributes at "/v1/attributes" { at: Resolved, prefix: String } -> Attributes;
    Identify at "/v1/identify" { at: Resolved } -> Option<FileIdentity>;
    Origins at "/v1/origins" {} -> Vec<(VirtualPath, FileIdentity)>;
    StartJob at "/v1/start_job" { request: JobRequest } -> Job;
    KillJob at "/v1/kill_job" { id: JobId } -> Killed;
    IsolationOf at "/v1/isolation" {} -> Isolation;
    Stop at "/v1/stop" {} -> ();
    CloseInput at "/v1/process/close_input" { process: u64 } -> ();
    SendSignal at "/v1/process/signal" { process: u64, signal: Signal } -> ();
    Resize at "/v1/process/resize" { process: u64, size: WindowSize } -> ();

    [ANSWER_AFTER_WORK]
    Write at "/v1/write" { at: Resolved, expect: Expect } -> Written;
    SetAttributes at "/v1/set_attributes" { at: Resolved, attributes: Attributes } -> ();
    MakeDir at "/v1/make_dir" { at: Resolved } -> ();
    Remove at "/v1/remove" { at: Resolved, what: Removal } -> ();
    Rename at "/v1/rename" { from: Resolved, to: Resolved, if_exists: IfExists } -> ();
    Copy at "/v1/copy" { from: Resolved, to: Resolved, if_exists: IfExists } -> Written;

    [TEXT_ANSWER]
    Read at "/v1/read" { at: Resolved, range: ByteRange } -> ReadAnswer;
    ReadText at "/v1/read_text" { at: Resolved, window: TextWindow } -> Excerpt;
    ChangeFile at "/v1/change" { at: Resolved, change: Change, expect: Expect, most: u64 } -> Changed;
    Jobs at "/v1/jobs" {} -> Vec<Job>;
    UsageNow at "/v1/usage" {} -> Usage;

    [SEARCH_ANSWER]
    List at "/v1/list" { at: Resolved, request: ListRequest } -> Listing;
    Glob at "/v1/glob" { at: Resolved, request: GlobRequest } -> Globbed;
    Grep at "/v1/grep" { at: Resolved, request: GrepRequest } -> Grepped;
    OtherNames at "/v1/other_names" { files: [Resolved] } -> Vec<Vec<VirtualPath>>;
    NamesOf at "/v1/names_of" { files: [FileIdentity] } -> Vec<Vec<VirtualPath>>;

    [ANSWER_OF_COMMAND]
    Execute at "/v1/execute" { request: ExecuteRequest } -> Executed;
    ReadJob at "/v1/read_job" { id: JobId, read: JobRead } -> JobOutput;
    Spawn at "/v1/spawn" { request: SpawnRequest } -> Started;
    Input at "/v1/process/input" { process: u64 } -> ();
    Connect at "/v1/connect" { port: u16 } -> ();
    Watch at "/v1/watch" { at: Resolved, request: WatchRequest } -> ();
    Tree at "/v1/tree" { at: VirtualPath } -> crate::tree::TreeReport;
}

/// The greeting of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HelloAnswer {
    /// The version of the protocol that the server speaks.
    pub(crate) protocol: u32,
    /// The working directory of commands.
    pub(crate) directory: VirtualPath,
    /// The isolation of commands from the machine.
    pub(crate) isolation: sandbox::Isolation,
}

/// A resolved path with its entry. A resolved path in the arguments of a call is sent without the entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ResolveAnswer {
    pub(crate) typed: VirtualPath,
    pub(crate) real: VirtualPath,
    pub(crate) presence: Presence,
    #[serde(default)]
    pub(crate) aliases: Aliases,
}

/// Whether a file may have other names in the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Aliases {
    #[default]
    Counted,
    Possible,
}

impl From<Resolved> for ResolveAnswer {
    fn from(resolved: Resolved) -> Self {
        let presence = resolved.presence().clone();
        let counted = matches!(&presence, Presence::Present(entry) if entry.names > 1);
        let aliases = match resolved.may_have_other_names() && !counted {
            true => Aliases::Possible,
            false => Aliases::Counted,
        };
        Self { typed: resolved.typed, real: resolved.real, presence, aliases }
    }
}

impl From<ResolveAnswer> for Resolved {
    fn from(answer: ResolveAnswer) -> Self {
        let resolved = Self::new(answer.typed, answer.real).with_presence(answer.presence);
        match answer.aliases {
            Aliases::Possible => resolved.with_possible_aliases(),
            Aliases::Counted => resolved,
        }
    }
}

/// The description of content that was read; the content is the body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadAnswer {
    pub(crate) size: u64,
    pub(crate) modified: Option<Timestamp>,
}

/// The first frame of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    /// The number that calls use to name the process.
    pub(crate) process: u64,
    /// The pid, as commands in the sandbox see it.
    pub(crate) pid: u32,
}

/// A line of the answer to `watch`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WatchLine {
    /// A change.
    Event(sandbox::FileEvent),
    /// The error that ends the events.
    Error(workden_core::Error),
}
