//! The state between two rounds of a call. The client carries it, so it is sealed.
//!
//! Invariant: an answer counts once, within its time, and only for the call that it was asked about. A state that
//! cannot be opened counts for nothing, and the question is asked again.

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

use crate::limits::{ANSWER_TIMEOUT, USED_ANSWERS};

/// The call that a question belongs to: a digest of its method, its name and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct CallDigest(Vec<u8>);

impl CallDigest {
    /// Digests a call. The order of keys does not count: a client may change it.
    pub(crate) fn of(method: &str, name: &str, arguments: &Value) -> Self {
        let mut digest = Sha256::new();
        for part in [method, name, &sorted(arguments).to_string()] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(digest.finalize().to_vec())
    }
}

/// Sorts the keys of all objects in a value.
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

/// A question, as a digest of all its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QuestionDigest(String);

impl QuestionDigest {
    pub(crate) fn of(request: &ApprovalRequest) -> Self {
        let fields = serde_json::to_value(request).unwrap_or_default();
        Self(URL_SAFE_NO_PAD.encode(Sha256::digest(sorted(&fields).to_string())))
    }
}

/// The state that the client carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestState {
    /// The questions approved in earlier rounds of the same call.
    pub(crate) approved: Vec<QuestionDigest>,
    /// The question of this round.
    pub(crate) asked: QuestionDigest,
    /// Lets an answer count once.
    number: u64,
}

/// Numbers of used answers. Every number below `below` is used or too old, which bounds the set.
#[derive(Debug, Default)]
struct Used {
    numbers: BTreeSet<u64>,
    below: u64,
}

/// The seal of one server. Its key is created at the first question and never leaves the process.
pub(crate) struct StateSeal {
    codec: OnceLock<RequestStateCodec>,
    next: AtomicU64,
    used: Mutex<Used>,
    time: Duration,
}

impl Default for StateSeal {
    fn default() -> Self {
        Self { codec: OnceLock::new(), next: AtomicU64::default(), used: Mutex::default(), time: ANSWER_TIMEOUT }
    }
}

impl StateSeal {
    /// Seals the state of a question; `None` when the system has no random numbers for a key.
    pub(crate) fn seal(
        &self,
        call: &CallDigest,
        approved: Vec<QuestionDigest>,
        asked: QuestionDigest,
    ) -> Option<String> {
        let state = RequestState { approved, asked, number: self.next.fetch_add(1, Ordering::Relaxed) };
        let options = SealOptions::new().associated_data(&call.0).ttl(self.time);
        self.codec()?.seal_json_with(&state, &options).ok()
    }

    /// Opens a state that a client sent, once.
    pub(crate) fn open(&self, call: &CallDigest, sealed: &str) -> Option<RequestState> {
        let opened = self.codec()?.open_json_with::<RequestState>(sealed, &call.0);
        let state = opened.inspect_err(|error| tracing::warn!(%error, "an answer was not accepted")).ok()?;
        self.first_use(state.number).then_some(state)
    }

    fn first_use(&self, number: u64) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if number < used.below || !used.numbers.insert(number) {
            tracing::warn!("an answer was not accepted: used before, or too old");
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
            // Another call may have set one in between, which is as good.
            let _ = self.codec.set(codec);
        }
        self.codec.get()
    }
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .inspect_err(|error| tracing::error!(%error, "the system has no random numbers"))
        .ok()?;
    Some(bytes)
}

impl fmt::Debug for StateSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateSeal")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn print(text: &str) -> QuestionDigest {
        QuestionDigest(text.to_owned())
    }

    fn digest(command: &str) -> CallDigest {
        CallDigest::of("tools/call", "execute", &json!({ "command": command, "timeout": 5 }))
    }

    #[test]
    fn an_answer_counts_once() {
        let seal = StateSeal::default();
        let sealed = seal.seal(&digest("ls"), vec![print("a")], print("b")).unwrap();
        let state = seal.open(&digest("ls"), &sealed).unwrap();
        assert_eq!((state.approved, state.asked), (vec![print("a")], print("b")));
        assert_eq!(seal.open(&digest("ls"), &sealed), None);
    }

    #[test]
    fn many_answers_leave_room_for_the_next_and_none_counts_twice() {
        let seal = StateSeal::default();
        let sealed = || seal.seal(&digest("ls"), vec![], print("b")).unwrap();
        let first = sealed();
        assert!(seal.open(&digest("ls"), &first).is_some());
        for number in 1..=USED_ANSWERS as u64 + 10 {
            assert!(seal.first_use(number));
        }
        seal.next.store(USED_ANSWERS as u64 + 11, Ordering::Relaxed);
        assert!(seal.open(&digest("ls"), &sealed()).is_some());
        assert_eq!(seal.open(&digest("ls"), &first), None);
        assert!(seal.used.lock().unwrap().numbers.len() <= USED_ANSWERS);
    }

    #[test]
    fn it_counts_for_the_same_call_only_however_its_keys_are_ordered() {
        let seal = StateSeal::default();
        let sealed = || seal.seal(&digest("ls"), vec![], print("b")).unwrap();
        let other_name = CallDigest::of("tools/call", "run_in_background", &json!({ "command": "ls", "timeout": 5 }));
        let other_method = CallDigest::of("resources/read", "execute", &json!({ "command": "ls", "timeout": 5 }));
        let reordered =
            CallDigest::of("tools/call", "execute", &serde_json::from_str(r#"{"timeout":5,"command":"ls"}"#).unwrap());
        assert_eq!(seal.open(&digest("rm -rf /"), &sealed()), None);
        assert_eq!(seal.open(&other_name, &sealed()), None);
        assert_eq!(seal.open(&other_method, &sealed()), None);
        assert!(seal.open(&reordered, &sealed()).is_some());
        // Parts cannot be shifted into each other.
        assert_ne!(CallDigest::of("a", "bc", &json!(1)).0, CallDigest::of("ab", "c", &json!(1)).0);
    }

    #[test]
    fn forged_foreign_and_late_ones_count_for_nothing() {
        let seal = StateSeal::default();
        let sealed = seal.seal(&digest("ls"), vec![], print("b")).unwrap();
        for at in 0..sealed.len() {
            let mut forged = sealed.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(seal.open(&digest("ls"), &String::from_utf8(forged).unwrap()), None, "changed at {at}");
        }
        for odd in ["", "rs1", "rs1..", "\u{0}", &"A".repeat(100_000)] {
            assert_eq!(seal.open(&digest("ls"), odd), None);
        }
        let other = StateSeal::default();
        assert_eq!(seal.open(&digest("ls"), &other.seal(&digest("ls"), vec![], print("b")).unwrap()), None);
        let brief = StateSeal { time: Duration::from_millis(5), ..StateSeal::default() };
        let sealed = brief.seal(&digest("ls"), vec![], print("b")).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(brief.open(&digest("ls"), &sealed), None);
    }
}
