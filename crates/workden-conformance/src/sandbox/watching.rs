//! Watching a directory: what commands and file calls change there is told.

use futures_util::StreamExt;
use workden_core::{
    BackendExt, ErrorKind, Expect, Layer, Removal, Resolved, Rule, RuleCase, Rules, Sight, Symlink, VirtualPath,
    Visibility,
    sandbox::{FileChange, FileEvent, FileEvents, Sandbox, WatchDepth, WatchRequest},
};

use super::{
    calls::{AT_ONCE, pause, printed, within},
    check::list_sandbox_checks,
};
use crate::{
    Failure, Outcome,
    verdict::{ensure, equal, refused},
};

list_sandbox_checks! { watching:
    changes_by_commands_are_told,
    changes_by_file_calls_are_told_without_temporary_names,
    a_directory_alone_is_watched_unless_more_is_asked,
    a_tree_is_watched_with_directories_that_come_later,
    a_directory_that_moves_is_told_by_its_new_name,
    hidden_names_are_not_told,
    what_cannot_be_watched_is_refused,
    the_end_of_the_directory_ends_the_watch,
    a_reader_that_waits_long_misses_nothing_silently,
}

/// Makes the directory `watched`, and watches it.
async fn watch(sandbox: &dyn Sandbox, request: WatchRequest) -> Result<(Resolved, FileEvents), Failure> {
    // Another check may have left one in the same sandbox.
    printed(sandbox, "rm -rf watched elsewhere && mkdir -p watched/old").await?;
    let at = resolved(sandbox, "watched").await?;
    let events = sandbox.watch(&at, &request).await?;
    Ok((at, events))
}

async fn resolved(sandbox: &dyn Sandbox, name: &str) -> Result<Resolved, Failure> {
    Ok(sandbox.resolve(&sandbox.directory().await?.child(name)?, Symlink::Follow).await?)
}

/// Reads events until this change of this name is told, and returns all that were read.
async fn until(events: &mut FileEvents, at: &Resolved, name: &str, change: FileChange) -> Result<Vec<String>, Failure> {
    let mut seen = Vec::new();
    loop {
        let next = within(&format!("{change:?} of `{name}` after {seen:?}"), AT_ONCE, events.next()).await?;
        let Some(event) = next else { return Err(Failure::new(format!("the events ended after {seen:?}"))) };
        let FileEvent::Changed { path, change: told, .. } = event? else { continue };
        let shown = path.strip_prefix(&at.real).map_or_else(|| path.to_string(), |path| path.relative().to_owned());
        seen.push(shown.clone());
        if shown == name && told == change {
            return Ok(seen);
        }
    }
}

/// Each kind of change has its own name.
pub async fn changes_by_commands_are_told(sandbox: &dyn Sandbox) -> Outcome {
    let (at, mut events) = watch(sandbox, WatchRequest::default()).await?;
    let steps = [
        (": > watched/a", "a", FileChange::Created),
        ("echo x >> watched/a", "a", FileChange::Written),
        ("chmod 600 watched/a", "a", FileChange::Attributes),
        ("mv watched/a watched/b", "a", FileChange::Renamed),
        ("true", "b", FileChange::Created),
        ("rm watched/b", "b", FileChange::Removed),
        ("mkdir watched/new", "new", FileChange::Created),
    ];
    for (line, name, change) in steps {
        printed(sandbox, line).await?;
        until(&mut events, &at, name, change).await?;
    }
    Ok(())
}

/// A write is told by the name of the file alone.
pub async fn changes_by_file_calls_are_told_without_temporary_names(sandbox: &dyn Sandbox) -> Outcome {
    let (at, mut events) = watch(sandbox, WatchRequest::default()).await?;
    let path = at.real.child("written.txt")?;
    sandbox.write_path(&path, "one".into(), Expect::Absent).await?;
    let mut seen = until(&mut events, &at, "written.txt", FileChange::Created).await?;
    sandbox.write_path(&path, "two".into(), Expect::Anything).await?;
    sandbox.remove_path(&path, Removal::One).await?;
    seen.extend(until(&mut events, &at, "written.txt", FileChange::Removed).await?);
    seen.retain(|name| name != "written.txt");
    equal("other names", seen, Vec::<String>::new())
}

/// Directories below are told as entries only.
pub async fn a_directory_alone_is_watched_unless_more_is_asked(sandbox: &dyn Sandbox) -> Outcome {
    let (at, mut events) = watch(sandbox, WatchRequest::default()).await?;
    printed(sandbox, ": > watched/old/below; : > watched/last").await?;
    let seen = until(&mut events, &at, "last", FileChange::Created).await?;
    ensure(!seen.iter().any(|name| name == "old/below"), format!("told: {seen:?}"))
}

/// What is in a new directory is told, however early it came.
pub async fn a_tree_is_watched_with_directories_that_come_later(sandbox: &dyn Sandbox) -> Outcome {
    let (at, mut events) = watch(sandbox, WatchRequest::default().depth(WatchDepth::Tree)).await?;
    printed(sandbox, ": > watched/old/first").await?;
    until(&mut events, &at, "old/first", FileChange::Created).await?;
    printed(sandbox, "mkdir -p watched/new/deep && : > watched/new/deep/early").await?;
    until(&mut events, &at, "new/deep/early", FileChange::Created).await?;
    printed(sandbox, "echo x > watched/new/deep/early").await?;
    until(&mut events, &at, "new/deep/early", FileChange::Written).await?;
    printed(sandbox, "rm -r watched/new && mkdir watched/new && : > watched/new/again").await?;
    until(&mut events, &at, "new/again", FileChange::Created).await.map(drop)
}

/// Also below it.
pub async fn a_directory_that_moves_is_told_by_its_new_name(sandbox: &dyn Sandbox) -> Outcome {
    let (at, mut events) = watch(sandbox, WatchRequest::default().depth(WatchDepth::Tree)).await?;
    printed(sandbox, "mkdir watched/old/in && mv watched/old watched/moved").await?;
    until(&mut events, &at, "moved", FileChange::Created).await?;
    printed(sandbox, ": > watched/moved/in/file").await?;
    let seen = until(&mut events, &at, "moved/in/file", FileChange::Created).await?;
    ensure(!seen.iter().any(|name| name.ends_with("old/in/file")), format!("told: {seen:?}"))
}

/// Nor is what is below a hidden directory.
pub async fn hidden_names_are_not_told(sandbox: &dyn Sandbox) -> Outcome {
    let hide = |pattern: &str| Rule {
        pattern: pattern.to_owned(),
        except: Vec::new(),
        sight: Sight::Hidden,
        case: RuleCase::Sensitive,
    };
    let list = Rules { rules: vec![hide("**/secret*")], otherwise: Sight::Shown };
    let visibility = Visibility { layers: vec![Layer { list, ..Layer::open() }] };
    let request = WatchRequest::default().depth(WatchDepth::Tree).visibility(visibility);
    let (at, mut events) = watch(sandbox, request).await?;
    printed(sandbox, "mkdir watched/secrets && : > watched/secrets/key && : > watched/old/secret && : > watched/last")
        .await?;
    let seen = until(&mut events, &at, "last", FileChange::Created).await?;
    ensure(!seen.iter().any(|name| name.contains("secret")), format!("told: {seen:?}"))
}

/// The error says why.
pub async fn what_cannot_be_watched_is_refused(sandbox: &dyn Sandbox) -> Outcome {
    printed(sandbox, "rm -rf file missing link; : > file").await?;
    let request = WatchRequest::default();
    for (name, kind) in [("missing", ErrorKind::NotFound), ("file", ErrorKind::NotDirectory)] {
        let at = resolved(sandbox, name).await?;
        refused(name, sandbox.watch(&at, &request).await.map(drop), kind)?;
    }
    // A link that took the place of a directory after it was looked up is not followed.
    let at = Resolved::literal(sandbox.directory().await?.child("link")?);
    printed(sandbox, "ln -s / link").await?;
    refused("a link", sandbox.watch(&at, &request).await.map(drop), ErrorKind::NotDirectory).map(drop)
}

/// With an error after the last change.
pub async fn the_end_of_the_directory_ends_the_watch(sandbox: &dyn Sandbox) -> Outcome {
    for line in ["rm -r watched", "mv watched elsewhere"] {
        let (_, mut events) = watch(sandbox, WatchRequest::default()).await?;
        printed(sandbox, line).await?;
        let last = within("the end of the events", AT_ONCE, async {
            loop {
                match events.next().await {
                    Some(Ok(_)) => {}
                    last => return last,
                }
            }
        });
        let Some(last) = last.await? else { return Err(Failure::new("the events ended without an error")) };
        refused(line, last, ErrorKind::NotFound)?;
        ensure(events.next().await.is_none(), "something came after the end")?;
    }
    Ok(())
}

/// Either every change is told, or the reader is told that it missed some; the watch goes on.
pub async fn a_reader_that_waits_long_misses_nothing_silently(sandbox: &dyn Sandbox) -> Outcome {
    let (at, mut events) = watch(sandbox, WatchRequest::default()).await?;
    printed(sandbox, "i=0; while [ $i -lt 3000 ]; do : > watched/f$i; i=$((i+1)); done").await?;
    pause(200).await;
    let (mut created, mut missed) = (0, false);
    let last: VirtualPath = at.real.child("last")?;
    printed(sandbox, ": > watched/last").await?;
    loop {
        let next = within("the last event", AT_ONCE, events.next()).await?;
        match next.ok_or_else(|| Failure::new("the events ended"))?? {
            FileEvent::Changed { path, .. } if path == last => break,
            FileEvent::Changed { change: FileChange::Created, .. } => created += 1,
            FileEvent::Changed { .. } => {}
            FileEvent::Missed => {
                missed = true;
                // The last one may be among those that were lost.
                printed(sandbox, "rm watched/last; : > watched/last").await?;
            }
        }
    }
    ensure(missed || created == 3_000, format!("{created} of 3000 files were told, and nothing was missed"))
}
