//! `workden sessions open`: creates a session, or reports that it exists.

use std::io::Write;

use workden::{Error, ErrorKind, SessionSpec, sessions::Opened};

use super::{OpenArguments, user_sessions};
use crate::failure::{Failure, request, usage};

pub(super) async fn run(arguments: &OpenArguments) -> Result<(), Failure> {
    let sessions = user_sessions().map_err(request)?;
    if arguments.sandbox == super::SessionChoice::Linux {
        arguments.container.refuse().map_err(usage)?;
    } else if sessions.store().record(&arguments.id).map_err(request)?.is_none() {
        arguments.container.chosen().map_err(usage)?;
    }
    let mut spec = SessionSpec::default();
    spec.kind = arguments.sandbox.into();
    spec.image.clone_from(&arguments.container.image);
    spec.runtime.clone_from(&arguments.container.runtime);
    spec.root.clone_from(&arguments.root);
    spec.network = arguments.net.as_ref().map(ToString::to_string);
    arguments.options.set_session(&mut spec);
    arguments.options.set_session_environment(&mut spec);
    spec.idle = arguments.idle;
    let unplanned = |error: Error| if error.kind() == ErrorKind::Unsupported { usage(error) } else { request(error) };
    let record = sessions.planned(&arguments.id, &spec).map_err(unplanned)?;
    let files = record.workspace.display().to_string();
    let session = sessions.open(&arguments.id, record).await.map_err(request)?;
    let how = match session.opened() {
        Opened::New => "is open",
        Opened::Existing => "was open already",
    };
    let text = format!("The session `{}` {how}; its files are in {files}\n", arguments.id);
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}
