//! Settings of a session manager, and their defaults.

use std::{sync::Arc, time::Duration};

use workden_sandboxes::runtimes::RuntimeConfig;

use crate::{SessionStore, workspaces::Workspaces};

/// The default idle limit of a session.
const IDLE: Duration = Duration::from_secs(3600);
/// How long a session may take to start: an image may have to be fetched.
const START: Duration = Duration::from_secs(600);
/// How long a session may take to end.
const STOP: Duration = Duration::from_secs(30);
/// How many events a listener may lag behind.
const EVENTS: usize = 256;
/// How long a sandbox may take to say that it is alive.
const ANSWER: Duration = Duration::from_secs(5);
/// How long such an answer counts.
const TRUST: Duration = Duration::from_secs(1);

/// The clock that says how long a session has been idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleClock {
    /// The manager's: sandboxes are used through their sessions.
    #[default]
    Manager,
    /// The sandbox's, in [`Usage::idle`](workden_core::sandbox::Usage::idle): it is also used past its session.
    Sandbox,
}

/// Settings that apply to all sessions of a manager.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) default_runtime: Option<RuntimeConfig>,
    pub(super) idle: Duration,
    pub(super) max_sessions: Option<usize>,
    pub(super) workspaces: Option<Workspaces>,
    pub(super) store: Option<Arc<dyn SessionStore>>,
    pub(super) spares: usize,
    pub(super) start_deadline: Duration,
    pub(super) stop_deadline: Duration,
    pub(super) events: usize,
    pub(super) answer_deadline: Duration,
    pub(super) trust: Duration,
    pub(super) idle_clock: IdleClock,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_runtime: None,
            idle: IDLE,
            max_sessions: None,
            workspaces: None,
            store: None,
            spares: 0,
            start_deadline: START,
            stop_deadline: STOP,
            events: EVENTS,
            answer_deadline: ANSWER,
            trust: TRUST,
            idle_clock: IdleClock::default(),
        }
    }
}
