//! Variables, loops and substitutions whose values are known, and those that only look as if they were.

use super::check;

#[test]
fn known_values_are_inserted() {
    check("x=a; b $x", "b a");
    check("x=a\nb \"$x\" ${x} ${x}c 'd'$x", "b a a ac da");
    check("x='a b'; c $x \"$x\"", "c a b \"a b\"");
    check("x='*.py'; c $x \"$x\"", "c /*.py/ *.py");
    check("x=; c $x d \"$x\"", "c d \"\"");
    check("x=rm; $x -rf /", "rm -rf /");
    check("x='rm -rf'; $x /", "rm -rf /");
    check("a=/etc; b=shadow; cat $a/$b", "cat /etc/shadow");
    check("x=a; y=$x/b; cat $y", "cat a/b");
    check("export X=a; cat $X", "export X=a ; cat a");
    check("x=a && b $x", "b a");
    check("x=a; cd d; cat $PWD/f", "cd d ; cat ?$PWD/f?@/w/d,/w ! argument");
    check("cd d && cat $PWD/f", "cd d ; cat /w/d/f@/w/d");
    check("cat $(pwd)/f", "cat /w/f ; pwd");
    check("x=a; b > $x", "b | >a");
    check("x=a; (b $x)", "b a");
    check("x=a; c $(b $x)", "c ?$(b $x)? ; b a ! argument");
    check("x=a; cat <<E\n$x\nE", "cat <");
    check("x='rm y'; sh <<E\n$x\nE", "sh>rm y <");
    check("f=a.txt; cp $f ${f%.txt}.md", "cp a.txt a.md");
    check("f=src/a.txt; cat ${f##*/}", "cat a.txt");
    check("x=$(cat <<'E'\nhello $y\nE\n); git commit -m \"$x\"", "cat < ; git commit -m \"hello $y\"");
}

#[test]
fn values_that_could_be_others_are_unknown() {
    for script in [
        "x=a; b && x=c; d $x",
        "x=a; b || x=c; d $x",
        "x=a; if b; then x=c; fi; d $x",
        "x=a; case y in b) x=c;; esac; d $x",
        "x=a; while b; do d $x; x=c; done",
        "x=a; for y in 1 2; do d $x; x=$y; done",
        "x=b; for y in a b; do d $x; x=$y; done",
        "x=a; read x; d $x",
        "x=a; read -r y x; d $x",
        "x=a; printf -v x b; d $x",
        "x=a; printf -vx b; d $x",
        "x=a; unset x; d $x",
        "x=a; f() { x=b; }; f; d $x",
        "f() { x=b; }; x=a; f; d $x",
        "x=a; trap 'x=b' USR1; d $x",
        "x=a; source y; d $x",
        "x=a; declare x=b; d $x",
        "readonly x=a; x=b; d $x",
        "x=a; mapfile x; d $x",
        "x=a; x+=b; d $x",
        "x[0]=a; d $x",
        "x=~/y; d $x",
        "x=a; sh -c 'd $x'",
        "x=a; x=b c; d $x",
        "x=a d $x",
        "x=b; x=a d > $x",
        "y=1; x=$y y=2; d $((y)) $x; y=3; x=$z; d $x",
        "d ${x:=a} $x",
        "OPTARG=a; d $OPTARG",
        "x=a; d ${x:-b}",
        "x=a; d ${!x}",
        "x='a\\b'; d $x",
        "x=\"a b\"; d c$x",
        "for x in $(b); do d $x; done",
        "for x; do d $x; done",
        "x=a; for x in b; do :; done; d $x",
        "x=a; export $y; d $x",
        "x=a; eval \"$y\"; d $x",
        "(x=a); d $x",
        "x=a | b; d $x",
        "x=a & d $x",
        "x=$(b); d $x",
    ] {
        let from = workden_core::VirtualPath::parse("/w").unwrap();
        let analysis = super::super::analyse(script, &from, super::super::StandardInput::Inherited);
        let last = analysis.invocations.iter().rfind(|found| found.argv[0].shown() == "d");
        let target = analysis.redirections.last().map(|redirection| redirection.target.clone());
        let words = last.map(|found| found.argv[1..].to_vec()).into_iter().flatten().chain(target);
        let is_unknown = words.into_iter().any(|word| matches!(word, super::super::Word::Unknown(_)));
        assert!(is_unknown, "{script}: {analysis:?}");
    }
}

#[test]
fn loops_are_walked_for_each_value() {
    check("for x in a b; do rm $x; done", "rm a ; rm b");
    check("for x in *.py; do cat \"$x\" $x; done", "cat /*.py/ //*.py//");
    check("for x in *.md; do cat \"${x%.md}.html\"; done", "cat /*.html/");
    check("for x in a b; do for y in 1 2; do rm $x$y; done; done", "rm a1 ; rm a2 ; rm b1 ; rm b2");
    check("for d in / ; do rm -rf $d; done", "rm -rf /");
    check("i=0; while [ $i -lt 3 ]; do a $i; i=$((i+1)); done", "[ =$i= -lt 3 ] ; a =$i=");
    check("n=0; for f in a b; do n=$((n+1)); done; echo $n", "echo =$n=");
    check("i=a; echo $((i+1))", "echo =$((i+1))= ! construct");
    check("x='a[$(b)]'; echo $((x))", "echo =$((x))= ! construct");
}

#[test]
fn printed_names_are_patterns() {
    check("find . -name '*.py' | xargs wc -l", "find . -name *.py ; xargs>wc -l //./**/*.py// //./**/.py//");
    check(
        "find . -type f -name '*.py' | sort | head -5 | xargs -I{} cat {}",
        "find . -type f -name *.py ; sort < ; head -5 < ; xargs>cat //./**/*.py// //./**/.py//",
    );
    check("for f in $(git ls-files '*.rs'); do cat $f; done", "git ls-files *.rs ; cat //**/*.rs//");
    check(
        "find . -name '*.c' | while read -r f; do cat \"$f\"; done",
        "find . -name *.c ; read -r f < ; cat //./**/*.c// //./**/.c// <",
    );
    check(
        "while read f; do cat $f; done < <(find src -name '*.c')",
        "find src -name *.c < ; read f < ; cat //src/**/*.c// //src/**/.c// < | <?<(find src -name '*.c')?",
    );
    check("cat $(cat list)", "cat ?$(cat list)? ; cat list ! argument");
    check("cat list | xargs cat", "cat list ; xargs>cat ?...? ! argument");
    check("t=$(mktemp -d); cp a \"$t/b\"", "mktemp -d ; cp a #/tmp/tmp.*/b#");
    check("git show $(git rev-parse HEAD)", "git show =$(git rev-parse HEAD)= ; git rev-parse HEAD");
    check("make -j$(nproc)", "make #-j*# ; nproc");
    check("cat $(ls .env)", "cat //.env// //*// ; ls .env");
    check("cat $(find . -type f)", "cat //.// ; find . -type f");
    check(
        "cat $(find . -name a -printf /etc/x)",
        "cat ?$(find . -name a -printf /etc/x)? ; find . -name a -printf /etc/x ! argument",
    );
}

#[test]
fn functions_are_walked_with_the_arguments_of_a_call() {
    check("f() { rm \"$1\"; }; f a; f b", "rm a ; f a ; rm b ; f b");
    check("run() { \"$@\"; }; run make test", "make test ; run make test");
    check("f() { echo \"$*\"; }; f a b", "echo \"a b\" ; f a b");
    check("f() { rm $1; }", "rm ?$1? < ! argument");
    check("f() { shift; rm $1; }; f a b", "shift ; rm ?$1? ; f a b ! argument");
    check("f() { rm $1; }; f $x", "rm ?$1? ; f ?$x? ! argument");
    check("f() { rm a; }; for i in 1 2; do f; done", "rm a ; f");
    check("while a; do f; f() { rm b; }; done", "a ; f ; rm b <");
    check("f() { rm a; }; f() { rm b; }; f", "rm b < ; rm a < ; f");
    check("f() { rm a; }; sh -c f", "sh>f ; rm a <");
    check("f() { rm a; }; timeout 5 f", "timeout>f ; rm a <");
    check("sh -c 'rm \"$1\"' _ a", "sh>rm a");
    check(
        "find . -name '*.o' -exec sh -c 'rm \"$1\"' _ {} \\;",
        "find . -name *.o -exec sh -c \"rm \\\"$1\\\"\" _ {} \";\" ; find>sh>rm ?\"$1\"? ! argument",
    );
    check("t=a; trap 'rm $t' EXIT; b", "trap>rm a ; b");
}

#[test]
fn what_code_that_runs_later_uses_must_not_change() {
    check("t=a; trap 'rm $t' EXIT; t=b", "trap>rm a ! construct");
    check("trap 'rm $t' EXIT; t=b", "trap>rm ?$t? ! argument");
}

#[test]
fn harmless_settings_are_no_doubt() {
    for script in [
        "PYTHONPATH=. a",
        "PYTHONPATH=src:$PYTHONPATH a",
        "export PYTHONPATH=\"$PWD/src\"",
        "PYTHONPATH=/w/src a",
        "export PATH=\"$PWD/node_modules/.bin:$PATH\"",
        "PATH=.venv/bin:$PATH a",
        "GIT_PAGER=cat git log",
        "GIT_EDITOR=true git rebase --continue",
        "NODE_OPTIONS=--max-old-space-size=4096 npm test",
        "RUSTFLAGS='-D warnings' cargo build",
        "CC=clang make",
        "while IFS= read -r l; do echo; done < f",
    ] {
        let from = workden_core::VirtualPath::parse("/w").unwrap();
        let analysis = super::super::analyse(script, &from, super::super::StandardInput::Inherited);
        let doubted = analysis.doubts.iter().any(|doubt| doubt.kind != super::super::DoubtKind::Argument);
        assert!(!doubted, "{script}: {analysis:?}");
    }
}
