//! A keeper that was started in a container: it serves a socket to whoever has the token.

use std::sync::Arc;

use workden_core::Result;

use super::{
    arguments::ServePlace,
    ground, lease,
    life::{self, Ends},
};
use crate::{Keeper, sys};

/// Serves a socket until the lease is over, or somebody says that it is enough.
pub(super) fn run(place: ServePlace) -> Result<()> {
    sys::give_memory_back();
    let listener = lease::listen(&place.socket)?;
    let environment = std::env::vars().collect();
    let setting = ground::container(place.directory, environment);
    let ends = Ends { lease: place.ttl, ..Ends::default() };
    let runtime = super::runtime()?;
    let done = runtime.block_on(async {
        let keeper = Arc::new(Keeper::new(setting)?);
        life::live(keeper, None, Some((listener, place.token)), ends).await
    });
    runtime.shutdown_background();
    let _ = std::fs::remove_file(&place.socket);
    done
}
