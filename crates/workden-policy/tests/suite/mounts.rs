//! Mounts and their limits, for every way in.

use workden_core::{Op, Refusal, Resolved, Sight, Spelling};
use workden_policy::{
    Action, MountApproval, MountMode, MountRules, MountTable, OperationRules, Policy, Preset, Rule, Ruleset,
};

use crate::{at, mounted, path, paths, told, verdict};

fn usual() -> Policy {
    mounted(vec![
        MountRules::read_only(path("/input")),
        MountRules {
            suffixes: Some(vec!["md".into(), ".tar.gz".into()]),
            max_file_bytes: Some(100),
            ..MountRules::read_write(path("/output"))
        },
        MountRules {
            read_approval: MountApproval::Needed,
            write_approval: MountApproval::Needed,
            ..MountRules::read_write(path("/careful"))
        },
        MountRules { max_file_bytes: Some(5), ..MountRules::read_only(path("/output/frozen")) },
    ])
}

#[test]
fn every_call_is_held_to_the_limits_of_its_places() {
    let policy = usual();
    let (input, output, exe) = (at("/input/a.md"), at("/output/a.md"), at("/output/a.exe"));
    let (careful, frozen, outside) = (at("/careful/a"), at("/output/frozen/a.exe"), at("/etc/passwd"));
    for (op, expected) in [
        (Op::Read(&input), "allow"),
        (Op::Stat(&input), "allow"),
        (Op::Write(&input), "deny"),
        (Op::Change(&input), "deny"),
        (Op::MakeDir(&input), "deny"),
        (Op::Remove(&input), "deny"),
        (Op::Rename { from: &input, to: &output }, "deny"),
        (Op::Copy { from: &input, to: &output }, "allow"),
        (Op::Copy { from: &output, to: &input }, "deny"),
        (Op::Copy { from: &input, to: &exe }, "deny"),
        (Op::Rename { from: &output, to: &exe }, "deny"),
        (Op::Rename { from: &exe, to: &output }, "deny"),
        (Op::Read(&exe), "deny"),
        (Op::Write(&exe), "deny"),
        (Op::Change(&exe), "deny"),
        (Op::Remove(&exe), "deny"),
        (Op::Stat(&exe), "allow"),
        (Op::MakeDir(&exe), "allow"),
        (Op::Write(&at("/output/a.tar.gz")), "allow"),
        (Op::Write(&at("/output/a.gz")), "deny"),
        (Op::Write(&at("/output/A.MD")), "allow"),
        (Op::Write(&at("/output/.md")), "deny"),
        (Op::Read(&at("/output/Makefile")), "deny"),
        (Op::Remove(&at("/output/directory")), "allow"),
        (Op::Read(&careful), "ask"),
        (Op::Write(&careful), "ask"),
        (Op::Change(&careful), "ask"),
        (Op::Remove(&careful), "ask"),
        (Op::Grep(&careful), "ask"),
        (Op::List(&careful), "allow"),
        (Op::Copy { from: &careful, to: &output }, "ask"),
        (Op::Rename { from: &careful, to: &output }, "ask"),
        (Op::Copy { from: &input, to: &careful }, "ask"),
        (Op::Copy { from: &careful, to: &exe }, "deny"),
        (Op::Read(&frozen), "allow"),
        (Op::Write(&frozen), "deny"),
        (Op::Read(&outside), "deny"),
        (Op::Stat(&outside), "deny"),
        (Op::List(&at("/")), "allow"),
        (Op::Grep(&at("/")), "allow"),
        (Op::Read(&at("/")), "deny"),
        (Op::Write(&at("/new")), "deny"),
        (Op::Remove(&at("/")), "deny"),
    ] {
        assert_eq!(verdict(&policy, op), expected, "{op:?}");
    }
}

#[test]
fn what_is_removed_goes_with_what_is_mounted_in_it() {
    let output = at("/output");
    for op in [Op::Remove(&output), Op::Rename { from: &output, to: &at("/output2.md") }] {
        assert_eq!(verdict(&usual(), op), "deny", "{op:?}: a mount in it is read-only");
    }
    let asks = MountRules { write_approval: MountApproval::Needed, ..MountRules::read_write(path("/a/b")) };
    let policy = mounted(vec![MountRules::read_write(path("/a")), asks]);
    assert_eq!(verdict(&policy, Op::Remove(&at("/a"))), "ask");
    assert_eq!(verdict(&policy, Op::Remove(&at("/a/c"))), "allow");
}

#[test]
fn refusals_say_what_is_allowed_instead_in_the_spelling_that_was_used() {
    let policy = usual();
    let (_, refusal) = told(policy.judge(Op::Read(&at("/etc/passwd"))));
    let readable = paths(&["/input", "/output", "/careful", "/output/frozen"]);
    assert_eq!(refusal, Some(Refusal::Outside { path: path("/etc/passwd"), readable }));
    let (_, refusal) = told(policy.judge(Op::Write(&at("/input/a"))));
    assert_eq!(
        refusal.clone().unwrap().message(Spelling::of("input/a")),
        "Cannot write to 'input/a': path is read-only.\nWritable paths: output, careful"
    );
    assert_eq!(
        refusal.unwrap().message(Spelling::of("/input/a")),
        "Cannot write to '/input/a': path is read-only.\nWritable paths: /output, /careful"
    );
    let (_, refusal) = told(policy.judge(Op::Write(&at("/output/a.EXE"))));
    assert_eq!(
        refusal.unwrap().message(Spelling::Bare),
        "Cannot access 'output/a.EXE': suffix '.exe' not allowed.\nAllowed suffixes: md, .tar.gz"
    );
    let (word, refusal) = told(policy.judge(Op::Read(&at("/careful/a"))));
    let expected = Refusal::Unapproved {
        operation: "read".into(),
        target: "/careful/a".into(),
        description: "reading in `/careful` requires approval".into(),
    };
    assert_eq!((word, refusal), ("ask", Some(expected)));
}

#[test]
fn a_link_is_judged_by_its_name_and_by_where_it_leads_and_only_its_name_is_told() {
    let policy = usual();
    let link = |typed: &str, real: &str| Resolved::new(path(typed), path(real));
    for (resolved, expected) in [
        (link("/output/link.md", "/output/a.md"), "allow"),
        (link("/output/link.md", "/output/a.exe"), "deny"),
        (link("/output/link.exe", "/output/a.md"), "deny"),
        (link("/output/link.md", "/input/a.md"), "deny"),
        (link("/output/link.md", "/etc/hosts.md"), "deny"),
        (link("/output/link.md", "/careful/a.md"), "ask"),
    ] {
        let (word, refusal) = told(policy.judge(Op::Write(&resolved)));
        assert_eq!(word, expected, "{resolved:?}");
        let words = refusal.map(|refusal| refusal.message(Spelling::Rooted)).unwrap_or_default();
        assert!(!words.contains("hosts"), "{words}");
    }
    let rules = Policy::new().with_rules(&Preset::Permissive.ruleset()).unwrap();
    assert_eq!(verdict(&rules, Op::Read(&link("/notes.md", "/.env"))), "deny");
    assert_eq!(verdict(&rules, Op::Read(&link("/.env", "/notes.md"))), "deny");
}

#[test]
fn a_mount_is_looked_up_after_dots_are_taken_out() {
    let policy = mounted(vec![MountRules::read_write(path("/data")), MountRules::read_only(path("/data/special"))]);
    for typed in ["/data/./special/f", "/data/x/../special/f", "//data//special/f", "data/special/f"] {
        assert_eq!(verdict(&policy, Op::Write(&at(typed))), "deny", "{typed}");
    }
    assert_eq!(verdict(&policy, Op::Write(&at("/data/specialist"))), "allow");
}

#[test]
fn an_empty_table_and_an_empty_list_of_endings_allow_nothing() {
    let nothing = mounted(vec![]);
    for op in [Op::Read(&at("/a")), Op::Stat(&at("/a")), Op::List(&at("/")), Op::Write(&at("/a"))] {
        assert_eq!(verdict(&nothing, op), "deny");
    }
    let (_, refusal) = told(nothing.judge(Op::Read(&at("/a"))));
    assert_eq!(
        refusal.unwrap().message(Spelling::Bare),
        "Cannot access 'a': path is outside sandbox.\nReadable paths: none"
    );
    let no_files = mounted(vec![MountRules { suffixes: Some(vec![]), ..MountRules::read_write(path("/")) }]);
    for op in [Op::Read(&at("/a")), Op::Write(&at("/a.md")), Op::Remove(&at("/a")), Op::Change(&at("/a"))] {
        assert_eq!(verdict(&no_files, op), "deny");
    }
}

#[test]
fn two_mounts_cannot_be_at_one_place() {
    let twice = vec![MountRules::read_only(path("/a")), MountRules::read_write(path("/b/../a"))];
    assert_eq!(MountTable::new(twice).unwrap_err().sentence(), "Duplicate mount point: '/a'");
}

#[test]
fn a_global_allow_never_overrides_what_a_mount_asks() {
    let policy = usual().with_rules(&Ruleset::all(Action::Allow)).unwrap();
    assert_eq!(verdict(&policy, Op::Read(&at("/careful/a"))), "ask");
    let policy = usual().with_rules(&Ruleset::all(Action::Ask)).unwrap();
    assert_eq!(verdict(&policy, Op::Read(&at("/input/a"))), "ask");
    assert_eq!(verdict(&policy, Op::Write(&at("/input/a"))), "deny");
}

#[test]
fn questions_are_answered_beforehand() {
    let policy = usual();
    assert_eq!(policy.readable_roots(), paths(&["/input", "/output", "/careful", "/output/frozen"]));
    assert_eq!(policy.writable_roots(), paths(&["/output", "/careful"]));
    for (typed, can_read, can_write, asks_read, asks_write) in [
        ("input/a", true, false, false, false),
        ("/output/a.exe", true, true, false, false),
        ("careful", true, true, true, true),
        ("/output/frozen/x", true, false, false, false),
        ("/etc", false, false, false, false),
    ] {
        let path = path(typed);
        let answers = (
            policy.can_read(&path),
            policy.can_write(&path),
            policy.needs_read_approval(&path),
            policy.needs_write_approval(&path),
        );
        assert_eq!(answers, (can_read, can_write, asks_read, asks_write), "{typed}");
    }
    let frozen = MountRules { write_approval: MountApproval::Needed, ..MountRules::read_only(path("/f")) };
    assert!(!mounted(vec![frozen]).needs_write_approval(&path("/f")), "it cannot be written at all");
    for (typed, most) in [("/output/a.md", Some(100)), ("/output/frozen/a", Some(5)), ("/input/a", None)] {
        assert_eq!(policy.most_bytes(&path(typed)), most, "{typed}");
    }
    assert_eq!(Policy::new().readable_roots(), paths(&["/"]));
    let inside = MountTable::new(vec![MountRules::read_write(path("/output/frozen/x"))]).unwrap();
    let inside = usual().with_mounts(inside);
    assert_eq!((inside.readable_roots(), inside.writable_roots()), (paths(&["/output/frozen/x"]), vec![]));
    let readonly = Policy::new().with_rules(&Preset::Readonly.ruleset()).unwrap();
    assert_eq!((readonly.readable_roots(), readonly.writable_roots()), (paths(&["/"]), vec![]));
}

#[test]
fn both_spellings_resolve_to_one_path() {
    let policy = usual();
    for typed in ["input/x", "/input/x", "./input//x", "input/y/../x"] {
        assert_eq!(policy.resolve(typed).unwrap(), path("/input/x"), "{typed}");
    }
    assert!(policy.resolve("/").is_ok(), "the way to a mount can be listed");
    let refusal = policy.resolve("etc/passwd").unwrap_err().refusal().cloned().unwrap();
    assert_eq!(
        refusal.message(Spelling::of("etc/passwd")),
        "Cannot access 'etc/passwd': path is outside sandbox.\nReadable paths: input, output, careful, output/frozen"
    );
    assert!(policy.resolve("../x").is_err() && policy.resolve("a\0b").is_err());
}

#[test]
fn a_search_shows_what_may_be_read_and_no_more() {
    let policy = usual();
    let seen = policy_sight(&policy, Op::Grep(&at("/")));
    for (typed, list, read, size) in [
        ("/", Sight::Shown, Sight::Hidden, 0),
        ("/input", Sight::Shown, Sight::Shown, 0),
        ("/input/a.exe", Sight::Shown, Sight::Shown, 1_000),
        ("/output/a.exe", Sight::Shown, Sight::Hidden, 0),
        ("/output/a.md", Sight::Shown, Sight::Shown, 100),
        ("/output/frozen/a.exe", Sight::Shown, Sight::Shown, 5),
        ("/careful/a", Sight::Shown, Sight::Asks, 0),
        ("/etc", Sight::Hidden, Sight::Hidden, 0),
        ("/inputs/x", Sight::Hidden, Sight::Hidden, 0),
    ] {
        let path = path(typed);
        assert_eq!((seen.to_list(&path), seen.to_read(&path)), (list, read), "{typed}");
        assert_eq!(seen.size_to_read(&path, size), Sight::Shown, "{typed}");
    }
    assert_eq!(seen.size_to_read(&path("/output/a.md"), 101), Sight::Hidden);
    assert_eq!(seen.size_to_read(&path("/output/frozen/a.md"), 6), Sight::Hidden);
    let inside = policy_sight(&policy, Op::Grep(&at("/careful/sub")));
    assert_eq!(inside.to_read(&path("/careful/sub/a")), Sight::Shown, "the search itself was asked about");
}

#[test]
fn a_rule_that_asks_is_passed_over_in_a_search_and_a_default_is_not() {
    let read = OperationRules {
        default: Some(Action::Ask),
        rules: vec![Rule::new("/private/**", Action::Ask), Rule::new("*.key", Action::Deny)],
    };
    let rules = Ruleset { read: Some(read), ..Ruleset::all(Action::Allow) };
    let policy = Policy::new().with_rules(&rules).unwrap();
    assert_eq!(verdict(&policy, Op::Grep(&at("/"))), "ask", "because reading asks by default");
    let seen = policy_sight(&policy, Op::Grep(&at("/")));
    for (typed, expected) in [("/a", Sight::Shown), ("/private/a", Sight::Asks), ("/a.KEY", Sight::Hidden)] {
        assert_eq!(seen.to_read(&path(typed)), expected, "{typed}");
    }
}

#[test]
fn glob_and_grep_have_rules_of_their_own() {
    let hides = |pattern: &str| {
        Some(OperationRules { default: Some(Action::Allow), rules: vec![Rule::new(pattern, Action::Deny)] })
    };
    let rules = Ruleset {
        ls: hides("/ls/**"),
        glob: hides("/glob/**"),
        grep: hides("/grep/**"),
        ..Ruleset::all(Action::Allow)
    };
    let policy = Policy::new().with_rules(&rules).unwrap();
    let root = at("/");
    let (ls, glob, grep) = (path("/ls/x"), path("/glob/x"), path("/grep/x"));
    let listing = policy_sight(&policy, Op::List(&root));
    assert_eq!([&ls, &glob, &grep].map(|path| listing.to_list(path)), [Sight::Hidden, Sight::Shown, Sight::Shown]);
    let globbing = policy_sight(&policy, Op::Glob(&root));
    assert_eq!([&ls, &glob, &grep].map(|path| globbing.to_list(path)), [Sight::Hidden, Sight::Hidden, Sight::Shown]);
    let grepping = policy_sight(&policy, Op::Grep(&root));
    assert_eq!([&ls, &glob, &grep].map(|path| grepping.to_read(path)), [Sight::Shown, Sight::Shown, Sight::Hidden]);
    assert_eq!(grepping.to_list(&ls), Sight::Hidden);
}

#[test]
fn mounts_are_written_down_with_short_words() {
    let mount: MountRules = toml::from_str("at = \"docs\"\naccess = \"rw\"\nwrite_approval = true").unwrap();
    let expected = MountRules { write_approval: MountApproval::Needed, ..MountRules::read_write(path("/docs")) };
    assert_eq!(mount, expected);
    assert_eq!(toml::from_str::<MountRules>(&toml::to_string(&mount).unwrap()).unwrap(), mount);
    assert_eq!(toml::from_str::<MountRules>("at = \"/\"").unwrap().access, MountMode::ReadOnly);
    assert!(toml::from_str::<MountRules>("at = \"/../x\"").is_err());
}

fn policy_sight(policy: &Policy, op: Op<'_>) -> workden_core::CompiledVisibility {
    workden_core::Gate::visibility(policy, op).compile().unwrap()
}
