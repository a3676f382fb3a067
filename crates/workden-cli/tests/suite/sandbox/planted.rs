//! What an earlier command, or a cloned repository, leaves in the workspace: it names no directory of the host, and
//! holds up no start.

use std::{
    fs,
    os::unix::fs::symlink,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::project::{Project, Ran};

const SECRET: &str = "private-key";

/// A home directory with a key and a project in it.
struct Home {
    home: Project,
}

impl Home {
    fn new() -> Self {
        let home = Project::new();
        for directory in [".ssh", "proj/.venv/bin", "proj/zz", "proj/cache", "hostdir"] {
            fs::create_dir_all(home.at(directory)).unwrap();
        }
        for file in [".ssh/key", "hostdir/key"] {
            fs::write(home.at(file), SECRET).unwrap();
        }
        symlink("proj", home.at("alias")).unwrap();
        Self { home }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.command(words);
        command.current_dir(self.home.at("proj")).env("HOME", self.home.path()).env_remove("VIRTUAL_ENV");
        command
    }

    fn workden(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }

    /// Puts an interpreter into the project's environment.
    fn plant_python(&self) {
        fs::copy("/bin/true", self.home.at("proj/.venv/bin/python3")).unwrap();
    }
}

#[test]
fn a_virtual_environment_does_not_name_a_directory_of_the_host() {
    let home = Home::new();
    home.plant_python();
    let key = home.home.at(".ssh/key").display().to_string();
    let cat = format!(r#"{{"command":"cat {key}"}}"#);
    let attempts = || {
        for words in [
            vec!["run", "--toolchain", "python", "--", "cat", &key],
            vec!["tool", "execute", &cat, "--toolchain", "python", "--yes"],
        ] {
            let ran = home.workden(&words);
            assert!(!ran.out.contains(SECRET) && ran.code != Some(0), "{words:?}: {ran:?}");
            let told = format!("{}{}", ran.out, ran.err);
            assert!(told.contains("is not one of this machine's toolchains"), "{words:?}: {ran:?}");
        }
    };
    fs::write(home.home.at("proj/.venv/pyvenv.cfg"), format!("home = {}\n", home.home.at(".ssh").display())).unwrap();
    attempts();
    fs::remove_file(home.home.at("proj/.venv/pyvenv.cfg")).unwrap();
    symlink(home.home.at(".ssh/nothing"), home.home.at("proj/.venv/bin/python")).unwrap();
    attempts();
}

#[test]
fn an_environment_that_was_exchanged_for_a_link_is_not_shown() {
    let home = Home::new();
    fs::remove_dir_all(home.home.at("proj/.venv")).unwrap();
    fs::create_dir_all(home.home.at("hostdir/bin")).unwrap();
    fs::copy("/bin/true", home.home.at("hostdir/bin/python3")).unwrap();
    symlink("../hostdir", home.home.at("proj/.venv")).unwrap();
    let key = home.home.at("hostdir/key").display().to_string();
    let mut command = home.command(&["run", "--toolchain", "python", "--", "cat", &key]);
    let ran = Ran::of(command.env("VIRTUAL_ENV", home.home.at("proj/.venv")).output().unwrap());
    assert!(!ran.out.contains(SECRET) && ran.err.contains("where commands can write"), "{ran:?}");
}

#[test]
fn files_that_never_end_do_not_hold_up_a_start() {
    let home = Home::new();
    home.plant_python();
    for directory in [".pyenv/versions/3.11.7/bin", ".nvm/versions/node/v22.3.0/bin"] {
        fs::create_dir_all(home.home.at(directory)).unwrap();
    }
    let fifo = |below: &str| mknodat(CWD, home.home.at(below), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for below in ["proj/.venv/pyvenv.cfg", "proj/.python-version", "proj/fifo"] {
        fifo(below);
    }
    fs::write(home.home.at("proj/.nvmrc"), home.home.at("proj/fifo").display().to_string()).unwrap();
    for toolchain in ["python", "node"] {
        let mut child = home.command(&["run", "--toolchain", toolchain, "--", "true"]).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                child.kill().unwrap();
                panic!("looking for {toolchain} does not end");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_link_in_the_workspace_is_no_source_of_a_mount_under_any_name() {
    let home = Home::new();
    fs::remove_dir(home.home.at("proj/cache")).unwrap();
    symlink("../hostdir", home.home.at("proj/cache")).unwrap();
    let read = r#"{"path":"/cache/key"}"#;
    let write = r#"{"path":"/cache/new","content":"x"}"#;
    for source in ["./cache", "./zz/../cache", "../alias/cache", "../proj/zz/../cache"] {
        let (of_run, of_tool) = (format!("{source}:/cache"), format!("/cache={source}"));
        for words in [
            vec!["run", "--mount", &of_run, "--", "cat", "/cache/key"],
            vec!["tool", "read_file", read, "--mount", &of_tool],
            vec!["tool", "write_file", write, "--mount", &of_tool, "--policy", "permissive"],
            vec!["tool", "execute", r#"{"command":"cat /cache/key"}"#, "--mount", &of_tool, "--yes"],
        ] {
            let ran = home.workden(&words);
            assert!(!ran.out.contains(SECRET), "{words:?}: {ran:?}");
            let told = format!("{}{}", ran.out, ran.err);
            assert!(told.contains("goes through the link `cache`"), "{words:?}: {ran:?}");
        }
    }
    assert!(!home.home.at("hostdir/new").exists());
}

#[test]
fn a_source_that_is_exchanged_all_the_time_never_shows_the_outside() {
    let home = Home::new();
    symlink("../hostdir", home.home.at("proj/link")).unwrap();
    fs::write(home.home.at("proj/cache/key"), "harmless").unwrap();
    let (one, other, over) = (home.home.at("proj/cache"), home.home.at("proj/link"), AtomicBool::new(false));
    let (mut harmless, mut refused, mut of_control) = (0, 0, 0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..40 {
            let ran = home.workden(&["run", "--mount", "./cache:/cache", "--", "cat", "/cache/key"]);
            let read = r#"{"path":"/cache/key"}"#;
            let tool = home.workden(&["tool", "read_file", read, "--mount", "/cache=./cache", "--sandbox", "none"]);
            for ran in [ran, tool] {
                assert!(!ran.out.contains(SECRET), "{ran:?}");
                match ran.code {
                    Some(0) => harmless += 1,
                    _ => refused += 1,
                }
            }
            of_control += u32::from(fs::read_to_string(one.join("key")).is_ok_and(|read| read == SECRET));
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(harmless + refused == 80 && refused > 0, "{harmless} harmless, {refused} refused");
    assert!(of_control > 0, "by name, the outside was not reached either");
}
