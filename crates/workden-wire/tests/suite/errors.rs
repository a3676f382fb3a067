//! Errors come out of the wire as they went in.

use workden_core::{Error, ErrorKind, Refusal, Sandbox, sandbox::ExecuteRequest};

use crate::{
    pipes::{connected, in_memory_files, path},
    scripted::{Scripted, spawning},
};

const KINDS: &[ErrorKind] = &[
    ErrorKind::NotFound,
    ErrorKind::AlreadyExists,
    ErrorKind::IsDirectory,
    ErrorKind::NotDirectory,
    ErrorKind::NotEmpty,
    ErrorKind::NotRegular,
    ErrorKind::Escapes,
    ErrorKind::LinkLoop,
    ErrorKind::InvalidPath,
    ErrorKind::InvalidPattern,
    ErrorKind::InvalidArgument,
    ErrorKind::NotText,
    ErrorKind::TooLarge,
    ErrorKind::OutOfRange,
    ErrorKind::NoMatch,
    ErrorKind::Ambiguous,
    ErrorKind::Conflict,
    ErrorKind::Moved,
    ErrorKind::ReadOnly,
    ErrorKind::PermissionDenied,
    ErrorKind::Denied,
    ErrorKind::ApprovalNeeded,
    ErrorKind::NoSpace,
    ErrorKind::Busy,
    ErrorKind::TimedOut,
    ErrorKind::Gone,
    ErrorKind::Unreachable,
    ErrorKind::Unsupported,
    ErrorKind::LimitNotHeld,
    ErrorKind::Io,
];

async fn comes_through(error: Error) {
    let remote = connected(Scripted::over(in_memory_files()).failing(error.clone())).await;
    assert_eq!(remote.usage().await.unwrap_err(), error);
    assert_eq!(remote.execute(&ExecuteRequest::shell("fail")).await.unwrap_err(), error);
    assert_eq!(remote.spawn(&spawning("fail")).await.unwrap_err(), error);
}

#[tokio::test]
async fn every_kind_keeps_its_sentence_and_its_hint() {
    for kind in KINDS {
        comes_through(Error::new(*kind, format!("cannot do `/ü\n%`: {kind:?}"))).await;
        comes_through(Error::new(*kind, "no").hint("try \"something\" else\nor not 🦀")).await;
    }
}

#[tokio::test]
async fn a_refusal_stays_data() {
    let (operation, target) = ("read".to_owned(), "/a".to_owned());
    for refusal in [
        Refusal::Outside { path: path("/x"), readable: vec![path("/a"), path("/b")] },
        Refusal::ReadOnly { path: path("/x"), writable: Vec::new() },
        Refusal::Suffix { path: path("/x.exe"), suffix: ".exe".into(), allowed: vec![".md".into()] },
        Refusal::TooLarge { path: path("/x"), size: u64::MAX, limit: 1 },
        Refusal::Edit { path: path("/x"), matches: 2, old_text: "\u{0}x\r\n".into() },
        Refusal::Rule { operation, target, description: "secret".into() },
    ] {
        comes_through(Error::from(refusal)).await;
    }
}

#[tokio::test]
async fn an_error_as_large_as_they_come_comes_through() {
    comes_through(Error::new(ErrorKind::NoMatch, "x".repeat(16_000)).hint("ü".repeat(16_000))).await;
}
