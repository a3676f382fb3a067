//! What is between two rounds of a call: the client carries it, so that it is sealed.
//!
//! Invariant: an answer counts once, within its time, for the call that it was asked about, and for
//! nothing else. Whatever cannot be opened counts as nothing, whyever that is; then the question is
//! asked anew.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rmcp::model::{RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use workden::core::ApprovalRequest;

use crate::limits::{ANSWER_TIME, USED_ANSWERS};

/// The call that a question belongs to: what is called, and with what.
#[derive(Clone, Debug)]
pub(crate) struct Subject(Vec<u8>);

impl Subject {
    /// A method with whatever decides what it does. Keys may come in another order the next time.
    pub(crate) fn of(method: &str, name: &str, arguments: &Value) -> Self {
        let mut digest = Sha256::new();
        for part in [method, name, &sorted(arguments).to_string()] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(digest.finalize().to_vec())
    }
}

/// A value with the keys of its objects in order, whatever the map type keeps.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// A question, by all that it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint(String);

impl Fingerprint {
    pub(crate) fn of(request: &ApprovalRequest) -> Self {
        let said = serde_json::to_value(request).unwrap_or_default();
        Self(URL_SAFE_NO_PAD.encode(Sha256::digest(sorted(&said).to_string())))
    }
}

/// What the client carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Carried {
    /// What was approved in earlier rounds of the same call.
    pub(crate) granted: Vec<Fingerprint>,
    /// What is asked now.
    pub(crate) asked: Fingerprint,
    /// So that it counts once.
    number: u64,
}

/// Numbers that have counted. What is below all of them has counted or is too old, so that there are
/// never many.
#[derive(Debug, Default)]
struct Used {
    numbers: BTreeSet<u64>,
    below: u64,
}

/// The seal of one server; its key is made at the first question and never leaves the process.
pub(crate) struct Sealing {
    codec: OnceLock<RequestStateCodec>,
    next: AtomicU64,
    used: Mutex<Used>,
    time: Duration,
}

impl Default for Sealing {
    fn default() -> Self {
        Self { codec: OnceLock::new(), next: AtomicU64::default(), used: Mutex::default(), time: ANSWER_TIME }
    }
}

impl Sealing {
    /// Seals a question. `None` when the system has no random numbers, without which there is no seal.
    pub(crate) fn seal(&self, subject: &Subject, granted: Vec<Fingerprint>, asked: Fingerprint) -> Option<String> {
        let carried = Carried { granted, asked, number: self.next.fetch_add(1, Ordering::Relaxed) };
        let options = SealOptions::new().associated_data(&subject.0).ttl(self.time);
        self.codec()?.seal_json_with(&carried, &options).ok()
    }

    /// Opens what a client brought back, once.
    pub(crate) fn open(&self, subject: &Subject, sealed: &str) -> Option<Carried> {
        let opened = self.codec()?.open_json_with::<Carried>(sealed, &subject.0);
        let carried = opened.inspect_err(|error| tracing::warn!(%error, "an answer does not count")).ok()?;
        self.first_use(carried.number).then_some(carried)
    }

    fn first_use(&self, number: u64) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if number < used.below || !used.numbers.insert(number) {
            tracing::warn!("an answer came a second time or too late, and does not count");
            return false;
        }
        if used.numbers.len() > USED_ANSWERS
            && let Some(oldest) = used.numbers.pop_first()
        {
            used.below = oldest + 1;
        }
        true
    }

    fn codec(&self) -> Option<&RequestStateCodec> {
        if self.codec.get().is_none() {
            let codec = RequestStateCodec::try_new(random::<32>()?).ok()?;
            // Whoever is first; both would do.
            let _ = self.codec.set(codec);
        }
        self.codec.get()
    }
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).inspect_err(|error| tracing::error!(%error, "no random numbers")).ok()?;
    Some(bytes)
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealing")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn print(text: &str) -> Fingerprint {
        Fingerprint(text.to_owned())
    }

    fn subject(command: &str) -> Subject {
        Subject::of("tools/call", "execute", &json!({ "command": command, "timeout": 5 }))
    }

    #[test]
    fn an_answer_counts_once() {
        let sealing = Sealing::default();
        let sealed = sealing.seal(&subject("ls"), vec![print("a")], print("b")).unwrap();
        let carried = sealing.open(&subject("ls"), &sealed).unwrap();
        assert_eq!((carried.granted, carried.asked), (vec![print("a")], print("b")));
        assert_eq!(sealing.open(&subject("ls"), &sealed), None);
    }

    #[test]
    fn many_answers_leave_room_for_the_next_and_none_counts_twice() {
        let sealing = Sealing::default();
        let seal = || sealing.seal(&subject("ls"), vec![], print("b")).unwrap();
        let first = seal();
        assert!(sealing.open(&subject("ls"), &first).is_some());
        for number in 1..=USED_ANSWERS as u64 + 10 {
            assert!(sealing.first_use(number));
        }
        sealing.next.store(USED_ANSWERS as u64 + 11, Ordering::Relaxed);
        assert!(sealing.open(&subject("ls"), &seal()).is_some());
        assert_eq!(sealing.open(&subject("ls"), &first), None);
        assert!(sealing.used.lock().unwrap().numbers.len() <= USED_ANSWERS);
    }

    #[test]
    fn it_counts_for_the_same_call_only_however_its_keys_are_ordered() {
        let sealing = Sealing::default();
        let seal = || sealing.seal(&subject("ls"), vec![], print("b")).unwrap();
        let other_name = Subject::of("tools/call", "run_in_background", &json!({ "command": "ls", "timeout": 5 }));
        let other_method = Subject::of("resources/read", "execute", &json!({ "command": "ls", "timeout": 5 }));
        let reordered =
            Subject::of("tools/call", "execute", &serde_json::from_str(r#"{"timeout":5,"command":"ls"}"#).unwrap());
        assert_eq!(sealing.open(&subject("rm -rf /"), &seal()), None);
        assert_eq!(sealing.open(&other_name, &seal()), None);
        assert_eq!(sealing.open(&other_method, &seal()), None);
        assert!(sealing.open(&reordered, &seal()).is_some());
        // Parts cannot be shifted into each other.
        assert_ne!(Subject::of("a", "bc", &json!(1)).0, Subject::of("ab", "c", &json!(1)).0);
    }

    #[test]
    fn forged_foreign_and_late_ones_count_for_nothing() {
        let sealing = Sealing::default();
        let sealed = sealing.seal(&subject("ls"), vec![], print("b")).unwrap();
        for at in 0..sealed.len() {
            let mut forged = sealed.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(sealing.open(&subject("ls"), &String::from_utf8(forged).unwrap()), None, "changed at {at}");
        }
        for odd in ["", "rs1", "rs1..", "\u{0}", &"A".repeat(100_000)] {
            assert_eq!(sealing.open(&subject("ls"), odd), None);
        }
        let other = Sealing::default();
        assert_eq!(sealing.open(&subject("ls"), &other.seal(&subject("ls"), vec![], print("b")).unwrap()), None);
        let brief = Sealing { time: Duration::from_millis(5), ..Sealing::default() };
        let sealed = brief.seal(&subject("ls"), vec![], print("b")).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(brief.open(&subject("ls"), &sealed), None);
    }
}
