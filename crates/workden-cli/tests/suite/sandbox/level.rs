//! `--level landlock`: where it starts and where it is refused, what it reports, and that programs work in it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    processes::{ended, eventually, mark},
    project::{Project, Ran, workden},
};

/// The user id of an ordinary user; no account has it.
const ORDINARY: u32 = 48_231;

/// Returns a directory that does not belong to root, because commands never run as root.
fn project() -> Project {
    let project = Project::new();
    for path in [project.path(), &project.at("notes.md")] {
        chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
    }
    project
}

fn run(project: &Project, words: &[&str]) -> Ran {
    project.run(&[&["--level", "landlock"], words].concat())
}

/// Runs a script in a sandbox of this level.
fn script(project: &Project, script: &str) -> Ran {
    run(project, &["--", "bash", "-c", script])
}

/// Runs `workden` on a kernel whose Landlock version query returns this error, or with 0 the version 0. A seccomp
/// filter stands in for the kernel.
fn with_landlock_answering(errno: u32, words: &[&str], project: &Project) -> Ran {
    const FILTER: &str = "my $filter = join '', map { pack 'SCCL', @$_ } \
        [0x20, 0, 0, 0], [0x15, 0, 1, 444], [0x06, 0, 0, 0x50000 | $ARGV[0]], [0x06, 0, 0, 0x7fff0000]; \
        my $program = pack 'SxxxxxxP', 4, $filter; \
        syscall(157, 38, 1, 0, 0, 0) == 0 && syscall(157, 22, 2, $program) == 0 or die $!; \
        shift; exec @ARGV or die $!";
    let mut perl = Command::new("perl");
    perl.args(["-e", FILTER, &errno.to_string(), env!("CARGO_BIN_EXE_workden")]).args(words);
    Ran::of(perl.current_dir(project.path()).stdin(Stdio::null()).output().unwrap())
}

#[test]
#[cfg(target_arch = "x86_64")]
fn without_a_landlock_that_is_new_enough_it_refuses_and_runs_nothing() {
    let project = project();
    let words = ["run", "--level", "landlock", "--", "touch", "made"];
    for (errno, why) in [
        (0, "this kernel has Landlock version 0"),
        (38, "this kernel has no Landlock"),
        (95, "Landlock is disabled in this kernel"),
    ] {
        let ran = with_landlock_answering(errno, &words, &project);
        assert_eq!((ran.code, ran.out.as_str()), (Some(125), ""), "{ran:?}");
        assert!(ran.err.contains("requires Landlock version 6 or newer") && ran.err.contains(why), "{ran:?}");
        assert!(ran.err.contains("\nhint: ") && !project.at("made").exists(), "{ran:?}");
        let doctor = with_landlock_answering(errno, &["doctor", "--json"], &project);
        let document: Value = serde_json::from_str(&doctor.out).unwrap();
        let findings = document["findings"].as_array().unwrap();
        let level = findings.iter().find(|finding| finding["need"] == "landlock_level").unwrap();
        assert!(level["outcome"]["lacking"]["why"].as_str().unwrap().ends_with(why), "{document:#}");
        assert_eq!(document["landlock_level"]["needed"], 6);
    }
    // The same filter does not affect the level `namespaces`.
    assert_eq!(with_landlock_answering(0, &["run", "--", "true"], &project).code, Some(0));
}

/// Runs `workden` as an ordinary user in a user namespace that allows no further namespaces.
fn without_namespaces(project: &Project, words: &[&str]) -> Ran {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_workden")]);
    Ran::of(unshare.args(words).current_dir(project.path()).stdin(Stdio::null()).output().unwrap())
}

#[test]
fn where_there_are_no_namespaces_the_refusal_names_the_level_and_nothing_falls_back_to_it() {
    let project = Project::new();
    let plain = without_namespaces(&project, &["run", "--", "touch", "made"]);
    assert_eq!((plain.code, plain.out.as_str()), (Some(125), ""), "{plain:?}");
    assert!(plain.err.contains("the level `landlock`") && plain.err.contains("--level landlock"), "{plain:?}");
    assert!(!project.at("made").exists());
    let named =
        without_namespaces(&project, &["run", "--level", "landlock", "--", "sh", "-c", "touch made; cat /etc/shadow"]);
    assert!(project.at("made").exists() && named.err.contains("Permission denied"), "{named:?}");
    let doctor = without_namespaces(&project, &["doctor"]);
    assert!(doctor.out.contains("Until then `workden run --level landlock`"), "{doctor:?}");
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
}

#[test]
fn the_report_says_which_walls_stand_and_which_do_not() {
    let ran = run(&project(), &["--json", "--isolation", "--", "true"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let isolation = &document["isolation"];
    assert_eq!(isolation["level"], "landlock");
    assert_eq!(isolation["walls"], serde_json::json!(["no_capabilities", "seccomp", "landlock"]));
    let lacking: Vec<&str> = isolation["lacking"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for words in
        ["share root, users, processes", "size and times", "modes and times", ".git/hooks", "end the whole sandbox"]
    {
        assert!(lacking.iter().any(|sentence| sentence.contains(words)), "{words}: {lacking:#?}");
    }
    let doctor: Value = serde_json::from_str(&Ran::of(workden(&["doctor", "--json"]).output().unwrap()).out).unwrap();
    assert_eq!(doctor["landlock_level"]["lacks"], isolation["lacking"]);
}

#[test]
fn what_cannot_be_had_is_refused() {
    let (ours, roots) = (project(), Project::new());
    let elsewhere = format!("{}:/data", roots.path().display());
    let inside = format!("{0}/notes.md:{0}/notes.md:ro", ours.path().display());
    for (project, words, told) in [
        (&ours, &["--mount", &elsewhere][..], "mounting at `/data` a path that is elsewhere"),
        (&ours, &["--mount", &inside], "in a writable one"),
        (&ours, &["--root", "/"], "it is a system directory"),
        (&ours, &["--root", "/proc/self"], "it is a system directory"),
        (&ours, &["--sandbox", "host"], "`--level` is not supported with `--sandbox host`"),
        (&roots, &[], "commands never run as user 0"),
    ] {
        let ran = run(project, &[words, &["--", "touch", "made"]].concat());
        // The machine is not asked for what does not go together.
        assert_eq!(ran.code, Some(if words.contains(&"host") { 2 } else { 125 }), "{ran:?}");
        assert!(ran.err.contains(told) && ran.err.contains("\nhint: "), "{told}: {ran:?}");
        assert!(!project.at("made").exists());
    }
}

#[test]
fn commands_work_in_the_directory_and_read_what_was_given() {
    let project = project();
    let ran =
        script(&project, "pwd; cat notes.md; id -u; echo made > made; echo $HOME $TMPDIR; cd ~ && pwd; mktemp -d");
    let out = ran.printed();
    let lines: Vec<&str> = out.lines().collect();
    let real = project.path().canonicalize().unwrap();
    assert_eq!(lines[..3], [real.to_str().unwrap(), "remember", &ORDINARY.to_string()]);
    assert_eq!(fs::read_to_string(project.at("made")).unwrap(), "made\n");
    let home = lines[4];
    assert!(!std::path::Path::new(home).exists(), "{home} is left");
    let given = Project::new();
    fs::set_permissions(given.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mount = format!("{0}:{0}:ro", given.path().display());
    let read = format!("cat {0}/notes.md; touch {0}/made", given.path().display());
    let ran = run(&project, &["--mount", &mount, "--", "sh", "-c", &read]);
    assert!(ran.out == "remember\n" && ran.err.contains("ermission denied"), "{ran:?}");
}

/// Everyday commands.
#[test]
fn ordinary_programs_work() {
    let project = project();
    for line in [
        "git init -q r && cd r && git config user.name a && git config user.email a@b && echo x > f && git add f \
         && git commit -qm x && git log --oneline | grep -q x",
        "printf 'int main(void) { return 0; }' > m.c && gcc -o m m.c && ./m",
        "echo 'echo from a script' > s.sh && chmod +x s.sh && ./s.sh",
        "mkdir -p t/u && touch t/u/v && tar cf t.tar t && rm -r t && tar xf t.tar && test -e t/u/v",
        "cat <(echo substituted) <<< here",
        "/usr/bin/env perl -e 'my $p = open(my $c, \"-|\", \"echo child\"); print <$c>'",
        "cp -a notes.md copy && mv copy moved && ln -s moved link && readlink link && touch -d yesterday moved",
        "sleep 300 & kill $!; wait $! || test $? = 143",
        "echo to no terminal > /dev/null; head -c 8 /dev/urandom | wc -c; nproc; date; whoami || id",
        "test \"$(perl -e 'for (3 .. 4096) { open(my $f, \"<&=\", $_) and print $_ }')\" = ''",
        "perl -MPOSIX -e 'my $s = POSIX::SigSet->new; sigprocmask(SIG_BLOCK, POSIX::SigSet->new, $s); \
         die if grep { $s->ismember($_) } 1 .. 31; die if grep { $_ ne \"FPE\" && ($SIG{$_} // \"\") eq \"IGNORE\" } keys %SIG'",
    ] {
        let ran = script(&project, &format!("set -e; cd $(mktemp -d -p .); cp ../notes.md .; {line}"));
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    }
}

#[test]
fn limits_are_held_by_a_control_group() {
    let ran = run(&project(), &["--memory", "64M", "--", "perl", "-e", "$x = 'x' x 200_000_000"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(137), "limit: killed: memory limit 64 MB\n"), "{ran:?}");
}

#[test]
fn with_the_hosts_network_there_are_ports_and_without_there_are_none() {
    let project = project();
    let listen = "perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") ? \"port\" : \"none\"'";
    assert_eq!(run(&project, &["--", "sh", "-c", listen]).printed(), "none");
    assert_eq!(run(&project, &["--net", "host", "--", "sh", "-c", listen]).printed(), "port");
}

/// Returns the processes with this word among their arguments.
fn alive(word: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let has = |pid: &i32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(|argument| argument == word)
    };
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(has).collect()
}

fn parent(pid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

/// Any of its processes may be killed, from the command's reaper up to the supervisor.
#[test]
fn killing_any_process_of_a_sandbox_leaves_nothing_of_it() {
    for above in [1, 2, 3] {
        let (project, mark) = (project(), mark());
        let line = format!("trap '' TERM; setsid sleep {mark} & sleep {mark}; sleep {mark}");
        let mut workden = project.run_command(&["--level", "landlock", "--", "sh", "-c", &line]).spawn().unwrap();
        eventually("it does not start", || alive(&mark).len() == 2);
        // The shell's parent is its reaper; above are the keeper, the supervisor and `workden`.
        let own = i32::try_from(workden.id()).unwrap();
        let shell = alive(&line).into_iter().find(|pid| *pid != own).unwrap();
        let killed = (0..above).fold(shell, |pid, _| parent(pid));
        assert!(killed > 1 && killed != own && killed != i32::try_from(std::process::id()).unwrap());
        assert!(Command::new("kill").args(["-9", &killed.to_string()]).status().unwrap().success());
        eventually(&format!("something is left after process {above}"), || alive(&mark).is_empty());
        assert!(!ended(&mut workden).success());
    }
}

#[test]
fn git_commits_as_the_user_here_too() {
    let (project, home) = (project(), Project::new());
    fs::write(home.at(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.com\n").unwrap();
    let line = "git init -q && git commit -q --allow-empty -m x && git log -1 --format='%an <%ae>'";
    let mut command = project.run_command(&["--json", "--level", "landlock", "--", "bash", "-c", line]);
    let ran = Ran::of(command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").output().unwrap());
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["output"], "Ada <ada@example.com>\n", "{ran:?}");
}
