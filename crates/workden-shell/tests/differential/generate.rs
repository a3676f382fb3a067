//! Scripts from a grammar: mostly plain, in every construct, with odd spellings and a few unknowns.

use super::{random::Random, stand_in::NAMES};

/// Words that mean themselves, though they may not look like it.
const WORDS: &[&str] = &[
    "a",
    "b.txt",
    "-n",
    "--",
    "'x y'",
    "\"q r\"",
    "a\\ b",
    "'$x'",
    "\"it's\"",
    "'say \"hi\"'",
    "\\$(p7)",
    "\"\\$(p6)\"",
    "\"\\`p5\\`\"",
    "'`p4`'",
    "'a;p3'",
    "\"p3;p2\"",
    "'#'",
    "a#b",
    "\\#",
    "'(p1)'",
    "{a,b}",
    "{1..3}",
    "''",
    "\"\"",
    "a=b",
    "if",
    "then",
    "done",
    "fi",
    "esac",
    "do",
    "}",
    "!",
    "in",
    "x'y'\"z\"",
    "a\\\nb",
    "'\n'",
    "\"\n\"",
    "$'a\\tb'",
    "\\\\",
    "'\\'",
    "\"\\\\\"",
    "\"\\a\"",
    "{a}",
    "{}",
    "x{,y}",
    "$",
    "a$",
    "\"$\"",
    "%",
    "@",
    ":",
    "\\'",
    "\\\"",
    "\\;",
    "\\&",
    "\\|",
    "\\(",
    "\\)",
    "\\<",
    "\\>",
    "\"&\"",
    "'|'",
    "\">\"",
    "\"a $ b\"",
    "'a'\\''b'",
    "\u{e9}",
    "a\u{a0}b",
    "\"#\"",
    "a\"#\"",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "\"{a,b}\"",
    "time",
    "$?",
    "\"$$\"",
    "x$#",
    "\\*",
    "'*'",
    "1",
    "=",
    "a,b",
    "^",
    "+",
    "~x",
];
/// Words that are not known.
const UNKNOWN: &[&str] = &["$x", "\"$x\"", "${x:-p1}", "$((1+1))", "*", "s?b", "$@", "\"$*\"", "$1", "${#x}", "[s]ub"];
/// Words with variables that scripts often set.
const VARIABLES: &[&str] = &[
    "$A",
    "\"$A\"",
    "$B",
    "\"$B\"",
    "${C}",
    "\"$C\"",
    "$D",
    "\"$D\"",
    "x$A",
    "$E",
    "\"$E\"y",
    "$G",
    "$H",
    "$v",
    "\"$v\"",
    "$1",
    "\"$1\"",
    "\"$@\"",
    "$n",
    "$((n+1))",
    "$((n++))",
    "${A:=z}",
    "${A%b}",
    "${D##*b}",
    "$(echo $A)",
    "\"$(echo hi)\"",
    "$(pwd)",
    "$PWD",
    "\"${arr[@]}\"",
    "${arr[0]}",
    "${#A}",
];
/// Commands that set variables.
const SETTERS: &[&str] = &[
    "A=$B",
    "A=x",
    "B=$A$A",
    "n=0",
    "n=$((n+1))",
    "export A=z",
    "export B",
    "read A <<< q",
    "unset A",
    "A=$(echo hi)",
    "A=$n",
    "v=$v",
    "C=$(pwd)",
    "arr=(a b)",
    "arr+=(c)",
    "printf -v A k",
    "readonly R=1",
    "R=2",
    "shift",
    "set -- a b",
    "local A=l",
    "declare A=d",
    "A=1 eval B=2",
    "A=q :",
];
const FILES: &[&str] = &["f1", "f2", "'f 3'", "./f4", "sub/f5", "\"f6\"", "f\\7", "/dev/null"];
const COMMENTS: &[&str] = &["# p1", "# it's", "# \"", "# $(p2)", "# `", "# \\", "#"];
const ASSIGNMENTS: &[&str] = &["A=1", "B='p1 x'", "C=", "D=\"a b\"", "A+=2", "E=a\\ b", "F=~", "G={a,b}", "H='$(p1)'"];
/// Pieces that mutation inserts.
const PIECES: &[&str] = &[
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "(",
    "{ ",
    "}",
    ";",
    "&",
    "|",
    "\n",
    "\\",
    "#",
    " ",
    "<",
    ">",
    "<<E\n",
    "E\n",
    "$",
    "${",
    "=",
    "!",
    "((",
    "))",
    "[[ ",
    " ]]",
    "p1",
    "; p2;",
    "&& p3",
    "do ",
    "done",
    "case x in ",
    "esac",
    ";;",
    "$'",
    "\t",
    "\\\n",
    "&>",
    ">&",
    "|&",
    "2>",
    "x[",
    "]",
    "{a,",
    "~",
    "*",
    "time ",
    "coproc ",
    "function ",
    "()",
    "in ",
    "if ",
    "then ",
    "fi",
    "eval ",
    "env ",
    "<(",
    "<<<",
    "-",
    "\r",
];

pub(crate) fn script(random: &mut Random) -> String {
    let count = 1 + random.below(3);
    let mut script = list(random, 3, count);
    if random.percent(25) {
        for _ in 0..=random.below(3) {
            mutate(random, &mut script);
        }
    }
    script
}

fn mutate(random: &mut Random, script: &mut String) {
    let boundaries: Vec<usize> = script.char_indices().map(|(at, _)| at).chain([script.len()]).collect();
    let at = |random: &mut Random| boundaries[random.below(boundaries.len())];
    let (one, other) = (at(random), at(random));
    match random.below(5) {
        0 | 1 => script.insert_str(one, random.pick(PIECES)),
        2 => {
            if let Some(character) = script[one..].chars().next() {
                script.replace_range(one..one + character.len_utf8(), "");
            }
        }
        3 => {
            let piece = script[one.min(other)..one.max(other)].chars().take(12).collect::<String>();
            let to = at(random);
            script.insert_str(to, &piece);
        }
        _ => {
            let end = script[one..].char_indices().map(|(at, _)| one + at).nth(4).unwrap_or(script.len());
            script.replace_range(one..end, "");
        }
    }
}

fn list(random: &mut Random, depth: usize, count: usize) -> String {
    let mut text = String::new();
    for _ in 0..count {
        text.push_str(&chain(random, depth));
        if random.percent(4) {
            text.push(' ');
            text.push_str(random.pick(COMMENTS));
            text.push('\n');
        } else {
            text.push_str(random.pick(&["; ", "\n", ";", " ;\n", "\n\n", " & ", "; "]));
        }
    }
    text
}

fn chain(random: &mut Random, depth: usize) -> String {
    let mut text = pipeline(random, depth);
    while random.percent(25) {
        // A here-document must come before the next operator on its line, which mutation can break.
        text.push_str(random.pick(&[" && ", " || ", "&&", "||", " &&\n", " || \\\n"]));
        text.push_str(&pipeline(random, depth));
    }
    text
}

fn pipeline(random: &mut Random, depth: usize) -> String {
    let mut text = String::new();
    if random.percent(6) {
        text.push_str(random.pick(&["! ", "time ", "time -p ", "! ! "]));
    }
    text.push_str(&command(random, depth));
    while random.percent(12) {
        text.push_str(random.pick(&[" | ", "|", " |& ", " |\n"]));
        text.push_str(&command(random, depth));
    }
    text
}

fn command(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.percent(60) {
        return simple(random, depth);
    }
    let count = 1 + random.below(2);
    let inner = |random: &mut Random| list(random, depth - 1, count);
    let text = match random.below(15) {
        0 => format!("{{ {}}}", ended(&inner(random))),
        1 => format!("({})", inner(random)),
        2 => format!("if {}then {}fi", ended(&inner(random)), ended(&inner(random))),
        3 => format!("if {}then {}else {}fi", ended(&inner(random)), ended(&inner(random)), ended(&inner(random))),
        4 => format!("while no; do {}done", ended(&inner(random))),
        5 => format!("until p0; do {}done", ended(&inner(random))),
        6 if random.percent(50) => format!("for v in {} b; do {}done", word(random, 0), ended(&inner(random))),
        6 => format!("for v in {} b; do {}break; done", word(random, 0), ended(&inner(random))),
        7 => format!(
            "case {} in a) {};; *) {};; esac",
            word(random, 0),
            unended(&inner(random)),
            unended(&inner(random))
        ),
        8 => format!("case a in (a|b) {};& c) {}\nesac", unended(&inner(random)), unended(&inner(random))),
        9 => format!(
            "f{}() {{ {}}}; f{} {}",
            random.below(3),
            ended(&inner(random)),
            random.below(3),
            random.pick(&["", "a", "'b c' d", "$A"])
        ),
        10 => format!("function g {{ {}}}\ng", ended(&inner(random))),
        11 => format!("[[ -n {} ]] && {}", random.pick(&["a", "'b c'", "\"d\""]), command(random, depth - 1)),
        12 => format!(
            "{} {} {}",
            random.pick(&["sh -c", "bash -c", "eval", "dash -ec"]),
            quoted(&inner(random)),
            word(random, 0)
        ),
        13 => format!("trap {} EXIT", quoted(&inner(random))),
        _ => format!("{{ {}}}", ended(&inner(random))),
    };
    if random.percent(15) { format!("{text} {}", redirect(random)) } else { text }
}

/// A list that a reserved word may follow.
fn ended(list: &str) -> String {
    if list.ends_with(['\n', ';', ' ']) { list.to_owned() } else { format!("{list}; ") }
}

/// A list that `;;` may follow.
fn unended(list: &str) -> String {
    format!("{}\n", list.trim_end_matches([';', ' ', '\n']))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn name(random: &mut Random) -> String {
    let name = random.pick(NAMES);
    let (first, rest) = name.split_at(1);
    match random.below(14) {
        0 => format!("'{name}'"),
        1 => format!("\"{name}\""),
        2 => format!("\\{name}"),
        3 => format!("{first}''{rest}"),
        4 => format!("{first}\"{rest}\""),
        5 => format!("{first}\\\n{rest}"),
        6 => format!("$'\\x{:02x}'{rest}", first.as_bytes()[0]),
        7 => format!("{{{name},{}}}", random.pick(&["a", "-n", "p1"])),
        _ => name.to_owned(),
    }
}

fn word(random: &mut Random, depth: usize) -> String {
    if random.percent(2) {
        return random.pick(UNKNOWN).to_owned();
    }
    if random.percent(8) {
        return random.pick(VARIABLES).to_owned();
    }
    if depth > 0 && random.percent(2) {
        let inner = list(random, depth - 1, 1);
        let inner = inner.trim_end_matches([';', ' ', '&']);
        return match random.below(5) {
            0 => format!("`{}`", name(random).replace('\\', "")),
            1 => format!("\"$({inner}\n)\""),
            2 => format!("<({inner}\n)"),
            3 => format!("${{x:-$({inner}\n)}}"),
            _ => format!("$({inner}\n)"),
        };
    }
    random.pick(WORDS).to_owned()
}

fn redirect(random: &mut Random) -> String {
    let file = random.pick(FILES);
    match random.below(16) {
        0 | 1 => format!("> {file}"),
        2 => format!("2>{file}"),
        3 => format!("&> {file}"),
        4 => format!(">>{file}"),
        5 => "2>&1".to_owned(),
        6 => ">&2".to_owned(),
        7 => "< /dev/null".to_owned(),
        8 => format!("<<< {}", word(random, 0)),
        9 => format!(">|{file}"),
        10 => format!("<> {file}"),
        11 => format!("3> {file}"),
        12 => format!("{{fd}}>{file}"),
        13 => format!(">& {file}"),
        _ => "2>/dev/null".to_owned(),
    }
}

fn heredoc(random: &mut Random) -> String {
    let body = random.pick(&["p1", "$(p2)", "`p3`", "it's \"", "\\$(p4)", "${x:-$(p5)}", "a\n\tb", "", "$x (", "# )"]);
    match random.below(4) {
        0 => format!("<<E\n{body}\nE\n"),
        1 => format!("<<'E'\n{body}\nE\n"),
        2 => format!("<<-\\E\n\t{body}\n\tE\n"),
        _ => format!("<<-E\n\t{body}\n\tE\n"),
    }
}

fn simple(random: &mut Random, depth: usize) -> String {
    match random.below(40) {
        0 | 1 => {
            return format!(
                "cd {}",
                random.pick(&["sub", "sub/deep", "..", ".", "nosuch", "/tmp/work/d/sub", "'sub'"])
            );
        }
        2 => return random.pick(ASSIGNMENTS).to_owned(),
        11 | 12 => return random.pick(SETTERS).to_owned(),
        13 => return format!("while read v; do {} $v; break; done <<< w", name(random)),
        3 if depth > 0 => return format!("A=$({}\n)", list(random, depth - 1, 1).trim_end_matches([';', ' ', '&'])),
        4 => return "set -e".to_owned(),
        5 => return redirect(random),
        6 => return format!("arr=(a {} 'b c')", word(random, 0)),
        7 => return random.pick(&["true", "false", ":", "pwd", "echo x"]).to_owned(),
        8 => return format!("{} {}", name(random), heredoc(random)),
        9 => return format!("coproc {}", name(random)),
        10 => {
            return format!(
                "sh {}",
                random.pick(&["<<'E'\np1 a; p2\nE\n", "<<< 'p3 b'", "<<E\np4\nE\n", "-c p5", "-s <<'E'\np6\nE\n"])
            );
        }
        _ => {}
    }
    let mut text = String::new();
    while random.percent(8) {
        text.push_str(random.pick(ASSIGNMENTS));
        text.push(' ');
    }
    if random.percent(15) {
        text.push_str(random.pick(&[
            "env ",
            "env A=1 ",
            "env -i PATH2=x ",
            "env -u A ",
            "nice ",
            "nice -n 1 ",
            "timeout 5 ",
            "timeout -k 1 5 ",
            "nohup ",
            "command ",
            "command -p ",
            "exec ",
            "eval ",
            "setsid -w ",
            "stdbuf -oL ",
            "builtin eval ",
            "env -C sub ",
            "env -S 'A=1 p1' ",
            "find . -maxdepth 0 -exec ",
            "xargs ",
            "env nice ",
            "command command ",
        ]));
    }
    let finds = text.ends_with("-exec ");
    text.push_str(&name(random));
    for _ in 0..random.below(4) {
        text.push(' ');
        text.push_str(&word(random, depth));
    }
    if finds {
        text.push_str(" \\;");
    }
    while random.percent(12) {
        text.push(' ');
        text.push_str(&redirect(random));
    }
    if random.percent(3) {
        text.push(' ');
        text.push_str(&heredoc(random));
    }
    text
}
