//! Edits of files that another program has changed since they were read.

use std::sync::Arc;

use serde_json::json;
use workden_core::{BackendExt, ErrorKind, Expect, VirtualPath};
use workden_tools::{EditFormat, ToolsetOptions};

use crate::desk::{Desk, both, everything, in_directory};

async fn another_program_writes(desk: &Desk, typed: &str, content: &str) {
    let path = VirtualPath::parse(typed).unwrap();
    desk.files.write_path(&path, content.to_owned().into(), Expect::Anything).await.unwrap();
}

async fn content(desk: &Desk, typed: &str) -> String {
    let bytes = desk.files.read_bytes(&VirtualPath::parse(typed).unwrap()).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn an_edit_of_a_file_that_changed_is_refused_with_what_changed() {
    for desk in both(&ToolsetOptions::default()) {
        another_program_writes(&desk, "/a.txt", "one\ntwo\nthree\n").await;
        desk.call("read_file", json!({ "path": "a.txt" })).await.unwrap();
        another_program_writes(&desk, "/a.txt", "one\n2\nthree\nfour\n").await;
        let edit = json!({ "path": "a.txt", "old_string": "three", "new_string": "3" });
        let expected = "Error: 'a.txt' changed since you last read it. Read it again before editing so your change \
                        applies to the current contents.\nWhat changed (- before, + now):\n-    2\ttwo\n+    2\t2\n\
                        +    4\tfour";
        desk.refuses("edit_file", edit.clone(), ErrorKind::Conflict, expected).await;
        desk.refuses("edit_file", edit.clone(), ErrorKind::Conflict, expected).await;
        assert_eq!(content(&desk, "/a.txt").await, "one\n2\nthree\nfour\n");
        desk.call("read_file", json!({ "path": "a.txt", "limit": 1 })).await.unwrap();
        let edited = desk.call("edit_file", edit).await.unwrap().text;
        assert!(edited.starts_with("Edited a.txt: replaced 1 occurrence\n"), "{edited}");
    }
}

#[tokio::test]
async fn another_spelling_is_no_way_around() {
    let desk = in_directory(everything());
    let root = desk.directory.as_ref().unwrap().path();
    std::fs::create_dir(root.join("d")).unwrap();
    std::os::unix::fs::symlink("../a.txt", root.join("d/link")).unwrap();
    std::os::unix::fs::symlink("d", root.join("e")).unwrap();
    let spellings = ["a.txt", "/a.txt", "./a.txt", "//a.txt", "d/../a.txt", "d/link", "e/link"];
    for read_as in spellings {
        for edited_as in spellings {
            another_program_writes(&desk, "/a.txt", "before\n").await;
            desk.call("read_file", json!({ "path": read_as })).await.unwrap();
            another_program_writes(&desk, "/a.txt", "after\n").await;
            let edit = json!({ "path": edited_as, "old_string": "after", "new_string": "lost" });
            let failure = desk.call("edit_file", edit).await.unwrap_err();
            assert_eq!(failure.kind, ErrorKind::Conflict, "read as {read_as}, edited as {edited_as}");
            let edits = json!([{ "old_string": "after", "new_string": "lost" }]);
            let failure = desk.call("multi_edit", json!({ "path": edited_as, "edits": edits })).await.unwrap_err();
            assert!(failure.text.contains(&format!("Error: '{edited_as}' changed since")), "{failure}");
        }
    }
    assert_eq!(content(&desk, "/a.txt").await, "after\n");
}

#[tokio::test]
async fn a_file_that_the_agent_wrote_itself_is_not_stale() {
    for desk in both(&everything()) {
        // Other line endings and a character outside of ASCII, which other code handles.
        let text = "one\r\ntwo\r\nthrée\r\n";
        desk.call("write_file", json!({ "path": "a.txt", "content": text })).await.unwrap();
        for (old, new) in [("one", "1"), ("two", "2"), ("thrée", "3")] {
            let edit = json!({ "path": "./a.txt", "old_string": old, "new_string": new });
            let edited = desk.call("edit_file", edit).await.unwrap().text;
            assert!(edited.starts_with("Edited ./a.txt: replaced 1 occurrence\n"), "{edited}");
        }
        desk.call("read_file", json!({ "path": "a.txt" })).await.unwrap();
        desk.call("write_file", json!({ "path": "/a.txt", "content": "new\n" })).await.unwrap();
        desk.call("edit_file", json!({ "path": "a.txt", "old_string": "new", "new_string": "old" })).await.unwrap();
        desk.call("move_file", json!({ "source": "a.txt", "destination": "b.txt" })).await.unwrap();
        desk.call("edit_file", json!({ "path": "b.txt", "old_string": "old", "new_string": "x" })).await.unwrap();
        desk.call("copy_file", json!({ "source": "b.txt", "destination": "a.txt" })).await.unwrap();
        desk.call("edit_file", json!({ "path": "a.txt", "old_string": "x", "new_string": "y" })).await.unwrap();
        assert_eq!((content(&desk, "/a.txt").await, content(&desk, "/b.txt").await), ("y\n".into(), "x\n".into()));
    }
}

#[tokio::test]
async fn a_file_that_moved_is_watched_where_it_is() {
    for desk in both(&everything()) {
        another_program_writes(&desk, "/a.txt", "one\n").await;
        desk.call("read_file", json!({ "path": "a.txt" })).await.unwrap();
        desk.call("move_file", json!({ "source": "a.txt", "destination": "b.txt" })).await.unwrap();
        another_program_writes(&desk, "/b.txt", "two\n").await;
        let edit = json!({ "path": "b.txt", "old_string": "two", "new_string": "x" });
        let failure = desk.call("edit_file", edit).await.unwrap_err();
        assert!(failure.text.ends_with("-    1\tone\n+    1\ttwo"), "{failure}");
        // A new file under the old name was never read.
        another_program_writes(&desk, "/a.txt", "three\n").await;
        desk.call("edit_file", json!({ "path": "a.txt", "old_string": "three", "new_string": "3" })).await.unwrap();
        desk.call("delete_file", json!({ "path": "a.txt" })).await.unwrap();
        another_program_writes(&desk, "/a.txt", "four\n").await;
        desk.call("edit_file", json!({ "path": "a.txt", "old_string": "four", "new_string": "4" })).await.unwrap();
    }
}

#[tokio::test]
async fn the_difference_after_an_own_edit_starts_from_that_edit() {
    for desk in both(&ToolsetOptions::default()) {
        desk.call("write_file", json!({ "path": "a.txt", "content": "one\ntwo\n" })).await.unwrap();
        desk.call("edit_file", json!({ "path": "a.txt", "old_string": "one", "new_string": "1" })).await.unwrap();
        another_program_writes(&desk, "/a.txt", "1\n2\n").await;
        let edit = json!({ "path": "a.txt", "old_string": "1", "new_string": "x" });
        let failure = desk.call("edit_file", edit).await.unwrap_err();
        assert!(failure.text.ends_with("now):\n-    2\ttwo\n+    2\t2"), "{failure}");
    }
}

#[tokio::test]
async fn agents_do_not_know_what_others_have_read() {
    for desk in both(&ToolsetOptions::default()) {
        another_program_writes(&desk, "/a.txt", "one\n").await;
        desk.call("read_file", json!({ "path": "a.txt" })).await.unwrap();
        let other = desk.tools.for_another_agent();
        other.call("write_file", json!({ "path": "a.txt", "content": "two\n" })).await.unwrap();
        let edit = json!({ "path": "a.txt", "old_string": "two", "new_string": "2" });
        assert_eq!(desk.call("edit_file", edit.clone()).await.unwrap_err().kind, ErrorKind::Conflict);
        // An agent that never read the file is not affected by one that did.
        other.for_another_agent().call("edit_file", edit).await.unwrap();
        assert_eq!(content(&desk, "/a.txt").await, "2\n");
    }
}

#[tokio::test]
async fn edits_of_one_agent_at_the_same_time_are_all_made() {
    for desk in both(&ToolsetOptions::default()) {
        let lines: String = (0..64).map(|number| format!("line {number:03}\n")).collect();
        desk.call("write_file", json!({ "path": "a.txt", "content": lines })).await.unwrap();
        let tools = Arc::new(desk.tools.clone());
        let edits: Vec<_> = (0..64)
            .map(|number| {
                let tools = Arc::clone(&tools);
                tokio::spawn(async move {
                    let (old, new) = (format!("line {number:03}"), format!("done {number:03}"));
                    let spelling = if number % 2 == 0 { "a.txt" } else { "./a.txt" };
                    tools.call("read_file", json!({ "path": spelling, "limit": 1 })).await.unwrap();
                    let edit = json!({ "path": spelling, "old_string": old, "new_string": new });
                    tools.call("edit_file", edit).await
                })
            })
            .collect();
        for edit in edits {
            edit.await.unwrap().unwrap();
        }
        assert!(!content(&desk, "/a.txt").await.contains("line"));
    }
}

#[tokio::test]
async fn hashline_edits_are_watched_too() {
    let mut options = ToolsetOptions::default();
    options.edit_format = EditFormat::Hashline;
    for desk in both(&options) {
        another_program_writes(&desk, "/a.txt", "one\ntwo\n").await;
        let shown = desk.call("read_file", json!({ "path": "a.txt" })).await.unwrap().text;
        let hash = &shown[2..4];
        another_program_writes(&desk, "/a.txt", "one\n2\n").await;
        let edit = json!({ "path": "a.txt", "start_line": 1, "start_hash": hash, "new_content": "1" });
        let failure = desk.call("hashline_edit", edit.clone()).await.unwrap_err();
        assert!(failure.text.starts_with("Error: 'a.txt' changed since you last read it."), "{failure}");
        desk.call("read_file", json!({ "path": "a.txt" })).await.unwrap();
        let edited = desk.call("hashline_edit", edit).await.unwrap().text;
        assert!(edited.starts_with("Edited a.txt: Replaced 1 line at line 1\n"), "{edited}");
        // A hash that does not match is another conflict, with its own message.
        let wrong = json!({ "path": "a.txt", "start_line": 1, "start_hash": "zz", "new_content": "1" });
        let failure = desk.call("hashline_edit", wrong).await.unwrap_err();
        assert!(!failure.text.contains("changed since you last read it. Read it again before editing so"), "{failure}");
    }
}
