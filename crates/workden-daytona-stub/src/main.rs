//! The stub as a program, for tests that are not written in Rust: `workden-daytona-stub --port 0` prints its URL and
//! serves until its standard input ends. It is its own keeper.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.next_if(|word| word == workden_sandboxes::KEEPER_WORD).is_some() {
        return workden_keeper::run(words);
    }
    match linux::run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => linux::fail(&why),
    }
}

/// Sandboxes run on Linux only.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{ffi::OsString, io::Write, process::ExitCode};

    use tokio::io::AsyncReadExt;
    use workden_daytona_stub::{Stub, StubOptions};
    use workden_sandboxes::KeeperProgram;

    const USAGE: &str = "usage: workden-daytona-stub [--port NUMBER] [--api-key KEY]";

    pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<(), String> {
        let options = options(words)?;
        let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("cannot start: {error}"))?;
        runtime.block_on(serve(options))
    }

    #[expect(clippy::print_stderr, reason = "this is where a program says why it ends")]
    pub(super) fn fail(why: &str) -> ExitCode {
        eprintln!("{why}");
        ExitCode::FAILURE
    }

    fn options(mut words: impl Iterator<Item = OsString>) -> Result<StubOptions, String> {
        let mut options = StubOptions::new(KeeperProgram::this_program());
        while let Some(name) = words.next() {
            let value = words.next().and_then(|value| value.into_string().ok());
            let value = value.ok_or_else(|| USAGE.to_owned())?;
            match name.to_str() {
                Some("--port") => options.port = value.parse().map_err(|_| format!("invalid port `{value}`"))?,
                Some("--api-key") => options.api_key = value,
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }

    async fn serve(options: StubOptions) -> Result<(), String> {
        let stub = Stub::start(options).await.map_err(|error| error.to_string())?;
        let mut output = std::io::stdout();
        writeln!(output, "{}", stub.url()).and_then(|()| output.flush()).map_err(|error| error.to_string())?;
        // The test that started this program holds the other end, also when it is killed.
        let mut ignored = [0; 64];
        let mut input = tokio::io::stdin();
        while input.read(&mut ignored).await.is_ok_and(|length| length > 0) {}
        stub.stop().await;
        Ok(())
    }
}
