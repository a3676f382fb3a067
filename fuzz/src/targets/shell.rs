//! Commands.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use workden_core::VirtualPath;
use workden_policy::{Policy, Preset};
use workden_shell::{Analysis, DoubtKind, StandardInput, Word, analyse};

use crate::in_time;

/// The time limit of a script, measured again when exceeded. A debug build has no tight limit.
const MOST_TIME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 60_000 } else { 50 });
/// The longest script that is analysed.
const LONGEST: usize = 64 * 1024;

pub(crate) const SEEDS: &[&[u8]] = &[
    b"cd a && env -i X=1 rm -rf ./b > /dev/null 2>&1",
    b"if a; then b; elif c; then d; else e; fi | while read x; do f; done",
    b"case x in a|b) c;; (d) e;& *) f;; esac",
    b"f() { a; }; function g { b; }; coproc N { c; }; time -p ! d",
    b"cat <<E | sh\n$(a) `b` ${c:-$(d)}\nE\ncat <<-'F'\n\t$(g)\n\tF\n",
    b"a=(b $(c) 'd') e[1]=2 f+=g h",
    b"[[ -f a && $b == @(c|d) || e =~ ^(f|g)$ ]] && ((h++))",
    b"for ((i=0;i<3;i++)); do echo $((i+1)) {a,b{c,d}} {1..5} *.[ch]; done",
    b"find . -name '*.c' -exec sh -c 'rm \"$1\"' _ {} \\; -o -print0 | xargs -0 -I% rm %",
    b"diff <(a) >(b) 3<>c {d}>e &>f <<< \"g $'h\\x41' \\\" i\"",
    b"eval 'a; b' && trap 'c' EXIT; git -c alias.x=y -C d push; sudo -u e f",
    b"r''m \\rm $'\\x72m' {rm,-rf} \"r\"m r\\\nm ~/a '~' # b\n c",
];

/// The analysis never panics, never takes long, and never knows less about a script in a group or in quotes.
pub fn shell(data: &[u8]) {
    in_time(|| {
        let from = VirtualPath::root();
        check(&timed(data, &from));
        let Some((first, piece)) = data.split_first().filter(|(_, piece)| !piece.is_empty()) else { return };
        // Repeated: nesting and growth show at length.
        let count = (usize::from(*first) * usize::from(*first)).clamp(2, LONGEST).min(LONGEST / piece.len());
        check(&timed(&piece.repeat(count), &from));
        if let Ok(script) = std::str::from_utf8(data) {
            check_wrapped(script, &from);
        }
    });
}

/// The rules with the most checks.
fn policy() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| Policy::new().with_rules(&Preset::Permissive.ruleset()).unwrap_or_default())
}

fn timed(script: &[u8], from: &VirtualPath) -> Analysis {
    let once = || {
        let started = Instant::now();
        // The whole decision, if the input is text.
        let analysis = match std::str::from_utf8(script) {
            Ok(text) => policy().judge_command(text, from).analysis,
            Err(_) => analyse(script, from, StandardInput::Inherited),
        };
        (analysis, started.elapsed())
    };
    let (analysis, took) = once();
    // A busy machine is slow once, a bad input always.
    if took > MOST_TIME {
        let again = (0..3).map(|_| once().1).min().unwrap_or_default();
        assert!(again <= MOST_TIME, "{} bytes took {again:?}", script.len());
    }
    analysis
}

/// Checks that every unknown word has a doubt, and that a doubt is a sentence.
fn check(analysis: &Analysis) {
    let words = analysis.invocations.iter().flat_map(|found| &found.argv);
    // The shell itself opens a process substitution.
    let is_process = |word: &&Word| word.shown().starts_with("<(") || word.shown().starts_with(">(");
    let targets = analysis.redirections.iter().map(|found| &found.target).filter(|word| !is_process(word));
    let unknown = words.chain(targets).filter(|word| matches!(word, Word::Unknown(_))).count();
    let kinds = [DoubtKind::NotLiteral, DoubtKind::Argument];
    let doubted = analysis.doubts.iter().filter(|doubt| kinds.contains(&doubt.kind)).count();
    assert!(unknown == 0 || doubted > 0, "{unknown} unknown words without a doubt");
    for doubt in &analysis.doubts {
        assert!(doubt.about.len() < 400, "a doubt of {} bytes", doubt.about.len());
    }
}

/// Checks that a clear script is as clear in a group, in its own shell, and evaluated.
fn check_wrapped(script: &str, from: &VirtualPath) {
    let plain = analyse(script, from, StandardInput::Inherited);
    // A quoted tilde is written differently.
    let clear = plain.doubts.is_empty() && !plain.invocations.is_empty();
    if !clear || script.contains('~') || script.len() > LONGEST / 8 {
        return;
    }
    let quoted = script.replace('\'', "'\\''");
    for wrapped in [format!("{{ {script}\n}}"), format!("eval -- '{quoted}'"), format!("bash -c -- '{quoted}'")] {
        let found = analyse(&wrapped, from, StandardInput::Inherited);
        if found.doubts.iter().any(|doubt| doubt.kind == DoubtKind::TooMuch) {
            continue;
        }
        let argvs = |analysis: &Analysis| -> Vec<Vec<Word>> {
            analysis.invocations.iter().map(|found| found.argv.clone()).collect()
        };
        assert_eq!(argvs(&found), argvs(&plain), "of {wrapped:?}: {:?}", found.doubts);
        assert_eq!(found.redirections.len(), plain.redirections.len(), "of {wrapped:?}");
    }
}
