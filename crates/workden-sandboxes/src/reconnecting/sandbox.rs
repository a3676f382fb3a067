//! Implements every call of a sandbox over a connection that may break.

use workden_core::{BackendExt, Result, forward_backend, forward_sandbox, sandbox::Isolation};

use super::{Again, Connector, ReconnectingSandbox};

/// Makes a call that may be repeated.
macro_rules! reading {
    ($line:ident, $method:ident($($argument:expr),*)) => {{
        let mut again = Again::Once;
        loop {
            let remote = $line.remote().await?;
            let answer = tokio::select! {
                biased;
                answer = remote.$method($($argument),*) => answer,
                why = $line.trouble(&remote) => Err(why),
            };
            if let Some(done) = $line.judge(&remote, answer, &mut again).await {
                break done;
            }
        }
    }};
}

/// Makes a call that may not be repeated.
macro_rules! changing {
    ($line:ident, $method:ident($($argument:expr),*)) => {{
        let remote = $line.remote().await?;
        let answer = tokio::select! {
            biased;
            answer = remote.$method($($argument),*) => answer,
            why = $line.trouble(&remote) => Err(why),
        };
        match $line.judge(&remote, answer, &mut Again::Never).await {
            Some(done) => done,
            None => Err(workden_core::Error::new(workden_core::ErrorKind::Unreachable, "the call was interrupted")),
        }
    }};
}

forward_backend! {
    impl[C: Connector] for ReconnectingSandbox<C>;
    looks: reading, changes: changing, host_files: own
}

forward_sandbox! {
    impl[C: Connector] for ReconnectingSandbox<C>;
    looks: reading, changes: changing,
    forward: [execute spawn start_job jobs read_job kill_job connect_port watch usage directory],
    {
        async fn isolation(&self) -> Result<Isolation> {
            let seen = reading!(self, isolation())?;
            self.connector.report(seen).await
        }
        async fn stop(&self) -> Result<()> {
            self.end().await
        }
    }
}
