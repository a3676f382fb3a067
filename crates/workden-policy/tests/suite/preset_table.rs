//! The decision of each preset for each path.

use workden_core::VirtualPath;
use workden_policy::{Action, Operation, PROTECTS_SECRETS, PROTECTS_SYSTEM, PathScope, Preset, RulesetOptions};

use Action::{Allow, Ask, Deny};

use crate::paths::{INNOCENTS, SECRETS, SYSTEM};

const FILE_OPERATIONS: [Operation; 4] = [Operation::Read, Operation::Write, Operation::Edit, Operation::Delete];
const SEARCHES: [Operation; 3] = [Operation::Glob, Operation::Grep, Operation::Ls];

fn check(preset: Preset, paths: &[&str], expected: [Action; 4]) {
    let rules = preset.ruleset().compile().unwrap();
    for typed in paths {
        let path = VirtualPath::parse(typed).unwrap();
        let actions = FILE_OPERATIONS.map(|operation| rules.decide_path(operation, &path).action);
        assert_eq!(actions, expected, "{typed:?} under {preset}");
    }
}

#[test]
fn every_preset_says_what_it_must_of_every_path() {
    // Read, write, edit, delete.
    for (preset, secrets, system, innocents) in [
        (Preset::Default, [Deny; 4], [Allow, Ask, Ask, Ask], [Allow, Ask, Ask, Ask]),
        (Preset::Permissive, [Deny; 4], [Allow, Deny, Deny, Deny], [Allow; 4]),
        (Preset::Readonly, [Deny; 4], [Allow, Deny, Deny, Deny], [Allow, Deny, Deny, Deny]),
        (Preset::Strict, [Deny; 4], [Ask; 4], [Ask; 4]),
    ] {
        check(preset, SECRETS, secrets);
        check(preset, SYSTEM, system);
        check(preset, INNOCENTS, innocents);
    }
    assert!(SECRETS.len() + SYSTEM.len() >= 100 && INNOCENTS.len() >= 100);
}

#[test]
fn searches_and_commands_have_only_defaults() {
    for (preset, searches, execute, other, dangerous) in [
        (Preset::Default, Allow, Ask, Ask, Some(Deny)),
        (Preset::Permissive, Allow, Allow, Allow, Some(Deny)),
        (Preset::Readonly, Allow, Deny, Deny, None),
        (Preset::Strict, Ask, Ask, Ask, Some(Deny)),
    ] {
        let rules = preset.ruleset().compile().unwrap();
        for (operation, typed) in SEARCHES.into_iter().flat_map(|search| [(search, "/"), (search, "/.env")]) {
            let decided = rules.decide_path(operation, &VirtualPath::parse(typed).unwrap());
            assert_eq!(decided.action, searches, "{operation} of {typed} under {preset}");
        }
        assert_eq!(rules.decide_argv(&["ls"]).action, execute, "{preset}");
        assert_eq!(
            (rules.source().default_action(), rules.source().dangerous_commands),
            (other, dangerous),
            "{preset}"
        );
    }
}

#[test]
fn refusals_say_what_is_protected() {
    let env = VirtualPath::parse("/.env").unwrap();
    let permissive = Preset::Permissive.ruleset().compile().unwrap();
    assert_eq!(permissive.decide_path(Operation::Read, &env).description(), PROTECTS_SECRETS);
    for operation in [Operation::Write, Operation::Edit, Operation::Delete] {
        assert_eq!(permissive.decide_path(operation, &env).description(), PROTECTS_SYSTEM);
    }
    let default = Preset::Default.ruleset().compile().unwrap();
    assert_eq!(default.decide_path(Operation::Write, &env).description(), PROTECTS_SECRETS);
}

#[test]
fn a_workspace_of_files_has_no_system() {
    let rules = Preset::Permissive.ruleset_in(PathScope::FilesOnly).compile().unwrap();
    for typed in ["/bin/run", "/lib/main.dart", "/etc/app.conf", "/dev/setup.md"] {
        let path = VirtualPath::parse(typed).unwrap();
        assert_eq!(rules.decide_path(Operation::Write, &path).action, Allow, "{typed}");
    }
    let env = VirtualPath::parse("/bin/.env").unwrap();
    assert_eq!(rules.decide_path(Operation::Write, &env).action, Deny);
}

#[test]
fn the_options_of_create_ruleset_mean_what_they_meant() {
    let decide = |options: RulesetOptions, operation, typed: &str| {
        let rules = options.ruleset().compile().unwrap();
        rules.decide_path(operation, &VirtualPath::parse(typed).unwrap()).action
    };
    let plain = RulesetOptions::default();
    for operation in [Operation::Read, Operation::Glob, Operation::Grep, Operation::Ls] {
        assert_eq!(decide(plain, operation, "/a"), Allow);
    }
    for operation in [Operation::Write, Operation::Edit, Operation::Delete] {
        assert_eq!(decide(plain, operation, "/a"), Ask);
        assert_eq!(decide(plain, operation, "/.env"), Deny);
    }
    let open = RulesetOptions { allow_write: true, deny_secrets: false, allow_execute: true, ..plain };
    assert_eq!(decide(open, Operation::Write, "/.env"), Allow);
    assert_eq!(decide(open, Operation::Delete, "/.env"), Allow);
    assert_eq!(decide(open, Operation::Edit, "/.env"), Ask);
    assert_eq!(decide(RulesetOptions { allow_read: false, ..plain }, Operation::Read, "/a"), Ask);
    let rules = open.ruleset();
    assert_eq!(rules.dangerous_commands, None);
    assert_eq!(rules.compile().unwrap().decide_argv(&["rm", "-rf", "/"]).action, Allow);
}

#[test]
fn presets_are_called_by_their_names() {
    for preset in Preset::ALL {
        assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        assert_eq!(serde_json::to_string(&preset).unwrap(), format!("\"{preset}\""));
    }
    let error = "lenient".parse::<Preset>().unwrap_err();
    assert_eq!(error.to_string(), "invalid preset `lenient`\nhint: use default, permissive, readonly or strict");
}
