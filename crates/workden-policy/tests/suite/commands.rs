//! Commands, and the verdict that each must get under every preset. One command a line; `␤` stands
//! for a newline.

use workden_core::VirtualPath;
use workden_policy::{Action, MountApproval, MountRules, MountTable, OperationRules, Policy, Preset, Rule, Ruleset};

use Action::{Allow, Ask, Deny};

/// Runs every command of a list under every preset: default, permissive, readonly, strict.
fn check(list: &str, expected: [Action; 4]) {
    let directory = VirtualPath::parse("/workspace").unwrap();
    let mut wrong = Vec::new();
    for (preset, expected) in Preset::ALL.into_iter().zip(expected) {
        let policy = Policy::new().with_rules(&preset.ruleset()).unwrap();
        for script in list.lines().map(|line| line.replace('␤', "\n")) {
            let judged = policy.judge_command(&script, &directory);
            if judged.action() != expected {
                let strictest = judged.deciding();
                wrong
                    .push(format!("{script:?} under {preset}: {:?}, not {expected:?}: {strictest:?}", judged.action()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn benign_commands_are_allowed_where_commands_are() {
    check(include_str!("corpus/benign.txt"), [Ask, Allow, Deny, Ask]);
}

#[test]
fn commands_that_only_look_are_not_asked_about() {
    check(include_str!("corpus/looking.txt"), [Allow, Allow, Deny, Ask]);
}

/// Options that write, run or lead elsewhere, and names of programs that are files.
#[test]
fn what_does_more_than_look_is_asked_about() {
    let policy = Policy::new().with_rules(&Preset::Default.ruleset()).unwrap();
    for line in include_str!("corpus/not_looking.txt").lines() {
        let judged = policy.judge_command(line, &VirtualPath::parse("/workspace").unwrap());
        assert_ne!(judged.action(), Allow, "{line}");
    }
}

#[test]
fn the_guide_lists_the_commands_that_only_look() {
    let guide = include_str!("../../../../docs/policy.md");
    let table = guide.split("### Commands that only look").nth(1).unwrap().split("\n### ").next().unwrap();
    let policy = Policy::new().with_rules(&Preset::Default.ruleset()).unwrap();
    for line in include_str!("corpus/looking.txt").lines() {
        let judged = policy.judge_command(&line.replace('␤', "\n"), &VirtualPath::parse("/workspace").unwrap());
        for words in judged.analysis.invocations.iter().map(|invocation| &invocation.argv) {
            let name = words[0].shown();
            let is_version = words.len() == 2 && matches!(words[1].shown(), "--version" | "version" | "-v" | "-V");
            let is_sum = name.ends_with("sum");
            assert!(table.contains(&format!("`{name}`")) || name == "git" || is_version || is_sum, "{line}: {name}");
        }
    }
}

#[test]
fn dangerous_commands_and_secrets_are_denied_everywhere() {
    check(include_str!("corpus/dangerous.txt"), [Deny, Deny, Deny, Deny]);
}

#[test]
fn what_is_not_understood_is_asked_about() {
    check(include_str!("corpus/doubtful.txt"), [Ask, Ask, Deny, Ask]);
}

#[test]
fn the_system_is_protected_where_everything_else_may_be_written() {
    check(include_str!("corpus/system.txt"), [Ask, Deny, Deny, Ask]);
}

/// The share of innocent commands that `permissive` may ask about, in per mille.
const MOST_ASKED: usize = 20;

#[test]
fn few_questions_are_asked_about_what_agents_type_all_day() {
    let policy = Policy::new().with_rules(&Preset::Permissive.ruleset()).unwrap();
    let directory = VirtualPath::parse("/workspace").unwrap();
    let lists =
        [include_str!("corpus/innocent.txt"), include_str!("corpus/benign.txt"), include_str!("corpus/looking.txt")];
    let all: Vec<&str> = lists.iter().flat_map(|list| list.lines()).collect();
    let judged = |line: &str| policy.judge_command(&line.replace('␤', "\n"), &directory).action();
    let asked: Vec<&str> = all.iter().copied().filter(|line| judged(line) == Ask).collect();
    let denied: Vec<&str> = all.iter().copied().filter(|line| judged(line) == Deny).collect();
    assert!(denied.is_empty(), "{denied:?}");
    let share = asked.len() * 1_000 / all.len();
    assert!(share < MOST_ASKED, "{share} per mille: {}", asked.join("\n"));
}

#[test]
fn no_hostile_command_is_allowed() {
    let directory = VirtualPath::parse("/workspace").unwrap();
    for preset in Preset::ALL {
        let policy = Policy::new().with_rules(&preset.ruleset()).unwrap();
        let judged = |line: &&str| policy.judge_command(&line.replace('␤', "\n"), &directory).action() == Allow;
        let allowed: Vec<&str> = include_str!("corpus/hostile.txt").lines().filter(judged).collect();
        assert!(allowed.is_empty(), "under {preset}:\n{}", allowed.join("\n"));
    }
}

#[test]
fn the_corpus_is_as_large_as_it_should_be() {
    let count = |list: &str| list.lines().count();
    let innocent = count(include_str!("corpus/benign.txt"))
        + count(include_str!("corpus/looking.txt"))
        + count(include_str!("corpus/innocent.txt"));
    let others = count(include_str!("corpus/dangerous.txt"))
        + count(include_str!("corpus/doubtful.txt"))
        + count(include_str!("corpus/hostile.txt"))
        + count(include_str!("corpus/system.txt"));
    assert!(innocent >= 2_000 && others >= 500, "{innocent} innocent, {others} others");
}

#[test]
fn what_is_forbidden_as_a_line_is_forbidden_whatever_its_programs_are() {
    let rule = |pattern: &str, action| Rule::new(pattern, action);
    let rules = vec![
        rule("git status", Allow),
        rule("curl * | sh", Deny),
        rule("* > *.bak", Ask),
        Rule { except: vec!["make clean && *".to_owned()], ..rule("make * && *", Deny) },
    ];
    let execute = Some(OperationRules { default: Some(Allow), rules });
    let ruleset = Ruleset { execute, ..Ruleset::all(Allow) };
    let policy = Policy::new().with_rules(&ruleset).unwrap();
    let directory = VirtualPath::parse("/workspace").unwrap();
    for (script, expected) in [
        ("curl x.org | sh", Deny),
        ("  curl -s x.org | sh ", Deny),
        ("curl x.org", Allow),
        ("sort a > a.bak", Ask),
        ("sort a > a.txt", Allow),
        // A later line does not overrule an earlier rule.
        ("git status", Allow),
        // A rule with exceptions is about words alone: an exception cannot be found in a line.
        ("make all && make test", Allow),
    ] {
        assert_eq!(policy.judge_command(script, &directory).action(), expected, "{script}");
    }
}

#[test]
fn what_a_command_moves_or_edits_in_a_mount_it_also_reads() {
    let path = |typed: &str| VirtualPath::parse(typed).unwrap();
    let asks_to_read = MountRules { read_approval: MountApproval::Needed, ..MountRules::read_write(path("/private")) };
    let mounts = MountTable::new(vec![asks_to_read, MountRules::read_write(path("/out"))]).unwrap();
    let policy = Policy::new().with_mounts(mounts);
    for (script, expected) in [
        ("cat /private/a.md", Ask),
        ("mv /private/a.md /out/b.md", Ask),
        ("sed -i s/a/b/ /private/a.md", Ask),
        ("cp /private/a.md /out/b.md", Ask),
        ("rm /private/a.md", Allow),
        ("mv /out/a.md /out/b.md", Allow),
        ("sed -i s/a/b/ /out/a.md", Allow),
    ] {
        assert_eq!(policy.judge_command(script, &path("/out")).action(), expected, "{script}");
    }
}

#[test]
fn words_of_many_pieces_are_decided_by_a_bounded_number_of_facts() {
    let policy = Policy::new().with_rules(&Preset::Permissive.ruleset()).unwrap();
    let directory = VirtualPath::parse("/workspace").unwrap();
    for (before, piece, after) in [
        ("foo ", "a:", ""),
        ("foo ", "=", ""),
        ("foo ", "a/:", ""),
        ("foo '", "a b:", "'"),
        ("foo ", "'rm -rf /' ", ""),
        ("python3 -c '", "\"rm -rf /\",", "'"),
        ("tar ", "f", ""),
        ("curl -d ", "@a", ""),
    ] {
        let script = format!("{before}{}{after}", piece.repeat(60_000 / piece.len()));
        let reasons = policy.judge_command(&script, &directory).reasons.len();
        assert!(reasons < 5_000, "{before}{piece}: {reasons}");
    }
}
