//! Options with which ordinary programs run other programs, load code, or send data to other machines.

use super::{super::command_effects::named, Danger, ask};
use crate::shell::{Invocation, StandardInput, Word, WorkingDirectories};

/// Programs, and options that name a program to run or code to load. An option matches the start of a word.
#[rustfmt::skip]
const RUNS: &[(&[&str], &[&str])] = &[
    (&["strace", "ltrace"], &["-p"]),
    (&["nano"], &["-s", "--speller"]),
    (&["gcc", "g++", "cc", "c++", "clang", "clang++"], &["-wrapper", "-B", "-fplugin", "-load"]),
    (&["go"], &["-exec", "-toolexec", "-vettool"]),
    (&["cargo"], &["--config"]),
    (&["npm", "npx", "pnpm", "yarn"], &["--script-shell", "script-shell", "--node-options"]),
    (&["java"], &["-XX:OnError", "-XX:OnOutOfMemoryError", "-javaagent", "-agentlib", "-agentpath"]),
    (&["tcpdump"], &["-z"]),
    (&["sftp", "scp"], &["-S", "-D", "-oProxyCommand"]),
    (&["apt", "apt-get"], &["-o"]),
    (&["pip", "pip3", "uv"], &["--index-url", "--extra-index-url", "--trusted-host", "-i"]),
    (&["dc"], &["!"]),
    (&["curl"], &["-K", "--config"]),
];
/// Programs that change who a program runs as, or how the machine works.
#[rustfmt::skip]
const ASKED: &[&str] = &[
    "pkexec", "runuser", "setpriv", "capsh", "setcap", "unshare", "systemd-run", "machinectl", "ctr", "crictl", "lxc", "virsh",
    "hostnamectl", "timedatectl", "hwclock", "update-alternatives", "ldconfig", "apt-key", "ngrok", "cloudflared", "sftp",
    "fuser",
];
/// Subcommands that change the machine or something on another machine.
#[rustfmt::skip]
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("systemctl", &["stop", "disable", "mask", "kill", "enable"]),
    ("ip", &["add", "set", "del", "flush"]),
    ("terraform", &["apply", "destroy"]), ("tofu", &["apply", "destroy"]),
    ("apt", &["remove", "purge", "autoremove"]), ("apt-get", &["remove", "purge", "autoremove"]),
    ("npm", &["registry"]), ("date", &["-s", "--set"]), ("getent", &["shadow", "gshadow"]),
    ("gh", &["--show-token"]), ("kubectl", &["--raw", "--overrides"]), ("sudo", &["sh", "bash", "su"]), ("su", &["-c"]),
    ("m4", &["-s"]),
];

/// Returns the danger of a command's options.
pub(super) fn danger(invocation: &Invocation) -> Option<Danger> {
    let (name, arguments) = named(invocation)?;
    let texts = || arguments.iter().map(Word::shown);
    if ASKED.contains(&name) {
        return Some(ask(format!("`{name}` changes the machine or the rights of a program")));
    }
    let runs = RUNS.iter().filter(|(names, _)| names.contains(&name));
    if let Some(option) = runs.flat_map(|(_, options)| *options).find(|option| texts().any(|text| begins(text, option)))
    {
        return Some(ask(format!("`{name} {option}` can run programs or load code")));
    }
    let changes = SUBCOMMANDS.iter().filter(|(program, _)| *program == name);
    let changes = changes.flat_map(|(_, words)| *words).find(|word| texts().any(|text| begins_with_word(text, word)));
    if let Some(word) = changes {
        return Some(ask(format!("`{name} {word}` changes the machine, or something outside of it")));
    }
    let first = texts().find(|text| !text.starts_with('-') && *text != "run").unwrap_or_default();
    let is_remote = ["http://", "https://", "git+"].iter().any(|start| first.starts_with(start));
    if is_remote && matches!(name, "npx" | "bunx" | "deno" | "pnpx" | "uvx") {
        return Some(ask(format!("`{name}` runs code from `{first}`")));
    }
    if name == "man" && is_pager(arguments) {
        return Some(ask("`man` runs the program that it is given"));
    }
    let copies = ["rsync", "scp", "aws", "gsutil", "rclone", "serve", "php", "npx", "zip"].contains(&name);
    let whole = |text: &str| matches!(text, "~" | "~/" | "/");
    if (copies || texts().any(|text| text == "http.server")) && texts().any(whole) {
        return Some(ask("it copies or shows a whole home directory or machine"));
    }
    processes(name, arguments).or_else(|| repositories(name, arguments, invocation)).or_else(|| sends(name, invocation))
}

/// Whether `man` is given a pager that does more than to print.
fn is_pager(arguments: &[Word]) -> bool {
    let given =
        arguments.windows(2).find(|pair| matches!(pair[0].shown(), "-P" | "--pager")).map(|pair| pair[1].shown());
    let attached = arguments.iter().map(Word::shown).any(|text| {
        text.starts_with("--pager=")
            || text.starts_with("-H")
            || text.starts_with("--html")
            || text.starts_with("-P") && text.len() > 2
    });
    attached || given.is_some_and(|pager| !matches!(pager, "cat" | "less"))
}

/// Whether a word is this option, with or without its value.
fn begins(text: &str, option: &str) -> bool {
    if option.len() == 2 && option.starts_with('-') || option.contains("://") || option == "!" || option == "git+" {
        return text.starts_with(option);
    }
    begins_with_word(text, option)
}

fn begins_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', ':']))
        || word.starts_with("-X") && text.starts_with(word)
}

/// Recognises ends of processes that are not the agent's.
fn processes(name: &str, arguments: &[Word]) -> Option<Danger> {
    if !matches!(name, "pkill" | "killall") {
        return None;
    }
    let texts: Vec<&str> = arguments.iter().map(Word::shown).collect();
    let of_users = texts.iter().any(|text| matches!(*text, "-u" | "-U" | "--euid" | "--uid" | "--user" | "-G" | "-g"));
    let services = ["sshd", "dockerd", "containerd", "systemd", "init", "cron", "crond", "dbus-daemon"];
    let is_any = |text: &&str| {
        !text.starts_with('-') && (text.trim_matches(['.', '*', '^', '$', '+']).is_empty() || services.contains(text))
    };
    (of_users || texts.iter().any(is_any)).then(|| ask("it ends processes of others"))
}

/// Recognises changes of repositories that others rely on.
fn repositories(name: &str, arguments: &[Word], invocation: &Invocation) -> Option<Danger> {
    if name != "git" {
        return None;
    }
    let texts: Vec<&str> = arguments.iter().map(Word::shown).collect();
    match texts.as_slice() {
        ["push", rest @ ..] if rest.iter().any(|word| word.starts_with(['+', ':'])) => {
            Some(ask("it removes commits that others may have only there"))
        }
        ["remote", "set-url" | "add", ..] => Some(ask("it changes where commits are sent")),
        ["reflog", "expire", ..] => Some(ask("it removes commits for good")),
        ["gc", rest @ ..] if rest.iter().any(|word| word.starts_with("--prune=now")) => {
            Some(ask("it removes commits for good"))
        }
        _ => {
            let is_machines = match &invocation.directories {
                WorkingDirectories::AnyOf(all) => {
                    invocation.through.iter().any(|wrapper| wrapper == "git")
                        && all.iter().any(|path| matches!(path.as_str(), "/" | "/etc" | "/usr" | "/home" | "/root"))
                }
                WorkingDirectories::Unknown => false,
            };
            is_machines.then(|| ask("git works in a directory of the machine"))
        }
    }
}

/// Recognises data that another command prints and that is sent to another machine.
fn sends(name: &str, invocation: &Invocation) -> Option<Danger> {
    let arguments = invocation.argv.get(1..).unwrap_or_default();
    let texts = || arguments.iter().map(Word::shown);
    let is_fed = invocation.input == StandardInput::Fed && invocation.fed.is_none();
    let is_local = texts().any(|text| {
        let host = text.trim_start_matches("http://").trim_start_matches("https://");
        ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"].iter().any(|local| host.starts_with(local))
    });
    let sends = match name {
        "curl" => {
            texts().any(|text| {
                text == "@-" || text.ends_with("=@-") || text.ends_with("=<-") || text.ends_with("@/dev/stdin")
            }) || arguments
                .windows(2)
                .any(|pair| matches!(pair[0].shown(), "-T" | "--upload-file") && pair[1].shown() == "-")
        }
        "nc" | "ncat" | "netcat" | "socat" => true,
        "ssh" => {
            return texts()
                .any(|text| ["-R", "-D", "-L", "-N"].iter().any(|option| text.starts_with(option)))
                .then(|| ask("it opens a tunnel to another machine"));
        }
        _ => false,
    };
    (sends && is_fed && !is_local).then(|| ask("it sends what a command prints to another machine"))
}
