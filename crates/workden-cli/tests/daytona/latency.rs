//! A call through the keeper takes one round trip, over a slow link.

use std::time::{Duration, Instant};

use workden_core::{Backend, BackendExt, ByteRange, Expect, Resolved, Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_sandboxes::daytona::DaytonaMode;

use crate::{
    delay::slow_link,
    places::{builder, stub},
};

/// The delay of the link, there and back together: longer than a call takes on a busy machine, so that only a second
/// round trip looks like one.
const ROUND_TRIP: Duration = Duration::from_millis(150);
const ROUNDS: usize = 5;

/// Returns the shortest time of several: the others waited for the machine.
async fn shortest(mut call: impl AsyncFnMut()) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        call().await;
        shortest = shortest.min(began.elapsed());
    }
    shortest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_and_a_command_take_one_round_trip_through_the_keeper() {
    let direct = stub().await;
    let origin = direct.origin().trim_start_matches("http://").to_owned();
    let near = slow_link(origin, ROUND_TRIP / 2).await;
    let mut taken = Vec::new();
    for mode in [DaytonaMode::Keeper, DaytonaMode::Toolbox] {
        let sandbox = builder(&direct).api_url(format!("http://{near}/api")).mode(mode).build().unwrap();
        let path = VirtualPath::parse("/home/daytona/four").unwrap();
        sandbox.write_path(&path, vec![b'x'; 4096].into(), Expect::Anything).await.unwrap();
        let at = Resolved::literal(path);
        let read = shortest(async || {
            assert_eq!(sandbox.read(&at, ByteRange::whole()).await.unwrap().bytes.len(), 4096);
        });
        let read = read.await;
        let run = shortest(async || {
            assert_eq!(sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap().exit_code(), 0);
        });
        taken.push((mode, read, run.await));
        sandbox.stop().await.unwrap();
    }
    println!("{taken:?}");
    let (_, read, run) = taken[0];
    // A second round trip would show as another delay.
    assert!(read >= ROUND_TRIP && read < ROUND_TRIP * 2, "{taken:?}");
    assert!(run >= ROUND_TRIP && run < ROUND_TRIP * 2, "{taken:?}");
    direct.stop().await;
}
