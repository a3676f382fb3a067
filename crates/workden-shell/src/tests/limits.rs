//! Inputs that overload parsers: too deep, too long, never closed.
//!
//! Each input is cut to the allowed length, and must be analysed in time, with a doubt if it is too large.

use std::time::{Duration, Instant};

use workden_core::VirtualPath;

use super::super::{Analysis, DoubtKind, StandardInput, analyse};

/// How long all inputs together may take. An analysis that is not linear needs hours for one of them.
const MOST_TIME: Duration = Duration::from_secs(300);
const LENGTH: usize = 64 * 1024;
/// How often a shape is repeated; a long run has more counts.
const COUNTS: &[usize] = &[2, 9, 17, 2_100];
const MORE_COUNTS: &[usize] = &[1, 2, 7, 9, 15, 17, 30, 200, 2_100, LENGTH];

/// The repeated pieces; `|` separates the opening half from the closing half.
const SHAPES: &[&str] = &[
    "(",
    "( ",
    "{ ",
    "$(",
    "`",
    "${",
    "${x:-",
    "$((",
    "((",
    "[[ ",
    "[[ ( ",
    "a=(",
    "x[",
    "\"$(",
    "\"",
    "'",
    "$'",
    "\\",
    "<(",
    ">(",
    "if ",
    "if a; then ",
    "while ",
    "while a; do ",
    "for x in ",
    "for x in a; do ",
    "case ",
    "case x in a) ",
    "case x in (",
    "function f {",
    "f() ",
    "f() { ",
    "! ",
    "time ",
    "time -p ",
    "coproc ",
    "coproc N { ",
    "select x in a; do ",
    "until a; do ",
    "<<E ",
    "<<E\n",
    "<<-E\n",
    "<<<",
    "a|",
    "a |& ",
    "a;",
    "a\n",
    "a&",
    "a&&",
    "a||",
    "@(",
    "?(a|",
    "*",
    "[",
    "{",
    "{a,",
    "{a,b}",
    "{1..9}",
    "~",
    "$x",
    "$",
    "a=b ",
    ">f ",
    "2>&1 ",
    "&>f ",
    "env ",
    "sudo ",
    "nice ",
    "eval ",
    "sh -c ",
    "xargs ",
    "find -exec ",
    "cd a;",
    "cd a && ",
    "trap ",
    "\u{e9}",
    "\r\n",
    "#",
    "# \n",
    "=",
    "\t",
    "\\\n",
    ";;",
    "a=$(",
    "\"`",
    "{ a; } | ",
    "(a) && ",
    "(|)",
    "{ a; |}",
    "$(|)",
    "`|`",
    "${x:-|}",
    "\"$(|)\"",
    "((|))",
    "$((|))",
    "if a; then |fi; ",
    "while a; do |done; ",
    "for x in a; do |done; ",
    "case x in a) |;; esac; ",
    "f() { |}; ",
    "eval '|'",
    "env -S '|'",
    "sh <<'E'\n|\nE\n",
    "x=(|)",
    "[[ ( | ) ]]",
    "{a,|}",
    "{{a,b},|}",
];

#[test]
fn every_shape_is_answered_in_time() {
    let counts = if std::env::var_os("WORKDEN_TEST_LONG").is_some() { MORE_COUNTS } else { COUNTS };
    let started = Instant::now();
    for shape in SHAPES {
        for count in counts {
            let (open, close) = shape.split_once('|').filter(|_| shape.len() > 2).unwrap_or((shape, ""));
            let count = (*count).min(LENGTH / (open.len() + close.len()));
            let nested = format!("{}a{}", open.repeat(count), close.repeat(count));
            for script in [nested.clone(), open.repeat(count), format!("{nested}; {nested}"), format!("$({nested})")] {
                let analysis = analyse(&script, &VirtualPath::root(), StandardInput::Inherited);
                assert!(analysis.doubts.iter().all(|doubt| doubt.about.len() < 400), "a doubt that repeats its input");
            }
            assert!(started.elapsed() < MOST_TIME, "{count} times {shape:?}");
        }
    }
}

fn only_doubt(analysis: &Analysis) -> Option<DoubtKind> {
    analysis.doubts.first().map(|doubt| doubt.kind)
}

#[test]
fn past_a_cap_there_is_a_doubt() {
    let nested = |open: &str, close: &str, count: usize| format!("{}a{}", open.repeat(count), close.repeat(count));
    for (script, expected) in [
        (nested("{ ", "; }", 15), None),
        (nested("{ ", "; }", 17), Some(DoubtKind::TooMuch)),
        (nested("case x in a) ", ";; esac", 8), None),
        (nested("case x in a) ", ";; esac", 9), Some(DoubtKind::TooMuch)),
        (nested("while a; do ", "; done", 8), None),
        (nested("while a; do ", "; done", 9), Some(DoubtKind::TooMuch)),
        ("a;".repeat(1_900), None),
        ("a;".repeat(2_100), Some(DoubtKind::TooMuch)),
        ("env ".repeat(10) + "a", None),
        ("env ".repeat(30) + "a", Some(DoubtKind::TooMuch)),
        ("a".repeat(LENGTH), None),
        ("a".repeat(LENGTH + 1), Some(DoubtKind::TooMuch)),
    ] {
        let analysis = analyse(&script, &VirtualPath::root(), StandardInput::Inherited);
        assert_eq!(only_doubt(&analysis), expected, "{:?}", script.chars().take(60).collect::<String>());
    }
}

#[test]
fn scripts_in_scripts_share_one_budget() {
    let mut script = "a".to_owned();
    for _ in 0..40 {
        script = format!("sh <<'E{}'\n{script}\nE{}\n", script.len(), script.len());
    }
    assert_eq!(only_doubt(&analyse(&script, &VirtualPath::root(), StandardInput::Inherited)), Some(DoubtKind::TooMuch));
}

#[test]
fn bytes_that_are_not_text_are_doubted() {
    for bytes in [&b"ls \xff"[..], b"\xed\xa0\x80", b"ls\0 x", &[0xff; LENGTH]] {
        let analysis = analyse(bytes, &VirtualPath::root(), StandardInput::Inherited);
        assert_eq!(only_doubt(&analysis), Some(DoubtKind::Syntax));
        assert!(analysis.invocations.is_empty());
    }
}
