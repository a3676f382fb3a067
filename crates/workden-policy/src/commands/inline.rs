//! Code of other languages in a command: `python -c`, `perl -e`, `awk`, `sed`.
//!
//! Not understood, only looked at: code that names something with which programs are run or files
//! removed is a doubt, and so is code that comes from elsewhere. Texts in it that name protected
//! files are mentions, like words of an unknown program.

use super::{
    effects::{Effects, Touch},
    options::{Argument, told_apart},
    sed_script,
};
use crate::shell::{Doubt, DoubtKind, Input, Invocation, Word};

/// Names in code with which programs are run or files are removed.
const POWERS: &[&str] = &[
    "system",
    "popen",
    "popen2",
    "popen3",
    "Popen",
    "subprocess",
    "exec",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "execSync",
    "execFile",
    "execute",
    "binding",
    "b64decode",
    "fromhex",
    "fromCharCode",
    "chr",
    "execFileSync",
    "spawn",
    "spawnSync",
    "spawnl",
    "spawnv",
    "posix_spawn",
    "fork",
    "forkpty",
    "pty",
    "rmtree",
    "unlink",
    "unlinkSync",
    "rmdir",
    "rmdirSync",
    "rmSync",
    "rm",
    "removedirs",
    "remove",
    "remove_tree",
    "shutil",
    "child_process",
    "kill",
    "killpg",
    "eval",
    "__import__",
    "importlib",
    "import_module",
    "ctypes",
    "qx",
    "FileUtils",
    "shell_exec",
    "passthru",
    "proc_open",
    "pcntl_exec",
    "runpy",
    "Deno",
    "truncate",
    "chmod",
    "chown",
    "symlink",
    "rename",
    "replace_file",
    "setuid",
    "getattr",
    "__builtins__",
    "globals",
    "compile",
    "codecs",
    "dlopen",
];

/// Looks at the code that a command brings along.
pub(crate) fn look_into(name: &str, arguments: &[Word], invocation: &Invocation, effects: &mut Effects) {
    let (letters, longs, others) = match name {
        "python" | "python2" | "python3" | "pypy" | "pypy3" => ("c", &[][..], "WXQ"),
        "perl" => ("eE", &[][..], "I"),
        "ruby" => ("e", &[][..], "ICr"),
        "lua" | "luajit" | "Rscript" | "julia" | "osascript" => ("eE", &["eval", "print"][..], "l"),
        "node" | "nodejs" | "bun" => ("ep", &["eval", "print"][..], "rC"),
        "php" => ("rBRE", &["run", "process-begin", "process-code", "process-end"][..], "dcz"),
        "sed" | "gsed" => return sed(arguments, effects),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" | "goawk" => return awk(arguments, effects),
        "deno" => match arguments {
            [Word::Literal(first), rest @ ..] if first == "eval" => {
                return rest.iter().for_each(|word| code(name, word, effects));
            }
            _ => ("", &[][..], ""),
        },
        name => return unknown_language(name, arguments, invocation, effects),
    };
    let mut from_input = true;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal().filter(|text| text.starts_with('-') && *text != "-") else {
            // The script; what follows it is its own business.
            from_input &= is_input(word);
            break;
        };
        if let Some(long) = text.strip_prefix("--") {
            let (option, value) = long.split_once('=').map_or((long, None), |(option, value)| (option, Some(value)));
            if longs.contains(&option) {
                from_input = false;
                match value {
                    Some(value) => code(name, &Word::Literal(value.to_owned()), effects),
                    None => words.by_ref().take(1).for_each(|word| code(name, word, effects)),
                }
            }
            from_input &= !matches!(option, "version" | "help");
            continue;
        }
        let mut given = text.char_indices().skip(1);
        // Where one letter takes a value, that is the rest of the word, or else the next one.
        let valued = given.find(|(_, letter)| letters.contains(*letter) || others.contains(*letter) || *letter == 'm');
        let Some((at, letter)) = valued else {
            from_input &= !matches!(text, "-V" | "-v" | "-h");
            continue;
        };
        let rest = &text[at + letter.len_utf8()..];
        match letter {
            'm' => {
                from_input = false;
                // Modules that take code, and others that do not.
                let module = if rest.is_empty() { words.next().map_or("", Word::shown) } else { rest };
                if matches!(module, "timeit" | "pdb" | "trace" | "profile" | "cProfile") {
                    words.by_ref().for_each(|word| code(name, word, effects));
                }
                break;
            }
            letter if letters.contains(letter) => {
                from_input = false;
                if !rest.is_empty() {
                    code(name, &Word::Literal(rest.to_owned()), effects);
                }
                // `-pe code`: letters of both kinds.
                if rest.is_empty() || rest.chars().all(|c| c.is_ascii_alphabetic()) {
                    words.by_ref().take(1).for_each(|word| code(name, word, effects));
                }
            }
            _ if rest.is_empty() => drop(words.next()),
            _ => {}
        }
    }
    if from_input && invocation.input == Input::Fed {
        match &invocation.fed {
            Some(text) => code(name, &Word::Literal(text.clone()), effects),
            None => {
                let about = format!("`{name}` runs code that comes through its input");
                effects.doubts.push(Doubt { kind: DoubtKind::ForeignCode, about });
            }
        }
    }
}

fn is_input(word: &Word) -> bool {
    matches!(word.literal(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

/// Programs with a language of their own, in which other programs can be started, and the words
/// without which they do not.
fn unknown_language(name: &str, arguments: &[Word], invocation: &Invocation, effects: &mut Effects) {
    let (options, signs): (&[&str], &[&str]) = match name {
        "R" | "ghc" | "ghci" | "runghc" | "erl" | "elixir" | "iex" | "scala" | "groovy" | "kotlin" | "swift"
        | "rake" | "octave" | "gnuplot" | "sbcl" | "clisp" | "guile" | "jshell" | "raku" | "deno" | "make"
        | "gmake" => (&["-e", "-eval", "--eval", "-c", "-x"], &[]),
        "expect" | "gdb" | "lldb" => (&["-c", "-ex", "-o", "--eval-command", "-iex"], &[]),
        "ed" | "ex" | "vi" | "vim" | "nvim" | "view" | "dc" | "irb" | "pry" | "tclsh" => (&[], &[]),
        "sqlite3" => (
            &["*"],
            &[
                ".sh",
                ".sy",
                ".im",
                ".ou",
                ".on",
                ".re",
                ".op",
                ".lo",
                ".ba",
                ".sa",
                "readfile",
                "writefile",
                "load_ext",
            ],
        ),
        "psql" | "mysql" | "mariadb" | "mongosh" => (
            &["*"],
            &[
                "\\!",
                "\\c",
                "\\o",
                "\\i",
                "\\w",
                "\\g",
                "\\e",
                "PROGRAM",
                "program",
                "OUTFILE",
                "outfile",
                "pg_read_file",
                "load_file",
                "LOAD_FILE",
                "system",
            ],
        ),
        _ => return,
    };
    let does_more = |text: &str| signs.is_empty() || signs.iter().any(|sign| text.contains(sign));
    let mut before = "";
    let mut found = false;
    for text in arguments.iter().map(Word::shown) {
        let attached = options.iter().any(|option| {
            let longer = text.strip_prefix(option);
            longer.is_some_and(|rest| !rest.is_empty() && (option.starts_with("--") && rest.starts_with('=')))
        });
        found |= (attached || options.contains(&before) || options == ["*"]) && does_more(text);
        before = text;
    }
    let is_make = matches!(name, "make" | "gmake");
    let fed = invocation.input == Input::Fed
        && (!is_make || arguments.iter().any(|word| word.shown().trim_start_matches("-f") == "-" || is_input(word)))
        && invocation.fed.as_deref().is_none_or(does_more);
    let elsewhere = is_make && arguments.iter().any(|word| word.shown().starts_with("SHELL="));
    if found || fed || elsewhere {
        let about = format!("what `{name}` is told to do, in a language of its own");
        effects.doubts.push(Doubt { kind: DoubtKind::ForeignCode, about });
    }
}

fn code(language: &str, word: &Word, effects: &mut Effects) {
    // What is not literal is a doubt already.
    let Some(text) = word.literal() else { return };
    let mut names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let power = names.find(|name| POWERS.contains(name));
    let quoted = matches!(language, "perl" | "ruby" | "php" | "julia") && text.contains(['`', '|'])
        || language == "ruby" && text.contains("%x");
    if let Some(power) = power.or(quoted.then_some("`")) {
        let about = format!("`{language}` code that could run programs or remove files (`{power}`)");
        effects.doubts.push(Doubt { kind: DoubtKind::ForeignCode, about });
    }
    if let Some(opener) = opens_unnamed(text) {
        let about = format!("which file `{language}` code opens (`{opener}`)");
        effects.doubts.push(Doubt { kind: DoubtKind::NotLiteral, about });
    }
    for quoted in strings(text) {
        effects.files.push((Touch::InCode, Word::Literal(quoted.to_owned())));
    }
}

/// Names with which code opens files.
const OPENERS: &[&str] = &[
    "open(",
    "Path(",
    "readFileSync(",
    "readFile(",
    "createReadStream(",
    "writeFileSync(",
    "writeFile(",
    "appendFileSync(",
    "file_get_contents(",
    "file_put_contents(",
    "fopen(",
    "File.read(",
    "File.write(",
    "IO.read(",
    "readlines(",
    "readLines(",
];

/// Something with which the code opens a file whose name is not written out: put together, computed,
/// or in other characters than its own.
fn opens_unnamed(code: &str) -> Option<&'static str> {
    for opener in OPENERS {
        for (at, _) in code.match_indices(opener) {
            let rest = code[at + opener.len()..].trim_start();
            let Some(quote) = rest.chars().next().filter(|c| "'\"`".contains(*c)) else {
                // What the command is given is looked at as its words, and numbers are open already.
                let known = ["sys.argv[", "process.argv[", "sys.stdin", ")"];
                let number =
                    rest.split([',', ')']).next().is_some_and(|name| name.trim().bytes().all(|b| b.is_ascii_digit()));
                if number || known.iter().any(|known| rest.starts_with(known)) {
                    continue;
                }
                return Some(opener);
            };
            let mut parts = rest[1..].splitn(2, quote);
            let (name, after) = (parts.next().unwrap_or(""), parts.next().unwrap_or("").trim_start());
            if name.contains(['\\', '$']) || !after.starts_with([',', ')']) {
                return Some(opener);
            }
        }
    }
    None
}

/// The texts in quotes that a piece of code holds.
pub(crate) fn strings(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(['\'', '"', '`']) {
        let quote = &rest[start..=start];
        let inside = &rest[start + 1..];
        let end = inside.find(quote).unwrap_or(inside.len());
        if end > 0 {
            found.push(&inside[..end]);
        }
        rest = inside.get(end + 1..).unwrap_or("");
    }
    found
}

fn sed(arguments: &[Word], effects: &mut Effects) {
    let mut scripts = Vec::new();
    let mut first_operand = None;
    let mut has_script = false;
    for argument in told_apart(arguments, &["e", "expression", "f", "file", "l", "line-length"]) {
        match argument {
            Argument::Option("e" | "expression", Some(word)) => {
                has_script = true;
                scripts.push(word);
            }
            Argument::Option("f" | "file", _) => has_script = true,
            Argument::Option(..) => {}
            Argument::Operand(word) => {
                first_operand.get_or_insert_with(|| word.clone());
            }
        }
    }
    if !has_script {
        scripts.extend(first_operand);
    }
    for script in scripts.iter().filter_map(Word::literal) {
        if !sed_script::only_prints_and_replaces(script) {
            let about = format!("a `sed` script that could write files or run programs: `{}`", shortened(script));
            effects.doubts.push(Doubt { kind: DoubtKind::ForeignCode, about });
        }
    }
}

fn awk(arguments: &[Word], effects: &mut Effects) {
    let mut from_elsewhere = false;
    let mut programs = Vec::new();
    for argument in told_apart(arguments, AWK_VALUED) {
        match argument {
            Argument::Option("f" | "file" | "E" | "exec", _) => from_elsewhere = true,
            Argument::Option("e" | "source", Some(word)) => {
                from_elsewhere = true;
                programs.push(word);
            }
            Argument::Option(..) => {}
            Argument::Operand(word) => {
                if !from_elsewhere {
                    programs.push(word.clone());
                }
                break;
            }
        }
    }
    for program in programs.iter().filter_map(Word::literal) {
        if awk_does_more(program) {
            let about = format!("an `awk` program that could write files or run programs: `{}`", shortened(program));
            effects.doubts.push(Doubt { kind: DoubtKind::ForeignCode, about });
        }
    }
}

/// The options of awks that take a value.
const AWK_VALUED: &[&str] =
    &["F", "v", "f", "i", "l", "E", "e", "field-separator", "assign", "file", "exec", "source", "include", "load"];

fn awk_does_more(program: &str) -> bool {
    let pipes = program.replace("||", "").contains('|');
    let calls = program.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let statements = program.split(['}', ';', '\n']);
    let redirects =
        statements.filter_map(|text| text.find("print").map(|at| &text[at..])).any(|rest| rest.contains('>'));
    pipes
        || redirects
        || program.contains('@')
        || calls.into_iter().any(|name| matches!(name, "system" | "getline" | "ARGV"))
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if text.chars().nth(60).is_some() {
        shown.push_str("...");
    }
    shown
}
