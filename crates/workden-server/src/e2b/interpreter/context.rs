//! `CodeContexts`: the contexts of a sandbox, each with a kernel of its own that starts with the first code.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::http::StatusCode;
use serde::Serialize;
use tokio::sync::Mutex as Turn;
use workden::{Error, ErrorKind, Result, VirtualPath};

use super::{
    super::{envd::EnvdCall, failure::E2bFailure},
    answer::Answer,
    budget::Budget,
    jobs::{Job, request},
    kernel::Kernel,
    messages::failure_line,
};
use crate::identity::new_id;

/// Contexts of one sandbox.
const MOST_CONTEXTS: usize = 16;
/// Bytes of a piece of code, with its variables of the environment.
const MOST_CODE: usize = 1 << 20;

/// The contexts of one sandbox: the default one, then the others, oldest first.
#[derive(Debug, Default)]
pub(crate) struct CodeContexts {
    all: Mutex<Vec<Arc<CodeContext>>>,
    budget: Budget,
}

/// A context: code that runs in it shares variables.
#[derive(Debug)]
pub(super) struct CodeContext {
    id: String,
    directory: VirtualPath,
    is_default: bool,
    budget: Budget,
    kernel: Mutex<Option<Kernel>>,
    /// Held while a kernel starts, so that only one does.
    start: Turn<()>,
}

/// What clients see of a context.
#[derive(Debug, Serialize)]
pub(super) struct ContextView {
    id: String,
    language: &'static str,
    cwd: String,
}

impl CodeContexts {
    /// Returns the context of code that names none.
    pub(super) fn default_context(&self, home: &VirtualPath) -> Result<Arc<CodeContext>> {
        let mut all = self.lock();
        match all.iter().find(|context| context.is_default) {
            Some(context) => Ok(Arc::clone(context)),
            None => {
                let context = CodeContext::new(home.clone(), true, self.budget.clone())?;
                all.insert(0, Arc::clone(&context));
                Ok(context)
            }
        }
    }

    pub(super) fn create(&self, directory: VirtualPath) -> Result<Arc<CodeContext>> {
        let mut all = self.lock();
        if all.len() >= MOST_CONTEXTS {
            return Err(Error::new(ErrorKind::Busy, format!("the limit of {MOST_CONTEXTS} contexts is reached"))
                .hint("remove a context first"));
        }
        let context = CodeContext::new(directory, false, self.budget.clone())?;
        all.push(Arc::clone(&context));
        Ok(context)
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<CodeContext>> {
        self.lock().iter().find(|context| context.id == id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<CodeContext>> {
        self.lock().clone()
    }

    /// Removes a context and ends its kernel. Returns whether there was one.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut all = self.lock();
        let found = all.iter().position(|context| context.id == id).map(|at| all.remove(at));
        drop(all);
        found.is_some_and(|context| {
            context.stop();
            true
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<CodeContext>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CodeContext {
    fn new(directory: VirtualPath, is_default: bool, budget: Budget) -> Result<Arc<Self>> {
        let (kernel, start) = (Mutex::default(), Turn::default());
        Ok(Arc::new(Self { id: new_id()?, directory, is_default, budget, kernel, start }))
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn view(&self) -> ContextView {
        ContextView { id: self.id.clone(), language: "python", cwd: self.directory.to_string() }
    }

    /// Ends the kernel, if one runs, with the code in it.
    pub(super) fn stop(&self) {
        drop(self.kernel().take());
    }

    /// Runs code after the code that came before. Returns the answer; dropping it interrupts the code.
    pub(super) async fn run(
        &self,
        call: &EnvdCall,
        code: String,
        envs: BTreeMap<String, String>,
    ) -> Result<Answer, E2bFailure> {
        let size = envs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() + code.len();
        if size > MOST_CODE {
            let sentence = format!("the code has {size} bytes with its variables; the limit is {MOST_CODE}");
            return Err(E2bFailure::new(StatusCode::PAYLOAD_TOO_LARGE, sentence));
        }
        let busy = || Error::new(ErrorKind::Busy, "too much code waits").hint("wait for results");
        let request = request(&code, &envs);
        drop((code, envs));
        let share = self.budget.take_for_code(request.len()).ok_or_else(busy)?;
        let (client, answer) = Answer::new().ok_or_else(busy)?;
        let Some(job) = self.hand_over(Job { request, client, _share: share })? else { return Ok(answer) };
        let _turn = self.start.lock().await;
        let Some(job) = self.hand_over(job)? else { return Ok(answer) };
        let home = call.home().await?;
        let kernel = match Kernel::start(&call.workspace, &home, &self.directory, self.budget.clone()).await {
            Ok(kernel) => kernel,
            // Clients show the sentence of an error of the code, but not that of every failed call.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotDirectory) => {
                let sentence = format!("cannot start `python3` in `{}`: {error}", self.directory);
                job.client.fail(failure_line(&sentence));
                return Ok(answer);
            }
            Err(error) => return Err(error.into()),
        };
        *self.kernel() = Some(kernel);
        if let Some(job) = self.hand_over(job)? {
            job.client.fail(failure_line("the kernel was stopped before the code ran"));
        }
        Ok(answer)
    }

    /// Gives a job to the kernel. Returns it if none runs.
    fn hand_over(&self, job: Job) -> Result<Option<Job>> {
        let mut kernel = self.kernel();
        let Some(running) = kernel.as_ref() else { return Ok(Some(job)) };
        let left = running.take(job)?;
        if left.is_some() {
            // It has ended.
            *kernel = None;
        }
        Ok(left)
    }

    fn kernel(&self) -> MutexGuard<'_, Option<Kernel>> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_has_one_default_context_and_a_limit() {
        let (contexts, home) = (CodeContexts::default(), VirtualPath::parse("/home/user").unwrap());
        let first = contexts.default_context(&home).unwrap();
        assert_eq!(contexts.default_context(&home).unwrap().id(), first.id());
        for _ in 1..MOST_CONTEXTS {
            contexts.create(home.clone()).unwrap();
        }
        assert_eq!(contexts.create(home.clone()).unwrap_err().kind(), ErrorKind::Busy);
        assert!(contexts.remove(first.id()) && !contexts.remove(first.id()));
        assert_ne!(contexts.default_context(&home).unwrap().id(), first.id());
    }
}
