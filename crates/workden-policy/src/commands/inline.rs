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
    let code_options: &[&str] = match name {
        "python" | "python2" | "python3" | "pypy" | "pypy3" => &["c"],
        "perl" | "ruby" | "lua" | "luajit" | "Rscript" | "julia" | "osascript" => &["e", "E"],
        "node" | "nodejs" | "bun" => &["e", "p", "eval", "print"],
        "php" => &["r", "B", "R", "E"],
        "sed" | "gsed" => return sed(arguments, effects),
        "awk" | "gawk" | "mawk" | "nawk" => return awk(arguments, effects),
        "deno" => match arguments {
            [Word::Literal(first), rest @ ..] if first == "eval" => {
                return rest.iter().for_each(|word| code(name, word, effects));
            }
            _ => &[],
        },
        _ => return,
    };
    let versioned =
        |option: &str| code_options.contains(&option) || matches!(option, "W" | "X" | "I" | "M" | "m" | "r");
    let mut brought = false;
    let mut from_input = true;
    for argument in told_apart(arguments, versioned) {
        match argument {
            Argument::Option(option, Some(word)) if code_options.contains(&option) => {
                brought = true;
                from_input = false;
                code(name, &word, effects);
            }
            Argument::Option("m" | "version" | "help" | "V" | "v" | "h", _) => from_input = false,
            Argument::Option(..) => {}
            // The script; what follows it is its own business.
            Argument::Operand(word) => {
                from_input &= word.literal() == Some("-");
                break;
            }
        }
    }
    if from_input && !brought && invocation.input == Input::Fed {
        let about = format!("`{name}` runs code that comes through its input");
        effects.doubts.push(Doubt { kind: DoubtKind::ForeignCode, about });
    }
}

fn code(language: &str, word: &Word, effects: &mut Effects) {
    // What is not literal is a doubt already.
    let Some(text) = word.literal() else { return };
    let mut names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let power = names.find(|name| POWERS.contains(name));
    let quoted = matches!(language, "perl" | "ruby" | "php") && text.contains(['`', '|']);
    if let Some(power) = power.or(quoted.then_some("`")) {
        let about = format!("`{language}` code that could run programs or remove files (`{power}`)");
        effects.doubts.push(Doubt { kind: DoubtKind::ForeignCode, about });
    }
    for quoted in strings(text) {
        effects.files.push((Touch::InCode, Word::Literal(quoted.to_owned())));
    }
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
    for argument in
        told_apart(arguments, |option| matches!(option, "e" | "expression" | "f" | "file" | "l" | "line-length"))
    {
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
    let takes_value =
        |option: &str| matches!(option, "F" | "v" | "f" | "i" | "l" | "field-separator" | "assign" | "file");
    let mut from_file = false;
    for argument in told_apart(arguments, takes_value) {
        match argument {
            Argument::Option("f" | "file", _) => from_file = true,
            Argument::Option(..) => {}
            Argument::Operand(word) => {
                let program = if from_file { None } else { word.literal() };
                if program.is_some_and(awk_does_more) {
                    let about = format!(
                        "an `awk` program that could write files or run programs: `{}`",
                        shortened(word.shown())
                    );
                    effects.doubts.push(Doubt { kind: DoubtKind::ForeignCode, about });
                }
                break;
            }
        }
    }
}

fn awk_does_more(program: &str) -> bool {
    let pipes = program.replace("||", "").contains('|');
    let calls = program.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let statements = program.split(['}', ';', '\n']);
    let redirects =
        statements.filter_map(|text| text.find("print").map(|at| &text[at..])).any(|rest| rest.contains('>'));
    pipes || redirects || program.contains('@') || calls.into_iter().any(|name| matches!(name, "system" | "getline"))
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if text.chars().nth(60).is_some() {
        shown.push_str("...");
    }
    shown
}
