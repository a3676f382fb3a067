//! The text of PDF files, extracted by a program in the sandbox: a script here, in place of `pdftotext`.
#![cfg(target_os = "linux")]

use std::{collections::BTreeMap, path::Path, process::Stdio, sync::Arc};

use async_trait::async_trait;
use serde_json::json;
use workden_core::{Access, ErrorKind, Execution, Gate, Guarded, Op, Refusal, Resolved, Sandbox, Verdict, Visibility};
use workden_keeper::{Keeper, KeeperConfig};
use workden_tools::{ToolTarget, Toolset, ToolsetOptions};

use crate::desk::Desk;

/// Each line after the first is a page. The answers are those of `pdftotext -q`.
const EXTRACTOR: &str = r#"#!/bin/sh
[ "$1 $2 $3 $4 $6" = "-q -enc UTF-8 -f -l" ] && [ "$9" = - ] || exit 2
awk -v f="$5" -v l="$7" '
    /garbage/ { bad = 1; exit }
    NR > 1 { n++; if (n >= f && n <= l) printf "%s\n\n\f", $0 }
    END { exit bad ? 1 : f > n ? 99 : 0 }
' "$8"
"#;

/// Files and commands in a directory, with or without an extractor.
fn desk(options: ToolsetOptions, extractor: Option<&str>) -> Desk {
    let directory = tempfile::tempdir().unwrap();
    let programs = directory.path().join(".bin");
    std::fs::create_dir(&programs).unwrap();
    if let Some(script) = extractor {
        install(&programs.join("pdftotext"), script);
    }
    let path = format!("{}:/usr/bin:/bin", programs.display());
    // Nothing else on this machine counts as an extractor.
    let path = if extractor.is_some() { path } else { programs.display().to_string() };
    let config = KeeperConfig::host(directory.path(), BTreeMap::from([("PATH".to_owned(), path)]));
    let sandbox: Arc<dyn Sandbox> = Arc::new(Keeper::new(config).unwrap());
    let tools = Toolset::new(ToolTarget::sandbox(Arc::clone(&sandbox)), options).unwrap();
    Desk { tools, files: Arc::new(sandbox), directory: Some(directory) }
}

/// Written by another process: a program that this one has open for writing cannot be started, and a fork of another
/// test would keep it open.
fn install(program: &Path, script: &str) {
    let mut writer = std::process::Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(program)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut writer.stdin.take().unwrap(), script.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

fn put(desk: &Desk, name: &str, pages: &[&str]) {
    let path = desk.directory.as_ref().unwrap().path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("%PDF-1.4\n{}\n", pages.join("\n"))).unwrap();
}

fn without_documents() -> ToolsetOptions {
    let mut options = ToolsetOptions::default();
    options.documents = false;
    options
}

#[tokio::test]
async fn the_text_of_named_pages() {
    let desk = desk(ToolsetOptions::default(), Some(EXTRACTOR));
    put(&desk, "papers/a 'b.pdf", &["Hello one", "", "Hello three"]);
    let path = "papers/a 'b.pdf";
    let expected = "PDF papers/a 'b.pdf: pages 2-3, as text\n--- page 2 ---\n(no text on this page)\n--- page 3 ---\nHello \
                    three";
    desk.says("read_file", json!({ "path": path, "pages": "2-9" }), expected).await;
    let expected = "PDF papers/a 'b.pdf: pages 1-1, as text\n--- page 1 ---\nHello one\n\n... (more pages follow; \
                    pages=\"2-21\" shows the next)";
    desk.says("read_file", json!({ "path": path, "pages": "1" }), expected).await;
    let expected = "Error: 'papers/a 'b.pdf' has no page 4";
    desk.refuses("read_file", json!({ "path": path, "pages": "4" }), ErrorKind::OutOfRange, expected).await;
}

#[tokio::test]
async fn a_document_too_large_or_for_a_model_without_them_comes_as_text() {
    let pages: Vec<String> = (1..=50).map(|page| format!("This is page {page}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut small = ToolsetOptions::default();
    small.max_document_bytes = 100;
    for options in [small, without_documents()] {
        let desk = desk(options, Some(EXTRACTOR));
        put(&desk, "a.pdf", &pages);
        let answer = desk.call("read_file", json!({ "path": "/a.pdf" })).await.unwrap();
        assert!(answer.attachments.is_empty());
        let text = answer.text;
        assert!(text.starts_with("PDF /a.pdf: pages 1-20, as text\n--- page 1 ---\nThis is page 1\n"), "{text}");
        let end = "This is page 20\n\n... (more pages follow; pages=\"21-40\" shows the next)";
        assert!(text.ends_with(end), "{text}");
    }
}

#[tokio::test]
async fn long_documents_are_cut_between_pages_and_damaged_ones_refused() {
    let desk = desk(without_documents(), Some(EXTRACTOR));
    let long = "word ".repeat(12_000);
    put(&desk, "a.pdf", &[&long, &long, &long, &long]);
    let text = desk.call("read_file", json!({ "path": "a.pdf" })).await.unwrap().text;
    assert!(text.chars().count() < 201_000, "{}", text.len());
    let end = "word\n\n... (more pages follow; pages=\"2-21\" shows the next)";
    assert!(text.ends_with(end), "{}", &text[text.len() - 200..]);
    put(&desk, "one.pdf", &[&"word ".repeat(100_000)]);
    let text = desk.call("read_file", json!({ "path": "one.pdf", "pages": "1" })).await.unwrap().text;
    assert!(text.chars().count() < 201_000, "{}", text.len());
    assert!(text.contains("\n... (the rest of page 1 is left out)"), "{}", &text[text.len() - 200..]);
    put(&desk, "b.pdf", &["garbage\0"]);
    let expected = "Error: cannot extract the text of 'b.pdf': the document is damaged or encrypted";
    desk.refuses("read_file", json!({ "path": "b.pdf" }), ErrorKind::NotText, expected).await;
}

#[tokio::test]
async fn a_sandbox_without_an_extractor_says_what_to_install() {
    let desk = desk(without_documents(), None);
    put(&desk, "a.pdf", &["Hello"]);
    let expected = "Error: cannot extract the text of 'a.pdf': `pdftotext` is not installed in the sandbox\nhint: install \
                    `pdftotext` (package poppler-utils) in the sandbox, or set the option `documents` if the model takes \
                    PDF files";
    desk.refuses("read_file", json!({ "path": "a.pdf" }), ErrorKind::Unsupported, expected).await;
}

/// Denies commands.
#[derive(Debug)]
struct NoCommands;

#[async_trait]
impl Gate for NoCommands {
    async fn judge(&self, op: Op<'_>) -> Verdict {
        match op {
            Op::Execute(Execution { script, .. }) => {
                let target = script.clone();
                let operation = "execute".to_owned();
                Verdict::Deny(Refusal::Unapproved { operation, target, description: String::new() }.into())
            }
            _ => Verdict::Allow,
        }
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }

    async fn understood(&self, _: &Execution) -> Option<Vec<Vec<String>>> {
        None
    }
}

#[tokio::test]
async fn the_gates_of_commands_apply() {
    let ungated = desk(without_documents(), Some(EXTRACTOR));
    put(&ungated, "a.pdf", &["Hello"]);
    let directory = ungated.directory.as_ref().unwrap().path();
    let path = format!("{}/.bin:/usr/bin:/bin", directory.display());
    let config = KeeperConfig::host(directory, BTreeMap::from([("PATH".to_owned(), path)]));
    let sandbox: Arc<dyn Sandbox> = Arc::new(Keeper::new(config).unwrap());
    let place = || ToolTarget::sandbox(Arc::clone(&sandbox));
    let gated = place().commands(Guarded::new(Arc::clone(&sandbox)).gate(Arc::new(NoCommands)));
    let gated = Toolset::new(gated, without_documents()).unwrap();
    let failure = gated.call("read_file", json!({ "path": "a.pdf" })).await.unwrap_err();
    assert_eq!(failure.kind, ErrorKind::ApprovalNeeded, "{failure}");
    // Without `execute` nothing is run, by the option or by the policy.
    let mut no_execute = without_documents();
    no_execute.include_execute = false;
    let by_option = Toolset::new(place(), no_execute).unwrap();
    let by_policy = Toolset::new(place().denied_everywhere(["execute"]), without_documents()).unwrap();
    for tools in [by_option, by_policy] {
        let failure = tools.call("read_file", json!({ "path": "a.pdf" })).await.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Unsupported, "{failure}");
    }
}
