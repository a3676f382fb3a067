//! Commands that no agent should run unasked: those that destroy a machine or its owner's files,
//! stop it, or hand it to somebody else.

use workden_core::VirtualPath;

use super::{
    effects::{Effects, Touch, effects, named},
    places::{HOME, Place, places},
};
use crate::{
    Action,
    shell::{Analysis, Directories, DoubtKind, Invocation, Use, Word},
};

/// Something dangerous, and how dangerous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Danger {
    /// `Deny` for what has no good use, `Ask` for what somebody might mean.
    pub(crate) action: Action,
    /// What it is, in a few words.
    pub(crate) why: String,
}

/// Directories that belong to the machine or hold everybody's files.
const VITAL: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/lib",
    "/var/log",
    "/Users",
    "/System",
    "/Library",
    "/Applications",
    HOME,
    "/workspace",
];

/// Devices that anybody may write to.
pub(crate) const HARMLESS_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/ptmx",
];

/// Whether this is a device that anybody may read and write, or a descriptor, or shared memory.
pub(crate) fn is_harmless_device(path: &VirtualPath) -> bool {
    let text = path.as_str();
    HARMLESS_DEVICES.contains(&text)
        || ["/dev/fd/", "/dev/pts/", "/dev/shm/"].iter().any(|start| text.starts_with(start))
}

/// What is dangerous in what a command line would do.
pub(crate) fn dangers_of(analysis: &Analysis) -> Vec<Danger> {
    let done: Vec<Effects> = analysis.invocations.iter().map(effects).collect();
    dangers(analysis, &done)
}

/// The same, where it is known already what each command does to files.
pub(crate) fn dangers(analysis: &Analysis, done: &[Effects]) -> Vec<Danger> {
    let mut found = Vec::new();
    let endless = analysis.doubts.iter().filter(|doubt| doubt.kind == DoubtKind::Recursion);
    found.extend(endless.map(|doubt| deny(doubt.about.clone())));
    for redirection in &analysis.redirections {
        if redirection.usage == Use::Read && reads_device(&redirection.target, &redirection.directories) {
            found.push(ask(format!("it reads the device `{}`", redirection.target.shown())));
        }
        if redirection.usage != Use::Read {
            devices(&redirection.target, &redirection.directories, &mut found);
        } else if redirection.target.shown().starts_with("/dev/tcp/")
            || redirection.target.shown().starts_with("/dev/udp/")
        {
            found.push(ask("it opens a network connection through `/dev/tcp`"));
        }
    }
    for (invocation, done) in analysis.invocations.iter().zip(done) {
        program(invocation, &mut found);
        for (touch, word) in &done.files {
            match *touch {
                Touch::Delete | Touch::Move => {
                    devices(word, &invocation.directories, &mut found);
                    destroyed(invocation, *touch, word, &mut found);
                }
                Touch::Write | Touch::Edit => {
                    devices(word, &invocation.directories, &mut found);
                    if places(word, &invocation.directories).contains(&Place::At(VirtualPath::root())) {
                        found.push(ask("it writes into the root of the file system"));
                    }
                }
                // A disk has everybody's files, whatever they are called.
                Touch::Read if reads_device(word, &invocation.directories) => {
                    found.push(ask(format!("it reads the device `{}`", word.shown())));
                }
                Touch::List | Touch::Read | Touch::Mention | Touch::MentionedPath | Touch::InCode => {}
            }
        }
    }
    found
}

/// Each danger once, as its strictest.
pub(crate) fn said_once(mut found: Vec<Danger>) -> Vec<Danger> {
    // The sort keeps the order in which they were found among equally strict ones.
    found.sort_by_key(|danger| std::cmp::Reverse(danger.action));
    let mut said = std::collections::HashSet::new();
    found.retain(|danger| said.insert(danger.why.clone()));
    found
}

fn deny(why: impl Into<String>) -> Danger {
    Danger { action: Action::Deny, why: why.into() }
}

fn ask(why: impl Into<String>) -> Danger {
    Danger { action: Action::Ask, why: why.into() }
}

fn reads_device(word: &Word, directories: &Directories) -> bool {
    let is_device = |place: &Place| match place {
        Place::At(path) => path.as_str().starts_with("/dev/") && !is_harmless_device(path),
        Place::Matching(text) | Place::Unknown(text) => text.starts_with("/dev/"),
    };
    places(word, directories).iter().any(is_device)
}

fn devices(word: &Word, directories: &Directories, found: &mut Vec<Danger>) {
    for place in places(word, directories) {
        let text = match &place {
            Place::At(path) if is_harmless_device(path) => continue,
            Place::At(path) => path.as_str(),
            Place::Matching(text) | Place::Unknown(text) => text,
        };
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            found.push(deny(format!("it sends to the network through `{text}`")));
        } else if text.starts_with("/dev/") {
            found.push(deny(format!("it writes to the device `{text}`")));
        }
    }
}

/// Whether removing, moving or opening up this would take a vital directory, or all that is in it.
fn is_vital(place: &Place) -> bool {
    let text = match place {
        Place::At(path) => path.as_str(),
        Place::Matching(pattern) => pattern.strip_suffix("/*").or(pattern.strip_suffix("/.*")).unwrap_or(pattern),
        Place::Unknown(written) => {
            let bare: String = written.chars().filter(|c| !matches!(c, '"' | '\'' | '{' | '}')).collect();
            return matches!(bare.trim_end_matches(['*', '/', '.']), "$HOME" | "$PWD" | "$OLDPWD");
        }
    };
    let text = if text.is_empty() { "/" } else { text };
    let is_home = |text: &str| {
        text.strip_prefix("/home/").or(text.strip_prefix("/Users/")).is_some_and(|rest| !rest.contains('/'))
    };
    VITAL.contains(&text) || is_home(text) || text == "/?*" || text.starts_with("/*")
}

fn destroyed(invocation: &Invocation, touch: Touch, word: &Word, found: &mut Vec<Danger>) {
    let what = if touch == Touch::Delete { "removes" } else { "moves away" };
    for place in places(word, &invocation.directories) {
        match (&place, &invocation.directories) {
            // The directory it runs in: `rm -rf *`, `rm -rf .`
            (Place::At(path), Directories::AnyOf(all)) if all.contains(path) => {
                found.push(ask(format!("it {what} the directory it runs in")));
            }
            (Place::At(path), Directories::AnyOf(all)) if all.iter().any(|directory| directory.is_within(path)) => {
                found.push(deny(format!("it {what} `{}`, which is above where it runs", word.shown())));
            }
            (Place::Matching(_), _) if matches!(word.shown(), "*" | "./*" | ".*" | "**") => {
                found.push(ask(format!("it {what} everything in the directory it runs in")));
            }
            (Place::At(path), _) if path.name() == Some(".git") => {
                found.push(ask(format!("it {what} the history of a repository")));
            }
            (place, _) if is_vital(place) => found.push(deny(format!("it {what} `{}`", word.shown()))),
            _ => {}
        }
    }
}

fn program(invocation: &Invocation, found: &mut Vec<Danger>) {
    let Some((name, arguments)) = named(invocation) else { return };
    let has = |wanted: &str| arguments.iter().any(|word| word.literal() == Some(wanted));
    let letters = |letter: char| {
        arguments
            .iter()
            .filter_map(Word::literal)
            .any(|text| text.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains(letter)))
    };
    let long = |option: &str| {
        arguments.iter().filter_map(Word::literal).any(|text| text.len() > 3 && option.starts_with(text))
    };
    let first = arguments.first().and_then(Word::literal).unwrap_or("");
    let here = Place::At(VirtualPath::root().child_unchecked("workspace"));
    match name {
        "rm" if long("--no-preserve-root") => found.push(deny("it removes the root of the file system")),
        "mke2fs" | "mkswap" | "wipefs" | "fdisk" | "sfdisk" | "cfdisk" | "gdisk" | "sgdisk" | "parted"
        | "blkdiscard" | "mkdosfs" | "newfs" => {
            found.push(deny(format!("`{name}` changes disks")));
        }
        name if name.starts_with("mkfs") => {
            found.push(deny(format!("`{name}` makes a file system where another may be")))
        }
        "hdparm" | "cryptsetup" | "lvremove" | "vgremove" | "pvremove" | "zpool" | "zfs" | "mdadm" | "badblocks"
        | "debugfs" => {
            found.push(ask(format!("`{name}` changes disks")));
        }
        "shutdown" | "reboot" | "halt" | "poweroff" | "kexec" => {
            found.push(deny(format!("`{name}` stops the machine")))
        }
        "init" | "telinit" if matches!(first, "0" | "6" | "1" | "s" | "S") => found.push(deny("it stops the machine")),
        "systemctl" | "loginctl"
            if ["poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate"]
                .iter()
                .any(|word| has(word)) =>
        {
            found.push(deny("it stops the machine"));
        }
        "kill" | "killall" | "pkill" if has("-1") && (arguments.len() > 1 || name != "kill") => {
            found.push(deny("it ends every process"));
        }
        "kill"
            if arguments
                .iter()
                .skip_while(|word| word.shown().starts_with('-'))
                .any(|word| word.literal() == Some("1")) =>
        {
            found.push(deny("it ends the first process of the machine"));
        }
        "killall5" => found.push(deny("it ends every process")),
        "chmod" | "chown" | "chgrp" => {
            let depth = if letters('R') || has("--recursive") { Depth::Everything } else { Depth::Itself };
            opened_up(name, invocation, arguments, depth, found);
        }
        "mv" if arguments.last().and_then(Word::literal) == Some("/dev/null") => {
            found.push(deny("moving something to `/dev/null` destroys both"));
        }
        "ln" | "link"
            if arguments
                .iter()
                .flat_map(|word| places(word, &invocation.directories))
                .any(|place| is_vital(&place) && place != here) =>
        {
            found.push(ask("it gives another name to what belongs to the machine"));
        }
        "rsync"
            if arguments.iter().filter_map(Word::literal).any(|text| text.starts_with("--del"))
                && arguments.last().is_some_and(|word| places(word, &invocation.directories).iter().any(is_vital)) =>
        {
            found.push(deny("it removes what is not in the source"));
        }
        "nc" | "ncat" | "netcat" if letters('e') || letters('c') || has("--exec") || has("--sh-exec") => {
            found.push(deny("it gives a shell to whoever connects"));
        }
        "socat"
            if arguments.iter().any(|word| {
                let text = word.shown().to_lowercase();
                ["exec:", "system:", "shell:"].iter().any(|start| text.starts_with(start))
            }) =>
        {
            found.push(deny("it gives a program to whoever connects"));
        }
        "find" | "fd" if takes_away(arguments) => {
            let starts = arguments.iter().take_while(|word| !word.shown().starts_with('-'));
            let is_here = |place: &Place| match (place, &invocation.directories) {
                (Place::At(path), Directories::AnyOf(all)) => all.contains(path),
                _ => false,
            };
            let mut starts = starts.flat_map(|word| places(word, &invocation.directories));
            if starts.any(|place| is_vital(&place) && !is_here(&place)) {
                found.push(deny("it removes or changes what it finds in all of the machine"));
            }
        }
        "git" if first == "clean" && (letters('f') || long("--force")) => {
            found.push(ask("it removes every file that is not in the repository"));
        }
        "git"
            if first == "push"
                && (letters('f')
                    || ["--force", "--mirror", "--delete", "--prune"].iter().any(|option| has(option))) =>
        {
            found.push(ask("it removes what others may have only there"));
        }
        "crontab" if letters('r') => found.push(deny("it removes every scheduled job")),
        "userdel" | "groupdel" | "deluser" | "delgroup" | "passwd" | "chpasswd" | "usermod" | "useradd" | "adduser"
        | "visudo" | "vipw" => {
            found.push(ask(format!("`{name}` changes who may use the machine")));
        }
        "iptables" | "ip6tables" | "nft" | "ufw" | "firewall-cmd" | "sysctl" | "insmod" | "rmmod" | "modprobe"
        | "mount" | "umount" | "swapoff" | "swapon" | "chroot" | "pivot_root" | "nsenter" | "setenforce" | "at"
        | "batch" | "crontab" | "gdb" | "strace" | "ptrace" => {
            found.push(ask(format!("`{name}` changes the machine")));
        }
        "sudo" | "doas" | "su" if is_root_shell(name, arguments) => {
            found.push(ask("it opens a shell with all rights"));
        }
        "docker" | "podman" | "nerdctl" if opens_the_machine(arguments) || mounts_the_machine(arguments) => {
            found.push(ask("it runs a container that can change the machine"));
        }
        "docker" | "podman" | "nerdctl" | "docker-compose"
            if has("prune") || first == "volume" && has("rm") || has("down") && (has("-v") || has("--volumes")) =>
        {
            found.push(ask("it removes data that containers have kept"));
        }
        "kubectl" | "oc" | "helm" | "terraform" | "tofu" | "pulumi" | "cdk" | "aws" | "gcloud" | "az" | "gsutil"
        | "gh" | "doctl" | "flyctl" | "heroku" | "vercel"
            if arguments.iter().filter_map(Word::literal).any(removes_from_afar) =>
        {
            found.push(ask(format!("`{name}` removes something on another machine")));
        }
        "gh" | "gcloud" | "aws" | "gpg" | "gpg2" | "security" | "pass" | "op" | "vault" | "secret-tool"
            if arguments.iter().filter_map(Word::literal).any(tells_a_secret) =>
        {
            found.push(ask(format!("`{name}` prints a secret")));
        }
        "dropdb" | "dropuser" => found.push(ask("it removes a database")),
        "history" if letters('c') => found.push(ask("it removes the history of commands")),
        _ => {}
    }
}

/// Whether a container would have rights over the machine.
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

fn removes_from_afar(word: &str) -> bool {
    matches!(word, "delete" | "destroy" | "uninstall" | "rm" | "rb" | "drain")
        || ["delete-", "terminate-"].iter().any(|start| word.starts_with(start))
}

fn tells_a_secret(word: &str) -> bool {
    let words =
        ["token", "print-access-token", "print-identity-token", "find-generic-password", "show", "read", "lookup"];
    words.contains(&word)
        || ["get-secret", "get-session-token", "--export-secret", "--delete-secret", "find-internet"]
            .iter()
            .any(|start| word.starts_with(start))
}

/// Whether a container would see what belongs to the machine.
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

/// Whether a `find` removes or changes what it finds.
fn takes_away(arguments: &[Word]) -> bool {
    let programs = ["rm", "rmdir", "unlink", "shred", "mv", "dd", "chmod", "chown", "truncate"];
    arguments.iter().any(|word| word.literal() == Some("-delete"))
        || arguments.windows(2).any(|pair| {
            let name = pair[1].shown();
            let name = name.rsplit('/').next().unwrap_or(name);
            matches!(pair[0].literal(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) && programs.contains(&name)
        })
}

fn is_root_shell(name: &str, arguments: &[Word]) -> bool {
    let shells = ["-i", "-s", "--login", "--shell", "su", "sh", "bash", "zsh", "-", "-l"];
    match name {
        "su" => !arguments.iter().any(|word| matches!(word.literal(), Some("-c" | "--command"))),
        _ => {
            arguments.is_empty()
                || arguments.first().and_then(Word::literal).is_some_and(|first| shells.contains(&first))
                    && arguments.len() <= 2
        }
    }
}

/// How far a change of rights goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Itself,
    Everything,
}

/// Rights and owners of vital directories, all of them below or of the root itself.
fn opened_up(name: &str, invocation: &Invocation, arguments: &[Word], depth: Depth, found: &mut Vec<Danger>) {
    let targets = arguments.iter().filter(|word| !word.shown().starts_with('-')).skip(1);
    let all: Vec<Place> = targets.flat_map(|word| places(word, &invocation.directories)).collect();
    let hits = |place: &Place| match place {
        Place::At(path) if path.as_str() == "/workspace" => false,
        place => is_vital(place),
    };
    if all.iter().any(hits) {
        let action =
            if depth == Depth::Everything || all.contains(&Place::At(VirtualPath::root())) { deny } else { ask };
        found.push(action(format!("`{name}` changes the rights of what belongs to the machine")));
    }
    let mode = arguments.iter().filter_map(Word::literal).find(|text| !text.starts_with('-')).unwrap_or("");
    let sets_id = mode.contains("+s") || mode.len() == 4 && matches!(mode.as_bytes()[0], b'2'..=b'7');
    if name == "chmod" && sets_id {
        found.push(ask("it makes a program run with its owner's rights"));
    }
}
