//! Projects with packages: toolchains that they need, their own path, caches, and the setup of a `workden.toml`.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::project::{Project, Ran};

/// A project, and a state directory beside it.
struct WithState {
    project: Project,
    state: Project,
}

impl WithState {
    fn new() -> Self {
        Self { project: Project::new(), state: Project::new() }
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.project.at(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.project.command(words);
        command.env("XDG_STATE_HOME", self.state.path()).env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX");
        command
    }

    fn workden(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }

    /// Runs a script of a shell in a sandbox.
    fn run(&self, options: &[&str], script: &str) -> Ran {
        self.workden(&[&["run"], options, &["--", "sh", "-c", script]].concat())
    }

    /// The directory of the projects, and that of this one.
    fn kept(&self) -> PathBuf {
        let projects = self.state.at("workden/projects");
        let mut all = fs::read_dir(projects).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        let only = all.next().unwrap();
        assert_eq!(all.next(), None);
        only
    }

    /// Makes a virtual environment with an editable install and a program, as pip leaves them.
    fn with_environment() -> Self {
        let this = Self::new();
        let environment = this.project.at(".venv");
        let mut python = Command::new("python3");
        python.args(["-m", "venv", "--without-pip"]).arg(&environment).env_remove("VIRTUAL_ENV");
        let made = python.current_dir(this.project.path()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let library = fs::read_dir(environment.join("lib")).unwrap().next().unwrap().unwrap().path();
        let source = this.project.at("src").display().to_string();
        fs::write(library.join("site-packages/tiny.pth"), format!("{source}\n")).unwrap();
        this.write("src/tiny.py", "def main():\n    print(__file__)\n");
        let script = format!("#!{}/bin/python\nimport tiny\ntiny.main()\n", environment.display());
        this.write(".venv/bin/tiny", &script);
        fs::set_permissions(this.project.at(".venv/bin/tiny"), fs::Permissions::from_mode(0o755)).unwrap();
        this
    }
}

#[test]
fn an_environment_of_the_host_works_with_its_editable_install() {
    let with = WithState::with_environment();
    let (own, module) = (with.project.path().display().to_string(), with.project.at("src/tiny.py"));
    let printed = format!("{}\n", module.display());
    assert_eq!(with.workden(&["run", "--", ".venv/bin/tiny"]).printed(), printed);
    // It is first on the search path, and can be changed as every file of the project.
    let installing = "tiny && pwd && touch .venv/bin/new && python -c 'import sys; print(sys.prefix)'";
    assert_eq!(with.run(&[], installing).printed(), format!("{printed}{own}\n{own}/.venv\n"));
    let tool = with.workden(&["tool", "execute", r#"{"command": "tiny; pwd"}"#, "--policy", "permissive"]);
    assert_eq!(tool.printed(), format!("{printed}{own}\n"));
    let read = with.workden(&["tool", "read_file", &format!("{{\"path\": \"{}\"}}", module.display())]);
    assert!(read.printed().contains("def main()"));
    assert_eq!(with.run(&["--path", "workspace"], "pwd").printed(), "/workspace\n");
    // Nothing was kept for it.
    assert!(!with.state.at("workden").exists());
}

#[test]
fn a_path_in_the_workspace_that_an_option_names_keeps_its_meaning() {
    let with = WithState::with_environment();
    fs::create_dir_all(with.project.at(".git")).unwrap();
    let mount = ["--mount", ".git:/workspace/.git:ro"];
    assert_eq!(
        with.run(&mount, "pwd; touch .git/x 2>/dev/null || echo read-only").printed(),
        "/workspace\nread-only\n"
    );
    let refused = with.run(&[&mount[..], &["--path", "own"]].concat(), "true");
    assert!(
        refused.code == Some(125) && refused.err.contains("`/workspace/.git` is not in the project"),
        "{refused:?}"
    );
    with.write("src/secret.txt", "secret");
    with.write("rules.toml", "[rules.read]\nrules = [{ pattern = '/workspace/src/secret.*', action = 'deny' }]\n");
    let words = ["--config", "rules.toml", "--policy", "permissive", "--yes"];
    let ran = with.workden(&[&["tool", "execute", r#"{"command": "pwd; cat src/s*"}"#], &words[..]].concat());
    assert!(ran.out.contains(":\n/workspace\ncat: ") && ran.out.contains("Permission denied"), "{ran:?}");
    // A relative pattern has the same meaning at every path.
    with.write("rules.toml", "[rules.read]\nrules = [{ pattern = 'src/secret.*', action = 'deny' }]\n");
    let ran = with.workden(&[&["tool", "execute", r#"{"command": "pwd; cat src/s*"}"#], &words[..]].concat());
    assert!(ran.out.contains(&format!(":\n{}\ncat: ", with.project.path().display())), "{ran:?}");
    assert!(ran.out.contains("Permission denied"), "{ran:?}");
}

#[test]
fn an_environment_that_was_made_inside_stays_where_it_was_made() {
    let with = WithState::new();
    let made = with.run(&[], "python3 -m venv --without-pip .venv && .venv/bin/python -c 'print(1)'");
    assert_eq!(made.printed(), "1\n");
    assert_eq!(with.run(&[], "python -c 'import sys; print(sys.prefix)'").printed(), "/workspace/.venv\n");
    assert_eq!(with.run(&["--path", "own"], "pwd").printed(), format!("{}\n", with.project.path().display()));
}

#[test]
fn the_tests_of_a_node_project_run() {
    let with = WithState::new();
    with.write("package.json", r#"{"name": "tiny", "version": "1.0.0", "scripts": {"test": "node --test"}}"#);
    with.write("test/tiny.test.js", "require('node:test')('adds', () => require('tiny').add(1, 2));\n");
    with.write("node_modules/tiny/index.js", "exports.add = (a, b) => { console.log('sum', a + b); };\n");
    let ran = with.workden(&["run", "--", "npm", "test"]);
    assert!(ran.code == Some(0) && ran.out.contains("sum 3"), "{ran:?}");
}

#[test]
fn a_link_in_the_project_shows_no_toolchain_and_none_leaves_all_out() {
    let with = WithState::new();
    let home = Project::new();
    for directory in [".rustup/toolchains", ".cargo/bin"] {
        fs::create_dir_all(home.at(directory)).unwrap();
    }
    let shown = |options: &[&str]| {
        let mut command = with.command(&[&["run"], options, &["--", "printenv", "RUSTUP_HOME"]].concat());
        Ran::of(command.env("HOME", home.path()).env_remove("RUSTUP_HOME").env_remove("CARGO_HOME").output().unwrap())
    };
    assert_eq!(shown(&[]).out, "");
    symlink("notes.md", with.project.at("Cargo.toml")).unwrap();
    assert_eq!(shown(&[]).out, "");
    fs::remove_file(with.project.at("Cargo.toml")).unwrap();
    with.write("Cargo.toml", "");
    assert_eq!(shown(&[]).printed(), format!("{}\n", home.at(".rustup").display()));
    assert_eq!(shown(&["--toolchain", "none"]).out, "");
}

#[test]
fn caches_are_written_with_the_network_and_only_read_without() {
    let with = WithState::new();
    assert_eq!(with.run(&[], "mkdir -p ~/.cargo && echo private > ~/.cargo/config").printed(), "");
    assert!(!with.state.at("workden").exists(), "without the network nothing is kept");
    let fill = "for cache in .cache/pip .npm/_cacache .cargo go/pkg/mod; do echo $cache > ~/$cache/file; done
                touch ~/.cache/other ~/.npm/other ~/go/other";
    assert_eq!(with.run(&["--net", "host"], fill).printed(), "");
    let read = "cat ~/.cache/pip/file ~/.npm/_cacache/file ~/.cargo/file ~/go/pkg/mod/file
                for cache in .cache/pip .npm/_cacache .cargo go/pkg/mod; do
                    rm -f ~/$cache/file 2>/dev/null && echo removed
                    touch ~/$cache/new 2>/dev/null && echo written
                    mv ~/$cache ~/moved 2>/dev/null && echo moved
                done
                touch ~/.cache/other ~/.npm/other ~/go/other && ls ~/.cache";
    assert_eq!(with.run(&[], read).printed(), ".cache/pip\n.npm/_cacache\n.cargo\ngo/pkg/mod\nother\npip\n");
    // They belong to one project, and to its owner.
    let cargo = with.kept().join("cache/cargo/file");
    assert_eq!(cargo.metadata().unwrap().uid(), with.project.path().metadata().unwrap().uid());
    let other = WithState { project: Project::new(), state: with.state };
    assert_eq!(other.run(&["--net", "host"], "ls ~/.cargo").printed(), "");
}

#[test]
fn an_ordinary_user_keeps_packages_as_root_does() {
    let with = WithState::new();
    with.write("workden.toml", "[setup]\ncommands = ['mkdir ~/.local/bin; touch ~/.local/bin/x']\n");
    let program = with.state.at("workden-program");
    crate::project::place(std::path::Path::new(env!("CARGO_BIN_EXE_workden")), &program);
    let is_root = rustix::process::getuid().is_root();
    for directory in [with.project.path(), with.state.path()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        if is_root {
            chown(directory, Some(48_231), Some(48_231)).unwrap();
        }
    }
    let run = |words: &[&str]| {
        let mut command = Command::new(&program);
        if is_root {
            command = Command::new("setpriv");
            command.args(["--reuid", "48231", "--regid", "48231", "--clear-groups"]).arg(&program);
        }
        command.args(words).current_dir(with.project.path()).env("XDG_STATE_HOME", with.state.path());
        Ran::of(command.stdin(Stdio::null()).output().unwrap())
    };
    assert_eq!(run(&["setup"]).code, Some(0));
    let fill = "touch ~/.cargo/file ~/.cache/beside ~/go/beside";
    assert_eq!(run(&["run", "--net", "host", "--", "sh", "-c", fill]).printed(), "");
    let read = "ls ~/.cargo ~/.local/bin; touch ~/.cargo/new ~/.local/new 2>/dev/null || echo read-only";
    assert_eq!(
        run(&["run", "--", "sh", "-c", read]).printed(),
        "/home/agent/.cargo:\nfile\n\n/home/agent/.local/bin:\nx\nread-only\n"
    );
    assert_eq!(run(&["setup", "--clear"]).code, Some(0));
}

#[test]
fn what_a_command_plants_in_a_cache_leads_nowhere() {
    let with = WithState::new();
    let outside = Project::new();
    let precious = outside.at("notes.md").display().to_string();
    let plant = format!(
        "ln -s {precious} ~/.cargo/link; ln -s {} ~/.cargo/registry; mkdir -p ~/go/pkg/mod/closed/below; chmod 0 \
         ~/go/pkg/mod/closed; chmod 555 ~/go/pkg/mod; mkfifo ~/.cache/pip/fifo; chmod 777 ~/.cache/pip; \
         mkdir -p ~/.cargo/$(yes d | head -400 | tr '\\n' /)",
        outside.path().display()
    );
    assert_eq!(with.run(&["--net", "host"], &plant).printed(), "");
    let seen = with.run(&[], "cat ~/.cargo/link; ls ~/.cargo/registry/; echo on");
    assert!(seen.code == Some(0) && seen.out == "on\n" && seen.err.matches("No such file").count() == 2, "{seen:?}");
    let cleared = with.workden(&["setup", "--clear"]);
    assert_eq!((cleared.code, cleared.err.as_str()), (Some(0), "caches and tools of this project are removed\n"));
    assert_eq!(outside.read("notes.md"), "remember\n");
    assert_eq!(fs::read_dir(with.state.at("workden/projects")).unwrap().count(), 0);
    assert_eq!(with.workden(&["setup", "--clear"]).err, "this project has no caches and no tools\n");
}

const SETUP: &str = "[setup]
commands = [
    'echo run >> runs; pwd; cat key > installed',
    'mkdir -p ~/.local/bin; echo \"echo tool\" > ~/.local/bin/mytool; chmod +x ~/.local/bin/mytool; touch ~/.cargo/cached',
]
cache_key = ['key', 'missing']
";

#[test]
fn a_setup_runs_once_and_again_when_its_key_has_changed() {
    let with = WithState::new();
    with.write("workden.toml", SETUP);
    with.write("key", "1\n");
    let note = |ran: Ran| ran.err;
    let not_run = "note: the `[setup]` of this project has not run; run `workden setup`\n";
    assert_eq!(note(with.run(&[], "true")), not_run);
    let listed = with.workden(&["tool", "ls", r#"{"path": "."}"#]);
    assert_eq!((listed.code, listed.err.as_str()), (Some(0), not_run));
    let first = with.workden(&["setup"]);
    assert_eq!((first.code, first.out), (Some(0), format!("{}\n", with.project.path().display())));
    assert!(first.err.starts_with("setup 1/2: echo run >> runs; pwd"), "{}", first.err);
    assert!(first.err.ends_with("touch ~/.cargo/cached\nsetup has run\n"), "{}", first.err);
    // Its tools and caches are there afterwards, and cannot be changed, with the network or without.
    let tool = "mytool; ls ~/.cargo; touch ~/.local/bin/x 2>/dev/null || echo read-only";
    for options in [&[][..], &["--net", "host"]] {
        assert_eq!(with.run(options, tool).printed(), "tool\ncached\nread-only\n");
    }
    let called = with.workden(&["tool", "execute", r#"{"command": "mytool"}"#, "--policy", "permissive"]);
    assert_eq!((called.out.as_str(), called.err.as_str()), ("tool\n", ""));
    with.write("workden.toml", &format!("{SETUP}[approvals]\nmode = \"strict\"\n"));
    let unused = "note: `workden.toml` is not used; to apply it, pass `--config workden.toml`\n";
    assert_eq!(with.workden(&["tool", "ls", r#"{"path": "."}"#]).err, unused);
    with.write("workden.toml", SETUP);
    let again = with.workden(&["setup"]);
    assert_eq!(again.err, "setup is up to date; `workden setup --fresh` runs it again\n");
    assert_eq!(with.project.read("runs"), "run\n");
    with.write("missing", "");
    assert_eq!(
        note(with.run(&[], "true")),
        "note: the `[setup]` of this project has changed since it ran; run `workden setup`\n"
    );
    assert_eq!(with.workden(&["setup"]).code, Some(0));
    assert_eq!(with.run(&["--net", "host"], "touch ~/.cargo/more").printed(), "");
    assert_eq!(with.workden(&["setup", "--fresh"]).code, Some(0));
    assert_eq!(with.run(&[], "ls ~/.cargo").printed(), "cached\n");
    assert_eq!(with.project.read("runs"), "run\nrun\nrun\n");
}

#[test]
fn a_setup_that_fails_has_not_run_and_leaves_no_tools() {
    let with = WithState::new();
    with.write(
        "workden.toml",
        "[setup]\ncommands = ['echo x > ~/.local/x', 'exit 3', 'touch never']\nnetwork = false\n",
    );
    let failed = with.workden(&["setup"]);
    assert_eq!(failed.code, Some(1));
    assert!(
        failed.err.ends_with("error: the setup failed: the command that it ran last ended with exit code 3\n"),
        "{failed:?}"
    );
    assert!(!with.project.at("never").exists());
    let after = with.run(&[], "ls ~/.local");
    assert!(after.err.contains("has not run") && after.err.contains("No such file"), "{after:?}");
    for (text, told) in [
        (
            "[setup]\ncommands = 'x'\n",
            "line 2, column 12: `setup.commands` is not a list of texts\nhint: write it like",
        ),
        ("[[setup]]\n", "`setup` is not a table\nhint: write one `[setup]`"),
        ("[setup]\n", "`setup` has no `commands`\nhint: add the commands"),
        ("[setup]\ncommands = []\n", "line 2, column 12: `commands` is empty\nhint: write it like"),
        ("[setup]\ncommands = ['a', ' ']\n", "line 2, column 18: invalid command\nhint: write it like"),
        (
            "[setup]\ncommands = ['a']\ncache_key = ['/etc/x']\n",
            "line 3, column 14: `/etc/x` is not a file of the project",
        ),
        ("[setup]\ncommands = ['a']\nnetwrk = true\n", "unknown field `netwrk`[...]hint: did you mean `network`?"),
        ("", "there is no `[setup]`\nhint: add `[setup]`"),
    ] {
        with.write("workden.toml", text);
        let refused = with.workden(&["setup"]);
        let is_told = told.split("[...]").all(|part| refused.err.contains(part));
        assert!(refused.code == Some(1) && is_told, "{text}: {refused:?}");
    }
}

#[test]
fn a_setup_waits_for_no_command_and_commands_share_what_is_kept() {
    let with = WithState::new();
    with.write("workden.toml", "[setup]\ncommands = ['true']\n");
    let mut running = with.command(&["run", "--net", "host", "--", "sh", "-c", "echo ready; read line"]);
    let mut running = running.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(running.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let busy = "error: the packages of this project are in use by another workden process\n";
    for words in [&["setup"][..], &["setup", "--fresh"], &["setup", "--clear"]] {
        let refused = with.workden(words);
        assert!(refused.code == Some(1) && refused.err.starts_with(busy), "{words:?} {refused:?}");
    }
    assert_eq!(with.run(&["--net", "host"], "touch ~/.cargo/shared").code, Some(0));
    running.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(running.wait().unwrap().success());
    assert_eq!(with.workden(&["setup"]).code, Some(0));
    // Many at once, from nothing.
    assert_eq!(with.workden(&["setup", "--clear"]).code, Some(0));
    std::thread::scope(|scope| {
        let run = |nth| with.run(&["--net", "host"], &format!("echo {nth} > ~/.cargo/{nth}")).code;
        let all: Vec<_> = (0..6).map(|nth| scope.spawn(move || run(nth))).collect();
        all.into_iter().for_each(|one| assert_eq!(one.join().unwrap(), Some(0)));
    });
    assert_eq!(with.run(&[], "ls ~/.cargo").out, "0\n1\n2\n3\n4\n5\n");
}

#[test]
fn a_state_directory_that_cannot_be_trusted_is_not_used() {
    let with = WithState::new();
    with.write("workden.toml", "[setup]\ncommands = ['true']\n");
    // In the workspace, where commands could change it.
    let state = with.project.at("state");
    let inside = |words: &[&str]| Ran::of(with.command(words).env("XDG_STATE_HOME", &state).output().unwrap());
    let told = "the state directory is in the workspace, where commands can write\n";
    let ran = inside(&["run", "--net", "host", "--", "true"]);
    assert!(ran.code == Some(0) && ran.err.starts_with(&format!("note: packages are not kept: {told}")), "{ran:?}");
    let refused = inside(&["setup"]);
    assert!(refused.code == Some(1) && refused.err.starts_with(&format!("error: {told}")), "{refused:?}");
    assert!(!state.exists());
    // Of another user, writable for others, or a link.
    let kept = with.state.at("workden");
    fs::create_dir(&kept).unwrap();
    let try_both = |says: &str| {
        let ran = with.run(&["--net", "host"], "touch ~/.cargo/x");
        assert!(ran.err.contains("packages are not kept: ") && ran.err.contains(says), "{ran:?}");
        assert_eq!(with.workden(&["setup"]).code, Some(1));
        assert_eq!(with.run(&[], "true").code, Some(0));
    };
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o777)).unwrap();
    try_both("is writable for other users");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o700)).unwrap();
    if rustix::process::getuid().is_root() {
        chown(&kept, Some(48_231), None).unwrap();
        try_both("belongs to another user");
    }
    fs::rename(&kept, with.state.at("real")).unwrap();
    symlink("real", &kept).unwrap();
    try_both("is a symbolic link");
    assert_eq!(fs::read_dir(with.state.at("real")).unwrap().count(), 0);
}

#[test]
fn on_a_full_disk_a_setup_fails_and_commands_go_on() {
    let with = WithState::new();
    with.write("workden.toml", "[setup]\ncommands = ['true']\n");
    // The directory of the project still fits, the record of its setup does not.
    let script =
        "mount -t tmpfs -o nr_inodes=$1 full \"$2\" && cd \"$3\" && export XDG_STATE_HOME=\"$2\" && shift 3 && \"$@\"";
    let full = |inodes: &str, words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, "full", inodes]);
        command.arg(with.state.path()).arg(with.project.path()).arg(env!("CARGO_BIN_EXE_workden")).args(words);
        Ran::of(command.output().unwrap())
    };
    let refused = full("5", &["setup"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.starts_with("error: cannot use the state directory: "), "{refused:?}");
    let ran = full("5", &["run", "--net", "host", "--", "echo", "on"]);
    assert!(ran.code == Some(0) && ran.out == "on\n" && ran.err.contains("packages are not kept: "), "{ran:?}");
}
