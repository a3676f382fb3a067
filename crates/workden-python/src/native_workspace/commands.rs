//! Commands of a workspace, in the foreground and in the background.

use std::time::Duration;

use workden_core::sandbox::{Ended, JobId, JobRead, JobState, Killed};

use super::NativeWorkspace;
use crate::calls::calls;

/// `(output, exit code, whether output was omitted, whether it timed out)`.
type Ran = (String, i32, bool, bool);
/// `(id, pid, line, whether it is running, exit code)`.
type JobInfo = (String, u32, String, bool, Option<i32>);

fn job_info(job: workden_core::sandbox::Job) -> JobInfo {
    let (runs, code) = match job.state {
        JobState::Running => (true, None),
        JobState::Ended(ended) => (false, Some(ended.exit_code())),
    };
    (job.id.0, job.pid, job.line, runs, code)
}

calls! {
    impl NativeWorkspace = parts;

    /// Runs a shell line until it exits. Without a timeout it has the default one.
    @(command, timeout=None)
    fn execute | execute_async (parts, command: String, timeout: Option<f64>) -> Ran {
        let timeout = timeout.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
        let ran = parts.workspace.execute(&command, timeout).await?;
        Ok((ran.text_with_hints(), ran.exit_code(), ran.output.left_out.is_some(), ran.ended == Ended::TimedOut))
    }

    /// Starts a shell line in the background.
    fn start_job | start_job_async (parts, command: String) -> JobInfo {
        parts.workspace.start_job(&command).await.map(job_info)
    }

    /// Returns the output of a job from an offset, the next offset, and the state of the job.
    fn read_job | read_job_async (parts, id: String, offset: u64) -> (String, u64, JobInfo) {
        let read = parts.workspace.read_job(&JobId(id), &JobRead::from(offset)).await?;
        Ok((read.text, read.next, job_info(read.job)))
    }

    /// Kills a job. Returns whether it was running.
    fn kill_job | kill_job_async (parts, id: String) -> bool {
        Ok(parts.workspace.kill_job(&JobId(id)).await? == Killed::Stopped)
    }

    /// Lists all jobs.
    fn jobs | jobs_async (parts) -> Vec<JobInfo> {
        Ok(parts.workspace.jobs().await?.into_iter().map(job_info).collect())
    }

    /// Ends the sandbox or the host runner, with all commands.
    fn stop | stop_async (parts) -> () {
        use workden_core::Sandbox;
        match parts.workspace.commands() {
            Ok(commands) => commands.stop().await,
            Err(_) => Ok(()),
        }
    }

    /// Returns the directory in which relative paths and commands start.
    fn directory | directory_async (parts) -> String {
        Ok(parts.workspace.working_directory().await?.to_string())
    }
}
