//! Rulesets: how they are written, checked and asked.

use workden_core::{ErrorKind, RuleCase, VirtualPath};
use workden_policy::{Action, DecidedBy, Operation, OperationRules, Preset, Rule, Ruleset};

use Action::{Allow, Ask, Deny};

fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

fn reading(default: Option<Action>, rules: Vec<Rule>) -> Ruleset {
    Ruleset { read: Some(OperationRules { default, rules }), ..Ruleset::all(Ask) }
}

fn decided(rules: &Ruleset, operation: Operation, typed: &str) -> Action {
    rules.compile().unwrap().decide_path(operation, &path(typed)).action
}

#[test]
fn the_first_rule_then_the_operation_then_the_ruleset() {
    let rules = vec![Rule::new("/a/keep/**", Allow), Rule::new("/a/**", Deny), Rule::new("/a/keep/x", Deny)];
    let compiled = reading(Some(Allow), rules.clone()).compile().unwrap();
    let keep = compiled.decide_path(Operation::Read, &path("/a/keep/x"));
    assert_eq!(
        (keep.action, keep.because),
        (Allow, DecidedBy::Rule { of: Operation::Read, index: 0, rule: &rules[0] })
    );
    assert_eq!(compiled.decide_path(Operation::Read, &path("/a/x")).action, Deny);
    let elsewhere = compiled.decide_path(Operation::Read, &path("/b"));
    assert_eq!((elsewhere.action, elsewhere.because), (Allow, DecidedBy::OperationDefault(Operation::Read)));
    let without_default = reading(None, rules).compile().unwrap();
    let elsewhere = without_default.decide_path(Operation::Read, &path("/b"));
    assert_eq!((elsewhere.action, elsewhere.because), (Ask, DecidedBy::RulesetDefault));
    assert_eq!(without_default.decide_path(Operation::Write, &path("/b")).because, DecidedBy::RulesetDefault);
}

#[test]
fn removing_goes_by_the_rules_of_writing_where_it_has_none() {
    let write = OperationRules { default: Some(Allow), rules: vec![Rule::new("/keep/**", Deny)] };
    let mut rules = Ruleset { write: Some(write), ..Ruleset::all(Ask) };
    assert_eq!(decided(&rules, Operation::Delete, "/keep/x"), Deny);
    assert_eq!(decided(&rules, Operation::Delete, "/x"), Allow);
    rules.delete = Some(OperationRules::default());
    assert_eq!(decided(&rules, Operation::Delete, "/keep/x"), Ask);
}

#[test]
fn letter_case_is_as_strict_as_can_be_unless_the_rule_says() {
    for (action, case, expected) in [
        (Deny, None, true),
        (Ask, None, true),
        (Allow, None, false),
        (Deny, Some(RuleCase::Sensitive), false),
        (Allow, Some(RuleCase::Insensitive), true),
    ] {
        let rule = Rule { case, ..Rule::new("*.key", action) };
        let other = if action == Deny { Allow } else { Deny };
        let matched = decided(&reading(Some(other), vec![rule]), Operation::Read, "/A.KEY") == action;
        assert_eq!(matched, expected, "{action:?} {case:?}");
    }
}

#[test]
fn a_malformed_pattern_is_an_error_that_names_the_rule() {
    let rules = reading(None, vec![Rule::new("/a", Deny), Rule::new("[z-a]", Deny)]);
    let error = rules.compile().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidPattern);
    assert_eq!(
        error.sentence(),
        "rule 2 of `read` (pattern `[z-a]`): invalid glob `[z-a]`: the range `z-a` runs backwards"
    );
    let execute = OperationRules { default: None, rules: vec![Rule::new("rm [a", Deny)] };
    let error = Ruleset { execute: Some(execute), ..Ruleset::default() }.compile().unwrap_err();
    assert!(error.sentence().starts_with("rule 1 of `execute` (pattern `rm [a`): "), "{error}");
    let except = Rule { except: vec!["{a".into()], ..Rule::new("/a", Deny) };
    assert_eq!(reading(None, vec![except]).compile().unwrap_err().kind(), ErrorKind::InvalidPattern);
}

#[test]
fn examples_are_checked_when_the_rules_load() {
    let rule = |matches: &[&str], not_match: &[&str]| Rule {
        except: vec!["*.pub".into()],
        matches: matches.iter().map(ToString::to_string).collect(),
        not_match: not_match.iter().map(ToString::to_string).collect(),
        ..Rule::new("id_*", Deny)
    };
    assert!(reading(None, vec![rule(&["/x/ID_RSA", "id_x"], &["/id_rsa.pub", "/xid_"])]).compile().is_ok());
    for (matches, not_match, words) in [
        (&["/id.rsa"][..], &[][..], "its pattern does not match `/id.rsa`, an example of `match`"),
        (&["/id_rsa.pub"], &[], "its pattern does not match `/id_rsa.pub`, an example of `match`"),
        (&[], &["/a/id_rsa"], "its pattern matches `/a/id_rsa`, an example of `not_match`"),
    ] {
        let error = reading(None, vec![rule(matches, not_match)]).compile().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.sentence(), format!("rule 1 of `read` (pattern `id_*`): {words}"));
    }
    let command = |example: &str| {
        let rule = Rule { matches: vec![example.into()], ..Rule::new("git push *", Ask) };
        let execute = Some(OperationRules { default: None, rules: vec![rule] });
        Ruleset { execute, ..Ruleset::default() }.compile()
    };
    assert!(command("git  push --force").is_ok());
    assert!(command("git pull").unwrap_err().sentence().contains("does not match `git pull`"));
}

#[test]
fn commands_are_matched_word_by_word() {
    let rules = vec![
        Rule { except: vec!["git push --dry-run *".into()], ..Rule::new("git push *", Deny) },
        Rule::new("git *", Allow),
        Rule::new("rm -rf /", Deny),
    ];
    let execute = Some(OperationRules { default: Some(Ask), rules });
    let compiled = Ruleset { execute, ..Ruleset::default() }.compile().unwrap();
    for (argv, expected) in [
        (&["git", "status"][..], Allow),
        (&["/usr/bin/git", "status"], Allow),
        (&["/tmp/git", "status"], Ask),
        (&["git", "push"], Deny),
        (&["/tmp/git", "push"], Deny),
        (&["git", "push", "--dry-run"], Allow),
        (&["/tmp/git", "push", "--dry-run"], Deny),
        (&["/bin/rm", "-rf", "/"], Deny),
        (&["rm", "-rf", "/x"], Ask),
        (&["Git", "status"], Ask),
    ] {
        assert_eq!(compiled.decide_argv(argv).action, expected, "{argv:?}");
    }
    let error = Ruleset {
        execute: Some(OperationRules {
            default: None,
            rules: vec![Rule { case: Some(RuleCase::Insensitive), ..Rule::new("rm *", Deny) }],
        }),
        ..Ruleset::default()
    };
    assert_eq!(error.compile().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn every_preset_survives_json_and_toml() {
    for preset in Preset::ALL {
        let rules = preset.ruleset();
        let json = serde_json::to_string(&rules).unwrap();
        assert_eq!(serde_json::from_str::<Ruleset>(&json).unwrap(), rules);
        let toml = toml::to_string(&rules).unwrap();
        assert_eq!(toml::from_str::<Ruleset>(&toml).unwrap(), rules);
    }
}

#[test]
fn what_the_other_library_writes_is_read() {
    let theirs = r#"{"default": "ask", "read": {"default": "allow", "rules": [
        {"pattern": "**/.env", "action": "deny", "description": "Protect sensitive files"}]},
        "write": null, "edit": null, "execute": null, "glob": null, "grep": null, "ls": null}"#;
    let rules: Ruleset = serde_json::from_str(theirs).unwrap();
    assert_eq!(decided(&rules, Operation::Read, "/a/.env"), Deny);
    assert_eq!(decided(&rules, Operation::Read, "/a"), Allow);
    assert_eq!(decided(&rules, Operation::Write, "/a"), Ask);
}

#[test]
fn misspelled_fields_and_actions_are_errors() {
    for bad in [
        r#"{"reed": {}}"#,
        r#"{"read": {"rule": []}}"#,
        r#"{"read": {"rules": [{"pattern": "a", "action": "deny", "exept": []}]}}"#,
        r#"{"read": {"rules": [{"pattern": "a", "action": "forbid"}]}}"#,
        r#"{"read": {"rules": [{"pattern": "a"}]}}"#,
        r#"{"default": "yes"}"#,
    ] {
        assert!(serde_json::from_str::<Ruleset>(bad).is_err(), "{bad}");
    }
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_names_what_can_be_written() {
    let schema = serde_json::to_string(&schemars::schema_for!(Ruleset)).unwrap();
    for word in ["dangerous_commands", "\"match\"", "not_match", "insensitive", "additionalProperties\":false"] {
        assert!(schema.contains(word), "{word} in {schema}");
    }
    let schema = serde_json::to_string(&schemars::schema_for!(workden_policy::MountRules)).unwrap();
    for word in ["\"ro\"", "\"rw\"", "\"read_approval\":{\"description\"", "\"type\":\"boolean\""] {
        assert!(schema.contains(word), "{word} in {schema}");
    }
}

#[test]
fn a_command_that_is_forbidden_is_so_with_more_arguments() {
    let rules: Ruleset = toml::from_str(
        r#"
        default = "allow"
        [execute]
        rules = [
            { pattern = "rm", action = "deny" },
            { pattern = "git push", action = "ask", except = ["git push --dry-run"] },
            { pattern = "ls", action = "allow" },
        ]
        default = "ask"
        "#,
    )
    .unwrap();
    let compiled = rules.compile().unwrap();
    for (command, expected) in [
        ("rm", Action::Deny),
        ("rm -rf x", Action::Deny),
        ("git push --force", Action::Ask),
        ("git push --dry-run", Action::Ask),
        ("ls", Action::Allow),
        ("ls -l", Action::Ask),
    ] {
        let argv: Vec<&str> = command.split(' ').collect();
        assert_eq!(compiled.decide_argv(&argv).action, expected, "{command}");
    }
    assert!(compiled.decide_argv(&["git", "push", "--dry-run"]).rule().is_none(), "it is excepted");
    assert!(compiled.decide_argv(&["git", "push", "--dry-run", "x"]).rule().is_some(), "but not with more");
}

#[test]
fn patterns_that_mean_something_elsewhere_are_errors() {
    for pattern in ["!b", "~/x", " .foo", "x "] {
        let rules = OperationRules { default: None, rules: vec![Rule::new(pattern, Action::Deny)] };
        let error = Ruleset { read: Some(rules), ..Ruleset::all(Action::Allow) }.compile().unwrap_err();
        assert!(error.to_string().contains(&format!("pattern `{pattern}`")), "{error}");
    }
}
