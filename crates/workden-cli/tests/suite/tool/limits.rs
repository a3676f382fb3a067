//! Limits, variables and toolchains of `tool` and `mcp`: the same options as those of `run`.

use serde_json::json;

use crate::project::{Project, Ran};

fn execute(project: &Project, command: &str, words: &[&str]) -> Ran {
    let call = json!({ "command": command }).to_string();
    project.workden(&[&["tool", "execute", &call, "--yes", "--policy", "permissive"], words].concat())
}

#[test]
fn a_command_of_a_tool_has_the_limits_of_the_command_line() {
    let project = Project::new();
    let hit = execute(&project, "tail -n 1 /dev/zero", &["--memory", "64M"]);
    assert!(hit.code == Some(137) && hit.out.contains("memory limit 64 MB"), "{hit:?}");
    for (words, command, expected) in [
        (&["--env", "GIT_AUTHOR_NAME=Ann"][..], "echo $GIT_AUTHOR_NAME", "Ann\n"),
        (&["--env", "A=b", "--sandbox", "host"], "echo $A", "b\n"),
        // Not in bash, which tries for 15 seconds.
        (&["--pids", "5"], "sh -c 'sleep 60 & sleep 60 & sleep 60 & sleep 60 & sleep 60 & echo out'", "annot fork"),
    ] {
        let ran = execute(&project, command, words);
        assert!(ran.out.contains(expected), "{words:?}: {ran:?}");
    }
    // Whatever time the call itself asks for.
    let call = r#"{"command": "sleep 600", "timeout": 500}"#;
    let late = project.workden(&["tool", "execute", call, "--yes", "--timeout", "0.5"]);
    assert!(late.out.starts_with("Command timed out after 0.5 seconds (exit code 124)"), "{late:?}");
    assert_eq!(late.code, Some(124));
}

#[test]
fn what_a_sandbox_does_not_support_is_an_invalid_command_line() {
    let project = Project::new();
    std::fs::write(project.at("mounts.toml"), "[[mounts]]\nat = \"/a\"\ndirectory = \".\"\n").unwrap();
    for (words, says) in [
        (
            &["--root", ".", "--config", "mounts.toml"][..],
            "`--root` is not supported with a configuration that has mounts",
        ),
        (&["--state", "s.json", "--sandbox", "linux"], "`--state` is not supported with `--sandbox linux`"),
        (&["--sandbox", "host", "--mount", "/data=."], "`--mount` is not supported with `--sandbox host`"),
        (&["--sandbox", "none", "--net", "host"], "`--net` is not supported with `--sandbox none`"),
        (&["--sandbox", "none", "--memory", "1G"], "`--memory` is not supported with `--sandbox none`"),
        (&["--sandbox", "none", "--env", "A=b"], "`--env` is not supported with `--sandbox none`"),
        (&["--sandbox", "none", "--timeout", "5"], "`--timeout` is not supported with `--sandbox none`"),
        (&["--sandbox", "host", "--pids", "5"], "`--pids` is not supported with `--sandbox host`"),
        (&["--sandbox", "host", "--toolchain", "go"], "`--toolchain` is not supported with `--sandbox host`"),
        (&["--sandbox", "docker"], "needs an `--image` or a `--runtime`"),
        (&["--image", "x"], "`--image` requires `--sandbox docker`"),
        (&["--net", "bridge"], "requires `--sandbox docker`"),
        (&["--sandbox", "docker", "--image", "x", "--toolchain", "go"], "`--toolchain` is not supported with"),
        (&["--toolchain", "pyton"], "a similar value exists: 'python'"),
        (&["--memory", "64"], "did you mean `64M`?"),
        (&["--policy", "defualt"], "a similar value exists: 'default'"),
    ] {
        for command in ["tool", "mcp"] {
            let ran = project.workden(&[&[command], words].concat());
            assert!(ran.code == Some(2) && ran.err.contains(says), "{command} {words:?}: {ran:?}");
        }
    }
}

#[test]
fn the_configuration_of_a_client_has_the_limits() {
    let words = ["--memory", "1.5G", "--cpus", "2", "--env", "A=b", "--timeout", "90"];
    let ran = Project::new().workden(&[&["mcp", "--print-config", "claude"], &words[..]].concat());
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let typed: Vec<&str> =
        document["mcpServers"]["workden"]["args"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
    assert_eq!(typed[3..], words, "{typed:?}");
}
