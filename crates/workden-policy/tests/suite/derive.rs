//! Derived policies: what they may use, and the faults of the other library that cannot happen.

use workden_core::{ErrorKind, Gate, Op, Refusal, Sight, Spelling};
use workden_policy::{Derive, MountApproval, MountRules, Policy, Preset};

use crate::{at, mounted, path, paths, told, verdict};

fn parent() -> Policy {
    let asks = MountRules { write_approval: MountApproval::Needed, ..MountRules::read_write(path("/output")) };
    mounted(vec![MountRules::read_only(path("/input")), asks])
}

fn derive(policy: &Policy, allow_read: Option<&[&str]>, allow_write: Option<&[&str]>) -> Policy {
    let wanted = Derive { allow_read: allow_read.map(paths), allow_write: allow_write.map(paths), ..Derive::default() };
    policy.derive(&wanted).unwrap()
}

fn roots(policy: &Policy) -> (Vec<String>, Vec<String>) {
    let texts = |roots: Vec<workden_core::VirtualPath>| roots.iter().map(ToString::to_string).collect();
    (texts(policy.readable_roots()), texts(policy.writable_roots()))
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_named_is_what_there_is() {
    let inherit = Derive { inherit: true, ..Derive::default() };
    let read_only = |wanted: Derive| Derive { readonly: Some(true), ..wanted };
    let read = |places: &[&str]| Derive { allow_read: Some(paths(places)), ..Derive::default() };
    let write = |places: &[&str]| Derive { allow_write: Some(paths(places)), ..Derive::default() };
    let both =
        Derive { allow_read: Some(paths(&["/input"])), allow_write: Some(paths(&["/output"])), ..Derive::default() };
    for (wanted, readable, writable) in [
        (Derive::default(), &[][..], &[][..]),
        (read(&["/output/reports"]), &["/output/reports"], &[]),
        (write(&["/output/reports"]), &["/output/reports"], &["/output/reports"]),
        (both.clone(), &["/input"], &["/output"]),
        (inherit.clone(), &["/input", "/output"], &["/output"]),
        (read_only(inherit.clone()), &["/input", "/output"], &[]),
        (read_only(both), &["/input"], &[]),
        (read_only(Derive::default()), &[], &[]),
        (Derive { inherit: true, ..read(&["/input"]) }, &["/input"], &[]),
        (read(&["/input", "/input", "/output/a/../b"]), &["/input", "/output/b"], &[]),
        (Derive { readonly: Some(false), ..inherit }, &["/input", "/output"], &["/output"]),
    ] {
        let child = parent().derive(&wanted).unwrap();
        assert_eq!(roots(&child), (strings(readable), strings(writable)), "{wanted:?}");
    }
}

#[test]
fn limits_and_approvals_stay_as_they_are() {
    let child = derive(&parent(), None, Some(&["/output/reports"]));
    assert_eq!(verdict(&child, Op::Write(&at("/output/reports/a"))), "ask");
    assert!(child.needs_write_approval(&path("/output/reports/a")));
    assert!(!child.needs_write_approval(&path("/output/a")));
}

#[test]
fn a_place_can_be_written_without_being_readable() {
    let child = derive(&parent(), Some(&["/input"]), Some(&["/output/drop"]));
    assert_eq!(verdict(&child, Op::Write(&at("/output/drop/a"))), "ask");
    assert_eq!(verdict(&child, Op::Read(&at("/output/drop/a"))), "deny");
    assert_eq!(verdict(&child, Op::Change(&at("/output/drop/a"))), "deny");
    assert_eq!(verdict(&child, Op::List(&at("/output"))), "deny");
}

#[test]
fn a_child_that_may_only_read_cannot_write_by_any_tool() {
    let child = derive(&parent(), Some(&["/output"]), None);
    let (file, other) = (at("/output/a"), at("/output/b"));
    assert!(!child.can_write(&path("/output/a")));
    for op in [
        Op::Write(&file),
        Op::Change(&file),
        Op::Remove(&file),
        Op::MakeDir(&file),
        Op::Rename { from: &file, to: &other },
        Op::Copy { from: &file, to: &other },
    ] {
        let (word, refusal) = told(child.judge(op));
        assert_eq!(word, "deny", "{op:?}");
        let words = refusal.unwrap().message(Spelling::Bare);
        assert!(words.ends_with("path is read-only.\nWritable paths: none"), "{words}");
    }
    assert_eq!(verdict(&child, Op::Read(&file)), "allow");
}

#[test]
fn what_is_above_an_allowed_place_shows_only_the_way_there() {
    let child = derive(&parent(), Some(&["/output/reports/2026"]), None);
    for above in ["/", "/output", "/output/reports"] {
        assert_eq!(verdict(&child, Op::List(&at(above))), "allow", "{above}");
        assert_eq!(verdict(&child, Op::Read(&at(above))), "deny", "{above}");
    }
    let root = at("/");
    for op in [Op::List(&root), Op::Glob(&root), Op::Grep(&root)] {
        let seen = child.visibility(op).compile().unwrap();
        for (typed, expected) in [
            ("/output", Sight::Shown),
            ("/output/reports", Sight::Shown),
            ("/output/reports/2026", Sight::Shown),
            ("/output/reports/2026/a", Sight::Shown),
            ("/input", Sight::Hidden),
            ("/output/private", Sight::Hidden),
            ("/output/reports/2025", Sight::Hidden),
            ("/output/reports/20260", Sight::Hidden),
        ] {
            assert_eq!(seen.to_list(&path(typed)), expected, "{typed}");
        }
        assert_eq!(seen.to_read(&path("/output/reports/a")), Sight::Hidden);
    }
    assert_eq!(verdict(&child, Op::List(&at("/input"))), "deny");
    assert_eq!(verdict(&child, Op::Stat(&at("/output/private"))), "deny");
}

#[test]
fn a_child_that_inherits_read_only_can_really_read() {
    let wanted = Derive { inherit: true, readonly: Some(true), ..Derive::default() };
    let child = parent().derive(&wanted).unwrap();
    assert!(child.can_read(&path("/output/a")));
    assert_eq!(verdict(&child, Op::Read(&at("/output/a"))), "allow");
    assert_eq!(child.resolve("output/a").unwrap(), path("/output/a"));
    assert_eq!(verdict(&child, Op::Write(&at("/output/a"))), "deny");
}

#[test]
fn a_grandchild_can_be_derived_with_places_of_its_own() {
    let child = derive(&parent(), None, Some(&["/output/a"]));
    let grandchild = derive(&child, Some(&["/output/a/b"]), None);
    assert_eq!(roots(&grandchild), (strings(&["/output/a/b"]), vec![]));
    assert_eq!(verdict(&grandchild, Op::Read(&at("/output/a/b/c"))), "allow");
    assert_eq!(verdict(&grandchild, Op::Read(&at("/output/a/c"))), "deny");
    let wider = Derive { allow_read: Some(paths(&["/output"])), ..Derive::default() };
    let refused = child.derive(&wider).unwrap_err();
    let readable = paths(&["/output/a"]);
    assert_eq!(refused.refusal(), Some(&Refusal::Outside { path: path("/output"), readable }));
    let read_only = derive(&parent(), Some(&["/output/a"]), None);
    let write = Derive { allow_write: Some(paths(&["/output/a"])), ..Derive::default() };
    assert!(matches!(read_only.derive(&write).unwrap_err().refusal(), Some(Refusal::ReadOnly { .. })));
}

#[test]
fn a_place_that_can_only_be_read_cannot_be_handed_on_to_be_written() {
    let wanted = Derive { allow_write: Some(paths(&["/input"])), ..Derive::default() };
    let refused = parent().derive(&wanted).unwrap_err();
    assert_eq!(refused.refusal(), Some(&Refusal::ReadOnly { path: path("/input"), writable: paths(&["/output"]) }));
    for outside in ["/etc", "/", "/inputs"] {
        for wanted in [
            Derive { allow_read: Some(paths(&[outside])), ..Derive::default() },
            Derive { allow_write: Some(paths(&[outside])), ..Derive::default() },
        ] {
            let refused = parent().derive(&wanted).unwrap_err();
            assert!(matches!(refused.refusal(), Some(Refusal::Outside { .. })), "{wanted:?}: {refused}");
        }
    }
}

#[test]
fn a_child_that_writes_cannot_come_of_a_parent_that_does_not() {
    let wanted = Derive { readonly: Some(false), inherit: true, ..Derive::default() };
    for parent in [
        mounted(vec![MountRules::read_only(path("/input"))]),
        Policy::new().with_rules(&Preset::Readonly.ruleset()).unwrap(),
        parent().derive(&Derive { inherit: true, readonly: Some(true), ..Derive::default() }).unwrap(),
    ] {
        let refused = parent.derive(&wanted).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly);
        assert_eq!(refused.sentence(), "Cannot create child sandbox with readonly=False: parent sandbox is readonly.");
    }
}

#[test]
fn rules_go_on_to_hold_in_a_child() {
    let parent = parent().with_rules(&Preset::Default.ruleset()).unwrap();
    let child = derive(&parent, Some(&["/input"]), None);
    assert_eq!(verdict(&child, Op::Read(&at("/input/.env"))), "deny");
    assert_eq!(verdict(&child, Op::Read(&at("/input/a"))), "allow");
    let readonly = Policy::new().with_rules(&Preset::Readonly.ruleset()).unwrap();
    let wanted = Derive { allow_write: Some(paths(&["/a"])), ..Derive::default() };
    assert!(matches!(readonly.derive(&wanted).unwrap_err().refusal(), Some(Refusal::ReadOnly { .. })));
}

#[test]
fn an_entry_covers_the_mounts_that_are_in_it() {
    let policy = mounted(vec![MountRules::read_write(path("/data")), MountRules::read_only(path("/data/special"))]);
    let child = derive(&policy, None, Some(&["/data"]));
    assert_eq!(verdict(&child, Op::Read(&at("/data/special/a"))), "allow");
    assert_eq!(verdict(&child, Op::Write(&at("/data/special/a"))), "deny");
    let inside = derive(&policy, Some(&["/data/special/x"]), None);
    assert_eq!(roots(&inside), (strings(&["/data/special/x"]), vec![]));
}
