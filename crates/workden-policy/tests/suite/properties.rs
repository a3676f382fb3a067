//! Properties of any policy and any call, compared with slow reference implementations.

use proptest::{prelude::*, test_runner::Config};
use workden_core::{Gate, Op, Resolved, RuleCase, Sight, Verdict, VirtualPath, search::glob};
use workden_policy::{
    Action, Derive, MountApproval, MountMode, MountRules, MountTable, Operation, OperationRules, Policy, Rule, Ruleset,
};

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![3 => Just(Action::Allow), 1 => Just(Action::Ask), 1 => Just(Action::Deny)]
}

fn case() -> impl Strategy<Value = Option<RuleCase>> {
    prop_oneof![Just(None), Just(Some(RuleCase::Sensitive)), Just(Some(RuleCase::Insensitive))]
}

/// Few names, so that paths, patterns, mounts and places meet.
fn virtual_path() -> impl Strategy<Value = VirtualPath> {
    let name = prop_oneof![Just("a"), Just("b"), Just("A"), Just("a.md"), Just("b.MD"), Just("c.rs")];
    prop::collection::vec(name, 0..4).prop_map(|names| VirtualPath::parse(&names.join("/")).unwrap())
}

fn pattern() -> impl Strategy<Value = String> {
    let name = prop_oneof![Just("a"), Just("b"), Just("*"), Just("**"), Just("*.md"), Just("{a,c.*}"), Just("[!a]*")];
    (any::<bool>(), prop::collection::vec(name, 1..4))
        .prop_map(|(is_rooted, names)| format!("{}{}", if is_rooted { "/" } else { "" }, names.join("/")))
}

fn rule() -> impl Strategy<Value = Rule> {
    (pattern(), prop::collection::vec(pattern(), 0..2), action(), case())
        .prop_map(|(pattern, except, action, case)| Rule { except, case, ..Rule::new(pattern, action) })
}

fn operation_rules() -> impl Strategy<Value = Option<OperationRules>> {
    let rules = (prop::option::of(action()), prop::collection::vec(rule(), 0..4));
    prop::option::of(rules.prop_map(|(default, rules)| OperationRules { default, rules }))
}

fn ruleset() -> impl Strategy<Value = Ruleset> {
    let paths = prop::array::uniform7(operation_rules());
    (action(), paths).prop_map(|(default, [read, write, edit, delete, glob, grep, ls])| Ruleset {
        read,
        write,
        edit,
        delete,
        glob,
        grep,
        ls,
        ..Ruleset::all(default)
    })
}

fn mounts() -> impl Strategy<Value = MountTable> {
    let suffixes = prop::option::of(prop::collection::vec(prop_oneof![Just("md"), Just(".RS"), Just("")], 0..3));
    let mount = (virtual_path(), any::<[bool; 3]>(), suffixes, prop::option::of(0..9_u64)).prop_map(
        |(at, [is_writable, asks_read, asks_write], suffixes, max_file_bytes)| MountRules {
            at,
            access: if is_writable { MountMode::ReadWrite } else { MountMode::ReadOnly },
            suffixes: suffixes.map(|all| all.iter().map(ToString::to_string).collect()),
            max_file_bytes,
            read_approval: MountApproval::from(asks_read),
            write_approval: MountApproval::from(asks_write),
        },
    );
    prop::collection::vec(mount, 1..4).prop_filter_map("two at one place", |mounts| MountTable::new(mounts).ok())
}

/// One step from a policy to a stricter one.
#[derive(Clone, Debug)]
enum Step {
    Rules(Box<Ruleset>),
    Mounts(MountTable),
    Derive(Derive),
}

fn step() -> impl Strategy<Value = Step> {
    let places = || prop::option::of(prop::collection::vec(virtual_path(), 0..3));
    let derive = (places(), places(), prop::option::of(any::<bool>()), any::<bool>()).prop_map(
        |(allow_read, allow_write, readonly, inherit)| {
            Step::Derive(Derive { allow_read, allow_write, readonly, inherit })
        },
    );
    prop_oneof![ruleset().prop_map(|rules| Step::Rules(Box::new(rules))), mounts().prop_map(Step::Mounts), derive,]
}

/// `None` where a derivation is refused.
fn take(policy: &Policy, step: &Step) -> Option<Policy> {
    match step {
        Step::Rules(rules) => Some(policy.clone().with_rules(rules).unwrap()),
        Step::Mounts(mounts) => Some(policy.clone().with_mounts(mounts.clone())),
        Step::Derive(wanted) => policy.derive(wanted).ok(),
    }
}

fn resolved() -> impl Strategy<Value = Resolved> {
    prop_oneof![
        3 => virtual_path().prop_map(Resolved::literal),
        1 => (virtual_path(), virtual_path()).prop_map(|(typed, real)| Resolved::new(typed, real)),
    ]
}

fn every_op<'a>(at: &'a Resolved, to: &'a Resolved) -> [Op<'a>; 11] {
    [
        Op::Stat(at),
        Op::List(at),
        Op::Read(at),
        Op::Write(at),
        Op::Change(at),
        Op::MakeDir(at),
        Op::Remove(at),
        Op::Rename { from: at, to },
        Op::Copy { from: at, to },
        Op::Glob(at),
        Op::Grep(at),
    ]
}

fn strictness(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny(_) => 2,
    }
}

/// More in a long run.
fn cases() -> u32 {
    if std::env::var_os("WORKDEN_TEST_LONG").is_some() { 4_000 } else { 100 }
}

proptest! {
    #![proptest_config(Config { cases: cases(), ..Config::default() })]

    #[test]
    fn what_is_stacked_on_a_policy_never_allows_what_it_does_not(
        steps in prop::collection::vec(step(), 1..6),
        at in resolved(),
        to in resolved(),
        seen in virtual_path(),
    ) {
        let mut parent = Policy::new();
        for step in &steps {
            let Some(child) = take(&parent, step) else { continue };
            for op in every_op(&at, &to) {
                let (before, after) = (parent.judge(op), child.judge(op));
                prop_assert!(strictness(&after) >= strictness(&before), "{:?}: {:?} became {:?}", op, before, after);
                let (before, after) = (parent.visibility(op).compile().unwrap(), child.visibility(op).compile().unwrap());
                prop_assert!(after.to_list(&seen) >= before.to_list(&seen));
                prop_assert!(after.to_read(&seen) >= before.to_read(&seen));
                prop_assert!(after.size_to_read(&seen, 5) >= before.size_to_read(&seen, 5));
            }
            prop_assert!(!child.can_read(&seen) || parent.can_read(&seen));
            prop_assert!(!child.can_write(&seen) || parent.can_write(&seen));
            let narrower = |before: Option<u64>, after: Option<u64>| before.is_none_or(|most| after.is_some_and(|now| now <= most));
            prop_assert!(narrower(parent.most_bytes(&seen), child.most_bytes(&seen)));
            parent = child;
        }
    }

    #[test]
    fn a_search_shows_nothing_that_reading_would_refuse(
        steps in prop::collection::vec(step(), 1..4),
        from in virtual_path(),
        seen in virtual_path(),
    ) {
        let policy = steps.iter().fold(Policy::new(), |policy, step| take(&policy, step).unwrap_or(policy));
        let (from, file) = (Resolved::literal(from), Resolved::literal(seen.clone()));
        let searched = policy.judge(Op::Grep(&from));
        let sight = policy.visibility(Op::Grep(&from)).compile().unwrap();
        let shown = sight.to_list(&seen).max(sight.to_read(&seen));
        match policy.judge(Op::Read(&file)) {
            Verdict::Allow => {}
            Verdict::Ask(_) => prop_assert!(shown != Sight::Shown || searched != Verdict::Allow, "{} would be asked about", seen),
            Verdict::Deny(_) => prop_assert_eq!(shown, Sight::Hidden, "{} is denied", seen),
        }
        if let Verdict::Deny(_) = policy.judge(Op::List(&file)) {
            let listing = policy.visibility(Op::List(&from)).compile().unwrap();
            prop_assert_eq!(listing.to_list(&seen), Sight::Hidden, "{} may not be listed", seen);
        }
    }

    #[test]
    fn the_roots_are_places_that_can_be_used(steps in prop::collection::vec(step(), 1..5)) {
        let places = |step: &Step| !matches!(step, Step::Rules(_));
        let policy = steps.iter().filter(|step| places(step)).fold(Policy::new(), |policy, step| take(&policy, step).unwrap_or(policy));
        for root in policy.readable_roots() {
            prop_assert!(policy.can_read(&root), "{}", root);
        }
        for root in policy.writable_roots() {
            prop_assert!(policy.can_write(&root), "{}", root);
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides(rules in ruleset(), path in virtual_path()) {
        let compiled = rules.compile().unwrap();
        for operation in Operation::ALL {
            let served = if operation == Operation::Delete && rules.delete.is_none() { Operation::Write } else { operation };
            let own = rules.of(served);
            let matches = |rule: &&Rule| {
                let is_match = |pattern: &str| glob::compile(pattern, rule.effective_case()).unwrap().is_match(&path);
                is_match(&rule.pattern) && !rule.except.iter().any(|except| is_match(except))
            };
            let first = own.and_then(|own| own.rules.iter().find(matches));
            let expected = first.map(|rule| rule.action).or(own.and_then(|own| own.default)).unwrap_or(rules.default_action());
            let decided = compiled.decide_path(operation, &path);
            prop_assert_eq!(decided.action, expected, "{} of {}", operation, path);
            prop_assert_eq!(decided.rule(), first);
        }
    }
}
