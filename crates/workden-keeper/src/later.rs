//! `Later`: work that can wait until nothing happens.
//!
//! Most commands are over in milliseconds, and while one starts or ends, everybody who does something besides
//! stands in its way.

use std::time::{Duration, Instant};

use rustix::event::Timespec;

/// How long nothing must have happened.
const QUIET: Duration = Duration::from_millis(20);

/// Something to be done once, when there is time for it.
pub(crate) struct Later<Work: FnOnce()> {
    work: Option<Work>,
    at: Instant,
}

impl<Work: FnOnce()> Later<Work> {
    pub(crate) fn new(work: Work) -> Self {
        Self { work: Some(work), at: Instant::now() + QUIET }
    }

    /// How long to wait for something to happen, when it is not to be waited for longer than until `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Option<Timespec> {
        let until = match (&self.work, deadline) {
            (Some(_), Some(deadline)) => deadline.min(self.at),
            (Some(_), None) => self.at,
            (None, deadline) => deadline?,
        };
        let left = until.saturating_duration_since(Instant::now());
        Some(Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() })
    }

    /// Nothing has happened: does the work, if its time has come. Whether it did.
    pub(crate) fn do_now(&mut self) -> bool {
        match self.work.take_if(|_| Instant::now() >= self.at) {
            Some(work) => {
                work();
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_once_and_not_before_it_was_quiet() {
        let mut done = 0;
        let mut later = Later::new(|| done += 1);
        assert!(!later.do_now());
        assert!(later.wait(None).is_some_and(|wait| wait.tv_sec == 0 && wait.tv_nsec > 0));
        std::thread::sleep(QUIET);
        assert!(later.do_now());
        assert!(!later.do_now());
        assert!(later.wait(None).is_none());
        assert_eq!(done, 1);
    }

    #[test]
    fn a_deadline_comes_first() {
        let later = Later::new(|| ());
        let wait = later.wait(Some(Instant::now())).unwrap();
        assert_eq!((wait.tv_sec, wait.tv_nsec), (0, 0));
    }
}
