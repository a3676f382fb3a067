//! `Record`: what the control plane knows about one sandbox.
//!
//! Invariant: a sandbox has a place exactly while its state is `started`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::{Map, Value};
use workden_core::Result;

use crate::{
    answer::now,
    place::{Place, PlacePlan},
    shared::{locked, random_digits},
};

/// A sandbox of the control plane.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) plan: PlacePlan,
    state: Mutex<RecordState>,
    tokens: Mutex<BTreeMap<u16, String>>,
}

#[derive(Debug)]
struct RecordState {
    /// The fields of the answer, without those that follow from the state.
    fields: Map<String, Value>,
    state: State,
    place: Option<Arc<Place>>,
}

/// The states that the stub knows, with the names of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Creating,
    PendingBuild,
    Starting,
    Restoring,
    Started,
    Stopping,
    Stopped,
    Archiving,
    Archived,
    Destroying,
    Destroyed,
    /// It failed, for this reason.
    Error(String),
}

impl State {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::PendingBuild => "pending_build",
            Self::Starting => "starting",
            Self::Restoring => "restoring",
            Self::Started => "started",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Archiving => "archiving",
            Self::Archived => "archived",
            Self::Destroying => "destroying",
            Self::Destroyed => "destroyed",
            Self::Error(_) => "error",
        }
    }

    fn desired(&self) -> &'static str {
        match self {
            Self::Creating | Self::PendingBuild | Self::Starting | Self::Restoring | Self::Started => "started",
            Self::Stopping | Self::Stopped => "stopped",
            Self::Archiving | Self::Archived => "archived",
            Self::Destroying | Self::Destroyed => "destroyed",
            Self::Error(_) => "started",
        }
    }

    /// Whether the sandbox changes to another state by itself.
    pub(crate) fn is_changing(&self) -> bool {
        match self {
            Self::Creating | Self::PendingBuild | Self::Starting | Self::Restoring => true,
            Self::Stopping | Self::Archiving | Self::Destroying => true,
            Self::Started | Self::Stopped | Self::Archived | Self::Destroyed | Self::Error(_) => false,
        }
    }
}

impl Record {
    pub(crate) fn new(id: String, name: String, plan: PlacePlan, fields: Map<String, Value>, state: State) -> Self {
        let state = RecordState { fields, state, place: None };
        Self { id, name, plan, state: Mutex::new(state), tokens: Mutex::default() }
    }

    /// Returns the sandbox as the API shows it.
    pub(crate) fn shown(&self) -> Value {
        let state = locked(&self.state);
        let mut shown = state.fields.clone();
        shown.insert("state".to_owned(), state.state.name().into());
        shown.insert("desiredState".to_owned(), state.state.desired().into());
        if let State::Error(reason) = &state.state {
            shown.insert("errorReason".to_owned(), reason.as_str().into());
        }
        shown.into()
    }

    pub(crate) fn field(&self, name: &str) -> Value {
        locked(&self.state).fields.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn set(&self, name: &str, value: Value) {
        locked(&self.state).fields.insert(name.to_owned(), value);
    }

    pub(crate) fn state(&self) -> State {
        locked(&self.state).state.clone()
    }

    pub(crate) fn place(&self) -> Option<Arc<Place>> {
        locked(&self.state).place.clone()
    }

    /// Changes the state if `next` returns one, and returns the place that it had.
    pub(crate) fn change<E>(&self, next: impl FnOnce(&State) -> Result<State, E>) -> Result<Option<Arc<Place>>, E> {
        let mut state = locked(&self.state);
        state.state = next(&state.state)?;
        state.fields.insert("updatedAt".to_owned(), now().into());
        Ok(state.place.take())
    }

    /// Ends a start. A sandbox that was given up meanwhile keeps its state, and the place ends.
    pub(crate) fn started(&self, place: Place) {
        let mut state = locked(&self.state);
        if state.state.is_changing() && state.state.desired() == "started" {
            state.state = State::Started;
            state.place = Some(Arc::new(place));
        }
    }

    pub(crate) fn take_place(&self) -> Option<Arc<Place>> {
        let mut state = locked(&self.state);
        state.state = State::Destroyed;
        state.place.take()
    }

    /// Ends the sandbox with its processes.
    pub(crate) async fn end(&self) {
        if let Some(place) = self.take_place() {
            place.stop().await;
        }
    }

    pub(crate) fn is_public(&self) -> bool {
        self.field("public") == Value::Bool(true)
    }

    /// Returns the token of a port, which stays the same.
    pub(crate) fn token(&self, port: u16) -> Result<String> {
        let mut tokens = locked(&self.tokens);
        if let Some(token) = tokens.get(&port) {
            return Ok(token.clone());
        }
        let token = random_digits(16)?;
        tokens.insert(port, token.clone());
        Ok(token)
    }

    pub(crate) fn accepts(&self, port: u16, token: &str) -> bool {
        locked(&self.tokens).get(&port).is_some_and(|given| given == token)
    }
}
