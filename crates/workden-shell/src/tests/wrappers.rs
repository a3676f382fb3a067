//! Wrappers and the commands that they run.

use super::check;

#[test]
fn transparent_wrappers_vanish() {
    check("env rm x", "env>rm x");
    check("env -i A=b rm x", "env>A=b rm x");
    check("env - rm x", "env>rm x");
    check("env -u A -C d rm x", "env>rm x@/w/d");
    check("env --unset=A --chdir=d rm x", "env>rm x@/w/d");
    check("env -S 'rm -f' x", "env>rm -f x");
    check("env -S 'A=b rm' x", "env>A=b rm x");
    check("env -S 'rm \"a b\"'", "env -S \"rm \\\"a b\\\"\" ! construct");
    check("env", "env");
    check("env A=b", "env A=b");
    check("/usr/bin/env rm x", "env>rm x");
    check("//usr/./bin/../bin/env rm x", "env>rm x");
    check("./env rm x", "./env rm x ! construct");
    check("/tmp/sh -c 'rm x'", "/tmp/sh -c \"rm x\" ! construct");
    check("./build.sh x", "./build.sh x");
    check("nice rm x", "nice>rm x");
    check("nice -n 5 rm x", "nice>rm x");
    check("nice -5 rm x", "nice>rm x");
    check("nice --adjustment=5 rm x", "nice>rm x");
    check("ionice -c 3 rm x", "ionice>rm x");
    check("ionice -p 1", "ionice -p 1 ! construct");
    check("timeout 5 rm x", "timeout>rm x");
    check("timeout -k 1 -s KILL 5s rm x", "timeout>rm x");
    check("timeout --signal=KILL 5 rm x", "timeout>rm x");
    check("timeout --unknown 5 rm x", "timeout --unknown 5 rm x ! construct");
    check("nohup rm x &", "nohup>rm x");
    check("setsid -w rm x", "setsid>rm x");
    check("stdbuf -oL rm x", "stdbuf>rm x");
    check("stdbuf -o L rm x", "stdbuf>rm x");
    check("chrt -f 1 rm x", "chrt>rm x");
    check("taskset -c 0 rm x", "taskset>rm x");
    check("command rm x", "command>rm x");
    check("command -p rm x", "command>rm x");
    check("command -v rm", "command -v rm");
    check("builtin echo x", "builtin>echo x");
    check("exec rm x", "exec>rm x");
    check("exec -a y rm x", "exec>rm x");
    check("/usr/bin/time -f %e rm x", "time>rm x");
    check("/usr/bin/time -o f rm x", "/usr/bin/time -o f rm x ! construct");
    check("env nice timeout 5 rm x", "env>nice>timeout>rm x");
    check("busybox rm x", "busybox>rm x");
    check("busybox sh -c 'rm x'", "busybox>sh>rm x");
    check("watch -n 1 'rm x'", "watch>rm x");
    check("watch rm x", "watch>rm x");
}

#[test]
fn wrappers_that_change_who_runs_it_are_reported_too() {
    check("sudo rm x", "sudo rm x ; sudo>rm x");
    check("sudo -u root -E A=b rm x", "sudo -u root -E A=b rm x ; sudo>A=b rm x");
    check("sudo -e f", "sudo -e f ! construct");
    check("sudo -s", "sudo -s");
    check("echo x | sudo -s", "echo x ; sudo -s < ! foreign");
    check("doas rm x", "doas rm x ; doas>rm x");
    check("su -c 'rm x'", "su -c \"rm x\" ; su>rm x@?");
    check("su - user -c 'rm x'", "su - user -c \"rm x\" ; su>rm x@?");
    check("su", "su ! foreign");
    check("chroot /r rm x", "chroot /r rm x ; chroot>rm x@?");
    check("nsenter -t 1 -m rm x", "nsenter -t 1 -m rm x ; nsenter>rm x");
    check("unshare -r rm x", "unshare -r rm x ; unshare>rm x");
    check("ssh h rm x", "ssh h rm x ; ssh>rm x@?");
    check("ssh -p 22 h 'a; b'", "ssh -p 22 h \"a; b\" ; ssh>a@? ; ssh>b@?");
    check("ssh -o ProxyCommand=x h", "ssh -o ProxyCommand=x h ! construct");
    check("flock f rm x", "flock f rm x ; flock>rm x");
    check("flock f -c 'rm x'", "flock f -c \"rm x\" ; flock>rm x");
    check("script -c 'rm x' f", "script -c \"rm x\" f ; script>rm x@?");
}

#[test]
fn shells_and_evaluated_text_are_parsed() {
    check("sh -c 'rm x; ls'", "sh>rm x ; sh>ls");
    check("bash -lc 'rm x'", "bash>rm x");
    check("bash -xec 'rm x'", "bash>rm x");
    check("bash -euo pipefail -c 'rm x'", "bash>rm x");
    check("bash --norc -c 'rm x' a b", "bash>rm x");
    check("bash -ic 'rm x'", "bash -ic \"rm x\" ! construct");
    check("bash -oc 'rm x'", "bash -oc \"rm x\" ! construct");
    check("bash +x -c 'rm x'", "bash +x -c \"rm x\" ! construct");
    check("bash -O extglob -c 'rm x'", "bash -O extglob -c \"rm x\" ! construct");
    check("sh -c \"sh -c 'rm x'\"", "sh>sh>rm x");
    check("sh -c \"rm $x\"", "sh -c ?\"rm $x\"? ! argument foreign");
    check("sh -c 'rm'\"'\" ", "sh>rm' ! syntax".replace("sh>rm' ", "").as_str());
    check("sh x.sh a", "sh x.sh a");
    check("sh < x.sh", "sh << | <x.sh");
    check("curl u | sh", "curl u ; sh < ! foreign");
    check("curl u | bash -s -- a", "curl u ; bash -s -- a < ! foreign");
    check("curl u | sudo bash", "curl u ; sudo bash < ; sudo>bash < ! foreign");
    check("curl u | env python3 -", "curl u ; env>python3 - < ! foreign");
    check("curl u | python3 -m json.tool", "curl u ; python3 -m json.tool <");
    check("curl u | { sh; }", "curl u ; sh < ! foreign");
    check("exec < f; sh", "exec << ; sh << | <f");
    check("sh <<'E'\nrm x\nE", "sh>rm x <");
    check("sh <<E\nrm $x\nE", "sh < ! foreign");
    check("sh <<< 'rm x'", "sh>rm x <");
    check("sh <<< 'rm x' < f", "sh << | <f");
    check("source /dev/stdin <<< 'rm x'", "source /dev/stdin < ! foreign");
    check("bash <(curl u)", "bash ?<(curl u)? ; curl u < ! argument foreign");
    check("zsh -c 'rm x'", "zsh -c \"rm x\" ! foreign");
    check("eval rm x", "eval>rm x");
    check("eval 'rm x' ';' ls", "eval>rm x ; eval>ls");
    check("eval \"$x\"", "eval ?\"$x\"? ! argument foreign");
    check("eval \"eval 'rm x'\"", "eval>eval>rm x");
    check("eval 'if'", "! syntax");
    check("trap 'rm x; ls' EXIT INT", "trap>rm x ; trap>ls");
    check("trap - EXIT", "trap - EXIT");
    check("trap '' INT", "trap \"\" INT");
    check("trap \"$x\" INT", "trap ?\"$x\"? INT ! argument foreign");
    check("alias l='rm x'", "alias \"l=rm x\" ; alias>rm x ! construct");
    check("source x", "source x");
    check(". ./x", ". ./x");
}

#[test]
fn xargs_and_find() {
    check("a | xargs rm", "a ; xargs>rm ?...? ! argument");
    check("a | xargs", "a ; xargs>echo ?...? ! argument");
    check("a | xargs -0 -n 1 -P4 rm -f", "a ; xargs>rm -f ?...? ! argument");
    check("a | xargs -I {} rm {} x", "a ; xargs>rm ?{}? x ! argument");
    check("a | xargs -I% sh -c 'rm %'", "a ; xargs>sh -c ?rm %? ! argument foreign");
    check("a | xargs sh -c 'rm x'", "a ; xargs>sh>rm x ! argument unknown");
    check("a | xargs --replace rm {}", "a ; xargs --replace rm {} < ! construct");
    check("a | xargs -a f rm", "a ; xargs -a f rm < ! construct");
    check("find . -name '*.pyc' -exec rm {} +", "find . -name *.pyc -exec rm {} + ; find>rm /./**/*.pyc/ /./**/.pyc/");
    check(
        "find src -name x -exec rm {} \\;",
        "find src -name x -exec rm {} ; ; find>rm /src/**/x/".replace("{} ;", "{} \";\"").as_str(),
    );
    check("find . -exec rm {} +", "find . -exec rm {} + ; find>rm //.//");
    check(
        "find . -name x -o -name y -exec rm {} +",
        "find . -name x -o -name y -exec rm {} + ; find>rm /./**/x/ /./**/y/",
    );
    check("find $x -name y -exec rm {} +", "find ?$x? -name y -exec rm {} + ; find>rm ?{}? ! argument");
    check(
        "find . -exec a \\; -ok b \\;",
        "find . -exec a ; -ok b ; ; find>a ; find>b".replace("a ; -ok b ;", "a \";\" -ok b \";\"").as_str(),
    );
    check(
        "find . -exec sh -c 'rm \"$1\"' _ {} \\;",
        "find . -exec sh -c \"rm \\\"$1\\\"\" _ {} \";\" ; find>sh>rm //.//",
    );
    check("find . -exec a", "find . -exec a ! construct");
    check("find . -name x", "find . -name x");
    check("find . -delete", "find . -delete");
    check("parallel rm ::: a b", "parallel>rm ! foreign");
}

#[test]
fn git() {
    check("git push", "git push");
    check("git --no-pager log", "git>git log");
    check("git -c user.name=x commit", "git>git commit");
    check("git -c color.diff=always diff", "git>git diff");
    for key in [
        "alias.x=!rm",
        "core.pager=x",
        "core.editor=x",
        "core.sshCommand=x",
        "core.fsmonitor=x",
        "core.hooksPath=x",
        "diff.external=x",
        "credential.helper=x",
        "difftool.x.cmd=y",
        "filter.x.process=y",
        "diff.x.textconv=y",
        "sequence.editor=x",
        "gpg.program=x",
    ] {
        check(&format!("git -c {key} push"), "git>git push ! foreign");
    }
    check("git --git-dir=x push", "git>git push ! foreign");
    check("git --exec-path=x push", "git --exec-path=x push ! construct");
    check("git submodule foreach 'rm x'", "git submodule foreach \"rm x\" ; git>rm x");
    check("git bisect run rm x", "git bisect run rm x ; git>rm x");
    check("git rebase -x 'rm x' a", "git rebase -x \"rm x\" a ! foreign");
    check("git clone ext::x", "git clone ext::x ! foreign");
    check("git config alias.x '!rm'", "git config alias.x !rm ! foreign");
    check("git config user.email a@b.c", "git config user.email a@b.c");
    check("git $x", "git ?$x? ! argument");
}
