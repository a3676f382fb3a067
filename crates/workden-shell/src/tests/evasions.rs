//! Ways to disguise a command.

use workden_core::VirtualPath;

use super::{
    super::{StandardInput, analyse},
    check,
};

#[test]
fn names_in_pieces_are_put_together() {
    for script in [
        "rm x",
        "r''m x",
        "r\"\"m x",
        "\\rm x",
        "\"r\"m x",
        "'rm' x",
        "$'\\x72m' x",
        "$'\\162\\155' x",
        "r\\\nm x",
        "r\\m x",
        "\"rm\" x",
        "  rm\tx",
        "rm  x",
        "{rm,x}",
        "rm x;",
        "rm x &",
        "\nrm x",
        "rm x # y",
        "rm $'x'",
    ] {
        check(script, "rm x");
    }
    check("/bin/rm x", "/bin/rm x");
    check("/bin/../bin/rm x", "/bin/../bin/rm x");
    check("./rm x", "./rm x");
}

#[test]
fn names_that_are_not_known_are_doubted() {
    check("$x", "?$x? ! unknown");
    check("${x}m y", "?${x}m? y ! unknown");
    check("r$@m x", "?r$@m? x ! unknown");
    check("$(echo rm) x", "rm x ; echo rm");
    check("`echo rm` x", "rm x ; echo rm");
    check("r? x", "/r?/ x ! unknown");
    check("/bin/r[m] x", "//bin/r[m]/ x ! unknown");
    check("rm$IFS-rf$IFS/", "?rm$IFS-rf$IFS/? ! unknown");
    check("rm${IFS}x", "?rm${IFS}x? ! unknown");
    check("a=rm; $a x", "rm x");
    check("a=rm\n\"$a\" x", "rm x");
    check("env $x", "env>?$x? ! argument unknown");
    check("command $x y", "command>?$x? y ! argument unknown");
    check("~/rm x", "~/rm x");
    check("rm${x+ -rf} /", "?rm${x+ -rf}? / ! unknown");
    check("{r,}m x", "rm m x");
    check("(exit 9); cat id_ed2551$?", "exit 9 ; cat #id_ed2551*#");
    check("cat \"a$$\"", "cat #a*#");
    check("exit \"$?\"", "exit 0");
}

#[test]
fn other_blanks_are_no_blanks() {
    check("rm\u{a0}x", "rm\u{a0}x");
    check("rm\u{2003}x", "rm\u{2003}x");
    check("ls\r\nrm x\r\n", "ls\r ; rm x\r");
    check("ls\r;rm x", "ls\r ; rm x");
    check("ls\u{b}rm", "ls\u{b}rm");
    check("ls\u{c}x", "ls\u{c}x");
}

#[test]
fn commands_in_odd_places_are_found() {
    check("echo \"a $(rm x) b\"", "echo ?\"a $(rm x) b\"? ; rm x ! argument");
    check("x=`rm x`", "rm x");
    check("x=\"$(rm x)\"", "rm x");
    check("x=1 y=$(rm x)", "rm x");
    check("x=([$(rm x)]=1)", "rm x");
    check("> $(rm x)", "rm x | >?$(rm x)? ! unknown");
    check("echo ${x/$(rm x)/y}", "echo ?${x/$(rm x)/y}? ; rm x ! argument");
    check("echo ${x:$(rm x)}", "echo ?${x:$(rm x)}? ; rm x ! argument construct");
    check(": ${x:=$(rm x)}", ": ?${x:=$(rm x)}? ; rm x ! argument");
    check("[ $(rm x) ]", "[ ?$(rm x)? ] ; rm x ! argument");
    check("case x in `rm x`) ;; esac", "rm x");
    check("for x in `rm x`; do :; done", "rm x ; :");
    check("while ! rm x; do :; done", "rm x ; :");
    check("f() { rm x; }", "rm x <");
    check("trap 'rm x' EXIT", "trap>rm x");
    check("cat <<E\n${a:-`rm x`}\nE", "cat < ; rm x");
    check("cat <<E | sh\nrm x\nE", "cat < ; sh>rm x <");
    check(
        "echo $(echo $(echo $(rm x)))",
        "echo ?$(echo $(echo $(rm x)))? ; echo ?$(echo $(rm x))? ; echo ?$(rm x)? ; rm x ! argument",
    );
    check("a & rm x", "a ; rm x");
    check("a && (b || { rm x; })", "a ; b ; rm x");
    check("! rm x", "rm x");
    check("!(rm x)", "rm x");
    check("if :; then :; else rm x; fi", ": ; : ; rm x");
    check("echo #\\\nrm x", "echo ; rm x");
    check("echo '#' ; rm x", "echo # ; rm x");
    check("echo \\# rm", "echo # rm");
    check("echo \"\n\"; rm x", "echo \"\\n\" ; rm x");
    check("echo 'it'\\''s'; rm x", "echo it's ; rm x");
    check("echo $(( 1 )); rm x", "echo =$(( 1 ))= ; rm x");
    check("a;\\\nrm x", "a ; rm x");
    check("a &\\\n& rm x", "a ; rm x ! construct");
    check("a |\\\n| rm x", "a ; rm x ! construct");
    check("i\\\nf a; then rm x; fi", "a ; rm x");
    check("$\\\n(rm x)", "?$\\\n(rm x)? ; rm x ! construct unknown");
    check("a |\\\n  rm x", "a ; rm x <");
    check("a 2\\\n>f", "a | >f");
}

#[test]
fn what_bash_and_sh_read_differently_is_doubted() {
    check("echo $'\\'; rm x #'", "! syntax");
    check("((rm -rf /))", "! construct");
    check("[[ a || rm ]]", "! construct");
    check("[[ a\nrm ]]", "! construct");
    check("sh -c '~/a'", "sh>./~/a ! construct");
    check("eval a '~/b'", "eval>a ./~/b ! construct");
    check("echo &>f; rm x", "echo ; rm x | >f");
    check("echo $[ 1 ; rm x ]", "! syntax");
    check("a &>f b", "a b | >f ! construct");
}

#[test]
fn variables_that_change_what_runs_are_doubted() {
    for script in [
        "PATH=. ls",
        "PATH=.",
        "export PATH=.",
        "declare PATH=.",
        "env PATH=. ls",
        "LD_PRELOAD=x ls",
        "BASH_ENV=x sh y",
        "IFS=x",
        "GIT_SSH_COMMAND=x git fetch",
        "PAGER=x git log",
        "PYTHONPATH=/etc a",
        "PYTHONPATH=../x a",
        "PYTHONPATH=$X a",
        "NODE_OPTIONS=--require=./x a",
        "RUSTFLAGS=-Clinker=./x a",
        "GIT_PAGER=./x git log",
        "PATH=.venv/bin:$PATH",
        "PATH=./evil:$PATH ls",
        "NODE_OPTIONS=x a",
        "sudo PATH=. ls",
        "for PATH in a; do b; done",
        "read PATH",
        "printf -v PATH x",
        ": ${PATH:=x}",
        "unset PATH",
        "local PATH=x",
        "readonly PATH=.",
        "typeset PATH=.",
        "PATH+=:.",
        "PATH[0]=.",
        "env -i LD_AUDIT=x ls",
        "GIT_CONFIG_COUNT=1 git x",
        "cat <<E\n${PATH:=x}\nE",
        "PS4='$(rm x)' a",
        "PROMPT_COMMAND=x",
        "SHELLOPTS=x",
        "CDPATH=/ a",
        "ENV=x sh a",
        "HOME=/ a",
    ] {
        let from = workden_core::VirtualPath::parse("/w").unwrap();
        let analysis = super::super::analyse(script, &from, StandardInput::Inherited);
        let doubted = analysis.doubts.iter().any(|doubt| doubt.kind == super::super::DoubtKind::Environment);
        assert!(doubted, "{script}: {analysis:?}");
    }
    check("FOO=1 ls", "FOO=1 ls");
    check("export FOO=1", "export FOO=1");
    check("export PATH", "export PATH");
    check("env FOO=1 BAR=2 ls", "env>FOO=1 BAR=2 ls");
}

#[test]
fn builtins_that_change_what_commands_mean_are_doubted() {
    for script in [
        "alias ls='rm x'",
        "enable -n cd",
        "hash -p /x ls",
        "bind -x '\"a\":rm'",
        "shopt -s expand_aliases",
        "set -k",
        "set -o posix",
        "declare -n x=PATH2",
        "declare -i x=y",
        "let x=y",
        "complete -C rm x",
        "mapfile -C rm x",
        "test -v 'a[$(rm x)]'",
        "unset 'a[$(rm x)]'",
        "printf -v 'a[`rm x`]' y",
        "set -f -o x",
        "export -f x",
        "compgen -C x",
        "fc -s",
        "shopt -u sourcepath",
        "jobs -x rm 1",
        "read 'a[$(b)]'",
    ] {
        let from = workden_core::VirtualPath::root();
        let analysis = super::super::analyse(script, &from, StandardInput::Inherited);
        let doubted = analysis.doubts.iter().any(|doubt| doubt.kind == super::super::DoubtKind::Construct);
        assert!(doubted, "{script}: {analysis:?}");
    }
    check("set -euo pipefail", "set -euo pipefail");
    check("set -- a b", "set -- a b");
    check("set -x +e", "set -x +e");
    check("shopt", "shopt");
    check("hash -r", "hash -r");
    check("read -r x", "read -r x");
    check("declare -r x=1", "declare -r x=1");
}

/// Shells, versions or parsers read each of these differently: each is a doubt, however deeply it is nested.
#[test]
fn what_readers_of_the_language_disagree_about_is_doubted_at_any_depth() {
    for script in [
        "select x in a b; do c; done",
        "99999999999>x a",
        "a {fd}>x",
        "for x in a; { b; }",
        "time -v a",
        "a &\\\n& b",
        "a |\\\n| b",
        "a >\\\n> b",
        "a <\\\n\\\n<E\nE\n",
        "[[ a == @(b|c) ]]",
        "[[ a\nrm ]]",
        "((a))",
        "[[ -n ]]",
        "[[ a b ]]",
        "[[ ]]",
        "x=(a)b",
        "x= esac",
        ">f ]]",
        "coproc a",
        "x=$(a # it\"s\n)",
        "x=$(case a in a) b;; esac)",
        "a | ! b",
    ] {
        let quoted = format!("'{script}'");
        for nested in [
            script.to_owned(),
            format!("echo $({script}\n)"),
            format!("x=`{script}\n`"),
            format!("{{ {script}\n}}"),
            format!("if a; then {script}\nfi"),
            format!("f() {{ {script}\n}}"),
            format!("sh -c {quoted}"),
            format!("eval {quoted}"),
            format!("sh <<'EOF'\n{script}\nEOF\n"),
        ] {
            let analysis = analyse(&nested, &VirtualPath::root(), StandardInput::Inherited);
            assert!(!analysis.doubts.is_empty(), "{nested:?} is understood: {analysis:?}");
        }
    }
}
