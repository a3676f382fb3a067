//! Runtimes: built with real packages, once for all callers, with a report of failed builds, and pruned.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use workden_core::ErrorKind;
use workden_sandboxes::{
    docker::{BuildProgress, Images},
    runtimes::RuntimeConfig,
};

use crate::{
    docker::places::{BUSYBOX, PYTHON, daemon, docker, unique, workden},
    processes::{PATIENCE, soon},
};

/// A runtime with a unique name. Its images are removed with it.
struct Own(RuntimeConfig);

impl Own {
    fn of(base: &str) -> Self {
        daemon();
        let name = unique("test");
        Self(RuntimeConfig { name, base_image: Some(base.to_owned()), ..RuntimeConfig::default() })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let label = format!("label=workden.runtime={}", self.0.name);
        let images = docker(&["images", "--quiet", "--no-trunc", "--filter", &label]);
        for image in images.lines().collect::<BTreeSet<_>>() {
            // An image that is in use stays.
            let _ = std::process::Command::new("docker").args(["rmi", "--force", image]).output();
        }
    }
}

fn images() -> Images {
    Images::new(daemon())
}

/// The progress of a build.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<BuildProgress>>>);

impl Heard {
    fn hear(&self, progress: BuildProgress) {
        self.0.lock().unwrap().push(progress);
    }

    fn lines(&self) -> Vec<String> {
        let all = self.0.lock().unwrap();
        all.iter()
            .filter_map(|news| if let BuildProgress::Output(line) = news { Some(line.clone()) } else { None })
            .collect()
    }

    /// Waits for a line that starts with `start`.
    async fn wait_for(&self, start: &str) {
        soon(&format!("no build printed `{start}`"), async || self.lines().iter().any(|line| line.starts_with(start)))
            .await;
    }
}

/// Starts a task that ensures a runtime.
fn caller(runtime: &RuntimeConfig, heard: &Heard) -> tokio::task::JoinHandle<workden_core::Result<String>> {
    let (runtime, heard) = (runtime.clone(), heard.clone());
    // A separate client: builds are shared within the process, not within a client.
    let images = images();
    tokio::spawn(async move { images.ensure(&runtime, &|news| heard.hear(news)).await })
}

#[test]
fn a_runtime_has_its_package_its_variables_and_its_user() {
    let mut own = Own::of(PYTHON);
    let value = "a \"b\" $HOME ${x:-y} `c` 'd' \\n # <<EOF \\";
    own.0.packages = vec!["six>=1.10,<3".into()];
    own.0.setup_commands =
        vec!["echo \"first $((40 + 2))\" > /first; true <<EOF \\".into(), "echo second > /second".into()];
    own.0.env_vars.insert("ODD".into(), value.into());
    own.0.user = Some("1234:1234".into());
    own.0.work_dir = "/srv/work".into();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    std::fs::write(&file, serde_toml(&own.0)).unwrap();
    let file = file.to_str().unwrap();

    let built = workden(&["runtimes", "build", file]);
    let news = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success(), "{news}");
    let image = String::from_utf8(built.stdout).unwrap();
    assert_eq!(image, format!("{}\n", own.0.tag().unwrap().unwrap()));
    let image = image.trim();
    assert!(news.contains("\nstep 2/") && news.contains("Successfully installed six-"), "{news}");

    let script = "import os, six; print(six.__name__, os.getcwd(), os.getuid(), os.getgid(), sep='|'); \
                  open('writable', 'w'); print(os.environ['ODD']); print(open('/first').read() + open('/second').read())";
    let printed = docker(&["run", "--rm", "--network", "none", image, "python3", "-c", script]);
    assert_eq!(printed, format!("six|/srv/work|1234|1234\n{value}\nfirst 42\nsecond"));

    for (label, value) in
        [("workden", "1"), ("workden.runtime", &own.0.name), ("workden.hash", &image[image.len() - 12..])]
    {
        let format = format!("{{{{index .Config.Labels \"{label}\"}}}}");
        assert_eq!(docker(&["image", "inspect", "--format", &format, image]), value);
    }
    // The image exists now: nothing is built, and there is no progress.
    let id = docker(&["image", "inspect", "--format", "{{.Id}}", image]);
    let again = workden(&["runtimes", "build", file]);
    assert_eq!((String::from_utf8(again.stdout).unwrap().trim(), again.stderr.len()), (image, 0));
    assert_eq!(docker(&["image", "inspect", "--format", "{{.Id}}", image]), id);
    let list = String::from_utf8(workden(&["runtimes", "list"]).stdout).unwrap();
    assert!(list.contains(image), "{list}");
    let anew = workden(&["runtimes", "build", "--no-cache", file]);
    assert!(anew.status.success());
    assert_ne!(docker(&["image", "inspect", "--format", "{{.Id}}", image]), id);
}

/// Formats the runtime as TOML.
fn serde_toml(runtime: &RuntimeConfig) -> String {
    let json = serde_json::to_value(runtime).unwrap();
    let fields = json.as_object().unwrap().iter().filter(|(_, value)| !value.is_null() && !value.is_object());
    let fields: String = fields.map(|(name, value)| format!("{name} = {value}\n")).collect();
    let variables =
        runtime.env_vars.iter().map(|(name, value)| format!("{name} = {}\n", serde_json::to_string(value).unwrap()));
    format!("{fields}\n[env_vars]\n{}", variables.collect::<String>())
}

#[test]
fn a_build_that_fails_says_where_and_why() {
    let mut own = Own::of(PYTHON);
    own.0.packages = vec!["workden-no-such-package-0af".into()];
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    std::fs::write(&file, serde_toml(&own.0)).unwrap();
    let built = workden(&["runtimes", "build", file.to_str().unwrap()]);
    let complaint = String::from_utf8(built.stderr).unwrap();
    assert_eq!((built.status.code(), built.stdout.len()), (Some(1), 0), "{complaint}");
    let (_, error) = complaint.split_once("error: ").unwrap();
    let expected = format!("cannot build the runtime `{}`: step 3 of ", own.0.name);
    assert!(error.starts_with(&expected), "{error}");
    assert!(error.contains("failed, RUN [\"pip\",\"install\"") && error.contains("non-zero code: 1"), "{error}");
    assert!(
        error.contains("  | ") && error.contains("No matching distribution found for workden-no-such-package-0af"),
        "{error}"
    );
    assert!(error.contains("\nhint: check that every package") && error.len() < 20_000, "{error}");
}

#[tokio::test]
async fn an_image_that_cannot_be_had_is_told_so() {
    daemon();
    let images = images();
    let as_is =
        RuntimeConfig { name: "x".into(), image: Some("localhost:1/no-such-image:1".into()), ..Default::default() };
    let base = RuntimeConfig { base_image: as_is.image.clone(), image: None, ..as_is.clone() };
    for runtime in [as_is, base] {
        let error = images.ensure(&runtime, &|_| ()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let expected = "the image `localhost:1/no-such-image:1` is not on the daemon and could not be pulled: ";
        assert!(error.sentence().starts_with(expected) && error.sentence().len() > expected.len(), "{error}");
        assert!(error.hint_text().unwrap().contains("docker pull"), "{error}");
        assert_eq!(images.find(&runtime).await, Ok(None));
    }
    let there = RuntimeConfig { name: "x".into(), image: Some(BUSYBOX.into()), ..Default::default() };
    assert_eq!(images.ensure(&there, &|news| panic!("nothing happens: {news:?}")).await, Ok(BUSYBOX.to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_callers_build_once_although_the_first_one_goes() {
    let mut own = Own::of(BUSYBOX);
    // Every build prints a different word.
    let name = own.0.name.clone();
    own.0.setup_commands = vec![
        "echo \"built $(cat /proc/sys/kernel/random/uuid)\"".into(),
        format!("until test -e /go; do echo waiting of {name}; sleep 0.1; done"),
        "echo \"end $(cat /proc/sys/kernel/random/uuid)\"".into(),
    ];
    own.0.cache_image = false;
    let first_heard = Heard::default();
    let first = caller(&own.0, &first_heard);
    first_heard.wait_for("waiting").await;
    let heard: Vec<Heard> = (0..8).map(|_| Heard::default()).collect();
    let others: Vec<_> = heard.iter().map(|heard| caller(&own.0, heard)).collect();
    // All callers wait for the same build when the first one is cancelled.
    for heard in &heard {
        heard.wait_for("waiting").await;
    }
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let steps = docker(&["ps", "--no-trunc", "--format", "{{.ID}} {{.Command}}"]);
    let step = steps.lines().find(|line| line.contains(&name)).unwrap_or_else(|| panic!("no step is among {steps}"));
    docker(&["exec", step.split(' ').next().unwrap(), "touch", "/go"]);
    let tag = own.0.tag().unwrap().unwrap().to_string();
    for other in others {
        let image = tokio::time::timeout(PATIENCE, other).await.expect("a caller is left hanging");
        assert_eq!(image.unwrap(), Ok(tag.clone()));
    }
    let lines = heard.iter().flat_map(Heard::lines);
    let ends: Vec<String> = lines.filter(|line| line.starts_with("end ")).collect();
    assert_eq!(ends.len(), 8, "all hear of it: {ends:?}");
    assert_eq!(ends.iter().collect::<BTreeSet<_>>().len(), 1, "it was built more than once: {ends:?}");
    let label = format!("label=workden.runtime={}", own.0.name);
    assert_eq!(docker(&["images", "--quiet", "--filter", &label]).lines().count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn different_runtimes_are_built_side_by_side() {
    let mut both = [Own::of(BUSYBOX), Own::of(BUSYBOX)];
    let heard = [Heard::default(), Heard::default()];
    for own in &mut both {
        own.0.setup_commands = vec![format!("echo started {}; sleep 3600", own.0.name)];
    }
    let callers = [caller(&both[0].0, &heard[0]), caller(&both[1].0, &heard[1])];
    // Neither build ends, so the second would never start if it waited for the first.
    for heard in &heard {
        heard.wait_for("started").await;
    }
    for caller in callers {
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_without_a_caller_ends_on_the_daemon() {
    let mut own = Own::of(BUSYBOX);
    own.0.setup_commands = vec![format!("echo started; sleep 3600; echo {}", own.0.name)];
    let heard = Heard::default();
    let only = caller(&own.0, &heard);
    heard.wait_for("started").await;
    let running = async || docker(&["ps", "--no-trunc", "--format", "{{.Command}}"]).contains(&own.0.name);
    // The progress of the step comes before its container exists.
    soon("the step does not run", running).await;
    only.abort();
    soon("the build goes on without a caller", async || !running().await).await;
}

#[tokio::test]
async fn superseded_images_are_pruned_unless_a_container_uses_them() {
    let mut own = Own::of(BUSYBOX);
    let images = images();
    let mut tags = Vec::new();
    let mut states = Vec::new();
    for state in ["one", "two", "three"] {
        own.0.setup_commands = vec![format!("head -c 300000 /dev/urandom > /{state}")];
        tags.push(images.ensure(&own.0, &|_| ()).await.unwrap());
        states.push(own.0.clone());
    }
    let container = unique("workden-test-uses");
    docker(&["create", "--name", &container, &tags[1], "true"]);
    let of = |all: &[workden_sandboxes::docker::BuiltImage]| -> Vec<String> {
        let own = all.iter().filter(|image| image.runtime.as_ref() == Some(&states[0].name));
        own.filter_map(|image| image.tag.clone()).collect()
    };
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    assert_eq!(sorted(of(&images.list().await.unwrap())), sorted(tags.clone()));

    // An image of a runtime that is not named stays.
    let nothing = images.prune_dry_run(&[]).await.unwrap();
    assert_eq!((of(&nothing.removed), of(&nothing.in_use)), (vec![], vec![]));
    let would = images.prune_dry_run(&[states[2].clone()]).await.unwrap();
    assert_eq!((of(&would.removed), of(&would.in_use)), (vec![tags[0].clone()], vec![tags[1].clone()]));
    assert!(images.find(&states[0]).await.unwrap().is_some(), "a dry run removes nothing");

    let pruned = images.prune(&[states[2].clone()]).await.unwrap();
    assert_eq!((of(&pruned.removed), of(&pruned.in_use)), (vec![tags[0].clone()], vec![tags[1].clone()]));
    assert!((300_000..1_000_000).contains(&pruned.bytes), "{}", pruned.bytes);
    docker(&["rm", &container]);
    assert_eq!(of(&images.prune(&[states[2].clone()]).await.unwrap().removed), [tags[1].clone()]);
    assert_eq!(of(&images.list().await.unwrap()), [tags[2].clone()]);
}
