//! The directories in which commands run.

use super::check;

#[test]
fn cd_is_followed() {
    check("cd a; b", "cd a ; b@/w/a,/w");
    check("cd a && b", "cd a ; b@/w/a");
    check("cd a || b", "cd a ; b");
    check("cd a && b; c", "cd a ; b@/w/a ; c@/w/a,/w");
    check("cd /a && cd b && c", "cd /a ; cd b@/a ; c@/a/b");
    check("cd .. && b", "cd .. ; b@/");
    check("cd ../.. && b", "cd ../.. ; b@?");
    check("cd -- a && b", "cd -- a ; b@/w/a");
    check("cd -P a && b", "cd -P a ; b@?");
    check("cd - && b", "cd - ; b@?");
    check("cd && b", "cd ; b@?");
    check("cd ~/a && b", "cd ~/a ; b@?");
    check("cd $x && b", "cd ?$x? ; b@? ! argument");
    check("cd a* && b", "cd /a*/ ; b@?");
    check("! cd a && b", "cd a ; b");
    check("pushd a && b && popd && c", "pushd a ; b@/w/a ; popd@/w/a ; c@?");
    check("command cd a && b", "command>cd a ; b@/w/a");
    check("env cd a && b", "env>cd a ; b");
    check("eval 'cd a' && b", "eval>cd a ; b@/w/a");
    check("source x; b", "source x ; b@?");
    check("cd a > f && b > g", "cd a ; b@/w/a | >f | >g@/w/a");
}

#[test]
fn shells_of_their_own_leave_no_trace() {
    check("(cd a && b); c", "cd a ; b@/w/a ; c");
    check("cd a | b; c", "cd a ; b < ; c");
    check("cd a & b", "cd a ; b");
    check("x=$(cd a && b); c", "cd a ; b@/w/a ; c");
    check("sh -c 'cd a && b'; c", "sh>cd a ; sh>b@/w/a ; c");
    check("cd a; sh -c b", "cd a ; sh>b@/w/a,/w");
    check("env -C a b; c", "env>b@/w/a ; c");
    check("sudo -D a b", "sudo -D a b ; sudo>b@/w/a");
    check("git -C a status", "git>git status@/w/a");
    check("git -C a -C b status", "git>git status@/w/a/b");
    check("find . -execdir a {} +", "find . -execdir a {} + ; find>a //.//@?");
}

#[test]
fn branches_loops_and_functions_are_careful() {
    check("{ cd a; }; b", "cd a ; b@/w/a,/w");
    check("if x; then cd a; fi; b", "x ; cd a ; b@/w,/w/a");
    check("case x in y) cd a;; z) b;; esac; c", "cd a ; b@/w,/w/a ; c@/w,/w/a");
    check("for x in 1; do cd a; b; done; c", "cd a@? ; b@? ; c@?");
    check("while a; do b; done; c", "a ; b ; c");
    check("f() { a; }; cd b; f", "cd b ; a@/w/b,/w ; f@/w/b,/w");
    check("f() { cd a; }; f; b", "cd a@? < ; f@? ; b@?");
    check("f() { a; }; f; b", "a ; f ; b");
    check("trap 'rm x' EXIT; cd a", "trap>rm x@? ; cd a");
    check(
        "cd a; cd b; cd c; cd d; e",
        "cd a ; cd b@/w/a,/w ; cd c@/w/a/b,/w/b,/w/a,/w ; cd d@/w/a/b/c,/w/b/c,/w/a/c,/w/c,/w/a/b,/w/b,/w/a,/w ; e@?",
    );
}
