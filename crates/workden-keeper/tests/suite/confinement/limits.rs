//! Limits that are hit: the sandbox enforces them, and leaves nothing behind.

use workden_core::sandbox::{Confinement, Limit, Limits};

use super::run::{Starter, TestSandbox, starters};

#[test]
fn a_fork_bomb_meets_the_process_limit() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let limits = Limits { processes: Some(Limit::required(30)), ..Limits::default() };
        let confinement = Confinement { limits, ..sandbox.confinement() };
        let script = "import os, time\nn = 0\ntry:\n    while n < 500:\n        if os.fork() == 0:\n            \
                      time.sleep(600)\n            os._exit(0)\n        n += 1\nexcept OSError: pass\nprint(n)";
        sandbox.write("bomb.py", script);
        let ran = sandbox.run(&confinement, "exec /usr/bin/python3 bomb.py");
        let made: u32 = ran.output.trim().parse().unwrap_or_else(|_| panic!("started by {starter:?}: {ran:?}"));
        assert!((20..=50).contains(&made), "started by {starter:?}: {made}");
    }
}

#[test]
fn files_and_places_have_their_sizes() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let limits = Limits {
            open_files: Some(Limit::required(32)),
            file_size: Some(Limit::required(1 << 20)),
            tmp_size: Some(Limit::required(4 << 20)),
            ..Limits::default()
        };
        let confinement = Confinement { limits, ..sandbox.confinement() };
        for (line, wanted) in [
            ("ulimit -n", "32\n"),
            ("head -c 3000000 /dev/zero > big; stat -c %s big", "1048576\n"),
            ("for i in 1 2 3 4 5 6; do head -c 1000000 /dev/zero > /tmp/$i || echo full; done", "full\nfull\n"),
        ] {
            let ran = sandbox.run(&confinement, line);
            assert_eq!(ran.output, wanted, "{line}, started by {starter:?}: {ran:?}");
        }
    }
}

#[test]
fn a_memory_bomb_is_killed_or_refused_and_never_let_go_off() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let limits = |limit| Limits { memory: Some(limit), ..Limits::default() };
        let bomb = "/usr/bin/python3 -c 'x = b\"a\" * 300_000_000; print(len(x))'";
        let best_effort = Confinement { limits: limits(Limit::best_effort(64 << 20)), ..sandbox.confinement() };
        let ran = sandbox.run(&best_effort, bomb);
        assert_eq!(ran.output, "", "started by {starter:?}: {ran:?}");
        let required = Confinement { limits: limits(Limit::required(64 << 20)), ..sandbox.confinement() };
        let ran = sandbox.run(&required, bomb);
        assert_eq!(ran.output, "", "started by {starter:?}: {ran:?}");
        if starter == Starter::Ordinary {
            let sentence = "the sandbox cannot start: cannot enforce the memory limit of 64 MB";
            assert!(ran.errors.starts_with(sentence) || ran.code != 125, "{ran:?}");
        }
    }
}
