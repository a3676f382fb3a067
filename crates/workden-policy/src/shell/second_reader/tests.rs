//! Both readers on the same texts, and on purpose on different ones.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use super::{
    super::{DoubtKind, analyse, guard::Budget, syntax},
    agrees, compared, ours,
    seen::Seen,
};
use workden_core::VirtualPath;

const MOST_TIME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 100 });

fn read_twice(text: &str) -> bool {
    let script = syntax::parse(text, &mut Budget::new()).unwrap_or_else(|refused| panic!("{text:?}: {refused:?}"));
    agrees(text, &script).is_ok()
}

#[test]
fn both_readers_see_the_same() {
    for text in [
        "",
        "# nothing\n",
        "ls",
        "ls -la \"a b\" 'c d' e\\ f",
        "a; b & c && d || e\n\nf",
        "! a | b |& c",
        "time -p make",
        "A=1 B='2 3' env C=4",
        "A=1",
        ">x A=1 cmd 2>&1 <in >>out >|clobber 3<>both &>all",
        "cmd >&- 2>&1 <&3 >&file",
        "cat <<'E'\n$x\nE\necho done",
        "cat <<E | tr a b\n\\$x $(date)\nE\necho done",
        "cat <<-E\n\ta\n\tE\nls",
        "cat <<< \"$x\"",
        "(cd a && b)",
        "{ a; b; } > out",
        "if a; then b; elif c; then d; else e; fi",
        "for x in a b 'c d'; do echo $x; done",
        "for x; do echo $x; done",
        "for ((i = 0; i < 3; i++)); do a; done",
        "while read -r x; do a; done < file",
        "until a; do b; done",
        "case $x in a | b) c ;; (d) ;; *) e; esac",
        "f() { a; }; function g { b; } > out",
        "[[ -f a && $x == b* || ! -d \"$c\" ]] && d",
        "((x + 1))",
        "coproc a b",
        "coproc n { a; }",
        "x=(a 'b c'  d)",
        "declare -a x=( a b )",
        "echo $(a  b) \"$(c \"$(d)\")\" `e f`",
        "echo ${x:-a b} ${y#*/} $((1 + 2))",
        "diff <(a b) <(c | d)",
        "tee >(a) < <(b)",
        "a \\\n  b\\\nc",
        "echo a#b # c",
        "echo {a,b}/*.rs ~ ? [a-z]",
        "01>x a",
        "caf\u{e9} \u{a0}x",
    ] {
        assert!(read_twice(text), "{text:?}");
    }
}

#[test]
fn what_only_one_of_them_reads_is_a_doubt() {
    for text in [
        "select x in a b; do c; done",
        "99999999999>x a",
        "a {fd}>x",
        "for x in a; { b; }",
        "echo $(select x in a; do b; done)",
        "echo \"`select x in a; do b; done`\"",
        "sh -c 'select x in a; do b; done'",
    ] {
        let doubts = analyse(text, &VirtualPath::root()).doubts;
        let about = "two readers understand it differently";
        assert!(doubts.iter().any(|doubt| doubt.kind == DoubtKind::Syntax && doubt.about == about), "{text:?}");
    }
}

/// Without this the comparison could be one that always succeeds.
#[test]
fn whatever_is_different_is_noticed() {
    let text = "A=1 rm -rf a 'b c' > out && (ls | cat) & f() { case x in y) z;; esac; }";
    let script = syntax::parse(text, &mut Budget::new()).unwrap();
    let right = ours::seen(&script).seen;
    compared(text, &right).unwrap();
    for at in 0..right.len() {
        let mut missing = right.clone();
        missing.remove(at);
        compared(text, &missing).unwrap_err();
        let mut other = right.clone();
        other[at] = Seen::Text(Cow::Borrowed("other"));
        compared(text, &other).unwrap_err();
        let mut more = right.clone();
        more.insert(at, Seen::Mark(";"));
        compared(text, &more).unwrap_err();
    }
}

/// What our parser just accepts, in the shapes that are worst for a parser that goes back.
#[test]
fn the_deepest_and_longest_scripts_are_read_twice_in_no_time() {
    let around = |open: &str, close: &str, times: usize, inner: &str| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let long = "a;".repeat(900);
    let case = |times: usize, inner: &str| around("case x in y) ", " esac;", times, inner);
    for (text, read) in [
        (around("( ", " )", 12, &long), true),
        (around("( ", " )", 15, &long), false),
        ((around("( ", " )", 9, "a; b") + ";").repeat(30), true),
        ((around("( ", " )", 14, "a; b") + ";").repeat(30), false),
        (around("{ ", " }", 15, &long), true),
        (around("if a; then ", " fi;", 15, &long), true),
        (around("if ", "then b; fi;", 15, "a;"), true),
        (around("case x in y) ", ";; esac", 8, "a"), true),
        (case(8, "a;"), true),
        (case(8, &"a;".repeat(50)), true),
        (case(4, &long), true),
        (case(8, &long), false),
        (around("( ", ")", 7, &case(8, &long)), false),
        (around("for x in a; do ", " done;", 8, &long), true),
        (around("f() { ", " }", 7, &long), true),
        (around("coproc { ", " }", 7, &long), true),
        (around("$(", ")", 15, "a"), true),
        (format!("echo {}", around("\"$(", ")\"", 7, &long)), true),
        (format!("[[ {} ]]", around("( ", " )", 300, "a")), false),
        (format!("[[ {} a ]]", "a == b && ".repeat(400)), true),
        (format!("[[ {} a ]]", "! ".repeat(16)), true),
        (format!("[[ {} a ]]", "! ".repeat(1_900)), false),
        (format!("a {}", "| b ".repeat(900)), true),
        (format!("x=({})", "a ".repeat(1_900)), true),
        (format!("(( {};{} ))", "(".repeat(30), ")".repeat(30)), false),
        (format!("echo $(( {}1{} ))", "(".repeat(1_000), ")".repeat(1_000)), true),
        (format!("cat <<E\n{}\nE\n", "E \n".repeat(15_000)), true),
        (format!("echo '{}'", "x\n".repeat(15_000)), true),
        (format!("echo {}", "x".repeat(64_000)), true),
        ("\n".repeat(16_000), true),
        ("\n".repeat(64_000), false),
        ("``".repeat(900), true),
    ] {
        let shown = text.get(..60).unwrap_or(&text);
        let script = syntax::parse(&text, &mut Budget::new()).unwrap_or_else(|refused| panic!("{shown}: {refused:?}"));
        let start = Instant::now();
        let outcome = agrees(&text, &script);
        let took = start.elapsed();
        assert!(took < MOST_TIME, "{took:?} for {shown:?}");
        assert_eq!(
            outcome.map_err(|refused| refused.kind),
            if read { Ok(()) } else { Err(DoubtKind::TooMuch) },
            "{shown:?}"
        );
    }
}
