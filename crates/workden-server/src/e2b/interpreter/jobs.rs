//! `Jobs`: the pieces of code that wait in one context.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::json;
use tokio::sync::Notify;
use workden::{Error, ErrorKind, Result};

use super::{answer::Client, budget::Share};

/// Pieces of code that wait in one context.
const WAITING_JOBS: usize = 8;

/// Code to run, and where its lines go.
#[derive(Debug)]
pub(super) struct Job {
    /// The request for the kernel, without its number and the brace before it.
    pub(super) request: String,
    pub(super) client: Client,
    pub(super) _share: Share,
}

/// The queue of a kernel; closed once the kernel ends.
#[derive(Debug)]
pub(super) struct Jobs {
    waiting: Mutex<Option<VecDeque<Job>>>,
    came: Notify,
}

/// Returns the part of a request that a job keeps.
pub(super) fn request(code: &str, envs: &BTreeMap<String, String>) -> String {
    let mut request = json!({ "code": code, "envs": envs }).to_string();
    request.remove(0);
    request.shrink_to_fit();
    request
}

impl Jobs {
    pub(super) fn new() -> Self {
        Self { waiting: Mutex::new(Some(VecDeque::new())), came: Notify::new() }
    }

    /// Adds a job; returns it if the kernel has ended. Jobs that nothing waits for make room.
    pub(super) fn add(&self, job: Job) -> Result<Option<Job>> {
        let mut waiting = self.lock();
        let Some(jobs) = waiting.as_mut() else { return Ok(Some(job)) };
        jobs.retain(|job| !job.client.has_left());
        if jobs.len() >= WAITING_JOBS {
            return Err(Error::new(ErrorKind::Busy, format!("{WAITING_JOBS} pieces of code wait in this context"))
                .hint("create more contexts, or wait for results"));
        }
        jobs.push_back(job);
        self.came.notify_one();
        Ok(None)
    }

    /// Waits for the next job. One task does.
    pub(super) async fn next(&self) -> Job {
        loop {
            let next = self.lock().as_mut().and_then(VecDeque::pop_front);
            match next {
                Some(job) => return job,
                None => self.came.notified().await,
            }
        }
    }

    /// Takes no more jobs, and returns those that wait.
    pub(super) fn close(&self) -> VecDeque<Job> {
        self.lock().take().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<VecDeque<Job>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{answer::Answer, budget::Budget},
        *,
    };

    #[tokio::test]
    async fn jobs_that_nothing_waits_for_make_room() {
        let (jobs, budget) = (Jobs::new(), Budget::default());
        let job = || {
            let (client, answer) = Answer::new().unwrap();
            let share = budget.take_for_code(1).unwrap();
            (Job { request: request("1", &BTreeMap::new()), client, _share: share }, answer)
        };
        let mut answers = Vec::new();
        for _ in 0..WAITING_JOBS {
            let (job, answer) = job();
            assert!(jobs.add(job).unwrap().is_none());
            answers.push(answer);
        }
        assert_eq!(jobs.add(job().0).unwrap_err().kind(), ErrorKind::Busy);
        answers.remove(0);
        let (last, _answer) = job();
        assert!(jobs.add(last).unwrap().is_none());
        assert_eq!(jobs.next().await.request, r#""code":"1","envs":{}}"#);
        assert_eq!(jobs.close().len(), WAITING_JOBS - 1);
        assert!(jobs.add(job().0).unwrap().is_some());
    }
}
