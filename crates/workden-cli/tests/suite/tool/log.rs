//! `WORKDEN_LOG`: lines on standard error, and nowhere else.

use serde_json::json;

use crate::project::{Project, Ran};

fn logged(level: &str) -> Ran {
    let project = Project::with_secret();
    let arguments = json!({ "path": "notes.md" }).to_string();
    Ran::of(project.command(&["tool", "read_file", &arguments]).env("WORKDEN_LOG", level).output().unwrap())
}

#[test]
fn each_call_is_a_line_where_a_level_is_set() {
    for (level, expected) in
        [("", ""), ("off", ""), ("info", "workden: read_file: read \"/workspace/notes.md\": allowed\n")]
    {
        let ran = logged(level);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "     1\tremember\n"), "{level}");
        assert!(ran.err.lines().all(|line| line.starts_with("workden: read_file: ")), "{ran:?}");
        assert!(ran.err.ends_with(expected), "{level}: {ran:?}");
        assert_eq!(ran.err.is_empty(), expected.is_empty(), "{level}: {ran:?}");
    }
    let nonsense = logged("loud");
    assert!(nonsense.code == Some(3) && nonsense.err.contains("invalid WORKDEN_LOG `loud`"), "{nonsense:?}");
}
