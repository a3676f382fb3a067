//! `workden sessions open`: creates a session, or reports that it exists.

use std::io::Write;

use workden::{SessionSpec, sessions::Opened};

use super::{OpenArguments, user_sessions};
use crate::failure::{Failure, request};

pub(super) async fn run(arguments: &OpenArguments) -> Result<(), Failure> {
    let sessions = user_sessions().map_err(request)?;
    if arguments.sandbox == super::SessionChoice::Linux {
        arguments.container.refuse().map_err(request)?;
    } else if sessions.store().record(&arguments.id).map_err(request)?.is_none() {
        arguments.container.chosen().map_err(request)?;
    }
    let mut spec = SessionSpec::default();
    spec.kind = arguments.sandbox.into();
    spec.image.clone_from(&arguments.container.image);
    spec.runtime.clone_from(&arguments.container.runtime);
    spec.root.clone_from(&arguments.root);
    spec.network = arguments.net.as_ref().map(ToString::to_string);
    (spec.memory, spec.cpus, spec.pids) = (arguments.memory, arguments.cpus, arguments.pids);
    spec.idle = arguments.idle;
    let record = sessions.planned(&arguments.id, &spec).map_err(request)?;
    let files = record.workspace.display().to_string();
    let session = sessions.open(&arguments.id, record).await.map_err(request)?;
    let how = match session.opened() {
        Opened::New => "is open",
        Opened::Existing => "was open already",
    };
    let text = format!("The session `{}` {how}; its files are in {files}\n", arguments.id);
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}
