//! Tables of the languages of embedded code: which options carry code, and which names in code can start programs or
//! change files.

/// An interpreter whose options carry code.
#[derive(Debug)]
pub(crate) struct Interpreter {
    names: &'static [&'static str],
    /// Letters whose value is code.
    pub(crate) code: &'static str,
    /// Long options whose value is code.
    pub(crate) long_code: &'static [&'static str],
    /// Letters whose value is something else.
    pub(crate) values: &'static str,
}

/// A program with its own language, which is not examined.
#[derive(Debug)]
pub(crate) struct Foreign {
    names: &'static [&'static str],
    /// Options whose value is in that language; `*` for every argument.
    pub(crate) options: &'static [&'static str],
    /// Texts of which every program or file access in that language contains one; empty if any text could be such an
    /// access.
    pub(crate) signs: &'static [&'static str],
}

/// Returns the interpreter with this name.
pub(crate) fn interpreter(name: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&name))
}

/// Returns the program with this name and its own language.
pub(crate) fn foreign(name: &str) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|foreign| foreign.names.contains(&name))
}

#[rustfmt::skip]
const INTERPRETERS: &[Interpreter] = &[
    Interpreter { names: &["python", "python2", "python3", "pypy", "pypy3"], code: "c", long_code: &[], values: "WXQ" },
    Interpreter { names: &["perl"], code: "eE", long_code: &[], values: "I" },
    Interpreter { names: &["ruby"], code: "e", long_code: &[], values: "ICr" },
    Interpreter { names: &["lua", "luajit", "Rscript", "julia", "osascript"], code: "eE", long_code: &["eval", "print"], values: "l" },
    Interpreter { names: &["node", "nodejs", "bun"], code: "ep", long_code: &["eval", "print"], values: "rC" },
    Interpreter { names: &["php"], code: "rBRE", long_code: &["run", "process-begin", "process-code", "process-end"], values: "dcz" },
    Interpreter { names: &["deno"], code: "", long_code: &[], values: "" },
];

#[rustfmt::skip]
const FOREIGN: &[Foreign] = &[
    Foreign {
        names: &["R", "ghc", "ghci", "runghc", "erl", "elixir", "iex", "scala", "groovy", "kotlin", "swift", "rake", "octave", "gnuplot", "sbcl", "clisp", "guile", "jshell", "raku", "make", "gmake"],
        options: &["-e", "-eval", "--eval", "-c", "-x"],
        signs: &[],
    },
    Foreign { names: &["expect", "gdb", "lldb"], options: &["-c", "-ex", "-o", "--eval-command", "-iex"], signs: &[] },
    Foreign { names: &["ed", "ex", "vi", "vim", "nvim", "view", "dc", "irb", "pry", "tclsh"], options: &[], signs: &[] },
    Foreign { names: &["m4"], options: &["*"], signs: &["syscmd"] },
    Foreign {
        names: &["sqlite3"],
        options: &["*"],
        signs: &[".sh", ".sy", ".im", ".ou", ".on", ".re", ".op", ".lo", ".ba", ".sa", "readfile", "writefile", "load_ext"],
    },
    Foreign {
        names: &["psql", "mysql", "mariadb", "mongosh"],
        options: &["*"],
        signs: &["\\!", "\\c", "\\o", "\\i", "\\w", "\\g", "\\e", "PROGRAM", "program", "OUTFILE", "outfile", "pg_read_file", "load_file", "LOAD_FILE", "system"],
    },
];

/// Names in code that run programs or remove files.
#[rustfmt::skip]
pub(crate) const POWERS: &[&str] = &[
    "system", "popen", "popen2", "popen3", "Popen", "subprocess", "exec", "execl", "execle", "execlp", "execv", "execve",
    "execvp", "execvpe", "execSync", "execFile", "binding", "b64decode", "fromhex", "fromCharCode", "chr",
    "execFileSync", "spawn", "spawnSync", "spawnl", "spawnv", "posix_spawn", "fork", "forkpty", "pty", "rmtree",
    "unlink", "unlinkSync", "rmdir", "rmdirSync", "rmSync", "rm", "removedirs", "remove", "remove_tree", "shutil",
    "child_process", "kill", "killpg", "eval", "__import__", "importlib", "import_module", "ctypes", "qx", "FileUtils",
    "shell_exec", "passthru", "proc_open", "pcntl_exec", "runpy", "Deno", "truncate", "chmod", "chown", "symlink",
    "rename", "replace_file", "setuid", "getattr", "__builtins__", "globals", "codecs", "dlopen",
];

/// Names in code that open files.
#[rustfmt::skip]
pub(crate) const OPENERS: &[&str] = &[
    "open(", "Path(", "readFileSync(", "readFile(", "createReadStream(", "writeFileSync(", "writeFile(",
    "appendFileSync(", "file_get_contents(", "file_put_contents(", "fopen(", "File.read(", "File.write(", "IO.read(",
    "readlines(", "readLines(",
];
