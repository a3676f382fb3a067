//! The console's answers, word for word.

use std::time::Duration;

use serde_json::json;
use workden_core::{BackendExt, ErrorKind, Expect, VirtualPath};
use workden_tools::{Dialect, EditFormat, ToolsetOptions};

use crate::desk::{Desk, both, everything, in_directory, in_memory};

async fn put(desk: &Desk, typed: &str, content: impl Into<Vec<u8>> + Send) {
    let path = VirtualPath::parse(typed).unwrap();
    desk.files.write_path(&path, content.into().into(), Expect::Anything).await.unwrap();
}

#[tokio::test]
async fn ls_shows_directories_first_and_sizes() {
    for desk in both(&ToolsetOptions::default()) {
        desk.says("ls", json!({}), "Directory '.' is empty").await;
        put(&desk, "/b.txt", "12345").await;
        put(&desk, "/.env", "").await;
        put(&desk, "/src/main.rs", "x").await;
        let expected = "Contents of .:\n  src/\n  .env (0 bytes)\n  b.txt (5 bytes)";
        desk.says("ls", json!({}), expected).await;
        desk.says("ls", json!({ "path": "/src" }), "Contents of /src:\n  main.rs (1 byte)").await;
        let failure = desk.call("ls", json!({ "path": "no/where" })).await.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::NotFound);
        assert!(failure.text.starts_with("Error: cannot list `no/where`: "), "{failure}");
        let failure = desk.call("ls", json!({ "path": "../x" })).await.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Escapes);
    }
}

#[tokio::test]
async fn a_name_cannot_pass_for_another_line() {
    for desk in both(&ToolsetOptions::default()) {
        put(&desk, "/a\n  b.txt (3 bytes)", "needle").await;
        desk.says("ls", json!({}), "Contents of .:\n  \"a\\n  b.txt (3 bytes)\" (6 bytes)").await;
        let found = "Found 1 file matching '*':\n  \"/a\\n  b.txt (3 bytes)\"";
        desk.says("glob", json!({ "pattern": "*" }), found).await;
        let files = "Files containing 'needle':\n  \"/a\\n  b.txt (3 bytes)\"";
        desk.says("grep", json!({ "pattern": "needle" }), files).await;
        let lines = "Matches for 'needle':\n  \"/a\\n  b.txt (3 bytes)\":1: needle";
        desk.says("grep", json!({ "pattern": "needle", "output_mode": "content" }), lines).await;
        desk.says("read_file", json!({ "path": "a\n  b.txt (3 bytes)" }), "     1\tneedle").await;
    }
}

#[tokio::test]
async fn a_long_listing_says_how_much_is_missing() {
    let desk = in_memory(ToolsetOptions::default());
    for number in 0..1_010 {
        put(&desk, &format!("/d/{number:04}"), "").await;
    }
    let answer = desk.call("ls", json!({ "path": "d" })).await.unwrap();
    assert!(
        answer.text.ends_with("  0999 (0 bytes)\n  ... and 10 more; search by pattern to see them"),
        "{}",
        &answer.text[answer.text.len() - 100..]
    );
    assert_eq!(answer.structured.unwrap()["left_out"], 10);
}

#[tokio::test]
async fn read_file_numbers_lines_and_says_what_is_left() {
    for desk in both(&ToolsetOptions::default()) {
        put(&desk, "/a.txt", "one\ntwo\nthree\n").await;
        desk.says("read_file", json!({ "path": "a.txt" }), "     1\tone\n     2\ttwo\n     3\tthree").await;
        let window = json!({ "path": "a.txt", "offset": 2, "limit": 1 });
        desk.says("read_file", window, "     2\ttwo\n\n... (1 more line; continue with offset=3)").await;
        let window = json!({ "path": "a.txt", "offset": 3 });
        desk.says("read_file", window, "     3\tthree").await;
        for start in [0, 1] {
            let window = json!({ "path": "a.txt", "offset": start, "limit": 1 });
            desk.says("read_file", window, "     1\tone\n\n... (2 more lines; continue with offset=2)").await;
        }
        put(&desk, "/empty", "").await;
        desk.says("read_file", json!({ "path": "empty" }), "(the file is empty)").await;
        let past = "Error: cannot read `a.txt` from line 4: the file has 3 lines\nhint: offset is the number of the first \
                    line to show";
        desk.refuses("read_file", json!({ "path": "a.txt", "offset": 4 }), ErrorKind::OutOfRange, past).await;
        let missing = desk.call("read_file", json!({ "path": "/no.txt" })).await.unwrap_err();
        assert!(missing.text.starts_with("Error: cannot read `/no.txt`: "), "{missing}");
        put(&desk, "/bin", vec![0, 1, 2]).await;
        let binary = desk.call("read_file", json!({ "path": "bin" })).await.unwrap_err();
        assert_eq!(binary.kind, ErrorKind::NotText, "{binary}");
    }
}

#[tokio::test]
async fn write_file_makes_directories_and_counts_lines() {
    for desk in both(&ToolsetOptions::default()) {
        let write = json!({ "path": "a/b/c.txt", "content": "one\ntwo" });
        let answer = desk.call("write_file", write).await.unwrap();
        assert_eq!(answer.text, "Wrote 2 lines to /a/b/c.txt");
        assert_eq!(
            answer.structured.unwrap(),
            json!({ "path": "/a/b/c.txt", "lines": 2, "bytes": 7, "created": true })
        );
        let one = json!({ "path": "a/b/one.txt", "content": "one\n" });
        desk.says("write_file", one, "Wrote 1 line to /a/b/one.txt").await;
        let again = desk.call("write_file", json!({ "path": "a/b/c.txt", "content": "" })).await.unwrap();
        assert_eq!(again.text, "Wrote 0 lines to /a/b/c.txt");
        assert_eq!(again.structured.unwrap()["created"], false);
        let failure = desk.call("write_file", json!({ "path": "a", "content": "x" })).await.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::IsDirectory);
    }
}

#[tokio::test]
async fn edit_file_replaces_one_place_or_all() {
    for desk in both(&everything()) {
        put(&desk, "/a.txt", "x y x\r\n").await;
        let edit = |old: &str, new: &str| json!({ "path": "a.txt", "old_string": old, "new_string": new });
        let expected = "Edited a.txt: replaced 1 occurrence\nThe changed lines now:\n     1\tx z x";
        desk.says("edit_file", edit("y", "z"), expected).await;
        let twice = desk.call("edit_file", edit("x", "w")).await.unwrap_err();
        assert_eq!(twice.kind, ErrorKind::Ambiguous);
        let mut all = edit("x", "w");
        all["replace_all"] = true.into();
        let expected = "Edited a.txt: replaced 2 occurrences\nThe changed lines now:\n     1\tw z w";
        desk.says("edit_file", all, expected).await;
        let missing = desk.call("edit_file", edit("nothing", "w")).await.unwrap_err();
        assert_eq!(missing.kind, ErrorKind::NoMatch);
        assert!(missing.text.starts_with("Error: cannot edit `a.txt`: "), "{missing}");
        let edits = json!([{ "old_string": "z", "new_string": "1" }, { "old_string": "1 w", "new_string": "2" }]);
        let expected = "Edited a.txt: replaced 2 occurrences\nThe changed lines now:\n     1\tw 2";
        desk.says("multi_edit", json!({ "path": "a.txt", "edits": edits }), expected).await;
        let edits = json!([{ "old_string": "w", "new_string": "1" }, { "old_string": "no", "new_string": "2" }]);
        let none = desk.call("multi_edit", json!({ "path": "a.txt", "edits": edits })).await.unwrap_err();
        assert!(none.text.contains("edit 2 of 2 (none was applied)"), "{none}");
        let bytes = desk.files.read_bytes(&VirtualPath::parse("/a.txt").unwrap()).await.unwrap();
        assert_eq!(&bytes[..], b"w 2\r\n");
    }
}

#[tokio::test]
async fn an_edit_shows_a_few_lines_around_each_place() {
    for desk in both(&ToolsetOptions::default()) {
        let lines: String = (1..=40).map(|number| format!("line {number}\n")).collect();
        put(&desk, "/a.txt", lines).await;
        let edit = json!({ "path": "a.txt", "old_string": "0\n", "new_string": "0!\n", "replace_all": true });
        let answer = desk.call("edit_file", edit).await.unwrap();
        let start = "Edited a.txt: replaced 4 occurrences\nThe changed lines now:\n     8\tline 8\n     9\tline 9\n    \
                     10\tline 10!\n    11\tline 11\n    12\tline 12\n   ...\n    18\tline 18\n";
        assert!(answer.text.starts_with(start), "{}", answer.text);
        assert_eq!(answer.text.lines().count(), 2 + 18 + 3, "{}", answer.text);
        let data = answer.structured.unwrap();
        assert_eq!((&data["path"], &data["replaced"]), (&json!("/a.txt"), &json!(4)));
        assert!(answer.text.ends_with(data["now"].as_str().unwrap()), "{data}");
    }
}

#[tokio::test]
async fn the_dialect_of_another_library_keeps_its_meanings() {
    let mut options = ToolsetOptions::default();
    options.dialect = Dialect::PydanticAiBackend;
    for desk in both(&options) {
        put(&desk, "/.git/HEAD", "").await;
        put(&desk, "/.gitignore", "*.log\n").await;
        let write = json!({ "path": "a.log", "content": "one\n" });
        desk.says("write_file", write, "Wrote 1 lines to /a.log").await;
        let edit = json!({ "path": "a.log", "old_string": "one", "new_string": "one\ntwo\nthree" });
        desk.says("edit_file", edit, "Edited a.log: replaced 1 occurrence(s)").await;
        let window = json!({ "path": "a.log", "offset": 1, "limit": 1 });
        desk.says("read_file", window, "     2\ttwo\n\n... (1 more lines)").await;
        let past = desk.call("read_file", json!({ "path": "a.log", "offset": 9 })).await.unwrap_err();
        assert!(past.text.contains("Offset 9 exceeds file length (3 lines)"), "{past}");
        desk.says("glob", json!({ "pattern": "*.log" }), "Found 1 file(s) matching '*.log':\n  /a.log").await;
        let schema = |name: &str| {
            let tool = desk.tools.list().iter().find(|tool| tool.name == name).unwrap();
            tool.input_schema["properties"].clone()
        };
        assert_eq!(schema("read_file")["offset"]["description"], "The number of lines to skip.");
        assert!(schema("glob").get("include_ignored").is_none());
    }
}

#[tokio::test]
async fn hashlines_are_shown_and_edited() {
    let mut options = ToolsetOptions::default();
    options.edit_format = EditFormat::Hashline;
    for desk in both(&options) {
        put(&desk, "/a.txt", "one\ntwo\nthree\n").await;
        let shown = desk.call("read_file", json!({ "path": "a.txt" })).await.unwrap().text;
        let line = |number: usize| shown.lines().nth(number - 1).unwrap().to_owned();
        assert!(line(2).starts_with("2:") && line(2).ends_with("|two"), "{shown}");
        let hash = |number: usize| line(number)[2..4].to_owned();
        let range = json!({
            "path": "a.txt", "start_line": 1, "start_hash": hash(1), "end_line": 2, "end_hash": hash(2), "new_content": "1",
        });
        let expected = format!(
            "Edited a.txt: Replaced 2 lines with 1 line at line 1\nThe changed lines now:\n1:{}|1\n2:{}|three",
            workden_core::text::hashline::line_hash("1"),
            hash(3),
        );
        desk.says("hashline_edit", range, &expected).await;
        let insert = json!({ "path": "a.txt", "start_line": 2, "start_hash": hash(3), "new_content": "4", "insert_after": true });
        let answer = desk.call("hashline_edit", insert).await.unwrap();
        assert!(answer.text.starts_with("Edited a.txt: Inserted"), "{}", answer.text);
        let bytes = desk.files.read_bytes(&VirtualPath::parse("/a.txt").unwrap()).await.unwrap();
        assert_eq!(&bytes[..], b"1\nthree\n4\n");
    }
}

#[tokio::test]
async fn glob_shows_a_hundred_paths() {
    for desk in both(&ToolsetOptions::default()) {
        put(&desk, "/src/a.rs", "").await;
        put(&desk, "/src/.hidden.rs", "").await;
        let nothing = json!({ "pattern": "**/*.py", "path": "src" });
        desk.says("glob", nothing, "No files matching '**/*.py' in src").await;
        let one = json!({ "pattern": "a.{rs,py}", "path": "/src" });
        desk.says("glob", one, "Found 1 file matching 'a.{rs,py}':\n  /src/a.rs").await;
        for number in 0..103 {
            put(&desk, &format!("/many/{number:03}.txt"), "").await;
        }
        let answer = desk.call("glob", json!({ "pattern": "many/*.txt" })).await.unwrap();
        assert!(answer.text.starts_with("Found 103 files matching 'many/*.txt':\n  /many/"), "{}", answer.text);
        assert!(answer.text.ends_with("\n  ... and 3 more; a narrower pattern or path shows them"), "{}", answer.text);
        assert_eq!(answer.text.lines().count(), 102);
        let bad = desk.call("glob", json!({ "pattern": "[z-a]" })).await.unwrap_err();
        assert_eq!(bad.kind, ErrorKind::InvalidPattern);
    }
}

#[tokio::test]
async fn glob_leaves_out_ignored_files_and_says_how_many() {
    for desk in both(&ToolsetOptions::default()) {
        put(&desk, "/.git/HEAD", "").await;
        put(&desk, "/.gitignore", "*.log\n.venv/\n").await;
        put(&desk, "/a.log", "").await;
        put(&desk, "/a.py", "").await;
        put(&desk, "/.venv/lib/b.py", "").await;
        let text = async |arguments: serde_json::Value| desk.call("glob", arguments).await.unwrap().text;
        let found = "Found 1 file matching '**/*.py':\n  /a.py\n(1 ignored directory was not searched: .gitignore; set \
                     include_ignored to true to see them)";
        assert_eq!(text(json!({ "pattern": "**/*.py" })).await, found);
        let none = "No files matching '*.log' in .\n(1 ignored file is not shown: .gitignore; set include_ignored to \
                    true to see them)";
        assert_eq!(text(json!({ "pattern": "*.log" })).await, none);
        let all = text(json!({ "pattern": "**/*.{py,log}" })).await;
        assert!(all.contains("\n(1 ignored file and what is in 1 directory are not shown: "), "{all}");
        let all = text(json!({ "pattern": "**/*.py", "include_ignored": true })).await;
        assert!(all.starts_with("Found 2 files") && all.contains("/.venv/lib/b.py"), "{all}");
        assert!(!text(json!({ "pattern": "**" })).await.contains("HEAD"), "git's own files are not shown");
    }
}

#[tokio::test]
async fn grep_answers_in_three_ways() {
    for desk in both(&ToolsetOptions::default()) {
        put(&desk, "/src/a.rs", "fn main() {}\n// main\n").await;
        put(&desk, "/src/b.py", "main = 1\n").await;
        put(&desk, "/.hidden", "main\n").await;
        let grep = |extra: serde_json::Value| {
            let mut arguments = json!({ "pattern": "main" });
            arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            arguments
        };
        desk.says("grep", grep(json!({})), "Files containing 'main':\n  /src/a.rs\n  /src/b.py").await;
        desk.says("grep", grep(json!({ "output_mode": "count" })), "Found 3 matches for 'main'").await;
        let content = grep(json!({ "output_mode": "content", "path": "src", "glob_pattern": "*.rs" }));
        let expected = "Matches for 'main':\n  /src/a.rs:1: fn main() {}\n  /src/a.rs:2: // main";
        desk.says("grep", content, expected).await;
        let hidden = grep(json!({ "ignore_hidden": false, "head_limit": 1 }));
        let expected = "Files containing 'main':\n  /.hidden\n  ... and 2 more files; a larger head_limit or a narrower \
                        search shows them";
        desk.says("grep", hidden, expected).await;
        desk.says("grep", grep(json!({ "path": ".hidden" })), "Files containing 'main':\n  /.hidden").await;
        desk.says("grep", json!({ "pattern": "MAIN\\(" }), "No matches for 'MAIN\\('").await;
        let folded = json!({ "pattern": "MAIN(", "literal": true, "case_insensitive": true });
        desk.says("grep", folded, "Files containing 'MAIN(':\n  /src/a.rs").await;
        let bad = desk.call("grep", json!({ "pattern": "(" })).await.unwrap_err();
        assert_eq!(bad.kind, ErrorKind::InvalidPattern);
        let mode = json!({ "pattern": "x", "output_mode": "lines" });
        let expected = "Error: argument `output_mode` must be one of \"files_with_matches\", \"content\", \"count\", got \
                        \"lines\" (in a call of grep)";
        desk.refuses("grep", mode, ErrorKind::InvalidArgument, expected).await;
    }
}

#[tokio::test]
async fn grep_shows_lines_around_matches_and_stops_at_the_limit() {
    for desk in both(&ToolsetOptions::default()) {
        let lines: String = (1..=200).map(|number| format!("line {number}\n")).collect();
        put(&desk, "/a.txt", lines).await;
        let around = json!({ "pattern": "line (5|9)$", "output_mode": "content", "context": 1 });
        let expected = "Matches for 'line (5|9)$':\n  /a.txt-4- line 4\n  /a.txt:5: line 5\n  /a.txt-6- line 6\n  --\n  \
                        /a.txt-8- line 8\n  /a.txt:9: line 9\n  /a.txt-10- line 10";
        desk.says("grep", around, expected).await;
        for (limit, context) in [(50, 0), (50, 3), (7, 1)] {
            let all = json!({ "pattern": "line", "output_mode": "content", "head_limit": limit, "context": context });
            let answer = desk.call("grep", all).await.unwrap();
            let shown = answer.text.lines().filter(|line| line.contains(": line")).count();
            assert_eq!(shown, limit);
            let left =
                format!("  ... and {} more matches; a larger head_limit or a narrower search shows them", 200 - limit);
            assert_eq!(answer.text.lines().last().unwrap(), left);
        }
        put(&desk, "/long.txt", "é".repeat(5_000)).await;
        let long = json!({ "pattern": "é", "path": "long.txt", "output_mode": "content" });
        desk.says("grep", long, &format!("Matches for 'é':\n  /long.txt:1: {}...", "é".repeat(100))).await;
    }
}

#[tokio::test]
async fn the_extra_tools_are_for_files() {
    for desk in both(&everything()) {
        put(&desk, "/d/a.txt", "x").await;
        let pair = |source: &str, destination: &str| json!({ "source": source, "destination": destination });
        desk.says("copy_file", pair("d/a.txt", "b.txt"), "Copied d/a.txt to b.txt").await;
        desk.says("move_file", pair("b.txt", "e/f/b.txt"), "Moved b.txt to e/f/b.txt").await;
        desk.says("list_files", json!({}), r#"["d/a.txt","e/f/b.txt"]"#).await;
        let directory = desk.call("delete_file", json!({ "path": "d" })).await.unwrap_err();
        assert_eq!(directory.kind, ErrorKind::IsDirectory);
        let directory = desk.call("move_file", pair("d", "x")).await.unwrap_err();
        assert_eq!(directory.kind, ErrorKind::IsDirectory);
        let there = desk.call("move_file", pair("d/a.txt", "e/f/b.txt")).await.unwrap_err();
        assert_eq!(there.kind, ErrorKind::AlreadyExists);
        desk.says("delete_file", json!({ "path": "d/a.txt" }), "Deleted d/a.txt").await;
        let gone = desk.call("delete_file", json!({ "path": "d/a.txt" })).await.unwrap_err();
        assert_eq!(gone.kind, ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn a_link_is_deleted_and_moved_itself() {
    let desk = in_directory(everything());
    let root = desk.directory.as_ref().unwrap().path().to_owned();
    put(&desk, "/d/a.txt", "x").await;
    std::os::unix::fs::symlink("d", root.join("link")).unwrap();
    desk.says("move_file", json!({ "source": "link", "destination": "other" }), "Moved link to other").await;
    desk.says("delete_file", json!({ "path": "other" }), "Deleted other").await;
    assert!(root.join("d/a.txt").exists() && !root.join("other").is_symlink());
}

#[tokio::test]
async fn no_answer_names_the_host() {
    let desk = in_directory(everything());
    let root = desk.directory.as_ref().unwrap().path().to_owned();
    put(&desk, "/a.txt", "x").await;
    std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
    std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
    std::fs::create_dir(root.join("d")).unwrap();
    let host = root.to_str().unwrap();
    for path in ["a.txt", "out/passwd", "out", "loop", "no", "d", "a.txt/b", "../..", "x\u{0}y", &"n".repeat(300), host]
    {
        for (tool, arguments) in [
            ("ls", json!({ "path": path })),
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "y" })),
            ("edit_file", json!({ "path": path, "old_string": "q", "new_string": "z" })),
            ("glob", json!({ "path": path, "pattern": "**" })),
            ("grep", json!({ "path": path, "pattern": "x" })),
            ("delete_file", json!({ "path": path })),
            ("move_file", json!({ "source": path, "destination": path })),
            ("copy_file", json!({ "source": path, "destination": "d" })),
            ("list_files", json!({ "path": path })),
        ] {
            let text = match desk.call(tool, arguments).await {
                Ok(answer) => format!("{}{:?}", answer.text, answer.structured),
                Err(failure) => failure.text,
            };
            // A path that the model has typed itself may come back.
            assert!(path == host || !text.contains(host), "{tool} {path:?}: {text}");
            assert!(!text.contains("os error") && !text.contains("root:x"), "{tool} {path:?}: {text}");
        }
    }
}

#[tokio::test]
async fn a_special_file_does_not_block() {
    let desk = in_directory(everything());
    let root = desk.directory.as_ref().unwrap().path().to_owned();
    let made = std::process::Command::new("mkfifo").arg(root.join("fifo")).status().unwrap();
    assert!(made.success());
    for (tool, arguments) in [
        ("read_file", json!({ "path": "fifo" })),
        ("write_file", json!({ "path": "fifo", "content": "x" })),
        ("edit_file", json!({ "path": "fifo", "old_string": "x", "new_string": "y" })),
        ("copy_file", json!({ "source": "fifo", "destination": "copy" })),
    ] {
        // Opening a FIFO would block for ever.
        let answer = tokio::time::timeout(Duration::from_secs(300), desk.call(tool, arguments)).await.unwrap();
        let failure = answer.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::NotRegular, "{tool}: {failure}");
    }
    desk.says("ls", json!({}), "Contents of .:\n  fifo (not a regular file)").await;
}
