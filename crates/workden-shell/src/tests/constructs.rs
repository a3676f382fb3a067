//! The language itself: every construct, and the commands it runs.

use super::check;

#[test]
fn simple_commands_lists_and_pipelines() {
    check("ls", "ls");
    check("ls -la /tmp", "ls -la /tmp");
    check("", "");
    check("# only a comment", "");
    check("\n\n  \t\n", "");
    check("ls # rm -rf /", "ls");
    check("ls #\nrm x", "ls ; rm x");
    check("echo a#b", "echo a#b");
    check("echo a;#c\necho b", "echo a ; echo b");
    check("true; rm -rf /", "true ; rm -rf /");
    check("true;rm x", "true ; rm x");
    check("a\nb\nc", "a ; b ; c");
    check("a && b || c", "a ; b ; c");
    check("a &&\n b ||\n\n# comment\n c", "a ; b ; c");
    check("a | b | c", "a ; b < ; c <");
    check("a |& b", "a ; b <");
    check("a |\n b", "a ; b <");
    check("a & b", "a ; b");
    check("a &", "a");
    check("! a", "a");
    check("! ! a | b", "a ; b <");
    check("time a", "time>a");
    check("time -p a | b", "time>a ; time>b <");
    check("time -v a", "time>a ! construct");
    check("time ! a", "time>a");
    check("a | time b", "a ; time>b <");
    check("\\time a", "time>a");
}

#[test]
fn groups_subshells_and_conditions() {
    check("{ a; b; }", "a ; b");
    check("{ a\n}", "a");
    check("(a; b)", "a ; b");
    check("( (a) )", "a");
    check("((a); (b))", "a ; b");
    check("if a; then b; elif c; then d; else e; fi", "a ; b ; c ; d ; e");
    check("if a\nthen b\nfi", "a ; b");
    check("if (a) then b; fi", "a ; b");
    check("while a; do b; done", "a ; b");
    check("until a; do b; done < f", "a << ; b << | <f");
    check("for x in 1 2; do a; done", "a");
    check("for x in $(b); do a; done", "b ; a");
    check("for x; do a; done", "a");
    check("for x do a; done", "a");
    check("for x in 1\ndo\na\ndone", "a");
    check("for x in 1; { a; }", "a ! construct");
    check("for ((;;)) do a; done", "a");
    check("for ((i=0; i<3; i++)); do a; done", "a");
    check("select x in 1 2; do a; done", "a ! construct");
    check("case x in a) b;; (c|d) e;; *) f; esac", "b ; e ; f");
    check("case $(a) in $(b)) c;& d) ;; esac", "a ; b ; c");
    check("case x in\n# comment\na)\nb\n;;\nesac", "b");
    check("case x in esac", "");
    check("case x in a) b ;;& esac", "b");
    check("[[ -f a && $(b) == c ]]", "b ! construct");
    check("[[ -f a && ! -d b ]]", "");
    check("[[ $(a) =~ ^(x|y)$ ]]", "a");
    check("[[ a == @(b|$(c)) ]]", "c ! construct");
    check("[[ a -eq 1 ]]", "! construct");
    check("[[ a && rm ]]", "! construct");
    check("[[ a > b ]]", "! construct");
    check("[[ a =~ b|c ]]", "! construct");
    check("[[ -f a ]] && b", "b");
    check("((a++))", "! construct");
    check("(( $(a) ))", "a ! construct");
    check("{ a; } | { b; }", "a ; b <");
    check("if a; then b; fi | c", "a ; b ; c <");
    check("{ a; } > f 2>&1", "a | >f");
}

#[test]
fn functions_and_coprocesses() {
    check("f() { a; }", "a <");
    check("f() { a; }; f x", "a ; f x");
    check("f ( ) ( a )", "a <");
    check("function f { a; }", "a <");
    check("function f() { a; } > g", "a < | >g");
    check("f()\n{\na\n}", "a <");
    check("f() if a; then b; fi", "a < ; b <");
    check("f() a", "! syntax");
    check("cd() { rm x; }", "rm x < ! construct");
    check("env() { rm x; }; env a", "env>a ; rm x < ! construct");
    check("coproc a b", "a b < ! construct");
    check("coproc { a; }", "a < ! construct");
    check("coproc N { a; }", "a < ! construct");
    check("coproc N", "N < ! construct");
}

#[test]
fn redirections() {
    check("a > f", "a | >f");
    check("a >f 2>&1", "a | >f");
    check("a 2>/dev/null", "a | >/dev/null");
    check("a &> f", "a | >f");
    check("a &>> f", "a | >f");
    check("a >& f", "a | >f");
    check("a >> f", "a | >f");
    check("a >| f", "a | >f");
    check("a <> f", "a < | <>f");
    check("a < f", "a << | <f");
    check("a 3< f", "a | <f");
    check("a <&3", "a <");
    check("a 2>&-", "a");
    check("a >&2-", "a");
    check("> f", "| >f");
    check("> f a", "a | >f");
    check("a {fd}> f", "a | >f ! construct");
    check("{PATH}> f a", "a | >f ! construct environment");
    check("a > f$x", "a | >?f$x? ! unknown");
    check("a > {f,g}", "a | >?{f,g}? ! unknown");
    check("a > *", "a | >/*/");
    check("a > >(b)", "a ; b < | >?>(b)?");
    check("a < <(b)", "a < ; b < | <?<(b)?");
    check("a 12 > f", "a 12 | >f");
    check("a x2>f", "a x2 | >f");
    check("a '2'>f", "a 2 | >f");
    check("a 99999999999999999999> f", "a | >f ! construct");
    check("a 200> f", "a | >f");
    check("a &>f rm -rf /", "a rm -rf / | >f ! construct");
    check("exec > f", "exec | >f");
    check("a >", "! syntax");
    check("a > $'f'", "a | >?$'f'? ! unknown");
    check("a >& \"f\"", "! syntax");
    check("a >& $x", "a | >?$x? ! unknown");
}

#[test]
fn here_documents_and_strings() {
    check("cat <<E\nrm x\nE\nls", "cat < ; ls");
    check("cat <<E\n$(rm x)\nE", "cat < ; rm x");
    check("cat <<E\n`rm x`\nE", "cat < ; rm x");
    check("cat <<'E'\n$(rm x)\nE", "cat <");
    check("cat <<\\E\n$(rm x)\nE", "cat <");
    check("cat <<\"E\"\n`rm x`\nE", "cat <");
    check("cat <<-E\n\t$(rm x)\n\tE\nls", "cat < ; rm x ; ls");
    check("cat <<E 2>&1 | rm\nx\nE", "cat < ; rm <");
    check("cat <<E; rm x\ny\nE", "cat < ; rm x");
    check("cat <<A <<B\na\nA\n$(b)\nB", "cat < ; b");
    check("<<E cat\nx\nE", "cat <");
    check("cat <<E\n\\$(rm x) \\`b\\`\nE", "cat <");
    check("cat <<E\n${x:-$(rm x)}\nE", "cat < ; rm x");
    check("cat <<E\n$x ' \" (\nE", "cat <");
    check("cat <<$'E'\nx\nE", "! syntax");
    check("x=$(cat <<E\ny\nE\n)", "cat <");
    check("x=$(if a\nb <<E\ny\nE\nthen c; d; fi)", "a ; b < ; c ; d ! construct");
    check("cat <<E\nx", "! syntax");
    check("cat <<E\nx\n E\n", "! syntax");
    check("cat <<E && a\nE\nb", "cat < ; a ; b");
    check("(cat <<E\nx\nE\n)", "cat <");
    check("echo $(cat <<E\nx\nE\n)", "echo x ; cat <");
    check("echo $(cat <<E\nx\nE)", "! syntax");
    check("cat <<E $(a\nb)\nE", "! syntax");
    check("if cat <<E; then b; fi\nx\nE\nc", "cat < ; b ; c");
    check("cat <<E\na\\\nE\nE", "! syntax");
    check("cat <<< x", "cat <");
    check("cat <<< \"$(a)\"", "cat < ; a");
    check("cat <<<$(a)", "cat < ; a");
}

#[test]
fn words_and_quotes() {
    check("echo 'a b' \"c d\" e\\ f", "echo \"a b\" \"c d\" \"e f\"");
    check("echo '' \"\"", "echo \"\" \"\"");
    check("echo \"a\\\"b\\$c\\d\"", "echo a\"b$c\\d");
    check("echo a'b'\"c\"d", "echo abcd");
    check("echo $'a\\tb'", "echo a\tb");
    check("echo $\"a\"", "! syntax");
    check("echo $ $% a$", "echo $ $% a$");
    check("echo $x", "echo ?$x? ! argument");
    check("echo \"${x}\"", "echo ?\"${x}\"? ! argument");
    check("echo $(a)", "echo ?$(a)? ; a ! argument");
    check("echo \"$(a \"$(b)\")\"", "echo ?\"$(a \"$(b)\")\"? ; a ?\"$(b)\"? ; b ! argument");
    check("echo `a`", "echo ?`a`? ; a ! argument");
    check("echo `a \\`b\\``", "echo ?`a \\`b\\``? ; a ?`b`? ; b ! argument");
    check("echo \"`a`\"", "echo ?\"`a`\"? ; a ! argument");
    check("echo $((1+2))", "echo =$((1+2))=");
    check("echo $(( $(a) ))", "echo =$(( $(a) ))= ; a ! construct");
    check("echo ${x:-$(a)}", "echo ?${x:-$(a)}? ; a ! argument");
    check("echo ${x:=`a`}", "echo ?${x:=`a`}? ; a ! argument");
    check("echo ${x[$(a)]}", "echo ?${x[$(a)]}? ; a ! argument construct");
    check("echo \"${x%$(a)}\"", "echo ?\"${x%$(a)}\"? ; a ! argument");
    check("echo $(case x in a) b;; esac)", "echo ?$(case x in a) b;; esac)? ; b ! argument construct");
    check("echo $(a # )\n)", "echo ?$(a # )\n)? ; a ! argument construct");
    check("echo $(a ')' \")\" \\))", "echo ?$(a ')' \")\" \\))? ; a ) ) ) ! argument");
    check("diff <(a) <(b)", "diff ?<(a)? ?<(b)? ; a < ; b < ! argument");
    check("tee >(a)", "tee ?>(a)? ; a < ! argument");
    check("x=$(a)", "a");
    check("x=$(a) b", "x=?$(a)? b ; a");
    check("x=1 y=2 a b=3", "x=1 y=2 a b=3");
    check("x=(a $(b) 'c')", "b");
    check("x=(\na # )\n)", "");
    check("x[$(a)]=1", "a ! construct");
    check("x[1]=2", "");
    check("x[;rm y;]=1", "! construct");
    check("x+=1", "");
    check("declare -a x=(a $(b))", "declare -a ?x=(a $(b))? ; b ! argument");
    check("echo x=(a)", "! syntax");
    check("echo $? $# $$ $!", "echo 0 0 0 =$!=");
    check("kill $!", "kill =$!=");
    check("echo *.rs a? [ab]", "echo /*.rs/ /a?/ /[ab]/");
    check("echo '*' \\* \"?\"", "echo * * ?");
    check("echo '*'*", "echo /[*]*/");
    check("echo **/x", "echo /*/x/");
    check("[ -f a ]", "[ -f a ]");
    check("echo [ a", "echo [ a");
    check("echo ~ ~/a ~b/c", "echo ~ ~/a ~b/c");
    check("echo '~' \\~/a ~'b' ~+", "echo ./~ ./~/a ./~b ?~+? ! argument");
    check("echo {a,b}c {1..3} {c..a}", "echo ac bc 1 2 3 c b a");
    check("echo {a} {} a{b,{c,d}}", "echo {a} {} ab ac ad");
    check("echo '{a,b}' \\{a,b}", "echo {a,b} {a,b}");
    check("echo {1..100}", "echo ?{1..100}? ! argument");
    check("echo {a,b", "echo ?{a,b? ! argument");
    check("echo a\\\nb", "echo ab");
    check("echo a \\\n b", "echo a b");
    check("caf\u{e9} \u{fc}", "caf\u{e9} \u{fc}");
}

#[test]
fn what_does_not_parse_is_doubted() {
    for script in [
        "'",
        "\"",
        "`",
        "$(",
        "${",
        "(",
        "{",
        "{ a",
        "if a",
        "a |",
        "a &&",
        "a;;b",
        ")",
        "}",
        "fi",
        "a )",
        "( )",
        "{ }",
        "for",
        "case x",
        "while a",
        "$((",
        "((",
        "a \\",
        "f(",
        "f()",
        "a (b)",
        "echo @(a|b)",
        "[[ a",
        "$(a",
        "a <<",
        "| a",
        "; a",
        "& a",
        "a & ; b",
        "${ a; }",
        "${|a;}",
        "echo $[1]",
        "a `b",
        "x=(a",
        "function",
        "coproc",
        "time",
        "! ",
        "if; then a; fi",
        "select",
        "for 1 in a; do b; done",
        "in",
        "a\u{0}b",
    ] {
        check(script, "! syntax");
    }
}
