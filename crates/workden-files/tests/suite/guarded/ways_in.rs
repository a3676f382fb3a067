//! The table: every name that leads to a denied file, every call that could tell its content, every
//! backend. None reaches it.

use std::sync::Arc;

use futures_executor::block_on;
use workden_core::{
    Backend, BackendExt, ByteRange, ErrorKind, Expect, Guarded, IfExists, OpenGate, Removal, Result, Symlink, Version,
    VirtualPath,
    search::{GlobKinds, GlobRequest, GrepRequest, Hidden, ListRequest},
    text::{HashlineEdit, Replacement, TextWindow, hashline::line_hash},
};
use workden_files::{CompositeBackend, LocalBackend, memory};

use super::{
    Denies, path,
    places::{MARK, Place, SECRET, places},
};

/// One path, and a pattern that also has it, in any letter case.
const RULES: [&str; 2] = [SECRET, "**/SECRET*"];

const CALLS: &[&str] = &[
    "read",
    "part",
    "lines",
    "characters",
    "hashlines",
    "edit",
    "edit in vain",
    "hashline edit",
    "write a version",
    "copy",
    "move",
    "grep",
];

/// Makes one call on a file; gives back all that it answered.
async fn call(files: &dyn Backend, name: &str, at: &VirtualPath) -> Result<String> {
    let out = path("/open/out");
    Ok(match name {
        "read" => format!("{:?}", files.read_bytes(at).await?),
        "part" => {
            let at = files.resolve(at, Symlink::Follow).await?;
            format!("{:?}", files.read(&at, ByteRange::Part { offset: 0, length: 100 }).await?)
        }
        "lines" => files.read_numbered(at, 0, 10).await?.text,
        "characters" => format!("{:?}", files.read_window(at, TextWindow::chars(0, 50)).await?),
        "hashlines" => files.read_hashlines(at, 0, 10).await?.text,
        // Whether an edit fits tells what is there.
        "edit" => format!("{MARK} {}", files.edit(at, &[Replacement::once(MARK, MARK)]).await?),
        "edit in vain" => match files.edit(at, &[Replacement::once("no such text", "x")]).await {
            Err(error) if error.kind() == ErrorKind::NoMatch => format!("{MARK} is not what was looked for: {error}"),
            told => format!("{:?}", told?),
        },
        "hashline edit" => {
            let edit = HashlineEdit::new(1, line_hash(MARK), MARK);
            format!("{MARK} {}", files.hashline_edit(at, &edit).await?)
        }
        "write a version" => {
            let content = format!("{MARK}\n");
            let version = Expect::Version(Version::of(content.as_bytes()));
            format!("{MARK} {:?}", files.write_path(at, content.into(), version).await?)
        }
        "copy" => {
            files.copy_path(at, &out, IfExists::Replace).await?;
            format!("{:?}", files.read_bytes(&out).await?)
        }
        "move" => {
            files.move_path(at, &out, IfExists::Replace).await?;
            format!("{:?}", files.read_bytes(&out).await?)
        }
        _ => format!("{:?}", files.grep_path(at, &GrepRequest::regex("T.*")).await?),
    })
}

/// What a search of everything tells.
async fn searched(files: &dyn Backend) -> String {
    let everywhere = GrepRequest::literal(MARK).hidden(Hidden::Include);
    let mut told = String::new();
    for start in ["/", "/vault", "/open", "/twin", "/all"] {
        told += &format!("{:?}\n", files.grep_path(&path(start), &everywhere).await);
    }
    told
}

/// All names that listings and globs show.
async fn shown(files: &dyn Backend) -> Vec<String> {
    let everything = GlobRequest::new("**").kinds(GlobKinds::Everything);
    let found = files.glob_path(&VirtualPath::root(), &everything).await.unwrap();
    let mut shown: Vec<String> = found.entries.iter().map(|entry| entry.path.to_string()).collect();
    for directory in ["/vault", "/twin", "/dirlink"] {
        if let Ok(listing) = files.list_path(&path(directory), &ListRequest::default()).await {
            shown.extend(listing.entries.iter().map(|entry| entry.path.to_string()));
        }
    }
    shown
}

fn guarded(place: &Place, rule: &str) -> Guarded<Arc<dyn Backend>> {
    Guarded::new(Arc::clone(&place.files)).gate(Arc::new(OpenGate)).gate(Arc::new(Denies::new(rule)))
}

#[test]
fn without_rules_every_name_leads_to_the_secret() {
    for place in places() {
        let open = Guarded::new(Arc::clone(&place.files)).gate(Arc::new(OpenGate));
        for way in &place.ways {
            for name in CALLS.iter().filter(|name| !["copy", "move"].contains(name)) {
                let told = block_on(call(&open, name, &path(way)));
                assert!(told.as_ref().is_ok_and(|told| told.contains(MARK)), "{}: {name} {way}: {told:?}", place.name);
            }
        }
        assert!(block_on(searched(&open)).contains(MARK), "{}", place.name);
        assert!(block_on(shown(&open)).iter().any(|name| name.ends_with("secret.txt")), "{}", place.name);
    }
}

#[test]
fn no_call_reaches_a_denied_file_by_any_name_on_any_backend() {
    for rule in RULES {
        for place in places() {
            let files = guarded(&place, rule);
            for way in &place.ways {
                // What is moved by the name of a link is the link; see below.
                let is_link = ["/link", "/chain", "/all/link"].contains(way);
                for name in CALLS.iter().filter(|name| !is_link || **name != "move") {
                    let told = match block_on(call(&files, name, &path(way))) {
                        Ok(told) => told,
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Denied, "{}: {name} {way}: {error}", place.name);
                            error.to_string()
                        }
                    };
                    assert!(!told.contains(MARK), "{} under {rule}: {name} {way}: {told}", place.name);
                }
            }
            unharmed(&place, &files);
        }
    }
}

/// The secret is where it was, and no file that can be read has it.
fn unharmed(place: &Place, files: &dyn Backend) {
    assert_eq!(block_on(place.files.read_bytes(&path(SECRET))).unwrap(), format!("{MARK}\n"), "{}", place.name);
    for file in block_on(shown(&place.files)) {
        let told = format!("{:?}", block_on(files.read_bytes(&path(&file))));
        assert!(!told.contains(MARK), "{}: `{file}` can be read: {told}", place.name);
    }
}

#[test]
fn searches_and_listings_do_not_show_a_denied_file() {
    for rule in RULES {
        for place in places() {
            let files = guarded(&place, rule);
            let told = block_on(searched(&files));
            assert!(!told.contains(MARK), "{} under {rule}: {told}", place.name);
            let names = block_on(shown(&files));
            let secret = names.iter().find(|name| name.ends_with("secret.txt"));
            assert_eq!(secret, None, "{} under {rule}", place.name);
            assert!(names.iter().any(|name| name == "/open/a"), "{}: the rest is shown", place.name);
        }
    }
}

#[test]
fn what_may_not_be_read_does_not_exist() {
    for place in places() {
        let files = guarded(&place, RULES[1]);
        for way in place.ways.iter().filter(|way| way.to_lowercase().contains("secret")) {
            assert!(!block_on(files.exists(&path(way))), "{}: {way}", place.name);
        }
        assert!(block_on(files.exists(&path("/open/a"))), "{}", place.name);
    }
}

#[test]
fn letter_case_and_newlines_are_no_way_around_a_pattern() {
    for place in places() {
        let files = guarded(&place, RULES[1]);
        for typed in ["/vault/SECRET.txt", "/VAULT/Secret.TXT", "/open/a\nb/secret", "/open/secret\n.txt"] {
            let wrote = block_on(files.write_path(&path(typed), MARK.into(), Expect::Anything));
            assert_eq!(wrote.unwrap_err().kind(), ErrorKind::Denied, "{}: {typed:?}", place.name);
        }
    }
}

#[test]
fn a_directory_with_a_denied_file_in_it_is_not_moved_by_any_name() {
    for place in places() {
        let files = guarded(&place, SECRET);
        for name in ["/link", "/chain", "/all/link", "/dirlink"] {
            let _ = block_on(files.move_path(&path(name), &path("/open/led"), IfExists::Replace));
            assert!(!block_on(searched(&files)).contains(MARK), "{}", place.name);
        }
        for directory in ["/vault", "/twin", "/twin/er", "/all/vault", "/all", "/open/deep", "/new\nline", "/open"] {
            let _ = block_on(files.move_path(&path(directory), &path("/open/elsewhere"), IfExists::Refuse));
            let _ = block_on(files.move_path(&path(directory), &path("/elsewhere"), IfExists::Refuse));
        }
        unharmed(&place, &files);
    }
}

#[test]
fn a_denied_file_is_not_removed_with_its_directory() {
    for place in places() {
        let files = guarded(&place, SECRET);
        let removed = block_on(files.remove_path(&path("/vault"), Removal::Tree));
        assert!(removed.is_err(), "{}", place.name);
        unharmed(&place, &files);
        assert!(block_on(place.files.exists(&path("/vault/plain.txt"))), "{}: nothing is removed", place.name);
    }
}

#[test]
fn a_refusal_does_not_tell_the_name_that_is_protected() {
    for place in places() {
        let files = guarded(&place, SECRET);
        for way in place.ways.iter().filter(|way| !way.contains("secret")) {
            let error = block_on(files.read_bytes(&path(way))).unwrap_err();
            assert!(!error.to_string().contains("secret") && !format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}

#[test]
fn files_with_several_names_that_no_rule_hides_are_used_as_ever() {
    for place in places() {
        let files = guarded(&place, "/nothing/here");
        for way in &place.ways {
            let told = block_on(call(&files, "read", &path(way))).unwrap();
            assert!(told.contains(MARK), "{}: {way}", place.name);
        }
        assert!(block_on(searched(&files)).contains(MARK), "{}", place.name);
    }
}

#[test]
fn a_name_that_another_mount_covers_has_no_say() {
    let host = tempfile::tempdir().unwrap();
    for directory in ["vault", "open"] {
        std::fs::create_dir(host.path().join(directory)).unwrap();
    }
    std::fs::write(host.path().join("open/file"), "harmless").unwrap();
    std::fs::hard_link(host.path().join("open/file"), host.path().join("vault/secret.txt")).unwrap();
    let table = CompositeBackend::builder().mount("/", LocalBackend::open(host.path()).unwrap()).unwrap();
    let files: Arc<dyn Backend> = Arc::new(table.mount("/vault", memory()).unwrap().build());
    let files = Guarded::new(files).gate(Arc::new(Denies::new(SECRET)));
    assert_eq!(block_on(files.read_bytes(&path("/open/file"))).unwrap(), "harmless");
    let found = block_on(files.grep_path(&path("/open"), &GrepRequest::literal("harmless"))).unwrap();
    assert_eq!((found.matches, found.skipped.denied), (1, 0));
}
