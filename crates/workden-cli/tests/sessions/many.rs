//! Fifty sessions at once, for two hundred callers.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::places::{Place, id, run, runs, soon};

const SESSIONS: usize = 50;
const CALLERS: usize = 4;
/// The most that the loop may stand still.
const STALL: Duration = Duration::from_millis(50);

/// The longest time between two turns of a task that wants one every millisecond.
fn ticker() -> (Arc<AtomicBool>, Arc<AtomicU64>) {
    let (stop, worst) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (stopped, seen) = (Arc::clone(&stop), Arc::clone(&worst));
    tokio::spawn(async move {
        while !stopped.load(SeqCst) {
            let began = Instant::now();
            tokio::time::sleep(Duration::from_millis(1)).await;
            let stalled = began.elapsed().saturating_sub(Duration::from_millis(1));
            seen.fetch_max(u64::try_from(stalled.as_micros()).unwrap(), SeqCst);
        }
    });
    (stop, worst)
}

/// The groups of this machine whose names are ours.
fn groups() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut directories = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = entry.path();
                if entry.file_name().to_string_lossy().contains("workden") {
                    all.insert(path.display().to_string());
                }
                directories.push(path);
            }
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_sessions_for_two_hundred_callers_are_each_made_once_and_all_end() {
    // With other tests beside, the machine itself lets a thread wait now and then: that is not the loop's doing.
    let machine = Arc::new(AtomicU64::new(0));
    let waiting = Arc::downgrade(&machine);
    std::thread::spawn(move || {
        while let Some(worst) = waiting.upgrade() {
            let began = Instant::now();
            std::thread::sleep(Duration::from_millis(1));
            worst.fetch_max(u64::try_from(began.elapsed().as_micros()).unwrap(), SeqCst);
        }
    });
    let mut stalls = Vec::new();
    while stalls.len() < 3 && !stalls.iter().any(|within| *within) {
        machine.store(0, SeqCst);
        let stalled = fifty_sessions().await;
        let machines = Duration::from_micros(machine.load(SeqCst));
        eprintln!("worst stall {stalled:?}, of a thread of the machine {machines:?}");
        stalls.push(stalled < STALL + machines);
    }
    assert!(stalls.iter().any(|within| *within), "the loop stood still");
}

/// Opens and ends them; the worst stall meanwhile.
async fn fifty_sessions() -> Duration {
    let place = Place::new();
    let manager = Arc::new(place.builder().max_sessions(SESSIONS).start().await.unwrap());
    let groups_before = groups();
    let (stop, worst) = ticker();
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..SESSIONS * CALLERS {
        let manager = Arc::clone(&manager);
        callers.spawn(async move {
            let session = manager.get_or_create(&id(&format!("s{}", caller % SESSIONS)), None).await.unwrap();
            run(&*session, "echo x >> said").await;
            (session.id().to_string(), session.name().to_owned())
        });
    }
    let mut made = BTreeSet::new();
    while let Some(done) = callers.join_next().await {
        made.insert(done.unwrap());
    }
    let opened = began.elapsed();
    assert_eq!(made.len(), SESSIONS, "a sandbox for each session, and no second one");
    let keepers = place.keepers();
    assert_eq!((keepers.len(), manager.sessions().len()), (SESSIONS, SESSIONS));
    let began = Instant::now();
    let report = manager.shutdown(Duration::from_secs(60)).await;
    stop.store(true, SeqCst);
    eprintln!("opened in {opened:?}, ended in {:?}, worst stall {} us", began.elapsed(), worst.load(SeqCst));
    assert_eq!((report.sessions, report.failed.len()), (SESSIONS, 0), "{report:?}");
    assert!(place.left().is_empty(), "{:?}", place.left());
    soon("keepers are left", || !keepers.iter().any(|pid| runs(pid))).await;
    // Other tests may have sandboxes of their own meanwhile: only what is ours is counted, in the end.
    soon("groups are left", || groups().difference(&groups_before).count() == 0).await;
    for session in 0..SESSIONS {
        let said = std::fs::read_to_string(place.root().join(format!("s{session}/workspace/said"))).unwrap();
        assert_eq!(said.lines().count(), CALLERS, "the files are kept");
    }
    Duration::from_micros(worst.load(SeqCst))
}
