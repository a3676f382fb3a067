//! A sandbox leaves no process, no zombie and no descriptor behind, however it ends.

use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{HostEnvironment, HostSandbox, KeeperProgram, LinuxSandbox};

use crate::{
    own_process::alone,
    processes::{eventually, mark, soon},
};

fn keeper() -> KeeperProgram {
    KeeperProgram::at(env!("CARGO_BIN_EXE_workden"))
}

/// Returns the processes with this word among their arguments.
fn processes_with(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(arguments) = std::fs::read(entry.path().join("cmdline")) else { continue };
        if String::from_utf8_lossy(&arguments).split('\0').any(|argument| argument == word) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

/// Counts the dead children of this process that it has not waited for.
fn zombies() -> usize {
    let own = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let after = stat.rsplit_once(") ")?.1.to_owned();
        let mut fields = after.split(' ');
        (fields.next() == Some("Z") && fields.next() == Some(own.as_str())).then_some(())
    });
    stats.count()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// How a sandbox ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The runtime is dropped before the keepers have exited.
    DroppedWithItsRuntime,
    Dropped,
    Closed,
    Stopped,
}

#[test]
fn dropped_closed_and_stopped_sandboxes_leave_nothing() {
    alone(|| {
        // The first runtime of a process opens descriptors that stay open.
        drop(runtime());
        let before = descriptors();
        for how in [End::DroppedWithItsRuntime, End::Dropped, End::Closed, End::Stopped] {
            let mark = mark();
            let runtime = runtime();
            runtime.block_on(start_and_end(how, &mark));
            drop(runtime);
            eventually(&format!("something of a command is left: {how:?}"), || processes_with(&mark).is_empty());
        }
        eventually("a zombie is left", || zombies() == 0);
        eventually("a descriptor is left", || descriptors() == before);
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn start_and_end(how: End, mark: &str) {
    let project = tempfile::tempdir().unwrap();
    let linux = LinuxSandbox::builder().keeper(keeper()).root(project.path()).start().await.unwrap();
    let on_host = HostSandbox::builder().root(project.path()).keeper(keeper());
    let on_host = on_host.environment_of(HostEnvironment::from_process()).start().await.unwrap();
    let leave = ExecuteRequest::shell(format!("setsid sleep {mark} &"));
    linux.execute(&leave).await.unwrap();
    on_host.execute(&leave).await.unwrap();
    soon("what the commands leave does not run", async || processes_with(mark).len() == 2).await;
    match how {
        End::DroppedWithItsRuntime => drop((linux, on_host)),
        End::Dropped => {
            drop((linux, on_host));
            soon("something of a command is left", async || processes_with(mark).is_empty()).await;
        }
        End::Closed => {
            linux.close().await;
            on_host.close().await;
            assert_eq!(processes_with(mark), [""; 0]);
        }
        End::Stopped => {
            linux.stop().await.unwrap();
            on_host.stop().await.unwrap();
            assert_eq!(processes_with(mark), [""; 0]);
        }
    }
}
