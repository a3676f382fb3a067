//! Programs of which it is known what they do with the files that they are given: a table.
//!
//! What is not in it is unknown, not harmless: words that name a protected file are noticed for any
//! program. An option that takes a value is listed, so that the value is not taken for a file.

use super::effects::Touch;

/// What a program does with its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// Its names.
    pub(crate) names: &'static [&'static str],
    /// What it does with the arguments that are no options.
    pub(crate) operands: Operands,
    /// Options that take a value, and what that is. Without dashes: one letter is a short option.
    pub(crate) options: &'static [(&'static str, Value)],
}

/// What the arguments that are no options are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operands {
    /// Files, all of them.
    All(Touch),
    /// Something else first (a pattern, a mode), then files; with one of these options all are files.
    AfterFirst(Touch, &'static [&'static str]),
    /// Sources, and at last where they go.
    Into {
        /// What happens to the sources.
        sources: Touch,
        /// What happens to the destination.
        destination: Touch,
    },
    /// What is written, then what goes into it.
    ArchiveFirst,
    /// `if=x of=y`.
    Dd,
    /// A program to run or a script, and what that is given.
    Script,
    /// Nothing that is a file.
    None,
}

/// What the value of an option is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// Not a file.
    Plain,
    /// A file.
    File(Touch),
    /// Where sources go, in place of the last argument.
    Destination(Touch),
    /// A program that is run.
    Runs,
}

use Operands::{AfterFirst, All, ArchiveFirst, Dd, Into, None as NoFiles, Script};
use Touch::{Delete, Edit, List, Move, Read, Write};
use Value::{Destination, File, Plain, Runs};

/// The program of this name.
pub(crate) fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}

const fn of(names: &'static [&'static str], operands: Operands, options: &'static [(&'static str, Value)]) -> Program {
    Program { names, operands, options }
}

/// What compressors have in common.
const COMPRESSOR: &[(&str, Value)] = &[("S", Plain), ("suffix", Plain), ("T", Plain), ("threads", Plain)];

#[rustfmt::skip]
const PROGRAMS: &[Program] = &[
    // Printing and looking.
    of(&["cat", "tac", "nl", "rev", "less", "more", "most", "bat", "batcat", "view", "zcat", "gzcat", "bzcat", "xzcat", "zstdcat", "zless", "xxd", "hexdump", "hd", "strings", "iconv", "asa"],
       All(Read), &[("n", Plain), ("s", Plain), ("l", Plain), ("c", Plain), ("f", Plain), ("t", Plain), ("from-code", Plain), ("to-code", Plain), ("style", Plain), ("language", Plain), ("color", Plain), ("line-range", Plain), ("r", Plain), ("e", Plain), ("p", Plain)]),
    of(&["head", "tail"], All(Read), &[("n", Plain), ("c", Plain), ("lines", Plain), ("bytes", Plain), ("s", Plain), ("sleep-interval", Plain), ("pid", Plain)]),
    of(&["wc", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "shasum", "base64", "base32", "basenc", "od", "uniq", "fold", "fmt", "pr", "column", "expand", "unexpand", "colrm", "tsort", "comm", "join", "paste", "cut", "shuf"],
       All(Read), &[("files0-from", File(Read)), ("w", Plain), ("wrap", Plain), ("a", Plain), ("t", Plain), ("d", Plain), ("f", Plain), ("b", Plain), ("c", Plain), ("s", Plain), ("A", Plain), ("j", Plain), ("N", Plain), ("n", Plain), ("o", Plain), ("1", Plain), ("2", Plain), ("v", Plain), ("delimiter", Plain), ("fields", Plain), ("characters", Plain), ("bytes", Plain), ("delimiters", Plain), ("output-delimiter", Plain), ("width", Plain), ("tabs", Plain), ("skip-fields", Plain), ("skip-chars", Plain), ("check-chars", Plain), ("head-count", Plain), ("input-range", Plain), ("i", Plain), ("output", File(Write)), ("random-source", File(Read))]),
    of(&["sort"], All(Read), &[("o", File(Write)), ("output", File(Write)), ("k", Plain), ("key", Plain), ("t", Plain), ("field-separator", Plain), ("S", Plain), ("buffer-size", Plain), ("T", File(Write)), ("temporary-directory", File(Write)), ("files0-from", File(Read)), ("parallel", Plain), ("batch-size", Plain), ("random-source", File(Read)), ("compress-program", Runs)]),
    of(&["diff", "cmp", "sdiff", "diff3", "vimdiff", "colordiff"], All(Read), &[("U", Plain), ("C", Plain), ("unified", Plain), ("context", Plain), ("x", Plain), ("exclude", Plain), ("X", File(Read)), ("I", Plain), ("L", Plain), ("label", Plain), ("W", Plain), ("width", Plain), ("n", Plain), ("i", Plain), ("o", File(Write)), ("diff-program", Runs)]),
    of(&["file"], All(Read), &[("m", File(Read)), ("f", File(Read)), ("F", Plain), ("P", Plain), ("e", Plain)]),
    of(&["grep", "egrep", "fgrep", "zgrep"], AfterFirst(Read, &["e", "f", "regexp", "file"]),
       &[("e", Plain), ("regexp", Plain), ("f", File(Read)), ("file", File(Read)), ("A", Plain), ("B", Plain), ("C", Plain), ("m", Plain), ("max-count", Plain), ("after-context", Plain), ("before-context", Plain), ("context", Plain), ("include", Plain), ("exclude", Plain), ("exclude-dir", Plain), ("exclude-from", File(Read)), ("d", Plain), ("D", Plain), ("label", Plain), ("binary-files", Plain)]),
    of(&["rg", "ripgrep", "ag", "ack"], AfterFirst(Read, &["e", "f", "regexp", "file", "files", "type-list"]),
       &[("e", Plain), ("regexp", Plain), ("f", File(Read)), ("file", File(Read)), ("A", Plain), ("B", Plain), ("C", Plain), ("m", Plain), ("max-count", Plain), ("after-context", Plain), ("before-context", Plain), ("context", Plain), ("g", Plain), ("glob", Plain), ("iglob", Plain), ("t", Plain), ("type", Plain), ("T", Plain), ("type-not", Plain), ("r", Plain), ("replace", Plain), ("M", Plain), ("max-columns", Plain), ("d", Plain), ("max-depth", Plain), ("color", Plain), ("colors", Plain), ("j", Plain), ("threads", Plain), ("sort", Plain), ("sortr", Plain), ("E", Plain), ("encoding", Plain), ("max-filesize", Plain), ("pre", Runs), ("hostname-bin", Runs), ("ignore-file", File(Read)), ("pager", Runs)]),
    of(&["jq", "yq"], AfterFirst(Read, &["f", "from-file"]), &[("f", File(Read)), ("from-file", File(Read)), ("L", File(Read)), ("indent", Plain)]),
    of(&["source", "."], All(Read), &[]),
    // Names and sizes.
    of(&["ls", "dir", "vdir", "exa", "eza", "lsd"], All(List), &[("I", Plain), ("ignore", Plain), ("hide", Plain), ("w", Plain), ("width", Plain), ("T", Plain), ("sort", Plain), ("time", Plain), ("block-size", Plain), ("color", Plain), ("format", Plain), ("time-style", Plain), ("indicator-style", Plain), ("L", Plain), ("level", Plain)]),
    of(&["tree"], All(List), &[("L", Plain), ("P", Plain), ("I", Plain), ("o", File(Write)), ("charset", Plain), ("filelimit", Plain), ("fromfile", Plain)]),
    of(&["du", "df", "stat", "readlink", "realpath", "pushd", "cd", "namei", "mountpoint"], All(List), &[("d", Plain), ("max-depth", Plain), ("t", Plain), ("threshold", Plain), ("c", Plain), ("format", Plain), ("printf", Plain), ("exclude", Plain), ("B", Plain), ("block-size", Plain), ("time", Plain), ("x", Plain), ("relative-to", Plain), ("relative-base", Plain), ("files0-from", File(Read)), ("output", Plain)]),
    // Making and changing.
    of(&["touch"], All(Write), &[("d", Plain), ("date", Plain), ("t", Plain), ("r", File(List)), ("reference", File(List)), ("time", Plain)]),
    of(&["mkdir", "mkfifo", "mknod"], All(Write), &[("m", Plain), ("mode", Plain)]),
    of(&["tee", "sponge"], All(Write), &[("output-error", Plain)]),
    of(&["truncate"], All(Edit), &[("s", Plain), ("size", Plain), ("r", File(List)), ("reference", File(List))]),
    of(&["chmod", "chown", "chgrp", "chattr", "setfacl"], AfterFirst(Write, &["reference"]), &[("reference", File(List)), ("from", Plain)]),
    of(&["vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "pico", "micro", "joe"], All(Edit), &[("c", Runs), ("cmd", Runs), ("S", File(Read)), ("u", File(Read)), ("eval", Runs), ("load", File(Read))]),
    of(&["patch"], All(Edit), &[("i", File(Read)), ("input", File(Read)), ("p", Plain), ("strip", Plain), ("d", File(Write)), ("directory", File(Write)), ("o", File(Write)), ("output", File(Write)), ("r", File(Write)), ("F", Plain)]),
    of(&["sed", "gsed"], AfterFirst(Read, &["e", "f", "expression", "file"]), &[("e", Plain), ("expression", Plain), ("f", File(Read)), ("file", File(Read)), ("l", Plain), ("line-length", Plain)]),
    of(&["awk", "gawk", "mawk", "nawk"], AfterFirst(Read, &["f", "file"]), &[("f", File(Read)), ("file", File(Read)), ("F", Plain), ("field-separator", Plain), ("v", Plain), ("assign", Plain), ("i", File(Read)), ("o", File(Write)), ("l", Runs), ("load", Runs)]),
    of(&["csplit"], AfterFirst(Read, &[]), &[("f", Plain), ("b", Plain), ("n", Plain)]),
    of(&["split"], All(Read), &[("l", Plain), ("b", Plain), ("n", Plain), ("a", Plain), ("filter", Runs), ("lines", Plain), ("bytes", Plain)]),
    // Away with it.
    of(&["rm", "rmdir", "unlink"], All(Delete), &[]),
    of(&["shred", "srm", "wipe"], All(Delete), &[("n", Plain), ("iterations", Plain), ("s", Plain), ("size", Plain), ("random-source", File(Read))]),
    // From here to there.
    of(&["cp", "gcp"], Into { sources: Read, destination: Write }, &[("t", Destination(Write)), ("target-directory", Destination(Write)), ("S", Plain), ("suffix", Plain), ("no-preserve", Plain), ("sparse", Plain), ("reflink", Plain)]),
    of(&["mv"], Into { sources: Move, destination: Write }, &[("t", Destination(Write)), ("target-directory", Destination(Write)), ("S", Plain), ("suffix", Plain)]),
    of(&["ln", "link"], Into { sources: Read, destination: Write }, &[("t", Destination(Write)), ("target-directory", Destination(Write)), ("S", Plain), ("suffix", Plain)]),
    of(&["install"], Into { sources: Read, destination: Write }, &[("t", Destination(Write)), ("target-directory", Destination(Write)), ("m", Plain), ("mode", Plain), ("o", Plain), ("owner", Plain), ("g", Plain), ("group", Plain), ("strip-program", Runs)]),
    of(&["rsync"], Into { sources: Read, destination: Write }, &[("e", Runs), ("rsh", Runs), ("rsync-path", Runs), ("exclude", Plain), ("include", Plain), ("filter", Plain), ("f", Plain), ("exclude-from", File(Read)), ("include-from", File(Read)), ("files-from", File(Read)), ("password-file", File(Read)), ("log-file", File(Write)), ("backup-dir", File(Write)), ("B", Plain), ("T", File(Write)), ("bwlimit", Plain), ("timeout", Plain), ("port", Plain), ("max-size", Plain), ("min-size", Plain)]),
    of(&["scp"], Into { sources: Read, destination: Write }, &[("i", File(Read)), ("F", File(Read)), ("o", Runs), ("S", Runs), ("P", Plain), ("l", Plain), ("c", Plain), ("J", Plain)]),
    of(&["dd"], Dd, &[]),
    // Archives.
    of(&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "zstd", "unzstd", "lz4", "compress", "uncompress", "pigz"], All(Move), COMPRESSOR),
    of(&["unzip", "7z", "7za", "unrar"], All(Read), &[("d", File(Write)), ("x", Plain), ("P", Plain)]),
    of(&["zip"], ArchiveFirst, &[("x", Plain), ("i", Plain), ("P", Plain), ("b", File(Write)), ("O", File(Write)), ("TT", Runs), ("unzip-command", Runs)]),
    of(&["cpio", "ar"], AfterFirst(Read, &[]), &[("F", File(Read)), ("O", File(Write)), ("I", File(Read)), ("D", File(Write)), ("E", File(Read)), ("H", Plain)]),
    // The network.
    of(&["wget"], NoFiles, &[("O", File(Write)), ("output-document", File(Write)), ("P", File(Write)), ("directory-prefix", File(Write)), ("o", File(Write)), ("a", File(Write)), ("output-file", File(Write)), ("i", File(Read)), ("input-file", File(Read)), ("post-file", File(Read)), ("body-file", File(Read)), ("load-cookies", File(Read)), ("save-cookies", File(Write)), ("ca-certificate", File(Read)), ("certificate", File(Read)), ("private-key", File(Read)), ("use-askpass", Runs), ("e", Runs), ("execute", Runs), ("config", File(Read))]),
    of(&["nc", "ncat", "netcat"], NoFiles, &[("e", Runs), ("exec", Runs), ("c", Runs), ("sh-exec", Runs), ("lua-exec", Runs), ("p", Plain), ("w", Plain), ("s", Plain), ("o", File(Write))]),
    // Programs that run what is in a file.
    of(&["python", "python2", "python3", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "Rscript", "julia", "tclsh", "osascript", "sh", "bash", "dash", "zsh", "ksh", "ash", "fish"],
       Script, &[("W", Plain), ("X", Plain), ("I", File(Read)), ("O", Plain), ("o", Plain), ("rcfile", File(Read)), ("init-file", File(Read)), ("r", Runs), ("require", Runs), ("import", Runs), ("loader", Runs), ("M", Plain), ("d", Plain)]),
    // Nothing of theirs is a file.
    of(&["echo", "printf", "true", "false", ":", "pwd", "date", "whoami", "id", "hostname", "uname", "uptime", "free", "ps", "top", "env", "printenv", "sleep", "seq", "yes", "expr", "basename", "dirname", "which", "type", "whereis", "tput", "clear", "wait", "jobs", "exit", "return", "break", "continue", "shift", "read", "let", "nproc", "lscpu", "locale", "groups", "tty", "stty", "kill", "pkill", "killall", "pgrep", "set", "unset", "export", "local", "declare", "readonly", "typeset", "umask", "ulimit", "tr", "factor", "cal", "bc", "dc", "man", "info", "help", "alias", "unalias", "cargo", "rustup", "popd", "dirs", "history", "hash", "times", "getconf", "arch", "logname", "users", "who", "w", "last", "ping", "dig", "nslookup", "host", "ip", "ifconfig", "ss", "netstat", "lsof"],
       NoFiles, &[]),
];
