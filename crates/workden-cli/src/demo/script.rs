//! The script of the demo: the thoughts and calls of the agent, and the expected outcome of each call. No model is
//! asked; every answer is real and is compared with this script.

use serde_json::{Value, json};
use workden::ErrorKind;

/// The files of the directory before the agent starts.
pub(super) const FILES: [(&str, &str); 3] = [
    (
        "task.md",
        "Write fib.sh: it prints the first N Fibonacci numbers, N being its argument.\nMind the SEPARATOR of the settings.\n",
    ),
    (".env", "SEPARATOR=,\nAPI_KEY=sk-the-owner-only\n"),
    (".env.example", "SEPARATOR=,\nAPI_KEY=\n"),
];

/// The text that no answer may contain.
pub(super) const SECRET: &str = "sk-the-owner-only";

/// A group of steps.
pub(super) struct Scene {
    pub(super) heading: &'static str,
    pub(super) needs: Needs,
    pub(super) steps: Vec<Step>,
}

/// What a scene needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Only the tools.
    Tools,
    /// Isolated commands: without isolation its commands would do harm.
    Walls,
}

/// A thought, and the call that follows from it.
pub(super) struct Step {
    pub(super) thought: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    pub(super) comes: Comes,
}

/// The expected outcome of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Comes {
    /// An answer that contains this text.
    Answer(&'static str),
    /// A refusal of this kind that contains this text.
    Refusal(ErrorKind, &'static str),
}

fn step(thought: &'static str, tool: &'static str, arguments: Value, comes: Comes) -> Step {
    Step { thought, tool, arguments, comes }
}

const FIB: &str = "\
#!/bin/sh
# Prints the first N Fibonacci numbers.
n=$1 a=0 b=1
while [ \"$n\" -gt 1 ]; do
    printf '%s ' \"$a\"
    next=$((a + b)) a=$b
    b=$next n=$((n - 1))
done
echo
";

/// Returns all scenes.
pub(super) fn scenes() -> Vec<Scene> {
    use Comes::{Answer, Refusal};
    use Needs::{Tools, Walls};
    let scene = |heading, needs, steps| Scene { heading, needs, steps };
    vec![
        scene(
            "It looks around",
            Tools,
            vec![
                step("", "ls", json!({ "path": "." }), Answer("task.md")),
                step("", "read_file", json!({ "path": "task.md" }), Answer("     1\tWrite fib.sh")),
            ],
        ),
        scene(
            "It writes a script, and runs it in the sandbox",
            Tools,
            vec![
                step("", "write_file", json!({ "path": "fib.sh", "content": FIB }), Answer("Wrote 9 lines")),
                step("", "execute", json!({ "command": "sh fib.sh 10" }), Answer("0 1 1 2 3 5 8 13 21 \n")),
            ],
        ),
        scene(
            "It makes a mistake in an edit, and the answer helps",
            Tools,
            vec![
                step(
                    "Nine numbers, and ten were asked for: it stops one too early.",
                    "edit_file",
                    json!({ "path": "fib.sh", "old_string": "while [ $n -gt 1 ]", "new_string": "while [ $n -gt 0 ]" }),
                    Refusal(ErrorKind::NoMatch, "while [ \"$n\" -gt 1 ]"),
                ),
                step(
                    "There are quotes around it.",
                    "edit_file",
                    json!({
                        "path": "fib.sh",
                        "old_string": "while [ \"$n\" -gt 1 ]",
                        "new_string": "while [ \"$n\" -gt 0 ]",
                    }),
                    Answer("replaced 1 occurrence"),
                ),
                step("", "execute", json!({ "command": "sh fib.sh 10" }), Answer("0 1 1 2 3 5 8 13 21 34 \n")),
            ],
        ),
        scene(
            "It reaches for a secret, is refused, and finds another way",
            Tools,
            vec![
                step(
                    "The task speaks of settings.",
                    "grep",
                    json!({ "pattern": "SEPARATOR", "ignore_hidden": false, "output_mode": "content" }),
                    Answer("/.env.example:1: SEPARATOR=,"),
                ),
                step(
                    "There must be a real one.",
                    "read_file",
                    json!({ "path": ".env" }),
                    Refusal(ErrorKind::Denied, "Protect sensitive files"),
                ),
                step(
                    "The example will do.",
                    "edit_file",
                    json!({ "path": "fib.sh", "old_string": "'%s '", "new_string": "'%s,'" }),
                    Answer("replaced 1 occurrence"),
                ),
                step(
                    "",
                    "execute",
                    json!({ "command": "sh fib.sh 10 | tee numbers.txt" }),
                    Answer("0,1,1,2,3,5,8,13,21,34,\n"),
                ),
            ],
        ),
        scene(
            "It tries to get out: rules refuse what they understand, walls hold where they do not",
            Walls,
            vec![
                step(
                    "",
                    "read_file",
                    json!({ "path": "../../etc/shadow" }),
                    Refusal(ErrorKind::Escapes, "climbs above the root"),
                ),
                step(
                    "",
                    "execute",
                    json!({ "command": "rm -rf / --no-preserve-root" }),
                    Refusal(ErrorKind::Denied, "Block dangerous commands"),
                ),
                step(
                    "No rule looks into a script.",
                    "write_file",
                    json!({ "path": "sly.sh", "content": "cat .env\ncat /etc/shadow\nls -A /home\ntouch /usr/bin/mine\n" }),
                    Answer("Wrote 4 lines"),
                ),
                step("", "execute", json!({ "command": "sh sly.sh" }), Answer("cat: .env: Permission denied")),
            ],
        ),
        scene(
            "Its work is there",
            Tools,
            vec![step("", "read_file", json!({ "path": "numbers.txt" }), Answer("0,1,1,2,3,5,8,13,21,34,"))],
        ),
    ]
}
