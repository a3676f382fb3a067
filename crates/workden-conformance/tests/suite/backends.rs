//! Every backend of workden-core shows the behaviour of the contract, plain and wrapped.

use std::sync::Arc;

use async_trait::async_trait;
use futures_executor::block_on;
use workden_conformance::all;
use workden_core::{Backend, Gate, Guarded, Op, StateBackend, SteppingClock, Verdict, Visibility};

pub(crate) fn state() -> StateBackend {
    StateBackend::new(Arc::new(SteppingClock::default()))
}

/// A gate that has seen everything and objects to nothing.
#[derive(Debug)]
struct AllowAll;

#[async_trait]
impl Gate for AllowAll {
    async fn judge(&self, _: Op<'_>) -> Verdict {
        Verdict::Allow
    }

    fn visibility(&self) -> Visibility {
        Visibility::everything()
    }
}

#[test]
fn the_state_backend_conforms() {
    block_on(all(async || state()));
}

#[test]
fn the_state_backend_conforms_behind_a_pointer() {
    block_on(all(async || Arc::new(state()) as Arc<dyn Backend>));
    block_on(all(async || Box::new(state()) as Box<dyn Backend>));
}

#[test]
fn the_state_backend_conforms_behind_no_gate() {
    block_on(all(async || Guarded::new(state(), Vec::new())));
}

#[test]
fn the_state_backend_conforms_behind_a_gate_that_allows_all() {
    block_on(all(async || Guarded::new(state(), vec![Arc::new(AllowAll), Arc::new(AllowAll)])));
}
