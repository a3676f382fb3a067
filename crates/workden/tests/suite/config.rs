//! `workden.toml`: what it means, and where its errors are.

use workden::{Action, Config, Operation, PathScope, Verdict, VirtualPath, Workspace, policy::Policy};

fn policy(text: &str) -> Policy {
    Config::parse(text).unwrap().policy(PathScope::Machine, &VirtualPath::parse("/workspace").unwrap()).unwrap()
}

fn says(policy: &Policy, script: &str) -> Action {
    policy.judge_command(script, &VirtualPath::parse("/workspace").unwrap()).action()
}

#[test]
fn errors_name_line_and_column() {
    for (text, expected) in [
        ("extends = \"defualt\"", "line 1, column 11: "),
        ("\n\n[rules]\nreed = 1\n", "line 4, column 1: unknown field `reed`"),
        ("[rules.read]\nrules = [\n  { pattern = \"[z-a]\", action = \"deny\" },\n]\n", "line 3, column 3: "),
        (
            "[rules.read]\nrules = [\n  { pattern = \"*.md\", action = \"deny\" },\n  { pattern = \"*.pem\", action = \"deny\", match = [\"/a.key\"] },\n]\n",
            "line 4, column 3: ",
        ),
        (
            "[[rules.execute.rules]]\npattern = \"git *\"\naction = \"maybe\"\n",
            "line 3, column 10: unknown variant `maybe`",
        ),
        (
            "[[mounts]]\nat = \"/a\"\ndirectory = \".\"\n[[mounts]]\nat = \"/a/\"\ndirectory = \".\"\n",
            "line 5, column 6: two directories are mounted at `/a`",
        ),
        ("[[mounts]]\nat = \"/../x\"\ndirectory = \".\"\n", "line 2, column 6: "),
        (
            "[[mounts]]\nat = \"/a\"\ndirectory = \".\"\nsuffixes = [\"*.md\"]\n",
            "line 4, column 12: invalid suffix `*.md`",
        ),
        (
            "[rules.execute]\nrules = [\n  { pattern = \"ls\", action = \"allow\" },\n  { pattern = \"[a\", action = \"deny\" },\n]\n",
            "line 4, column 3: rule 2 of `execute`",
        ),
        ("[limits]\nmax_file_bytes = -1\n", "line 2, column 18: "),
        (
            "[[rules.write]]\npattern = \"a\"\naction = \"deny\"\n[[rules.write]]\npattern = \"b\"\n",
            "line 1, column 1: `rules.write` is a list\nhint: write `[[rules.write.rules]]` for one rule",
        ),
        ("[rules.read]\nrules = [{ pattern = \"a\" }]\n", "line 2, column 10: rule 1 of `read` has no `action`"),
        ("extends = [", "line 1, column "),
    ] {
        let error = Config::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn own_rules_come_before_those_of_the_preset() {
    let policy = policy(
        "extends = \"default\"\n\
         [rules.execute]\n\
         rules = [{ pattern = \"git status *\", action = \"allow\" }, { pattern = \"git push *\", action = \"deny\" }]\n",
    );
    assert_eq!(says(&policy, "git status -s"), Action::Allow);
    assert_eq!(says(&policy, "git push"), Action::Deny);
    assert_eq!(says(&policy, "make"), Action::Ask);
    assert_eq!(says(&policy, "rm -rf /"), Action::Deny);
    // A redirection or substitution is judged separately.
    assert_eq!(says(&policy, "git status -s > .env"), Action::Deny);
    assert_eq!(says(&policy, "git status $(make)"), Action::Ask);
}

#[test]
fn rules_for_deleting_keep_what_the_preset_protects() {
    let config = Config::parse("extends = \"permissive\"\n[rules.delete]\ndefault = \"ask\"\n").unwrap();
    let rules = config.ruleset(PathScope::Machine, &VirtualPath::root()).unwrap().compile().unwrap();
    let decide = |typed| rules.decide_path(Operation::Delete, &VirtualPath::parse(typed).unwrap()).action;
    assert_eq!((decide("/a.md"), decide("/.env")), (Action::Ask, Action::Deny));
}

#[test]
fn a_file_that_says_little_has_the_default_preset_and_no_preset_is_a_word() {
    for text in ["", "[limits]\nmax_file_bytes = \"10MB\"\n", "[rules.execute]\ndefault = \"allow\"\n"] {
        assert_eq!(says(&policy(text), "cat .env"), Action::Deny, "{text:?}");
    }
    assert!(policy("extends = \"none\"\n").is_empty());
    assert!(!policy("extends = \"none\"\n[rules]\ndefault = \"deny\"\n").is_empty());
}

#[test]
fn sizes_are_written_as_people_write_them() {
    let most =
        |text: &str| Config::parse(&format!("[limits]\nmax_file_bytes = {text}\n")).map(|c| c.limits.max_file_bytes);
    assert_eq!(most("1000").unwrap(), Some(1000));
    assert_eq!(most("\"10MB\"").unwrap(), Some(10 << 20));
    for wrong in ["\"much\"", "-1", "true"] {
        let error = most(wrong).unwrap_err().to_string();
        assert!(error.starts_with("line 2, column 18: ") && error.contains("size"), "{error}");
    }
}

#[test]
fn patterns_count_from_the_project_wherever_it_is() {
    let text = "[rules.write]\nrules = [{ pattern = \"src/**\", action = \"deny\", match = [\"src/a.rs\"] }]\n";
    let config = Config::parse(text).unwrap();
    for (project, scope) in [("/workspace", PathScope::Machine), ("/", PathScope::FilesOnly)] {
        let project = VirtualPath::parse(project).unwrap();
        let rules = config.ruleset(scope, &project).unwrap().compile().unwrap();
        let at = |path: &str| VirtualPath::parse(path).unwrap().below(&project);
        for operation in [Operation::Write, Operation::Edit, Operation::Delete] {
            assert_eq!(rules.decide_path(operation, &at("/src/a.rs")).action, Action::Deny, "{operation} {project}");
            assert_eq!(rules.decide_path(operation, &at("/out/a.rs")).action, Action::Ask, "{operation} {project}");
        }
    }
}

#[test]
fn editing_and_deleting_may_have_rules_of_their_own() {
    let text = "[rules.write]\ndefault = \"deny\"\n[rules.delete]\ndefault = \"allow\"\n";
    let rules = Config::parse(text).unwrap().ruleset(PathScope::FilesOnly, &VirtualPath::root()).unwrap();
    let rules = rules.compile().unwrap();
    let decide = |operation| rules.decide_path(operation, &VirtualPath::parse("/a.md").unwrap()).action;
    assert_eq!((decide(Operation::Edit), decide(Operation::Delete)), (Action::Deny, Action::Allow));
}

#[tokio::test]
async fn the_file_itself_is_not_changed_by_calls_on_files() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("workden.toml");
    std::fs::write(&file, "extends = \"permissive\"\n").unwrap();
    let builder = Workspace::builder().root(base.path()).config_file(&file).unwrap();
    let workspace = builder.approvals(workden::Approvals::approve_all()).build().unwrap();
    workspace.write("other.toml", "x").await.unwrap();
    workspace.write("workden.toml", "extends = \"none\"\n").await.unwrap_err();
    workspace.rename("workden.toml", "elsewhere").await.unwrap_err();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "extends = \"permissive\"\n");
    // A link could be replaced, whatever it leads to.
    let link = base.path().join("link.toml");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let linked = Workspace::builder().root(base.path()).config_file(&link).unwrap().build().unwrap_err();
    assert!(linked.sentence().contains("`link.toml` is behind a link"), "{linked}");
}

#[test]
fn a_pattern_that_can_match_nothing_is_an_error() {
    for pattern in ["~/secret/**", " src/**", "!src/**", "./"] {
        let text = format!("[rules.read]\nrules = [{{ pattern = '{pattern}', action = \"deny\" }}]\n");
        let error = Config::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("line 2, column 10: rule 1 of `read`"), "{pattern}: {error}");
    }
}

#[test]
fn a_file_is_read_with_its_name_in_the_errors_and_its_mounts_are_all_the_places_there_are() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("workden.toml");
    let build = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Workspace::builder().config_file(&file).and_then(|builder| builder.build().map(|_| ()))
    };
    let error = build("extends = 1\n").unwrap_err().to_string();
    assert!(error.contains("workden.toml: line 1, column 11: "), "{error}");
    let error = build("[[mounts]]\nat = \"/a\"\ndirectory = \"nowhere\"\n").unwrap_err().to_string();
    assert!(error.starts_with("cannot mount `/a`: no such file or directory"), "{error}");
    build("[[mounts]]\nat = \"/a\"\ndirectory = \".\"\n").unwrap();
    let both = Workspace::builder().root(base.path()).config_file(&file).unwrap().build().unwrap_err();
    assert!(both.to_string().contains("mounts of a configuration"), "{both}");
}

#[tokio::test]
async fn the_strictest_says_who_answers() {
    let config =
        |mode: &str| Config::parse(&format!("extends = \"default\"\n[approvals]\nmode = \"{mode}\"\n")).unwrap();
    for (modes, refuses, expected) in [
        (&["approve_all"][..], false, true),
        // The program names an approver, so that the file does not answer.
        (&["approve_all"], true, false),
        (&["approve_all", "interactive"], false, false),
        (&["strict", "approve_all"], false, false),
        (&["interactive"], false, false),
    ] {
        let builder = modes.iter().fold(Workspace::builder(), |builder, mode| builder.config(config(mode), "."));
        let builder = if refuses { builder.approvals(workden::Approvals::strict()) } else { builder };
        let wrote = builder.build().unwrap().write("a.md", "text").await;
        assert_eq!(wrote.is_ok(), expected, "{modes:?}, {refuses}");
    }
}

#[test]
fn a_missing_file_is_told_without_where_it_would_be() {
    let error = Workspace::builder().config_file("/nonexistent/workden.toml").unwrap_err().to_string();
    assert_eq!(error, "cannot read the configuration `workden.toml`: file not found");
}

#[tokio::test]
async fn a_file_makes_a_whole_workspace() {
    let base = tempfile::tempdir().unwrap();
    for name in ["in", "out"] {
        std::fs::create_dir(base.path().join(name)).unwrap();
    }
    std::fs::write(base.path().join("in/a.md"), "text").unwrap();
    let config = Config::parse(
        "extends = \"permissive\"\n\
         [[mounts]]\nat = \"/input\"\ndirectory = \"in\"\nsuffixes = [\".md\"]\n\
         [[mounts]]\nat = \"/output\"\ndirectory = \"out\"\nmode = \"rw\"\nmax_file_bytes = 5\n\
         [approvals]\nmode = \"strict\"\n",
    )
    .unwrap();
    let workspace = Workspace::builder().config(config, base.path()).build().unwrap();
    assert_eq!(workspace.read_bytes("input/a.md").await.unwrap(), "text");
    let error = workspace.write("input/b.md", "x").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot write `input/b.md`: it may only be read\nhint: writable: output");
    let error = workspace.write("/output/b.md", "123456").await.unwrap_err();
    assert!(error.to_string().contains("6 bytes, and 5 is the most"), "{error}");
    workspace.copy("/input/a.md", "/output/a.md").await.unwrap();
    let error = workspace.read_bytes("/etc/passwd").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot access `/etc/passwd`: it is outside of what may be used\nhint: readable: /input, /output"
    );
    assert!(matches!(workspace.judge_command("cat /input/a.md").await, Verdict::Allow));
    assert!(matches!(workspace.judge_command("touch /input/x.md").await, Verdict::Deny(_)));
}
