//! `workden tool --jsonl`: one request per line, answers in the order in which they finish.
//!
//! Invariant: the number of requests in progress and their bytes are bounded, and no request is read while the client
//! does not read answers. Every line that is not blank gets exactly one answer, unless the client closed the output.

mod lines;
mod request;

use std::{
    io::{stdin, stdout},
    os::fd::AsFd,
    process::ExitCode,
    sync::Arc,
};

use lines::{Line, Lines};
use request::{NoRequest, Request};
use rustix::event::PollFlags;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};
use workden::{ErrorKind, tools::Toolset};

use super::answer::{AnswerDocument, Structured};
use crate::{descriptor::Descriptor, failure::Failure};

/// The most requests that run at the same time.
pub(super) const MOST_AT_ONCE: u32 = 64;
/// The longest line, in bytes.
pub(super) const LINE_BYTES: usize = 16 * 1024 * 1024;
/// The most kilobytes of requests that run at the same time.
const HELD_KILOBYTES: u32 = 32 * 1024;

/// An answer, with the permits that its request holds until the answer is written.
type Answer = (String, Room);
type Room = (OwnedSemaphorePermit, OwnedSemaphorePermit);

/// Answers every line until the input ends.
pub(super) async fn run(tools: &Toolset, jobs: u32) -> Result<ExitCode, Failure> {
    let (answers, written) = mpsc::channel(1);
    let work = async {
        let (read, written) = tokio::join!(requests(tools, jobs, answers), write(written));
        written.and(read)
    };
    tokio::select! {
        done = work => done.map(|()| ExitCode::SUCCESS),
        // Dropping `work` stops its commands.
        () = reader_is_gone() => Err(Failure::Output(std::io::ErrorKind::BrokenPipe.into())),
    }
}

async fn requests(tools: &Toolset, jobs: u32, answers: mpsc::Sender<Answer>) -> Result<(), Failure> {
    let slots = Arc::new(Semaphore::new(jobs as usize));
    let kilobytes = Arc::new(Semaphore::new(HELD_KILOBYTES as usize));
    let input = stdin();
    let mut lines = Lines::new(input.as_fd(), LINE_BYTES);
    let mut running = JoinSet::new();
    loop {
        // A line is read only when a slot is free.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { break };
        let Some(line) = lines.next().await.map_err(Failure::Input)? else { break };
        if matches!(&line, Line::Whole(line) if line.trim_ascii().is_empty()) {
            continue;
        }
        let (Line::Whole(bytes) | Line::TooLong(bytes)) = &line;
        let size = u32::try_from(bytes.len() / 1024 + 1).unwrap_or(HELD_KILOBYTES).min(HELD_KILOBYTES);
        let Ok(held) = Arc::clone(&kilobytes).acquire_many_owned(size).await else { break };
        let (tools, answers) = (tools.clone(), answers.clone());
        running.spawn(async move {
            let answer = answer(&tools, line).await;
            // Fails only when the output is closed, and then the process ends.
            let _ = answers.send((answer, (slot, held))).await;
        });
        // Finished tasks are dropped, so that the set stays small.
        while running.try_join_next().is_some() {}
    }
    drop(answers);
    while running.join_next().await.is_some() {}
    Ok(())
}

async fn answer(tools: &Toolset, line: Line) -> String {
    let parsed = match line {
        Line::Whole(line) => request::parse(&line),
        Line::TooLong(beginning) => {
            let why = format!("line too long: the limit is {LINE_BYTES} bytes");
            let document = AnswerDocument::failed(ErrorKind::TooLarge, format!("Error: {why}"));
            return document.to(Some(&id_or_null(request::id_of(&beginning)))).line();
        }
    };
    match parsed {
        Ok(Request { id, tool, args }) => {
            let document = AnswerDocument::of(tools.call(&tool, args).await, Structured::LeftOut);
            document.to(Some(&id_or_null(id))).line()
        }
        Err(NoRequest { id, why }) => {
            let document =
                AnswerDocument::failed(ErrorKind::InvalidArgument, format!("Error: not a valid request: {why}"));
            document.to(Some(&id_or_null(id))).line()
        }
    }
}

fn id_or_null(id: Option<Box<serde_json::value::RawValue>>) -> Box<serde_json::value::RawValue> {
    id.unwrap_or_else(|| serde_json::value::RawValue::NULL.to_owned())
}

async fn write(mut answers: mpsc::Receiver<Answer>) -> Result<(), Failure> {
    let out = stdout();
    let mut out = Descriptor::new(out.as_fd());
    while let Some((line, room)) = answers.recv().await {
        out.write(line.as_bytes()).await.map_err(Failure::Output)?;
        drop(room);
    }
    Ok(())
}

/// Waits until the reader of the output has closed it: a killed client sends no more requests, but its commands may
/// still run.
async fn reader_is_gone() {
    let (gone, heard) = tokio::sync::oneshot::channel();
    // A thread, because the runtime cannot watch every kind of output. It ends with the process.
    let watch = std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
        let out = stdout();
        let mut fds = [rustix::event::PollFd::new(&out, PollFlags::empty())];
        loop {
            match rustix::event::poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) if fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) => break,
                // This kind of output cannot be watched.
                _ => return,
            }
        }
        let _ = gone.send(());
    });
    if watch.is_err() || heard.await.is_err() {
        std::future::pending::<()>().await;
    }
}
