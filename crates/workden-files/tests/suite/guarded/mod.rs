//! Rules over every backend: what is denied under one name is denied under all, whatever the call.

mod approvals;
mod places;
mod ways_in;

use async_trait::async_trait;
use workden_core::{
    Access, CompiledVisibility, Error, ErrorKind, Gate, Judgement, Layer, Op, Resolved, Rule, RuleCase, Rules, Sight,
    Verdict, VirtualPath, Visibility,
};

pub(crate) fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

/// A gate that denies whatever matches a pattern, under the path as typed or as real, and hides it.
#[derive(Debug)]
pub(crate) struct Denies {
    visibility: Visibility,
    compiled: CompiledVisibility,
}

impl Denies {
    pub(crate) fn new(pattern: &str) -> Self {
        let rule =
            Rule { pattern: pattern.to_owned(), except: Vec::new(), sight: Sight::Hidden, case: RuleCase::Insensitive };
        let rules = Rules { rules: vec![rule], otherwise: Sight::Shown };
        let visibility = Visibility { layers: vec![Layer { list: rules.clone(), read: rules, ..Layer::open() }] };
        Self { compiled: visibility.compile().unwrap(), visibility }
    }
}

#[async_trait]
impl Gate for Denies {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let is_denied =
            |at: &Resolved| [&at.typed, &at.real].into_iter().any(|path| self.compiled.to_read(path) == Sight::Hidden);
        match op.paths().find(|at| is_denied(at)) {
            Some(at) => Verdict::Deny(Error::new(ErrorKind::Denied, format!("`{}` is not for you", at.typed))).into(),
            None => Verdict::Allow.into(),
        }
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        self.visibility.clone()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}
