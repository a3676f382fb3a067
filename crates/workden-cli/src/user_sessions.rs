//! The sessions of the user, for every command that opens one.

use workden::{HostEnvironment, Result, UserSessions};

use crate::runtimes::News;

/// Returns the sessions of this user. Progress of images goes to standard error.
pub(crate) fn user_sessions() -> Result<UserSessions> {
    let news = News::when_needed();
    Ok(UserSessions::of_user(HostEnvironment::from_process())?.on_progress(move |progress| news.tell(&progress)))
}
