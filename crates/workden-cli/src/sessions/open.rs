//! `workden sessions open`: creates a session, or reports that it exists.

use std::io::Write;

use workden::{
    Error, ErrorKind, SessionSpec,
    sessions::{Opened, SessionRecord},
};

use super::{OpenArguments, SessionChoice, user_sessions};
use crate::{
    cluster::refuse_in_pod,
    failure::{Failure, request, usage},
    spinner::Spinner,
};

pub(super) async fn run(arguments: &OpenArguments) -> Result<(), Failure> {
    let sessions = user_sessions().map_err(request)?;
    check(arguments, sessions.store().record(&arguments.id).map_err(request)?.as_ref()).map_err(usage)?;
    let mut spec = SessionSpec::default();
    spec.kind = arguments.sandbox.into();
    spec.cluster = arguments.cluster.spec();
    spec.daytona = arguments.daytona.spec();
    spec.image.clone_from(&arguments.container.image);
    spec.runtime.clone_from(&arguments.container.runtime);
    spec.root.clone_from(&arguments.root);
    spec.network = arguments.net.as_ref().map(ToString::to_string);
    arguments.options.set_session(&mut spec);
    arguments.options.set_session_environment(&mut spec);
    spec.idle = arguments.idle;
    let unplanned = |error: Error| if error.kind() == ErrorKind::Unsupported { usage(error) } else { request(error) };
    let record = sessions.planned(&arguments.id, &spec).map_err(unplanned)?;
    let files = match record.has_directory() {
        true => record.workspace.display().to_string(),
        false => format!("its {}, at `{}`", arguments.sandbox.place(), record.directory),
    };
    let spinner = (!record.has_directory()).then(|| Spinner::show(format!("starting a {}", arguments.sandbox.place())));
    let session = sessions.open(&arguments.id, record).await.map_err(request)?;
    drop(spinner);
    let how = match session.opened() {
        Opened::New => "is open",
        Opened::Existing => "was open already",
    };
    let text = format!("The session `{}` {how}; its files are in {files}\n", arguments.id);
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

/// Rejects unsupported combinations of options. An existing session keeps its image.
fn check(arguments: &OpenArguments, there: Option<&SessionRecord>) -> workden::Result<()> {
    if arguments.sandbox != SessionChoice::Kubernetes {
        arguments.cluster.refuse()?;
    }
    if arguments.sandbox != SessionChoice::Daytona {
        arguments.daytona.refuse()?;
    }
    let of_this_machine = [
        ("--root", arguments.root.is_some()),
        arguments.options.toolchains(),
        ("--pids", arguments.options.pids.is_some()),
    ];
    match arguments.sandbox {
        SessionChoice::Linux => arguments.container.refuse(),
        SessionChoice::Docker if there.is_none() => arguments.container.chosen().map(drop),
        SessionChoice::Docker => Ok(()),
        SessionChoice::Kubernetes => {
            refuse_in_pod(arguments.net.as_ref(), &of_this_machine)?;
            if there.is_none() { arguments.cluster.check_image(&arguments.container) } else { Ok(()) }
        }
        SessionChoice::Daytona => arguments.daytona.check(&arguments.container, &of_this_machine),
    }
}
