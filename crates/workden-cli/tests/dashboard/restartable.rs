//! A service that ends and starts again at the same address, with the same directory, while a page is open.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use crate::client_service::state_directory::StateDirectory;

/// A service, which runs or not. It ends with this value.
pub(crate) struct RestartableService {
    program: Option<Child>,
    listen: String,
    pub(crate) url: String,
    pub(crate) key: String,
    state: StateDirectory,
}

impl RestartableService {
    pub(crate) fn start() -> Self {
        let (listen, state) = ("127.0.0.1:0".to_owned(), StateDirectory::new());
        let mut service = Self { program: None, listen, url: String::new(), key: String::new(), state };
        let mut lines = service.run();
        service.url = lines.find_map(|line| line.strip_prefix("workden: serving ").map(str::to_owned)).unwrap();
        let key = |line: String| line.strip_prefix("workden: your key, shown once: ").map(str::to_owned);
        service.key = lines.find_map(key).unwrap();
        service.listen = service.url.trim_start_matches("http://").to_owned();
        drain(lines);
        service
    }

    pub(crate) fn stop(&mut self) {
        let Some(mut program) = self.program.take() else { return };
        let _ = Command::new("kill").args(["-TERM", &program.id().to_string()]).status();
        let _ = program.wait();
    }

    pub(crate) fn start_again(&mut self) {
        let mut lines = self.run();
        lines.find(|line| line.starts_with("workden: serving ")).unwrap();
        drain(lines);
    }

    fn run(&mut self) -> impl Iterator<Item = String> + Send + use<> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        command.args(["serve", "--listen", &self.listen, "--state"]).arg(self.state.path()).stderr(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let lines = BufReader::new(program.stderr.take().unwrap()).lines().map_while(Result::ok);
        self.program = Some(program);
        lines
    }
}

impl Drop for RestartableService {
    fn drop(&mut self) {
        self.stop();
    }
}

fn drain(lines: impl Iterator<Item = String> + Send + 'static) {
    std::thread::spawn(move || lines.for_each(|line| drop(writeln!(std::io::stderr(), "{line}"))));
}
