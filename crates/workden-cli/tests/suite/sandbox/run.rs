//! `workden run`: what a command sees, what its limits are, and how it ends.

use serde_json::Value;

use crate::project::{Project, workden};

#[test]
fn exit_codes_are_passed_through() {
    let project = Project::new();
    for (sandbox, words, code) in [
        ("linux", &["true"][..], 0),
        ("linux", &["sh", "-c", "exit 3"], 3),
        ("linux", &["sh", "-c", "kill -9 $$"], 137),
        ("linux", &["no-such-program"], 127),
        ("linux", &["/etc/hosts"], 126),
        ("host", &["sh", "-c", "exit 3"], 3),
        ("host", &["no-such-program"], 127),
    ] {
        let ran = project.run(&[&["--sandbox", sandbox, "--"], words].concat());
        assert_eq!(ran.code, Some(code), "{sandbox} {words:?}: {ran:?}");
    }
}

#[test]
fn words_are_words_and_no_shell_reads_them() {
    let ran = Project::new().run(&["--", "printf", "%s|", "a b", "$HOME", "*", ""]);
    assert_eq!(ran.printed(), "a b|$HOME|*||");
}

#[test]
fn the_directory_is_the_workspace_and_nothing_else_of_the_host_is_there() {
    let project = Project::new();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("secret"), "x").unwrap();
    let secret = other.path().join("secret").display().to_string();
    assert_eq!(project.run(&["--", "sh", "-c", "pwd; cat notes.md"]).printed(), "/workspace\nremember\n");
    let ran = project.run(&["--", "sh", "-c", "cat \"$1\" /etc/shadow; ls /root", "sh", &secret]);
    assert_ne!(ran.code, Some(0));
    assert_eq!(ran.out, "");
    project.run(&["--", "sh", "-c", "echo new > made.txt"]).printed();
    assert_eq!(std::fs::read_to_string(project.at("made.txt")).unwrap(), "new\n");
    let elsewhere = Project::new();
    let root = project.path().display().to_string();
    assert_eq!(elsewhere.run(&["--root", &root, "--", "cat", "made.txt"]).printed(), "new\n");
}

#[test]
fn the_hosts_environment_does_not_leak() {
    let project = Project::new();
    for (sandbox, expected) in [
        ("linux --net host", "HOME LANG LOGNAME PATH TERM USER NAMED PASSED "),
        ("host", "HOME LC_TIME PATH NAMED PASSED "),
    ] {
        let kind: Vec<&str> = sandbox.split_whitespace().collect();
        let named = ["--env", "NAMED=n", "--env", "PASSED", "--env", "ABSENT"];
        let mut run = project.run_command(&[&["--sandbox"], &kind[..], &named].concat());
        run.args(["--", "env"]).env_clear();
        run.envs([("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), ("LC_TIME", "C"), ("TERM", "xterm")]);
        run.envs([("API_TOKEN", "secret"), ("PASSED", "p")]);
        let output = run.output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<&str> = printed.lines().filter_map(|line| line.split_once('=')).map(|pair| pair.0).collect();
        names.sort_unstable();
        let mut expected: Vec<&str> = expected.split_whitespace().collect();
        expected.sort_unstable();
        assert_eq!(names, expected, "{sandbox}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(printed.contains("NAMED=n\n") && printed.contains("PASSED=p\n"), "{printed}");
    }
}

#[test]
fn mounts_are_read_only_or_not() {
    let project = Project::new();
    let data = Project::new();
    let source = data.path().display().to_string();
    let script = "cat /data/notes.md; echo x > /data/new";
    let writable = project.run(&["--mount", &format!("{source}:/data"), "--", "sh", "-c", script]);
    assert_eq!(writable.printed(), "remember\n");
    assert_eq!(std::fs::read_to_string(data.at("new")).unwrap(), "x\n");
    std::fs::remove_file(data.at("new")).unwrap();
    let read_only = project.run(&["--mount", &format!("{source}:/data:ro"), "--", "sh", "-c", script]);
    assert_ne!(read_only.code, Some(0));
    assert_eq!(read_only.out, "remember\n");
    assert!(!data.at("new").exists());
    let missing = project.run(&["--mount", "not-there:/data", "--", "true"]);
    assert_eq!(missing.code, Some(125), "{missing:?}");
    assert!(missing.err.starts_with("error: ") && missing.err.contains("`/data`"), "{missing:?}");
}

#[test]
fn what_git_runs_by_itself_cannot_be_changed() {
    let project = Project::new();
    std::fs::create_dir_all(project.at(".git/hooks")).unwrap();
    std::fs::write(project.at(".git/config"), "[core]\n").unwrap();
    let script = "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; echo fine > .git/description";
    let ran = project.run(&["--", "sh", "-c", script]);
    assert!(ran.err.contains("Read-only"), "{ran:?}");
    assert_eq!(std::fs::read_dir(project.at(".git/hooks")).unwrap().count(), 0);
    assert_eq!(std::fs::read_to_string(project.at(".git/config")).unwrap(), "[core]\n");
    assert_eq!(std::fs::read_to_string(project.at(".git/description")).unwrap(), "fine\n");
}

/// Runs git on the host, in a directory of the project.
fn git(project: &Project, words: &[&str]) -> String {
    let ran = std::process::Command::new("git").args(words).current_dir(project.path()).output().unwrap();
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn what_git_runs_by_itself_cannot_be_changed_in_repositories_further_down() {
    let project = Project::new();
    let repositories = ["sub/.git", "deep/er/sub/.git", "bare"];
    for name in ["sub", "deep/er/sub"] {
        git(&project, &["init", "-q", name]);
    }
    git(&project, &["init", "-q", "--bare", "bare"]);
    std::fs::write(project.at(".mcp.json"), "{}").unwrap();
    let script = "for r in sub/.git deep/er/sub/.git bare; do echo evil > $r/hooks/pre-commit; echo evil >> $r/config; \
                  mv $r/hooks $r/h; mv $r r; echo fine > $r/description; done; mv deep d; echo evil > .mcp.json";
    let ran = project.run(&["--", "sh", "-c", script]);
    assert!(ran.err.contains("Read-only"), "{ran:?}");
    for repository in repositories {
        assert!(!project.at(repository).join("hooks/pre-commit").exists(), "{repository}");
        let config = std::fs::read_to_string(project.at(repository).join("config")).unwrap();
        assert!(!config.contains("evil"), "{repository}");
        assert_eq!(std::fs::read_to_string(project.at(repository).join("description")).unwrap(), "fine\n");
    }
    assert_eq!(std::fs::read_to_string(project.at(".mcp.json")).unwrap(), "{}");
}

#[test]
fn a_link_to_a_git_directory_stays_and_git_works_through_it() {
    let project = Project::new();
    git(&project, &["init", "-q", "."]);
    std::fs::rename(project.at(".git"), project.at("r")).unwrap();
    std::os::unix::fs::symlink("r", project.at(".git")).unwrap();
    let script = "echo evil > r/hooks/pre-commit; echo evil >> r/config; mv r away; rm -f .git; mv .git other; \
                  mkdir -p .git/hooks; ln -sfn other .git; git rev-parse --git-dir; touch new; git add new && git ls-files";
    let ran = project.run(&["--", "sh", "-c", script]);
    assert_eq!(ran.out, "/workspace/r\nnew\n", "{ran:?}");
    assert_eq!(std::fs::read_link(project.at(".git")).unwrap().to_str(), Some("r"));
    assert!(!project.at("r/hooks/pre-commit").exists());
    assert!(!std::fs::read_to_string(project.at("r/config")).unwrap().contains("evil"));
    assert_eq!(git(&project, &["ls-files"]), "new\n");
}

#[test]
fn a_git_directory_that_is_mounted_read_only_cannot_be_led_elsewhere() {
    let project = Project::new();
    git(&project, &["init", "-q", "."]);
    let script = "echo ../evil > .git/commondir; mv .git away; rm -rf .git; git status --short > status; cat status";
    let ran = project.run(&["--mount", ".git:/workspace/.git:ro", "--", "sh", "-c", script]);
    assert!(ran.err.contains("Read-only") && ran.out.contains("?? status"), "{ran:?}");
    assert!(project.at(".git/HEAD").exists() && !project.at(".git/commondir").exists());
}

#[test]
fn there_is_no_network_unless_it_is_asked_for() {
    let project = Project::new();
    let interfaces = |net: &[&str]| {
        let ran = project.run(&[net, &["--", "sh", "-c", "tail -n +3 /proc/net/dev | wc -l"]].concat());
        ran.printed().trim().parse::<u32>().unwrap()
    };
    let own = std::fs::read_to_string("/proc/net/dev").unwrap().lines().count() - 2;
    assert_eq!(interfaces(&[]), 1, "its own loopback");
    assert_eq!(interfaces(&["--net", "none"]), 1);
    assert_eq!(interfaces(&["--net", "host"]) as usize, own);
}

#[test]
fn a_limit_that_was_hit_is_told() {
    let project = Project::new();
    // `tail` keeps the last line in memory, and this one does not end.
    let words = ["--memory", "64M", "--", "sh", "-c", "head -c 300000000 /dev/zero | tail -n 1 > /dev/null; true"];
    let ran = project.run(&words);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.err.ends_with("limit: a process was killed: memory limit 64 MB\n"), "{ran:?}");
    let ran = project.run(&["--memory", "64M", "--", "tail", "-n", "1", "/dev/zero"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(137), "limit: killed: memory limit 64 MB\n"));
}

#[test]
fn a_document_says_everything_about_a_run() {
    let project = Project::new();
    let words = ["--json", "--isolation", "--memory", "256M", "--", "sh", "-c", "echo out; echo err >&2; exit 4"];
    let ran = project.run(&words);
    assert_eq!((ran.code, ran.err.as_str()), (Some(4), ""));
    let mut document: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(document["duration"].as_f64().unwrap() > 0.0, "{document}");
    document["duration"] = "...".into();
    // The enforcement of a limit differs between machines.
    for limit in document["isolation"]["limits"].as_array_mut().unwrap() {
        limit["enforcement"] = "...".into();
    }
    document["isolation"]["lacking"] = "...".into();
    document["isolation"]["walls"].as_array_mut().unwrap().retain(|wall| wall != "landlock");
    insta::assert_snapshot!("document", serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn a_document_is_short_unless_the_isolation_is_asked_for() {
    let project = Project::new();
    let ran = project.run(&["--json", "--pids", "64", "--", "sh", "-c", "seq 1 200000"]);
    let document: Value = serde_json::from_str(&ran.printed()).unwrap();
    let fields: Vec<&String> = document.as_object().unwrap().keys().collect();
    let expected = ["output", "truncated", "exit_code", "ended", "duration", "limits", "limits_hit", "left_out"];
    assert_eq!(fields, expected);
    assert_eq!((&document["truncated"], &document["limits"]["processes"]), (&true.into(), &64.into()));
    assert!(document["limits"]["memory"].is_u64(), "{}", document["limits"]);
    let short: Value = serde_json::from_str(&project.run(&["--json", "echo", "hi"]).printed()).unwrap();
    assert_eq!((&short["truncated"], short.get("left_out")), (&false.into(), None));
}

#[test]
fn a_document_says_why_there_is_none() {
    let ran = Project::new().run(&["--json", "--mount", "not-there:/data", "--", "true"]);
    assert_eq!(ran.code, Some(125));
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["error"]["kind"], "not_found", "{document}");
    // A busy machine may need longer to start the command.
    for timeout in ["0.3", "3", "30"] {
        let ran = Project::new().run(&["--json", "--timeout", timeout, "--", "sh", "-c", "echo first; sleep 600"]);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((ran.code, &document["ended"]), (Some(124), &"timed_out".into()));
        assert_eq!(document["exit_code"], 124);
        if document["output"] == "first\n" {
            return;
        }
    }
    panic!("its output is missing");
}

#[test]
fn what_only_walls_can_give_is_refused_on_the_host() {
    let project = Project::new();
    for option in [&["--memory", "1G"][..], &["--net", "none"], &["--mount", ".:/x"], &["--toolchain", "python"]] {
        let ran = project.run(&[&["--sandbox", "host"], option, &["--", "true"]].concat());
        assert_eq!(ran.code, Some(2), "{option:?}");
        assert!(ran.err.contains("is not supported with `--sandbox host`"), "{ran:?}");
    }
    let ran = project.run(&["--sandbox", "host", "--memory", "1G", "--limits", "best-effort", "--", "echo", "hi"]);
    assert_eq!(ran.out, "hi\n");
}

#[test]
fn where_the_machine_stands_in_the_way_the_choices_are_named_and_nothing_runs() {
    let project = Project::new();
    // No user namespace can be created below this one, not even by root.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" run -- touch ran";
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_workden")]);
    let output = unshare.current_dir(project.path()).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "{complaint}");
    assert!(complaint.starts_with("error: "), "{complaint}");
    assert!(complaint.contains("choices: `workden doctor`") && complaint.contains("`--sandbox host`"), "{complaint}");
    assert!(!project.at("ran").exists());
}

#[test]
fn help_is_worth_reading_and_nonsense_is_answered_with_two() {
    let help = workden(&["run", "--help"]).output().unwrap();
    insta::assert_snapshot!("help_run", String::from_utf8(help.stdout).unwrap());
    for nonsense in [
        &["run"][..],
        &["run", "--unknown", "true"],
        &["run", "--memory", "lots", "--", "true"],
        &["run", "--net", "some", "--", "true"],
        &["run", "--mount", "a", "--", "true"],
        &["run", "--timeout", "0", "--", "true"],
        &["run", "--json", "-t", "--", "true"],
        &["run", "--isolation", "--", "true"],
        &["run", "--toolchain", "pyton", "--", "true"],
        &["run", "--sandbox", "host", "--net", "none", "--", "true"],
        &["run", "-t", "--", "true"],
    ] {
        assert_eq!(workden(nonsense).output().unwrap().status.code(), Some(2), "{nonsense:?}");
    }
    // Without `--`, as users of other runners type it; options after the program are the program's.
    let project = Project::new();
    assert_eq!(project.run(&["echo", "-n", "--memory"]).out, "--memory");
    let little = project.run(&["--memory", "64", "true"]);
    assert!(little.code == Some(2) && little.err.contains("did you mean `64M`?"), "{little:?}");
    let nowhere = workden(&["run", "--root", "/no/such/place", "--", "true"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(125));
    let complaint = String::from_utf8(nowhere.stderr).unwrap();
    assert_eq!(complaint, "error: directory `/no/such/place` not found\n");
}
