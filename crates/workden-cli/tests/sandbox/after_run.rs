//! What is left of `workden run` at the moment when it returns: nothing, also for whoever looks at once.

use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_workden");
const TIMES: usize = 20;

fn shell(script: &str) -> Option<i32> {
    let status = Command::new("sh").args(["-c", script, "sh", PROGRAM]).status().unwrap();
    status.code()
}

/// Control groups of supervisors with numbers that only a young PID namespace gives.
fn groups_of_small_numbers() -> Vec<String> {
    let hierarchies = std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let groups = hierarchies.filter_map(|hierarchy| std::fs::read_dir(hierarchy.path()).ok()).flatten().flatten();
    let names = groups.map(|group| group.file_name().to_string_lossy().into_owned());
    let small = |name: &String| {
        let number = name.strip_prefix("workden-").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        number.is_some_and(|number| number < 20)
    };
    names.filter(small).collect()
}

#[test]
fn as_the_first_process_of_a_namespace_it_leaves_no_group() {
    for _ in 0..TIMES {
        assert_eq!(shell("unshare --pid --fork --mount-proc \"$1\" run -- true"), Some(0));
    }
    assert_eq!(groups_of_small_numbers(), Vec::<String>::new());
}

#[test]
fn what_its_starter_had_open_is_free_when_it_returns() {
    let place = tempfile::tempdir().unwrap();
    let lock = place.path().join("lock");
    let script = format!("exec 9>'{}'; flock -n 9 || exit 3; \"$1\" run -- true", lock.display());
    for _ in 0..TIMES {
        assert_eq!(shell(&script), Some(0), "somebody still holds the lock");
    }
}

#[test]
fn what_is_left_to_its_processes_is_nothing_of_its_starter() {
    let place = tempfile::tempdir().unwrap();
    let held = place.path().join("held");
    let script = format!(
        "exec 9>'{}'; \"$1\" run -- sleep 3 & run=$!; sleep 1; \
         for process in $run $(pgrep -P $run); do ls -l /proc/$process/fd; done | grep -c held; kill $run; wait $run",
        held.display()
    );
    let output = Command::new("sh").args(["-c", &script, "sh", PROGRAM]).output().unwrap();
    // By `workden run` itself, which was given it, and by neither the supervisor nor PID 1.
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1");
}

#[test]
fn a_timeout_holds_when_its_processes_are_stopped() {
    let script = "\"$1\" run --timeout 1 -- sleep 8640041 & run=$!; sleep 0.4; \
                  kill -STOP $(pgrep -P $run); wait $run";
    let began = std::time::Instant::now();
    let _ = shell(script);
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
}
