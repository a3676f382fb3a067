//! Which operations of a ruleset a call is.

use workden_core::Op;
use workden_policy::{Action, Operation, OperationRules, Policy, Rule, Ruleset};

use crate::{at, verdict};

/// The answers to calls where one operation is not allowed and all others are, in the order
/// stat, list, read, write, change, make, remove, rename, copy, glob, grep.
fn told(operation: Operation, rules: OperationRules) -> String {
    let mut ruleset = Ruleset::all(Action::Allow);
    let of = match operation {
        Operation::Read => &mut ruleset.read,
        Operation::Write => &mut ruleset.write,
        Operation::Edit => &mut ruleset.edit,
        Operation::Delete => &mut ruleset.delete,
        Operation::Execute => &mut ruleset.execute,
        Operation::Glob => &mut ruleset.glob,
        Operation::Grep => &mut ruleset.grep,
        Operation::Ls => &mut ruleset.ls,
    };
    *of = Some(rules);
    let policy = Policy::new().with_rules(&ruleset).unwrap();
    let (from, to) = (at("/from"), at("/to"));
    let calls = [
        Op::Stat(&from),
        Op::List(&from),
        Op::Read(&from),
        Op::Write(&from),
        Op::Change(&from),
        Op::MakeDir(&from),
        Op::Remove(&from),
        Op::Rename { from: &from, to: &to },
        Op::Copy { from: &from, to: &to },
        Op::Glob(&from),
        Op::Grep(&from),
    ];
    calls.map(|op| verdict(&policy, op)).join(" ").replace("allow", "-")
}

#[test]
fn a_call_is_every_operation_that_it_takes_to_do_it() {
    for (operation, denied, asked) in [
        (Operation::Read, "deny - deny - deny - - deny deny - -", "- - ask - ask - - ask ask - ask"),
        (Operation::Write, "- - - deny - deny deny deny deny - -", "- - - ask - ask ask ask ask - -"),
        (Operation::Edit, "- - - - deny - - - - - -", "- - - - ask - - - - - -"),
        (Operation::Delete, "- - - - - - deny deny - - -", "- - - - - - ask ask - - -"),
        (Operation::Execute, "- - - - - - - - - - -", "- - - - - - - - - - -"),
        (Operation::Glob, "- - - - - - - - - deny -", "- - - - - - - - - ask -"),
        (Operation::Grep, "- - - - - - - - - - deny", "- - - - - - - - - - ask"),
        (Operation::Ls, "deny deny - - - - - - - - -", "- ask - - - - - - - - -"),
    ] {
        assert_eq!(told(operation, OperationRules::always(Action::Deny)), denied, "{operation} is denied");
        assert_eq!(told(operation, OperationRules::always(Action::Ask)), asked, "{operation} is asked about");
    }
}

#[test]
fn each_end_of_a_move_or_a_copy_is_judged_as_what_it_is() {
    let rule = |pattern: &str| OperationRules { default: None, rules: vec![Rule::new(pattern, Action::Deny)] };
    for (operation, pattern, expected) in [
        (Operation::Read, "/from", "deny - deny - deny - - deny deny - -"),
        (Operation::Read, "/to", "- - - - - - - - - - -"),
        (Operation::Write, "/to", "- - - - - - - deny deny - -"),
        (Operation::Delete, "/to", "- - - - - - - - - - -"),
        // A file that a rule protects from writing is not edited either.
        (Operation::Write, "/from", "- - - deny deny deny deny deny - - -"),
    ] {
        assert_eq!(told(operation, rule(pattern)), expected, "{operation} of {pattern}");
    }
}
