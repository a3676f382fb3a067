//! `workden sessions open`: makes a session, or says that it is there.

use std::io::Write;

use workden_sandboxes::sessions::Opened;

use super::{Kept, OpenArguments, Wanted};
use crate::{failure::Failure, place::request};

pub(super) async fn run(arguments: &OpenArguments) -> Result<(), Failure> {
    let wanted = Wanted {
        container: arguments.container.clone(),
        root: arguments.root.clone(),
        net: arguments.net.clone(),
        memory: arguments.memory,
        cpus: arguments.cpus,
        pids: arguments.pids,
        idle: arguments.idle,
    };
    let kept = Kept::of_user().map_err(request)?;
    let record = kept.record(&arguments.id, arguments.sandbox, &wanted).map_err(request)?;
    let session = kept.open(&arguments.id, record).await.map_err(request)?;
    let how = match session.opened {
        Opened::Made => "is open",
        Opened::Found => "was open already",
    };
    let files = session.record.workspace.display();
    let text = format!("The session `{}` {how}; its files are in {files}\n", arguments.id);
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}
