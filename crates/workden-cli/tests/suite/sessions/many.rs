//! Many sessions at once, for four times as many callers.

use std::{collections::BTreeSet, sync::Arc};

use tokio::task::JoinSet;

use crate::{
    counts::times,
    family::{OlderGroups, family},
    processes::{PATIENCE, soon},
    sessions::places::{Place, id, run, runs},
    stalls::Stalls,
};

const CALLERS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_for_many_callers_are_each_made_once_and_all_end() {
    let (place, sessions) = (Place::new(), times(12, 50));
    let manager = Arc::new(place.builder().max_sessions(sessions).start().await.unwrap());
    let (stalls, older) = (Stalls::watch(), OlderGroups::now());
    let mut callers = JoinSet::new();
    for caller in 0..sessions * CALLERS {
        let manager = Arc::clone(&manager);
        callers.spawn(async move {
            let session = manager.get_or_create(&id(&format!("s{}", caller % sessions)), None).await.unwrap();
            run(&*session, "echo x >> said").await;
            (session.id().to_string(), session.name().to_owned())
        });
    }
    let mut made = BTreeSet::new();
    while let Some(done) = callers.join_next().await {
        made.insert(done.unwrap());
    }
    assert_eq!(made.len(), sessions, "a sandbox for each session, and no second one");
    let keepers = place.keepers();
    assert_eq!((keepers.len(), manager.sessions().len()), (sessions, sessions));
    let processes: Vec<u32> = keepers.iter().flat_map(|pid| family(pid.parse().unwrap())).collect();
    let groups = older.newer_of(&processes);
    assert!(!groups.is_empty(), "their groups are not found by their processes");

    let report = manager.shutdown(PATIENCE).await;
    assert_eq!((report.sessions, report.failed.len()), (sessions, 0), "{report:?}");
    assert!(place.left().is_empty(), "{:?}", place.left());
    soon("keepers are left", async || !keepers.iter().any(|pid| runs(pid))).await;
    soon("groups are left", async || !groups.iter().any(|group| group.exists())).await;
    for session in 0..sessions {
        let said = std::fs::read_to_string(place.root().join(format!("s{session}/workspace/said"))).unwrap();
        assert_eq!(said.lines().count(), CALLERS, "the files are kept");
    }
    stalls.were_short();
}
