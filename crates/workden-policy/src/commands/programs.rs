//! A table of programs and how they use their files.
//!
//! A program that is not listed is unknown, not harmless: words that name a protected file are noticed for any program.
//! Options that take a value are listed, so that the value is not treated as a file.

use super::file_effect::FileEffect;

/// The meaning of a program's arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// The names of the program.
    pub(crate) names: &'static [&'static str],
    /// The meaning of the operands.
    pub(crate) operands: Operands,
    /// Options that take a value, and the meaning of the value. Without dashes: one letter is a short option.
    pub(crate) options: Options,
}

/// Options that take a value, by name without dashes.
pub(crate) type Options = &'static [(&'static str, Value)];

/// The meaning of operands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operands {
    /// All operands are files.
    All(FileEffect),
    /// The first operand is something else (a pattern, a mode), the others are files; with one of these options all are
    /// files.
    AfterFirst(FileEffect, &'static [&'static str]),
    /// Sources, and finally a destination.
    Into {
        /// The effect on the sources.
        sources: FileEffect,
        /// The effect on the destination.
        destination: FileEffect,
    },
    /// An archive to write, then its sources.
    ArchiveFirst,
    /// `if=x of=y`.
    Dd,
    /// A program or a script to run, and its arguments.
    Script,
    /// No operand is a file.
    None,
}

/// The meaning of the value of an option.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// Text that is not opened: a pattern, a label.
    Text,
    /// A value that is usually not a file; if it names a protected file, it is a mention.
    Plain,
    /// A file.
    File(FileEffect),
    /// The destination, in place of the last argument.
    Destination(FileEffect),
    /// A program to run.
    Runs,
    /// A file that is read, and written at the end.
    ReadWrite,
    /// A file that `curl` sends, or several in braces.
    Upload,
    /// Text that `curl` sends, with files after `@` or `<`.
    Data,
    /// An address, which may be that of a file.
    Url,
}

use FileEffect::{Delete, Edit, List, Move, Read, Write};
use Operands::{AfterFirst, All, ArchiveFirst, Dd, Into, None as NoFiles, Script};
use Value::{Destination, File, Plain, Runs, Text};

/// Returns the program with this name.
pub(crate) fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}

/// Returns the names of these options.
pub(crate) fn names(options: Options) -> Vec<&'static str> {
    options.iter().map(|(name, _)| *name).collect()
}

const fn of(names: &'static [&'static str], operands: Operands, options: Options) -> Program {
    Program { names, operands, options }
}

/// The options that compressors share.
const COMPRESSOR: Options = &[("S", Plain), ("suffix", Plain), ("T", Plain), ("threads", Plain)];

#[rustfmt::skip]
const PROGRAMS: &[Program] = &[
    // Printing and examining files.
    of(&["cat", "rev", "zcat", "gzcat", "bzcat", "xzcat", "zstdcat", "lz4cat", "asa", "tsort", "zless", "zmore", "readelf", "ldd", "nm", "size", "zipinfo"], All(Read), &[]),
    of(&["tac"], All(Read), &[("s", Plain), ("separator", Plain)]),
    of(&["nl"], All(Read), &[("b", Plain), ("d", Plain), ("f", Plain), ("h", Plain), ("i", Plain), ("l", Plain), ("n", Plain), ("s", Plain), ("v", Plain), ("w", Plain), ("body-numbering", Plain), ("number-separator", Plain), ("number-format", Plain), ("number-width", Plain)]),
    of(&["less", "more", "most"], All(Read), &[("b", Plain), ("h", Plain), ("j", Plain), ("k", Runs), ("lesskey-file", Runs), ("lesskey-src", Runs), ("o", File(Write)), ("O", File(Write)), ("log-file", File(Write)), ("LOG-FILE", File(Write)), ("p", Text), ("pattern", Text), ("P", Plain), ("prompt", Plain), ("t", Plain), ("tag", Plain), ("T", File(Read)), ("tag-file", File(Read)), ("x", Plain), ("tabs", Plain), ("y", Plain), ("z", Plain), ("D", Plain)]),
    of(&["bat", "batcat"], All(Read), &[("l", Plain), ("language", Plain), ("H", Plain), ("highlight-line", Plain), ("r", Plain), ("line-range", Plain), ("m", Plain), ("map-syntax", Plain), ("file-name", Plain), ("diff-context", Plain), ("tabs", Plain), ("wrap", Plain), ("terminal-width", Plain), ("color", Plain), ("italic-text", Plain), ("decorations", Plain), ("paging", Plain), ("theme", Plain), ("style", Plain), ("pager", Runs)]),
    of(&["xxd"], Into { sources: Read, destination: Write }, &[("c", Plain), ("cols", Plain), ("g", Plain), ("groupsize", Plain), ("l", Plain), ("len", Plain), ("o", Plain), ("s", Plain), ("seek", Plain), ("skip", Plain), ("n", Plain), ("name", Plain), ("R", Plain)]),
    of(&["hexdump", "hd"], All(Read), &[("e", Text), ("f", File(Read)), ("n", Plain), ("s", Plain)]),
    of(&["strings"], All(Read), &[("n", Plain), ("bytes", Plain), ("t", Plain), ("radix", Plain), ("e", Plain), ("encoding", Plain), ("s", Plain), ("output-separator", Plain), ("T", Plain), ("U", Plain)]),
    of(&["iconv"], All(Read), &[("f", Plain), ("from-code", Plain), ("t", Plain), ("to-code", Plain), ("o", File(Write)), ("output", File(Write))]),
    of(&["head", "tail"], All(Read), &[("n", Plain), ("c", Plain), ("lines", Plain), ("bytes", Plain), ("s", Plain), ("sleep-interval", Plain), ("pid", Plain), ("max-unchanged-stats", Plain)]),
    of(&["wc"], All(Read), &[("files0-from", File(Read)), ("total", Plain)]),
    of(&["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "shasum"], All(Read), &[("a", Plain), ("algorithm", Plain), ("l", Plain), ("length", Plain)]),
    of(&["base64", "base32", "basenc"], All(Read), &[("w", Plain), ("wrap", Plain), ("b", Plain), ("break", Plain), ("i", File(Read)), ("input", File(Read)), ("o", File(Write)), ("output", File(Write))]),
    of(&["od"], All(Read), &[("A", Plain), ("address-radix", Plain), ("j", Plain), ("skip-bytes", Plain), ("N", Plain), ("read-bytes", Plain), ("S", Plain), ("t", Plain), ("format", Plain), ("endian", Plain)]),
    of(&["uniq"], Into { sources: Read, destination: Write }, &[("f", Plain), ("skip-fields", Plain), ("s", Plain), ("skip-chars", Plain), ("w", Plain), ("check-chars", Plain)]),
    of(&["fold", "fmt"], All(Read), &[("w", Plain), ("width", Plain), ("p", Plain), ("prefix", Plain), ("g", Plain), ("goal", Plain)]),
    of(&["pr"], All(Read), &[("D", Plain), ("date-format", Plain), ("h", Plain), ("header", Plain), ("l", Plain), ("length", Plain), ("N", Plain), ("first-line-number", Plain), ("o", Plain), ("indent", Plain), ("w", Plain), ("width", Plain), ("W", Plain), ("page-width", Plain), ("pages", Plain)]),
    of(&["column"], All(Read), &[("s", Plain), ("separator", Plain), ("o", Plain), ("output-separator", Plain), ("c", Plain), ("output-width", Plain), ("N", Plain), ("table-columns", Plain), ("l", Plain), ("R", Plain), ("T", Plain), ("W", Plain), ("E", Plain), ("H", Plain), ("O", Plain)]),
    of(&["expand", "unexpand"], All(Read), &[("t", Plain), ("tabs", Plain)]),
    of(&["comm"], All(Read), &[("output-delimiter", Plain)]),
    of(&["join"], All(Read), &[("a", Plain), ("e", Plain), ("j", Plain), ("o", Plain), ("t", Plain), ("v", Plain), ("1", Plain), ("2", Plain)]),
    of(&["paste"], All(Read), &[("d", Plain), ("delimiters", Plain)]),
    of(&["cut"], All(Read), &[("b", Plain), ("bytes", Plain), ("c", Plain), ("characters", Plain), ("d", Plain), ("delimiter", Plain), ("f", Plain), ("fields", Plain), ("output-delimiter", Plain)]),
    of(&["shuf"], All(Read), &[("i", Plain), ("input-range", Plain), ("n", Plain), ("head-count", Plain), ("o", File(Write)), ("output", File(Write)), ("random-source", File(Read))]),
    of(&["sort"], All(Read), &[("o", File(Write)), ("output", File(Write)), ("k", Plain), ("key", Plain), ("t", Plain), ("field-separator", Plain), ("S", Plain), ("buffer-size", Plain), ("T", File(Write)), ("temporary-directory", File(Write)), ("files0-from", File(Read)), ("parallel", Plain), ("batch-size", Plain), ("random-source", File(Read)), ("compress-program", Runs)]),
    of(&["diff", "diff3", "vimdiff", "colordiff"], All(Read), &[("U", Plain), ("C", Plain), ("x", Text), ("exclude", Text), ("X", File(Read)), ("exclude-from", File(Read)), ("I", Text), ("F", Text), ("S", Plain), ("L", Text), ("label", Text), ("W", Plain), ("width", Plain), ("from-file", File(Read)), ("to-file", File(Read)), ("diff-program", Runs)]),
    of(&["sdiff"], All(Read), &[("I", Text), ("w", Plain), ("width", Plain), ("o", File(Write)), ("output", File(Write)), ("diff-program", Runs)]),
    of(&["cmp"], All(Read), &[("i", Plain), ("ignore-initial", Plain), ("n", Plain), ("bytes", Plain)]),
    of(&["file"], All(Read), &[("m", File(Read)), ("magic-file", File(Read)), ("f", File(Read)), ("files-from", File(Read)), ("F", Plain), ("separator", Plain), ("P", Plain), ("parameter", Plain), ("e", Plain), ("exclude", Plain)]),
    of(&["grep", "egrep", "fgrep", "zgrep"], AfterFirst(Read, &["e", "f", "regexp", "file"]),
       &[("e", Text), ("regexp", Text), ("f", File(Read)), ("file", File(Read)), ("A", Plain), ("B", Plain), ("C", Plain), ("m", Plain), ("max-count", Plain), ("after-context", Plain), ("before-context", Plain), ("context", Plain), ("include", Text), ("exclude", Text), ("exclude-dir", Text), ("exclude-from", File(Read)), ("d", Plain), ("D", Plain), ("label", Text), ("binary-files", Plain)]),
    of(&["rg", "ripgrep", "ag", "ack"], AfterFirst(Read, &["e", "f", "regexp", "file", "files", "type-list"]),
       &[("e", Text), ("regexp", Text), ("f", File(Read)), ("file", File(Read)), ("A", Plain), ("B", Plain), ("C", Plain), ("m", Plain), ("max-count", Plain), ("after-context", Plain), ("before-context", Plain), ("context", Plain), ("g", Text), ("glob", Text), ("iglob", Text), ("t", Plain), ("type", Plain), ("T", Plain), ("type-not", Plain), ("r", Text), ("replace", Text), ("M", Plain), ("max-columns", Plain), ("d", Plain), ("max-depth", Plain), ("color", Plain), ("colors", Plain), ("j", Plain), ("threads", Plain), ("sort", Plain), ("sortr", Plain), ("E", Plain), ("encoding", Plain), ("max-filesize", Plain), ("pre", Runs), ("hostname-bin", Runs), ("ignore-file", File(Read)), ("pager", Runs)]),
    of(&["jq", "yq"], AfterFirst(Read, &["f", "from-file"]), &[("f", File(Read)), ("from-file", File(Read)), ("L", File(Read)), ("indent", Plain)]),
    of(&["source", "."], All(Read), &[]),
    // Names and sizes.
    of(&["ls", "dir", "vdir", "exa", "eza", "lsd"], All(List), &[("I", Text), ("ignore", Text), ("hide", Text), ("w", Plain), ("width", Plain), ("T", Plain), ("sort", Plain), ("time", Plain), ("block-size", Plain), ("color", Plain), ("format", Plain), ("time-style", Plain), ("indicator-style", Plain), ("L", Plain), ("level", Plain)]),
    of(&["test", "["], All(List), &[]),
    of(&["tree"], All(List), &[("L", Plain), ("P", Text), ("I", Text), ("o", File(Write)), ("charset", Plain), ("filelimit", Plain), ("fromfile", Plain)]),
    of(&["du", "df", "stat", "readlink", "realpath", "pushd", "cd", "namei", "mountpoint"], All(List), &[("d", Plain), ("max-depth", Plain), ("t", Plain), ("threshold", Plain), ("c", Text), ("format", Text), ("printf", Text), ("exclude", Text), ("B", Plain), ("block-size", Plain), ("time", Plain), ("x", Plain), ("relative-to", Plain), ("relative-base", Plain), ("files0-from", File(Read)), ("output", Plain)]),
    // Creating and changing files.
    of(&["touch"], All(Write), &[("d", Plain), ("date", Plain), ("t", Plain), ("r", File(List)), ("reference", File(List)), ("time", Plain)]),
    of(&["mkdir", "mkfifo", "mknod"], All(Write), &[("m", Plain), ("mode", Plain)]),
    of(&["tee", "sponge"], All(Write), &[("output-error", Plain)]),
    of(&["truncate"], All(Edit), &[("s", Plain), ("size", Plain), ("r", File(List)), ("reference", File(List))]),
    of(&["chmod", "chown", "chgrp", "chattr", "setfacl"], AfterFirst(Write, &["reference"]), &[("reference", File(List)), ("from", Plain)]),
    of(&["vi", "vim", "nvim", "view", "ex"], All(Edit), &[("c", Runs), ("cmd", Runs), ("S", File(Read)), ("u", File(Read)), ("w", File(Write)), ("W", File(Write))]),
    of(&["emacs"], All(Edit), &[("eval", Runs), ("execute", Runs), ("f", Runs), ("funcall", Runs), ("l", File(Read)), ("load", File(Read)), ("script", File(Read))]),
    of(&["nano", "pico", "ed", "micro", "joe"], All(Edit), &[("speller", Runs), ("C", File(Write)), ("backupdir", File(Write))]),
    of(&["patch"], All(Edit), &[("i", File(Read)), ("input", File(Read)), ("p", Plain), ("strip", Plain), ("d", File(Write)), ("directory", File(Write)), ("o", File(Write)), ("output", File(Write)), ("r", File(Write)), ("F", Plain)]),
    of(&["sed", "gsed"], AfterFirst(Read, &["e", "f", "expression", "file"]), &[("e", Text), ("expression", Text), ("f", File(Read)), ("file", File(Read)), ("l", Plain), ("line-length", Plain)]),
    of(&["awk", "gawk", "mawk", "nawk", "original-awk", "goawk"], AfterFirst(Read, &["f", "file", "e", "source", "E", "exec"]), &[("f", File(Read)), ("file", File(Read)), ("E", File(Read)), ("exec", File(Read)), ("e", Text), ("source", Text), ("F", Text), ("field-separator", Text), ("v", Plain), ("assign", Plain), ("i", File(Read)), ("include", File(Read)), ("W", Runs), ("l", Runs), ("load", Runs)]),
    of(&["csplit"], All(Read), &[("f", Plain), ("b", Plain), ("n", Plain)]),
    of(&["split"], Into { sources: Read, destination: Write }, &[("l", Plain), ("b", Plain), ("n", Plain), ("a", Plain), ("filter", Runs), ("lines", Plain), ("bytes", Plain)]),
    // Removing files.
    of(&["rm", "rmdir", "unlink"], All(Delete), &[]),
    of(&["shred", "srm", "wipe"], All(Delete), &[("n", Plain), ("iterations", Plain), ("s", Plain), ("size", Plain), ("random-source", File(Read))]),
    // Copying and moving files.
    of(&["cp", "gcp"], Into { sources: Read, destination: Write }, &[("t", Destination(Write)), ("target-directory", Destination(Write)), ("S", Plain), ("suffix", Plain), ("no-preserve", Plain), ("sparse", Plain), ("reflink", Plain)]),
    of(&["mv"], Into { sources: Move, destination: Write }, &[("t", Destination(Write)), ("target-directory", Destination(Write)), ("S", Plain), ("suffix", Plain)]),
    of(&["ln", "link"], Into { sources: Read, destination: Write }, &[("t", Destination(Write)), ("target-directory", Destination(Write)), ("S", Plain), ("suffix", Plain)]),
    of(&["install"], Into { sources: Read, destination: Write }, &[("t", Destination(Write)), ("target-directory", Destination(Write)), ("m", Plain), ("mode", Plain), ("o", Plain), ("owner", Plain), ("g", Plain), ("group", Plain), ("strip-program", Runs)]),
    of(&["rsync"], Into { sources: Read, destination: Write }, &[("e", Runs), ("rsh", Runs), ("rsync-path", Runs), ("exclude", Text), ("include", Text), ("filter", Text), ("f", Text), ("exclude-from", File(Read)), ("include-from", File(Read)), ("files-from", File(Read)), ("password-file", File(Read)), ("log-file", File(Write)), ("backup-dir", File(Write)), ("B", Plain), ("T", File(Write)), ("bwlimit", Plain), ("timeout", Plain), ("port", Plain), ("max-size", Plain), ("min-size", Plain)]),
    of(&["scp"], Into { sources: Read, destination: Write }, &[("i", File(Read)), ("F", File(Read)), ("o", Runs), ("S", Runs), ("P", Plain), ("l", Plain), ("c", Plain), ("J", Plain)]),
    of(&["dd"], Dd, &[]),
    // Archives.
    of(&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "zstd", "unzstd", "lz4", "compress", "uncompress", "pigz"], All(Move), COMPRESSOR),
    of(&["unzip", "7z", "7za", "unrar"], All(Read), &[("d", File(Write)), ("x", Text), ("P", Plain)]),
    of(&["zip"], ArchiveFirst, &[("x", Text), ("i", Text), ("P", Plain), ("b", File(Write)), ("O", File(Write)), ("TT", Runs), ("unzip-command", Runs)]),
    of(&["cpio", "ar"], AfterFirst(Read, &[]), &[("F", File(Read)), ("O", File(Write)), ("I", File(Read)), ("D", File(Write)), ("E", File(Read)), ("H", Plain)]),
    // The network.
    of(&["wget"], NoFiles, &[("O", File(Write)), ("output-document", File(Write)), ("P", File(Write)), ("directory-prefix", File(Write)), ("o", File(Write)), ("a", File(Write)), ("output-file", File(Write)), ("i", File(Read)), ("input-file", File(Read)), ("post-file", File(Read)), ("body-file", File(Read)), ("load-cookies", File(Read)), ("save-cookies", File(Write)), ("ca-certificate", File(Read)), ("certificate", File(Read)), ("private-key", File(Read)), ("use-askpass", Runs), ("e", Runs), ("execute", Runs), ("config", File(Read))]),
    of(&["nc", "ncat", "netcat"], NoFiles, &[("e", Runs), ("exec", Runs), ("c", Runs), ("sh-exec", Runs), ("lua-exec", Runs), ("p", Plain), ("w", Plain), ("s", Plain), ("o", File(Write))]),
    // Interpreters of scripts in files.
    of(&["python", "python2", "python3", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "Rscript", "julia", "tclsh", "osascript", "sh", "bash", "dash", "zsh", "ksh", "ash", "fish"],
       Script, &[("W", Plain), ("X", Plain), ("I", File(Read)), ("O", Plain), ("o", Plain), ("rcfile", File(Read)), ("init-file", File(Read)), ("r", Runs), ("require", Runs), ("import", Runs), ("loader", Runs), ("M", Plain), ("d", Plain)]),
    // Programs whose arguments are never files.
    of(&["echo", "printf", "true", "false", ":", "pwd", "whoami", "id", "uname", "uptime", "free", "printenv", "sleep", "seq", "yes", "expr", "basename", "dirname", "which", "type", "clear", "wait", "jobs", "exit", "return", "break", "continue", "shift", "read", "let", "nproc", "lscpu", "groups", "tty", "kill", "pgrep", "set", "unset", "local", "declare", "readonly", "typeset", "umask", "ulimit", "tr", "factor", "cal", "alias", "unalias", "popd", "dirs", "times", "getconf", "arch", "logname"],
       NoFiles, &[]),
];
