//! The tools that a model is offered, and their descriptions.

use serde_json::{Value, json};
use workden_core::ErrorKind;
use workden_files::memory;
use workden_tools::{EditFormat, Profile, ToolSpec, ToolTarget, Toolset, ToolsetOptions};

use crate::desk::{everything, in_memory};

fn names(tools: &Toolset) -> Vec<&'static str> {
    tools.names().collect()
}

#[test]
fn without_a_sandbox_there_are_no_tools_for_commands() {
    let tools = in_memory(ToolsetOptions::default()).tools;
    assert_eq!(names(&tools), ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]);
    let listed: Vec<&str> = tools.list().iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(listed, names(&tools));
    for word in ["execute", "background", "shell"] {
        assert!(!tools.system_prompt().contains(word), "{}", tools.system_prompt());
        assert!(!tools.list().iter().any(|spec| spec.description.contains(word)), "{word}");
    }
}

#[test]
fn one_way_to_edit_at_a_time() {
    let mut options = ToolsetOptions::default();
    options.edit_format = EditFormat::Hashline;
    let tools = in_memory(options).tools;
    assert_eq!(names(&tools), ["ls", "read_file", "write_file", "hashline_edit", "glob", "grep"]);
    assert!(tools.system_prompt().contains("hashline_edit"));
    assert!(!tools.system_prompt().contains("edit_file"));
    assert!(!tools.list().iter().any(|spec| spec.description.contains("edit_file")));
}

#[test]
fn a_tool_that_is_denied_everywhere_is_not_offered() {
    let offered = |denied: &[&str], options: &ToolsetOptions| {
        let place = ToolTarget::backend(memory()).denied_everywhere(denied.iter().copied());
        Toolset::new(place, options.clone()).unwrap()
    };
    let plain = ToolsetOptions::default();
    assert_eq!(names(&offered(&["write", "edit"], &plain)), ["ls", "read_file", "glob", "grep"]);
    // An edit reads, too.
    assert_eq!(names(&offered(&["read"], &plain)), ["ls", "write_file", "glob", "grep"]);
    let read_only = offered(&["write", "delete"], &everything());
    assert_eq!(names(&read_only), ["ls", "read_file", "edit_file", "multi_edit", "glob", "grep", "list_files"]);
    assert!(!read_only.system_prompt().contains("write_file"));
    let mut documents = plain.clone();
    documents.profile = Profile::Filesystem;
    assert_eq!(
        names(&offered(&["delete"], &documents)),
        ["read_file", "write_file", "list_files", "edit_file", "copy_file"]
    );
}

#[test]
fn descriptions_name_no_tool_that_is_not_there() {
    let all = [
        "ls",
        "read_file",
        "write_file",
        "edit_file",
        "hashline_edit",
        "multi_edit",
        "glob",
        "grep",
        "list_files",
        "move_file",
        "copy_file",
        "delete_file",
        "execute",
        "run_in_background",
        "read_output",
        "kill_shell",
        "list_shells",
    ];
    for denied in [&[][..], &["write"], &["edit"], &["read"], &["glob"], &["grep"], &["ls"]] {
        for profile in [Profile::Console, Profile::Filesystem] {
            let mut options = ToolsetOptions::default();
            options.profile = profile;
            let place = ToolTarget::backend(memory()).denied_everywhere(denied.iter().copied());
            let tools = Toolset::new(place, options).unwrap();
            let there = names(&tools);
            let described = |spec: &ToolSpec| format!("{} {}", spec.description, spec.input_schema);
            let told = tools.list().iter().map(described).chain([tools.system_prompt()]);
            for text in told {
                let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
                let absent = all.iter().find(|name| words.contains(name) && !there.contains(name));
                assert_eq!(absent, None, "{denied:?} {profile:?}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_tool_that_is_not_there_cannot_be_called() {
    let desk = in_memory(ToolsetOptions::default());
    for name in ["delete_file", "execute", "hashline_edit", "", "rm"] {
        let expected =
            format!("Error: tool `{name}` not found\nhint: tools: ls, read_file, write_file, edit_file, glob, grep");
        desk.refuses(name, json!({}), ErrorKind::InvalidArgument, &expected).await;
    }
}

#[test]
fn descriptions_can_be_replaced_by_name() {
    let mut options = ToolsetOptions::default();
    options.descriptions.insert("grep".to_owned(), "Find things.".to_owned());
    let tools = in_memory(options.clone()).tools;
    assert_eq!(tools.list().iter().find(|spec| spec.name == "grep").unwrap().description, "Find things.");
    options.descriptions.insert("gerp".to_owned(), "Find things.".to_owned());
    let error = Toolset::new(ToolTarget::backend(memory()), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.to_string().starts_with("tool `gerp` not found, cannot describe it\nhint: tools: ls, read_file"),
        "{error}"
    );
}

#[test]
fn every_argument_is_described_and_no_schema_is_fancy() {
    let mut hashline = everything();
    hashline.edit_format = EditFormat::Hashline;
    let mut documents = ToolsetOptions::default();
    documents.profile = Profile::Filesystem;
    for options in [everything(), hashline, documents] {
        for spec in in_memory(options).tools.list() {
            let schema = &spec.input_schema;
            assert_eq!(schema["additionalProperties"], json!(false), "{}", spec.name);
            let text = schema.to_string();
            for keyword in ["$ref", "$defs", "$schema", "anyOf", "oneOf", "\"title\"", "\"format\""] {
                assert!(!text.contains(keyword), "{}: {text}", spec.name);
            }
            for (name, property) in schema["properties"].as_object().unwrap() {
                let described = property["description"].as_str().is_some_and(|text| !text.contains('\n'));
                assert!(described, "{}.{name}: {property}", spec.name);
                assert!(property["type"].is_string(), "{}.{name}: {property}", spec.name);
            }
        }
    }
}

#[test]
fn the_schema_of_grep() {
    let tools = in_memory(ToolsetOptions::default()).tools;
    let grep = tools.list().iter().find(|spec| spec.name == "grep").unwrap();
    let mut schema = grep.input_schema.clone();
    for property in schema["properties"].as_object_mut().unwrap().values_mut() {
        property.as_object_mut().unwrap().remove("description");
    }
    let expected: Value = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["pattern"],
        "properties": {
            "pattern": { "type": "string" },
            "path": { "type": "string" },
            "glob_pattern": { "type": "string" },
            "output_mode": {
                "type": "string",
                "enum": ["files_with_matches", "content", "count"],
                "default": "files_with_matches",
            },
            "ignore_hidden": { "type": "boolean" },
            "context": { "type": "integer", "minimum": 0, "maximum": 20, "default": 0 },
            "head_limit": { "type": "integer", "minimum": 1, "maximum": 1000, "default": 50 },
            "case_insensitive": { "type": "boolean", "default": false },
            "literal": { "type": "boolean", "default": false },
            "multiline": { "type": "boolean", "default": false },
        },
    });
    assert_eq!(schema, expected);
}

#[test]
fn annotations_say_what_a_call_can_do() {
    let tools = in_memory(everything()).tools;
    let which = |says: fn(&workden_tools::Annotations) -> bool| -> Vec<String> {
        tools.list().iter().filter(|spec| says(&spec.annotations)).map(|spec| spec.name.clone()).collect()
    };
    assert_eq!(which(|says| says.read_only), ["ls", "read_file", "glob", "grep", "list_files"]);
    assert_eq!(which(|says| says.destructive), ["write_file", "edit_file", "multi_edit", "move_file", "delete_file"]);
    assert!(which(|says| says.open_world).is_empty());
}
