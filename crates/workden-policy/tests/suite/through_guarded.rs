//! A policy before a real backend: no call is a way around it.

use std::sync::Arc;

use futures_executor::block_on;
use workden_core::{
    BackendExt, ErrorKind, Expect, Gate, Guarded, IfExists, Removal, SteppingClock,
    search::{GlobRequest, GrepRequest, Hidden, ListRequest},
    text::Replacement,
};
use workden_files::StateBackend;
use workden_policy::{Derive, MountRules, Policy, Preset};

use crate::{mounted, path, paths};

fn workspace(policy: Policy, files: &[(&str, &str)]) -> Guarded<StateBackend> {
    let backend = StateBackend::new(Arc::new(SteppingClock::default()));
    for (name, content) in files {
        block_on(backend.write_path(&path(name), (*content).to_owned().into(), Expect::Absent)).unwrap();
    }
    let gate: Arc<dyn Gate> = Arc::new(policy);
    Guarded::new(backend).gate(gate)
}

const FILES: &[(&str, &str)] =
    &[("/.env", "KEY=sk-123\n"), ("/a.md", "KEY here\n"), ("/a\nb/.env", "KEY=2\n"), ("/secrets/x", "KEY=3\n")];

#[test]
fn a_denied_file_is_reached_by_no_call() {
    let files = workspace(Policy::new().with_rules(&Preset::Permissive.ruleset()).unwrap(), FILES);
    let elsewhere = path("/copy.md");
    for secret in ["/.env", "/a\nb/.env", "/secrets/x", "/./secrets//x", "/x/../.env"] {
        let secret = path(secret);
        let kinds = [
            block_on(files.read_bytes(&secret)).unwrap_err().kind(),
            block_on(files.read_numbered(&secret, 0, 10)).unwrap_err().kind(),
            block_on(files.entry(&secret)).unwrap_err().kind(),
            block_on(files.write_path(&secret, "x".into(), Expect::Anything)).unwrap_err().kind(),
            block_on(files.edit(&secret, &[Replacement::once("KEY", "x")])).unwrap_err().kind(),
            block_on(files.copy_path(&secret, &elsewhere, IfExists::Refuse)).unwrap_err().kind(),
            block_on(files.copy_path(&path("/a.md"), &secret, IfExists::Replace)).unwrap_err().kind(),
            block_on(files.move_path(&secret, &elsewhere, IfExists::Refuse)).unwrap_err().kind(),
            block_on(files.remove_path(&secret, Removal::One)).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::Denied; 9], "{secret}");
        assert!(!block_on(files.exists(&secret)), "{secret}");
        let named = block_on(files.grep_path(&secret, &GrepRequest::regex("KEY"))).unwrap();
        assert_eq!((named.matches, named.skipped.denied), (0, 1), "{secret}");
    }
    let everywhere = GrepRequest::regex("KEY").hidden(Hidden::Include);
    let found = block_on(files.grep_path(&path("/"), &everywhere)).unwrap();
    let names: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((names, found.skipped.denied), (vec!["/a.md"], 3));
}

#[test]
fn a_readonly_workspace_is_read_and_searched_and_never_changed() {
    let files = workspace(Policy::new().with_rules(&Preset::Readonly.ruleset()).unwrap(), FILES);
    assert!(block_on(files.read_bytes(&path("/a.md"))).is_ok());
    assert_eq!(block_on(files.read_bytes(&path("/.env"))).unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(block_on(files.make_dir_path(&path("/d"))).unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(block_on(files.list_path(&path("/"), &ListRequest::default())).unwrap().entries.len(), 4);
}

#[test]
fn a_strict_workspace_answers_that_it_needs_an_approval() {
    let files = workspace(Policy::new().with_rules(&Preset::Strict.ruleset()).unwrap(), FILES);
    let kind = block_on(files.read_bytes(&path("/a.md"))).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::ApprovalNeeded);
    assert!(block_on(files.entry(&path("/a.md"))).is_ok(), "no content is shown");
}

#[test]
fn a_derived_workspace_shows_no_names_beside_the_way() {
    let policy = mounted(vec![MountRules::read_write(path("/output")), MountRules::read_only(path("/input"))]);
    let wanted = Derive { allow_read: Some(paths(&["/output/reports"])), ..Derive::default() };
    let files = workspace(
        policy.derive(&wanted).unwrap(),
        &[("/output/reports/a.md", "x"), ("/output/private/b.md", "x"), ("/output/c.md", "x"), ("/input/d.md", "x")],
    );
    let names = |at: &str| -> Vec<String> {
        let listing = block_on(files.list_path(&path(at), &ListRequest::default())).unwrap();
        listing.entries.iter().map(|entry| entry.path.to_string()).collect()
    };
    assert_eq!(names("/"), ["/output"]);
    assert_eq!(names("/output"), ["/output/reports"]);
    assert_eq!(names("/output/reports"), ["/output/reports/a.md"]);
    let found = block_on(files.glob_path(&path("/"), &GlobRequest::new("**/*.md"))).unwrap();
    assert_eq!(found.entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["/output/reports/a.md"]);
    let found = block_on(files.grep_path(&path("/output"), &GrepRequest::regex("x"))).unwrap();
    assert_eq!(found.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["/output/reports/a.md"]);
    assert_eq!(
        block_on(files.list_path(&path("/input"), &ListRequest::default())).unwrap_err().kind(),
        ErrorKind::Denied
    );
}
