//! A server in the background answers later commands on localhost. Needs `python3`.

use workden_core::sandbox::Sandbox;

use super::{
    calls::{AT_ONCE, job, printed, prints, until},
    check::list_sandbox_checks,
};
use crate::Outcome;

list_sandbox_checks! { servers:
    a_server_that_is_a_job_answers_a_later_command,
    a_server_that_a_command_left_behind_answers_a_later_one,
}

const SERVE: &str = "
import http.server
server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
with open('port.new', 'w') as file:
    file.write(str(server.server_port))
import os
os.rename('port.new', 'port')
server.serve_forever()
";

const FETCH: &str = "python3 -c \"
import urllib.request
port = open('port').read()
print(urllib.request.urlopen('http://127.0.0.1:' + port + '/page.txt', timeout=5).read().decode(), end='')
\"";

async fn answers(sandbox: &dyn Sandbox) -> Outcome {
    until(sandbox, "[ -s port ]", AT_ONCE).await?;
    prints(sandbox, FETCH, "served\n").await
}

/// All commands of a sandbox share one network.
pub async fn a_server_that_is_a_job_answers_a_later_command(sandbox: &dyn Sandbox) -> Outcome {
    printed(sandbox, "rm -f port; echo served > page.txt").await?;
    let server = job(sandbox, &format!("exec python3 -c \"{SERVE}\"")).await?;
    answers(sandbox).await?;
    sandbox.kill_job(&server.id).await?;
    prints(sandbox, &format!("{FETCH} 2>/dev/null || echo gone"), "gone\n").await
}

/// The server keeps running after its command has ended.
pub async fn a_server_that_a_command_left_behind_answers_a_later_one(sandbox: &dyn Sandbox) -> Outcome {
    printed(sandbox, "rm -f port; echo served > page.txt").await?;
    prints(sandbox, &format!("python3 -c \"{SERVE}\" >/dev/null 2>&1 &"), "").await?;
    answers(sandbox).await
}
