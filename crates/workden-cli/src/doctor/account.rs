//! Checks an account of Daytona. A signal meanwhile leaves no sandbox behind.

use super::{DoctorArguments, Probed, probed};
use crate::{
    command_options::CommandOptions,
    failure::{Failure, request, usage},
};

pub(super) fn probe(arguments: &DoctorArguments) -> Result<Probed, Failure> {
    arguments.daytona.check(&arguments.container, &[]).map_err(usage)?;
    let sandbox = arguments.daytona.unchecked_sandbox(&arguments.container, None, &CommandOptions::default());
    let sandbox = sandbox.map_err(request)?;
    probed("checking Daytona", |end| async move { sandbox.probe_until(end).await })
}
