//! Programs that are dangerous, always or with certain arguments.
//!
//! Invariant: the first group that recognises a call decides about it, so that a call is one danger.

use workden_core::VirtualPath;

use super::{
    super::{
        command_effects::named,
        named_paths::{NamedPath, named_paths},
    },
    Danger, ask, deny,
    locations::{VITAL, has_executed_outside, is_executed_outside, is_vital},
};
use crate::{
    Action,
    shell::{Invocation, Word, WorkingDirectories},
};

/// Programs that are dangerous with any arguments, and their effects.
#[rustfmt::skip]
const ALWAYS: &[(&[&str], Action, &str)] = &[
    (&["mke2fs", "mkswap", "wipefs", "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "blkdiscard", "mkdosfs", "newfs"],
     Action::Deny, "changes disks"),
    (&["hdparm", "cryptsetup", "lvremove", "vgremove", "pvremove", "zpool", "zfs", "mdadm", "badblocks", "debugfs"],
     Action::Ask, "changes disks"),
    (&["shutdown", "reboot", "halt", "poweroff", "kexec"], Action::Deny, "stops the machine"),
    (&["userdel", "groupdel", "deluser", "delgroup", "passwd", "chpasswd", "usermod", "useradd", "adduser", "visudo", "vipw"],
     Action::Ask, "changes who may use the machine"),
    (&["iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "sysctl", "insmod", "rmmod", "modprobe", "mount", "umount", "swapoff", "swapon",
       "chroot", "pivot_root", "nsenter", "setenforce", "at", "batch", "crontab", "gdb", "ptrace"],
     Action::Ask, "changes the machine"),
];

/// Returns the dangers of a program with its arguments.
pub(super) fn dangers(invocation: &Invocation) -> Vec<Danger> {
    let Some((name, arguments)) = named(invocation) else { return Vec::new() };
    let call = Call { name, arguments, directories: &invocation.directories };
    if matches!(name, "chmod" | "chown" | "chgrp") {
        return rights(&call);
    }
    let groups = [machine, processes, files, network, repositories, containers, remote, always];
    groups.iter().find_map(|group| group(&call)).into_iter().collect()
}

/// A program with its arguments.
struct Call<'a> {
    name: &'a str,
    arguments: &'a [Word],
    directories: &'a WorkingDirectories,
}

impl<'a> Call<'a> {
    fn literals(&self) -> impl Iterator<Item = &'a str> {
        self.arguments.iter().filter_map(Word::literal)
    }

    fn has(&self, wanted: &str) -> bool {
        self.literals().any(|text| text == wanted)
    }

    fn has_any(&self, wanted: &[&str]) -> bool {
        self.literals().any(|text| wanted.contains(&text))
    }

    /// Whether this letter is among the short options.
    fn letter(&self, letter: char) -> bool {
        let flags = |text: &'a str| text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        self.literals().filter_map(flags).any(|flags| flags.contains(letter))
    }

    /// Whether this long option, or a prefix of it, is given.
    fn long(&self, option: &str) -> bool {
        self.literals().any(|text| text.len() > 3 && option.starts_with(text))
    }

    fn first(&self) -> &'a str {
        self.arguments.first().and_then(Word::literal).unwrap_or("")
    }

    fn named_paths(&self, word: &Word) -> Vec<NamedPath> {
        named_paths(word, self.directories)
    }

    fn is_here(&self, place: &NamedPath) -> bool {
        match (place, self.directories) {
            (NamedPath::At(path), WorkingDirectories::AnyOf(all)) => all.contains(path),
            _ => false,
        }
    }
}

fn always(call: &Call<'_>) -> Option<Danger> {
    let (_, action, why) = ALWAYS.iter().find(|(names, ..)| names.contains(&call.name))?;
    Some(Danger { action: *action, why: format!("`{}` {why}", call.name) })
}

/// Recognises commands that stop the machine, and privileged shells.
fn machine(call: &Call<'_>) -> Option<Danger> {
    let stops = ["poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate"];
    match call.name {
        name if name.starts_with("mkfs") => Some(deny(format!("`{name}` makes a file system where another may be"))),
        "init" | "telinit" if matches!(call.first(), "0" | "6" | "1" | "s" | "S") => Some(deny("it stops the machine")),
        "systemctl" | "loginctl" if call.has_any(&stops) => Some(deny("it stops the machine")),
        "crontab" if call.letter('r') => Some(deny("it removes every scheduled job")),
        "sudo" | "doas" | "su" if is_root_shell(call) => Some(ask("it opens a shell with all rights")),
        _ => None,
    }
}

fn processes(call: &Call<'_>) -> Option<Danger> {
    match call.name {
        "kill" | "killall" | "pkill" if call.has("-1") && (call.arguments.len() > 1 || call.name != "kill") => {
            Some(deny("it ends every process"))
        }
        "kill" => {
            let mut targets = call.arguments.iter().skip_while(|word| word.shown().starts_with('-'));
            let ends_first = targets.any(|word| word.literal() == Some("1"));
            ends_first.then(|| deny("it ends the first process of the machine"))
        }
        "killall5" => Some(deny("it ends every process")),
        _ => None,
    }
}

fn files(call: &Call<'_>) -> Option<Danger> {
    let last = call.arguments.last();
    match call.name {
        "rm" if call.long("--no-preserve-root") => Some(deny("it removes the root of the file system")),
        "mv" if last.and_then(Word::literal) == Some("/dev/null") => {
            Some(deny("moving a file to `/dev/null` destroys both"))
        }
        // For the superuser such a copy of a link replaces the device.
        "cp" if last.and_then(Word::literal) == Some("/dev/null")
            && ['r', 'R', 'a', 'd', 'P'].iter().any(|letter| call.letter(*letter)) =>
        {
            Some(deny("copying links to `/dev/null` replaces it"))
        }
        "ln" | "link" => {
            let own = NamedPath::At(VirtualPath::root().child_unchecked("workspace"));
            let all: Vec<NamedPath> = call.arguments.iter().flat_map(|word| call.named_paths(word)).collect();
            let is_machines = all.iter().any(|place| is_vital(place) && *place != own);
            if all.iter().any(|place| is_executed_outside(place) || has_executed_outside(place)) {
                return Some(ask("it gives another name to files that programs outside of the workspace execute"));
            }
            is_machines.then(|| ask("it gives another name to a directory of the machine"))
        }
        "rsync" if call.literals().any(|text| text.starts_with("--del")) => {
            let is_machines = last.is_some_and(|word| call.named_paths(word).iter().any(is_vital));
            is_machines.then(|| deny("it removes every file that is not in the source"))
        }
        "find" | "fd" if changes_findings(call.arguments) => {
            let starts = call.arguments.iter().take_while(|word| !word.shown().starts_with('-'));
            let mut starts = starts.flat_map(|word| call.named_paths(word));
            let is_machines = starts.any(|place| is_vital(&place) && !call.is_here(&place));
            is_machines.then(|| deny("it removes or changes what it finds in all of the machine"))
        }
        "dropdb" | "dropuser" => Some(ask("it removes a database")),
        "history" if call.letter('c') => Some(ask("it removes the history of commands")),
        _ => None,
    }
}

/// Whether a `find` removes or changes the files that it finds.
fn changes_findings(arguments: &[Word]) -> bool {
    let programs = ["rm", "rmdir", "unlink", "shred", "mv", "dd", "chmod", "chown", "truncate"];
    arguments.iter().any(|word| word.literal() == Some("-delete"))
        || arguments.windows(2).any(|pair| {
            let name = pair[1].shown();
            let name = name.rsplit('/').next().unwrap_or(name);
            matches!(pair[0].literal(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) && programs.contains(&name)
        })
}

fn network(call: &Call<'_>) -> Option<Danger> {
    match call.name {
        "nc" | "ncat" | "netcat" if call.letter('e') || call.letter('c') || call.has_any(&["--exec", "--sh-exec"]) => {
            Some(deny("it gives a shell to any client that connects"))
        }
        "socat" => {
            let runs = |word: &Word| {
                let text = word.shown().to_lowercase();
                ["exec:", "system:", "shell:"].iter().any(|start| text.starts_with(start))
            };
            call.arguments.iter().any(runs).then(|| deny("it gives a program to any client that connects"))
        }
        _ => None,
    }
}

fn repositories(call: &Call<'_>) -> Option<Danger> {
    let discards = ["--force", "--mirror", "--delete", "--prune"];
    match (call.name, call.first()) {
        ("git", "clean") if call.letter('f') || call.long("--force") => {
            Some(ask("it removes every file that is not in the repository"))
        }
        ("git", "push") if call.letter('f') || call.has_any(&discards) => {
            Some(ask("it removes commits that others may have only there"))
        }
        _ => None,
    }
}

fn containers(call: &Call<'_>) -> Option<Danger> {
    if !matches!(call.name, "docker" | "podman" | "nerdctl" | "docker-compose") {
        return None;
    }
    if call.name != "docker-compose" && (opens_the_machine(call.arguments) || mounts_the_machine(call.arguments)) {
        return Some(ask("it runs a container that can change the machine"));
    }
    let removes = call.has("prune")
        || call.first() == "volume" && call.has("rm")
        || call.has("down") && call.has_any(&["-v", "--volumes"]);
    removes.then(|| ask("it removes data of containers"))
}

/// Whether a container would have privileges on the machine.
fn opens_the_machine(arguments: &[Word]) -> bool {
    let mut before = "";
    arguments.iter().map(Word::shown).any(|text| {
        let (option, value) = text.split_once('=').filter(|_| text.starts_with('-')).unwrap_or((before, text));
        before = text;
        text == "--privileged"
            || matches!(option, "--cap-add" | "--security-opt" | "--device")
            || matches!(option, "--pid" | "--ipc" | "--uts" | "--userns") && value == "host"
            || value.contains("docker.sock")
    })
}

/// Whether a container would see a directory of the machine.
fn mounts_the_machine(arguments: &[Word]) -> bool {
    let is_mount = |text: &str| {
        let text = text.strip_prefix("--volume=").or(text.strip_prefix("-v")).unwrap_or(text);
        let source = text.split(',').find_map(|part| part.strip_prefix("source=").or(part.strip_prefix("src=")));
        let host = source.or_else(|| text.split_once(':').map(|(host, _)| host)).unwrap_or("");
        let host = if host.starts_with('/') { host.trim_end_matches('/') } else { return host == "~" };
        VITAL.contains(&if host.is_empty() { "/" } else { host }) && host != "/workspace"
    };
    arguments.iter().map(Word::shown).any(is_mount)
}

/// Programs that remove resources of a cloud or a cluster.
#[rustfmt::skip]
const REMOTE: &[&str] = &[
    "kubectl", "oc", "helm", "terraform", "tofu", "pulumi", "cdk", "aws", "gcloud", "az", "gsutil", "gh", "doctl", "flyctl",
    "heroku", "vercel",
];
/// Programs that print secrets.
const KEYRINGS: &[&str] = &["gh", "gcloud", "aws", "gpg", "gpg2", "security", "pass", "op", "vault", "secret-tool"];

fn remote(call: &Call<'_>) -> Option<Danger> {
    let name = call.name;
    if REMOTE.contains(&name) && call.literals().any(removes_remotely) {
        return Some(ask(format!("`{name}` removes something on another machine")));
    }
    (KEYRINGS.contains(&name) && call.literals().any(prints_a_secret)).then(|| ask(format!("`{name}` prints a secret")))
}

fn removes_remotely(word: &str) -> bool {
    matches!(word, "delete" | "destroy" | "uninstall" | "rm" | "rb" | "drain")
        || ["delete-", "terminate-"].iter().any(|start| word.starts_with(start))
}

fn prints_a_secret(word: &str) -> bool {
    let words =
        ["token", "print-access-token", "print-identity-token", "find-generic-password", "show", "read", "lookup"];
    words.contains(&word)
        || ["get-secret", "get-session-token", "--export-secret", "--delete-secret", "find-internet"]
            .iter()
            .any(|start| word.starts_with(start))
}

fn is_root_shell(call: &Call<'_>) -> bool {
    let shells = ["-i", "-s", "--login", "--shell", "su", "sh", "bash", "zsh", "-", "-l"];
    match call.name {
        "su" => !call.has_any(&["-c", "--command"]),
        _ => call.arguments.is_empty() || shells.contains(&call.first()) && call.arguments.len() <= 2,
    }
}

/// Recognises changes of modes and owners of the machine's directories, recursively or of the root itself.
fn rights(call: &Call<'_>) -> Vec<Danger> {
    let mut found = Vec::new();
    let targets = call.arguments.iter().filter(|word| !word.shown().starts_with('-')).skip(1);
    let all: Vec<NamedPath> = targets.flat_map(|word| call.named_paths(word)).collect();
    let hits = |place: &NamedPath| match place {
        NamedPath::At(path) if path.as_str() == "/workspace" => false,
        place => is_vital(place),
    };
    if all.iter().any(hits) {
        let recursive = call.letter('R') || call.has("--recursive");
        let action = if recursive || all.contains(&NamedPath::At(VirtualPath::root())) { deny } else { ask };
        found.push(action(format!("`{}` changes the rights of directories of the machine", call.name)));
    }
    let mode = call.literals().find(|text| !text.starts_with('-')).unwrap_or("");
    let sets_id = mode.contains("+s") || mode.len() == 4 && matches!(mode.as_bytes()[0], b'2'..=b'7');
    if call.name == "chmod" && sets_id {
        found.push(ask("it makes a program run with the rights of its owner"));
    }
    found
}
