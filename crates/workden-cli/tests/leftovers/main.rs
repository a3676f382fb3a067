//! Nothing is left of a sandbox: no process, no zombie, no descriptor, however it ends. A program of its own,
//! with one test: it counts what the whole process has.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{HostEnvironment, HostSandbox, KeeperProgram, LinuxSandbox};

fn keeper() -> KeeperProgram {
    KeeperProgram::at(env!("CARGO_BIN_EXE_workden"))
}

/// Processes whose arguments hold this word.
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

/// Children of this process that are dead and that nobody has waited for.
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

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn dropped_closed_and_stopped_sandboxes_leave_nothing() {
    let project = tempfile::tempdir().unwrap();
    let marks = ["8640011", "8640012", "8640013", "8640014"];
    // The first runtime of a process opens something for all of them, for good.
    drop(tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
    let before = descriptors();
    for (index, mark) in marks.iter().enumerate() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let host = HostEnvironment::from_process();
            let linux = LinuxSandbox::builder().keeper(keeper()).directory(project.path()).start().await.unwrap();
            let on_host = HostSandbox::builder(project.path()).keeper(keeper()).environment_of(host);
            let on_host = on_host.start().await.unwrap();
            let leave = ExecuteRequest::shell(format!("setsid sleep {mark} & sleep 0.05"));
            linux.execute(&leave).await.unwrap();
            on_host.execute(&leave).await.unwrap();
            assert_eq!(processes_with(mark).len(), 2);
            match index {
                // The runtime goes before the keepers have.
                0 => drop((linux, on_host)),
                1 => {
                    drop((linux, on_host));
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                2 => {
                    linux.close().await;
                    on_host.close().await;
                    assert_eq!(processes_with(mark), [""; 0]);
                }
                _ => {
                    linux.stop().await.unwrap();
                    on_host.stop().await.unwrap();
                    assert_eq!(processes_with(mark), [""; 0]);
                }
            }
        });
        drop(runtime);
        eventually("something that a command started is left", || processes_with(mark).is_empty());
    }
    eventually("a zombie is left", || zombies() == 0);
    assert_eq!(descriptors(), before, "a descriptor is left");
}
