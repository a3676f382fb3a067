//! Every backend of workden-core shows the behaviour of the contract, plain and wrapped.

use std::sync::Arc;

use futures_executor::block_on;
use workden_conformance::{PrefixBackend, all};
use workden_core::{Backend, BackendExt, Expect, Guarded, OpenGate, SteppingClock, VirtualPath, text::Replacement};
use workden_files::StateBackend;

use crate::broken::{Broken, Spoil};

pub(crate) fn state() -> StateBackend {
    StateBackend::new(Arc::new(SteppingClock::default()))
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
    block_on(all(async || Guarded::new(state())));
}

#[test]
fn the_state_backend_conforms_behind_a_gate_that_allows_all() {
    block_on(all(async || Guarded::new(state()).gate(Arc::new(OpenGate)).gate(Arc::new(OpenGate))));
}

#[test]
fn the_state_backend_conforms_when_calls_come_in_between() {
    block_on(all(async || Broken::new(state(), Spoil::Nothing)));
}

#[test]
fn a_directory_of_the_state_backend_conforms() {
    let work = VirtualPath::parse("/desk/space").unwrap();
    block_on(all(async || {
        let files = state();
        files.make_dir_path(&work).await.unwrap();
        let beside = VirtualPath::parse("/desk/spaceship/beside").unwrap();
        files.write_path(&beside, "x".into(), Expect::Absent).await.unwrap();
        PrefixBackend::new(files, work.clone())
    }));
}

#[test]
fn the_state_backend_loses_no_edit_of_sixty_four_threads() {
    let files = state();
    let path = VirtualPath::parse("/f").unwrap();
    let lines = |state: &str| (0..64).map(|number| format!("{number:02} {state}\n")).collect::<String>();
    block_on(files.write_path(&path, lines("open").into(), Expect::Absent)).unwrap();
    std::thread::scope(|scope| {
        for number in 0..64 {
            let edit = Replacement::once(format!("{number:02} open"), format!("{number:02} done"));
            let (files, path) = (&files, &path);
            scope.spawn(move || block_on(files.edit(path, &[edit])).unwrap());
        }
    });
    assert_eq!(block_on(files.read_bytes(&path)).unwrap(), lines("done"));
}
