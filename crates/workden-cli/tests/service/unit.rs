//! `deploy/systemd`: systemd accepts the unit, and its commands do what it promises. A test machine may have no running
//! systemd, so the test runs the commands of the unit itself.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use reqwest::StatusCode;
use serde_json::json;

use crate::served::{Served, until};

/// The unit with its configuration, for another place.
struct Unit {
    text: String,
    file: PathBuf,
}

impl Unit {
    fn installed(home: &Path) -> Self {
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/systemd");
        let read = |name: &str| std::fs::read_to_string(deploy.join(name)).unwrap();
        let state = home.join("state");
        let config = home.join("serve.toml");
        let settings = read("serve.toml").replace("/var/lib/workden", state.to_str().unwrap());
        std::fs::write(&config, settings.replace("127.0.0.1:8420", "127.0.0.1:0")).unwrap();
        let text = read("workden.service").replace("/usr/local/bin/workden", env!("CARGO_BIN_EXE_workden"));
        let text = text.replace("/etc/workden/serve.toml", config.to_str().unwrap());
        let file = home.join("workden.service");
        std::fs::write(&file, &text).unwrap();
        Self { text, file }
    }

    fn setting(&self, name: &str) -> &str {
        self.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap()
    }

    /// Returns a command of the unit, with the variables of the unit.
    fn command(&self, name: &str) -> Command {
        let mut words = self.setting(name).split(' ');
        let mut command = Command::new(words.next().unwrap());
        let variables = self.setting("Environment").split(' ').filter_map(|pair| pair.split_once('='));
        command.args(words).env_clear().envs(variables).env("PATH", std::env::var("PATH").unwrap());
        command
    }
}

#[test]
fn systemd_accepts_the_unit() {
    let home = tempfile::tempdir().unwrap();
    let unit = Unit::installed(home.path());
    let verify = || Command::new("systemd-analyze").arg("verify").arg(&unit.file).output().unwrap();
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let accepted = verify();
    assert!(accepted.status.success() && !said(&accepted).contains("workden.service:"), "{}", said(&accepted));
    std::fs::write(&unit.file, unit.text.replace("KillMode=process", "KillMode=nothing")).unwrap();
    assert!(said(&verify()).contains("workden.service:"), "it notices a mistake");
}

#[tokio::test]
async fn the_commands_of_the_unit_check_start_reload_and_replace_the_service() {
    let home = tempfile::tempdir().unwrap();
    let unit = Unit::installed(home.path());
    assert!(unit.command("ExecStartPre").status().unwrap().success());
    let served = Served::quiet(&mut unit.command("ExecStart"));
    assert!(!served.log().iter().any(|line| line.contains("e2b_")), "the journal keeps what is printed");
    let words: Vec<&str> = unit.setting("ExecStart").split(' ').filter(|word| *word != "--quiet").collect();
    let new_key = Command::new(words[0]).args(&words[1..]).arg("--new-key").output().unwrap();
    let key = String::from_utf8(new_key.stdout).unwrap().trim().to_owned();
    let admin = served.with_key(&key);
    let (session, _) = admin.session(json!({ "name": "kept" })).await;
    admin.post(&format!("{session}/jobs"), json!({ "command": "sleep 1000" })).await;
    let reload = unit.setting("ExecReload").replace("$MAINPID", &served.id().to_string());
    assert!(Command::new("sh").args(["-c", &reload]).status().unwrap().success());
    until("the configuration", || async { served.log().iter().any(|line| line.contains("again")) }).await;
    // `KillMode=process`: TERM for the service alone.
    assert_eq!(unit.setting("KillMode"), "process");
    served.end();
    let next = Served::quiet(&mut unit.command("ExecStart"));
    let admin = next.with_key(&key);
    assert_eq!(admin.run(&session, "pgrep -c sleep").await.1, "1\n", "its sessions went on");
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
}
