//! A call through the keeper takes one round trip, over a slow link.
//!
//! `-- latency --nocapture` prints what docs/benchmarks.md has.

use std::time::{Duration, Instant};

use workden_core::{Backend, BackendExt, ByteRange, Expect, Resolved, Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_sandboxes::daytona::DaytonaMode;

use crate::{
    delay::slow_link,
    places::{builder, stub},
};

/// The delay of a usual link, there and back together.
const USUAL: Duration = Duration::from_millis(20);
/// A delay that is longer than a call takes on a busy machine, so that only a second round trip looks like one.
const LONG: Duration = Duration::from_millis(150);

/// The times of one call, the shortest first: all but the first also waited for the machine.
#[derive(Debug)]
struct Times(Vec<Duration>);

impl Times {
    async fn of(rounds: usize, mut call: impl AsyncFnMut()) -> Self {
        let mut times = Vec::new();
        for _ in 0..rounds {
            let began = Instant::now();
            call().await;
            times.push(began.elapsed());
        }
        times.sort();
        Self(times)
    }

    fn shortest(&self) -> Duration {
        self.0[0]
    }

    fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }
}

/// Measures a read of 4 KiB and a command over a link with this delay.
async fn measured(mode: DaytonaMode, round_trip: Duration, rounds: usize) -> [Times; 2] {
    let direct = stub().await;
    let origin = direct.origin().trim_start_matches("http://").to_owned();
    let near = slow_link(origin, round_trip / 2).await;
    let sandbox = builder(&direct).api_url(format!("http://{near}/api")).mode(mode).build().unwrap();
    let path = VirtualPath::parse("/home/daytona/four").unwrap();
    sandbox.write_path(&path, vec![b'x'; 4096].into(), Expect::Anything).await.unwrap();
    let at = Resolved::literal(path);
    let read = Times::of(rounds, async || {
        assert_eq!(sandbox.read(&at, ByteRange::whole()).await.unwrap().bytes.len(), 4096);
    });
    let read = read.await;
    let run = Times::of(rounds, async || {
        assert_eq!(sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap().exit_code(), 0);
    });
    let run = run.await;
    sandbox.stop().await.unwrap();
    direct.stop().await;
    [read, run]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_and_a_command_take_one_round_trip_through_the_keeper() {
    for mode in [DaytonaMode::Keeper, DaytonaMode::Toolbox] {
        let [read, run] = measured(mode, USUAL, 15).await;
        for (what, times) in [("read 4 KiB", read), ("execute `true`", run)] {
            println!("{mode:?} {what}: {:.1?} / {:.1?}", times.shortest(), times.median());
        }
    }
    for times in measured(DaytonaMode::Keeper, LONG, 5).await {
        // A second round trip would show as another delay.
        assert!(times.shortest() >= LONG && times.shortest() < LONG * 2, "{times:?}");
    }
}
