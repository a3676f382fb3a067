//! Paths as typed.

use workden_core::{ErrorKind, VirtualPath};

use crate::{assert_short, draw::Draw, in_time, slow};

pub(crate) const SEEDS: &[&[u8]] = &[
    b"/den/src\x1F../a//./b/",
    b"a/..\x1F/../../etc/passwd",
    b"/\x1Fa\0b",
    b"x/y\x1F.../..a../~/C:\\\x1Fa-b\x1Fa/b",
    b"/\x1F\xED\xA0\x80",
    b"a\x01b/c\x1Fa/./../\xF0\x9F\x98\x80",
];

/// Compares the parser with a letter-by-letter parse, and checks its normal form.
pub fn path(data: &[u8]) {
    in_time(|| {
        let mut draw = Draw::new(data);
        let (directory, typed) = (draw.text(), draw.rest());
        let Ok(typed) = std::str::from_utf8(typed) else {
            let error = VirtualPath::parse_bytes(typed).expect_err("bytes that are not text");
            assert_eq!(error.kind(), ErrorKind::InvalidPath);
            return assert_short(&error);
        };
        let from_root = check(&VirtualPath::root(), typed);
        if let Ok(directory) = VirtualPath::parse(&directory) {
            let from_there = check(&directory, typed);
            if let (Some(one), Some(other)) = (&from_root, &from_there) {
                check_pair(one, other);
                check_pair(one, &directory);
                check_pair(&directory, other);
            }
        }
    });
}

fn names(path: &VirtualPath) -> Vec<String> {
    path.components().map(str::to_owned).collect()
}

fn check(directory: &VirtualPath, typed: &str) -> Option<VirtualPath> {
    let expected = slow::path::resolve(&names(directory), typed);
    let path = match VirtualPath::parse_from(directory, typed) {
        Ok(path) => path,
        Err(error) => {
            assert_short(&error);
            assert_eq!(expected, None, "{typed:?} in {directory} was refused: {error}");
            return None;
        }
    };
    assert_eq!(expected, Some(names(&path)), "{typed:?} in {directory}");
    assert_eq!(path.as_str(), slow::path::text(&names(&path)));
    assert_eq!(VirtualPath::parse(path.as_str()).as_ref(), Ok(&path), "not its own normal form");
    assert_eq!(path.depth(), names(&path).len());
    assert_eq!(path.name().map(str::to_owned), names(&path).pop());
    if let (Some(parent), Some(name)) = (path.parent(), path.name()) {
        assert_eq!(parent.child(name).as_ref(), Ok(&path));
        assert!(parent < path);
    }
    Some(path)
}

fn check_pair(one: &VirtualPath, other: &VirtualPath) {
    assert_eq!(one.cmp(other), names(one).cmp(&names(other)), "order of {one:?} and {other:?}");
    let joined = one.below(other);
    assert_eq!(joined.strip_prefix(other).as_ref(), Some(one));
    assert!(joined.is_within(other));
    assert_eq!(one.is_within(other), names(one).starts_with(&names(other)));
    assert_eq!(one.strip_prefix(other).is_some(), one.is_within(other));
}
