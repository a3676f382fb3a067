//! `bench pods`: managers of sessions in a cluster. Measures the claim of a spare pod beside the start of a new one, and
//! what a manager needs for 10,000 sessions that exist only in the API server.
//!
//! Everything is in a namespace of its own, which is deleted afterwards, also when a measurement fails.

mod crowd;
mod manager;
mod process;
mod spares;

use std::{path::PathBuf, time::Duration};

use crowd::Crowd;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams, ObjectMeta, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use process::Process;
pub(crate) use process::serve;

use crate::{
    Failure,
    lines::{Line, Target},
    options::Options,
    samples::Samples,
    table::time,
};

/// The default number of rounds: claims of a spare pod, and sessions that are opened in a crowd.
pub(crate) const ROUNDS: usize = 21;
/// The default size of the crowd.
pub(crate) const SESSIONS: usize = 10_000;
/// How many of the crowd are idle, and ended: one of so many.
const IDLE_PART: usize = 10;
/// How many managers adopt the crowd, each in a process of its own.
const MANAGERS: usize = 3;
/// How long a manager is watched that has nothing to do.
const REST: Duration = Duration::from_secs(30);

/// Runs everything and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (mut lines, mut notes) = (Vec::new(), Vec::new());
    runtime.block_on(async {
        let place = Place::new().await?;
        let done = tokio::select! {
            done = everything(&place, options, &mut lines, &mut notes) => done,
            _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
        };
        place.remove().await?;
        done
    })?;
    options.conclude("", &lines, &notes)
}

async fn everything(
    place: &Place,
    options: &Options,
    lines: &mut Vec<Line>,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    lines.push(spares::claims(place, options.rounds).await?);
    crowded(place, options, lines, notes).await
}

/// Measures managers among few sessions, and among many.
async fn crowded(
    place: &Place,
    options: &Options,
    lines: &mut Vec<Line>,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let (few, many) = (options.rounds + 1, options.sessions.unwrap_or(SESSIONS));
    let idle = many / IDLE_PART;
    let mut crowd = Crowd::new(place, "crowd", few + idle).await?;
    crowd.grow(few).await?;
    let mut small = Process::start(&place.namespace, "crowd")?;
    let alone = small.order("adopt")?;
    let among_few = opened(&mut small, few)?;
    drop(small);

    eprintln!("running: {many} sessions are invented");
    crowd.grow(many).await?;
    let mut adopting = Samples::default();
    let mut managers = Vec::new();
    for _ in 0..MANAGERS {
        let mut manager = Process::start(&place.namespace, "crowd")?;
        let adopted = manager.order("adopt")?;
        if adopted.count != many as u64 + 1 {
            return Err(format!("a manager found {} sessions of {}", adopted.count, many + 1).into());
        }
        adopting.add(adopted.took());
        managers.push((manager, adopted));
    }
    let Some((mut manager, adopted)) = managers.pop() else { return Err("no manager was measured".into()) };
    let among_many = opened(&mut manager, few)?;
    let rest = manager.order(&format!("rest {}", REST.as_secs()))?;

    crowd.make_idle(few..few + idle).await?;
    // A watch brings the changes to the manager.
    manager.order("rest 5")?;
    let ended = manager.order("reap")?;
    if ended.count != idle as u64 {
        return Err(format!("{} sessions were ended, and {idle} were idle", ended.count).into());
    }
    crowd.check_left(many - idle).await?;
    let mut ending = Samples::default();
    ending.add(ended.took());

    let few_name = format!("among {few}");
    lines.extend([
        Line::beside(
            &format!("get_or_create of a live session, among {many}"),
            &few_name,
            &among_many,
            &among_few,
            Target::Shown,
        ),
        Line::alone(&format!("adopt {many} sessions"), &adopting, Target::Shown),
        Line::alone(&format!("end {idle} idle sessions"), &ending, Target::Shown),
        Line::bytes_beside(
            &format!("memory of a manager of {many} sessions"),
            &few_name,
            adopted.resident,
            alone.resident,
            None,
        ),
    ]);
    let cpu = |what: &str, seconds: f64| format!("- {what}: {}", time(seconds));
    notes.push("Processor time of a manager:\n".to_owned());
    notes.push(cpu(&format!("to adopt {many} sessions"), adopted.cpu));
    notes.push(cpu("in each second in which it has nothing to do", rest.cpu / REST.as_secs_f64()));
    notes.push(cpu(&format!("to end {idle} idle sessions"), ended.cpu));
    Ok(())
}

/// Opens sessions that this manager has not opened before.
fn opened(manager: &mut Process, sessions: usize) -> Result<Samples, Failure> {
    let mut samples = Samples::default();
    for nth in 0..sessions {
        let opened = manager.order(&format!("open {}", Crowd::session(nth)))?;
        // The first one also reads the clock of the cluster.
        if nth > 0 {
            samples.add(opened.took());
        }
    }
    Ok(samples)
}

/// A namespace of the cluster.
struct Place {
    client: Client,
    namespace: String,
}

impl Place {
    async fn new() -> Result<Self, Failure> {
        let kubeconfig = Kubeconfig::read_from(prepared("WORKDEN_TEST_KUBECONFIG")?)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let place =
            Self { client: Client::try_from(config)?, namespace: format!("workden-bench-{}", std::process::id()) };
        let metadata = ObjectMeta { name: Some(place.namespace.clone()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        Api::<Namespace>::all(place.client.clone()).create(&PostParams::default(), &namespace).await?;
        Ok(place)
    }

    /// Counts the pods that have these labels.
    async fn pods(&self, labels: &str) -> Result<usize, Failure> {
        let pods = Api::<Pod>::namespaced(self.client.clone(), &self.namespace);
        Ok(pods.list_metadata(&ListParams::default().labels(labels)).await?.items.len())
    }

    async fn remove(&self) -> Result<(), Failure> {
        Crowd::remove_nodes(&self.client).await?;
        Api::<Namespace>::all(self.client.clone()).delete(&self.namespace, &DeleteParams::default()).await?;
        Ok(())
    }
}

/// Returns the path in a variable that `cargo xtask bench pods` sets.
fn prepared(variable: &str) -> Result<PathBuf, Failure> {
    let hint = "hint: `cargo xtask bench pods` starts a cluster and builds a keeper";
    std::env::var_os(variable).map(PathBuf::from).ok_or_else(|| format!("{variable} is not set\n{hint}").into())
}
