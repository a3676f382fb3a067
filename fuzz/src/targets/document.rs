//! State documents: a round trip changes nothing.

use std::sync::Arc;

use futures_executor::block_on;
use workden_core::{BackendExt, Expect, IfExists, Removal, SteppingClock, VirtualPath};
use workden_files::StateBackend;

use crate::{assert_short, draw::Draw, in_time};

pub(crate) const SEEDS: &[&[u8]] = &[
    br#"{"files":{"/a/b.txt":{"content":"h","created_at":"2026-01-31T12:00:00.123456Z","modified_at":"2026-01-31T12:00:01+01:00"}},"directories":["/e/d"]}"#,
    br#"{"files":{"bin":{"content":"AP+A","encoding":"base64","created_at":"1677-09-21T00:12:43Z","modified_at":"9999-12-31T23:59:59Z"}}}"#,
    br#"{"files":{"/../x":{"content":"","created_at":"x","modified_at":""}},"directories":["/a","/a/.","\ud800"]}"#,
    b"\x00/a/b\x1Fx\xFF\x00\x1F\x00/a/c\x1Fy\x1F\x01/e\x1F\x1F\x02/a\x1F/z\x1F",
    b"\x00/a\x1Fx\x1F\x00/a/b\x1Fy\x1F\x03/a\x1F\x1F\x04/a\x1Fb\x1F",
];

/// Loads a document, or makes a workspace from drawn operations; then checks the round trip.
pub fn document(data: &[u8]) {
    in_time(|| {
        if data.first() == Some(&b'{') {
            let Ok(json) = std::str::from_utf8(data) else { return };
            match StateBackend::from_json(json, clock()) {
                Ok(files) => check(&files),
                Err(error) => assert_short(&error),
            }
        } else {
            check(&make(data));
        }
    });
}

fn clock() -> Arc<SteppingClock> {
    Arc::new(SteppingClock::default())
}

fn make(data: &[u8]) -> StateBackend {
    let files = StateBackend::new(clock());
    let mut draw = Draw::new(data);
    for _ in 0..8 {
        let (act, path, other) = (draw.byte(), draw.text(), draw.piece());
        let Ok(path) = VirtualPath::parse(&path) else { continue };
        let target = String::from_utf8_lossy(other).into_owned();
        let target = VirtualPath::parse(&target).unwrap_or_else(|_| path.clone());
        let before = files.to_document();
        let outcome = match act % 5 {
            0 => block_on(files.write_path(&path, other.to_vec().into(), Expect::Anything)).map(drop),
            1 => block_on(files.make_dir_path(&path)),
            2 => block_on(files.move_path(&path, &target, IfExists::Replace)),
            3 => block_on(files.remove_path(&path, Removal::Tree)),
            _ => block_on(files.copy_path(&path, &target, IfExists::Refuse)).map(drop),
        };
        if outcome.is_err() {
            assert_eq!(files.to_document(), before, "a refused operation changed something");
        }
    }
    files
}

fn check(files: &StateBackend) {
    let json = files.to_json().expect("any workspace can be written");
    let again = StateBackend::from_json(&json, clock()).expect("what was written can be read");
    assert_eq!(again.to_document(), files.to_document());
    assert_eq!(again.to_json().as_deref(), Ok(json.as_str()));
    for path in files.to_document().files.keys() {
        let path = VirtualPath::parse(path).expect("a path of a document");
        let read = |files: &StateBackend| block_on(files.read_bytes(&path)).expect("a file of a document");
        assert_eq!(read(files), read(&again));
    }
}
