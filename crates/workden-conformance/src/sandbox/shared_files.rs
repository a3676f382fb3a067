//! One tree for file calls and commands: each sees and may change the files of the other.

use workden_core::{
    BackendExt, EntryKind, Expect, Link, Removal,
    sandbox::Sandbox,
    search::{GlobRequest, GrepRequest, ListRequest},
    text::Replacement,
};

use super::{
    calls::{printed, prints, work_file},
    check::list_sandbox_checks,
};
use crate::{Outcome, verdict::equal};

list_sandbox_checks! { shared_files:
    commands_see_and_change_what_file_calls_made,
    file_calls_see_and_change_what_commands_made,
    searches_find_what_commands_wrote,
    a_link_that_a_command_made_is_followed,
    a_file_call_writes_a_program_that_a_command_runs,
    a_command_that_holds_a_file_open_keeps_the_old_content,
}

/// Commands read, append to and remove the files and directories.
pub async fn commands_see_and_change_what_file_calls_made(sandbox: &dyn Sandbox) -> Outcome {
    let file = work_file(sandbox, "d").await?.child("f.txt")?;
    sandbox.write_path(&file, "by a call\n".into(), Expect::Absent).await?;
    prints(sandbox, "cat d/f.txt && echo by a command >> d/f.txt && : > d/new", "by a call\n").await?;
    equal("the file", sandbox.read_bytes(&file).await?, "by a call\nby a command\n")?;
    prints(sandbox, "rm -r d", "").await?;
    equal("whether it is there", sandbox.exists(&file).await, false)
}

/// File calls edit, list and remove the files of a command.
pub async fn file_calls_see_and_change_what_commands_made(sandbox: &dyn Sandbox) -> Outcome {
    printed(sandbox, "mkdir -p made/deep && echo old text > made/f.txt && chmod 750 made/f.txt").await?;
    let directory = work_file(sandbox, "made").await?;
    let file = directory.child("f.txt")?;
    sandbox.edit(&file, &[Replacement::once("old", "new")]).await?;
    prints(sandbox, "cat made/f.txt; stat -c %a made/f.txt", "new text\n750\n").await?;
    sandbox.write_path(&directory.child("deep")?.child("g")?, "x".into(), Expect::Absent).await?;
    let listed = sandbox.list_path(&directory, &ListRequest::default()).await?;
    let kinds: Vec<_> = listed.entries.iter().map(|entry| (entry.path.name(), entry.kind)).collect();
    equal("the listing", kinds, [(Some("deep"), EntryKind::Directory), (Some("f.txt"), EntryKind::File)])?;
    sandbox.remove_path(&directory, Removal::Tree).await?;
    // Other checks may have left files in the same sandbox.
    prints(sandbox, "[ -e made ] || echo gone", "gone\n").await
}

/// A search finds the files immediately.
pub async fn searches_find_what_commands_wrote(sandbox: &dyn Sandbox) -> Outcome {
    printed(sandbox, "mkdir src; for i in 1 2 3; do echo line; echo needle $i; done > src/found.rs").await?;
    let directory = sandbox.directory().await?;
    let found = sandbox.grep_path(&directory, &GrepRequest::literal("needle 3")).await?;
    equal("the matches", found.matches, 1)?;
    let found = sandbox.glob_path(&directory, &GlobRequest::new("**/*.rs")).await?;
    let paths: Vec<_> = found.entries.into_iter().map(|entry| entry.path).collect();
    equal("the files", paths, [directory.child("src")?.child("found.rs")?])
}

/// The link points inside the working directory.
pub async fn a_link_that_a_command_made_is_followed(sandbox: &dyn Sandbox) -> Outcome {
    printed(sandbox, "mkdir d; echo content > d/target; ln -s d/target link").await?;
    let link = work_file(sandbox, "link").await?;
    equal("through the link", sandbox.read_bytes(&link).await?, "content\n")?;
    equal("what it is", sandbox.entry(&work_file(sandbox, "d").await?).await?.link, Link::Direct)
}

/// The command passes the file to an interpreter or makes it executable.
pub async fn a_file_call_writes_a_program_that_a_command_runs(sandbox: &dyn Sandbox) -> Outcome {
    let script = work_file(sandbox, "script.sh").await?;
    sandbox.write_path(&script, "#!/bin/sh\necho ran with $1\n".into(), Expect::Absent).await?;
    prints(sandbox, "sh script.sh one; chmod +x script.sh; ./script.sh two", "ran with one\nran with two\n").await?;
    sandbox.edit(&script, &[Replacement::once("ran", "still ran")]).await?;
    prints(sandbox, "./script.sh three", "still ran with three\n").await
}

/// A write puts a new file in place of the old one.
pub async fn a_command_that_holds_a_file_open_keeps_the_old_content(sandbox: &dyn Sandbox) -> Outcome {
    let file = work_file(sandbox, "f").await?;
    sandbox.write_path(&file, "old\n".into(), Expect::Absent).await?;
    let line = "exec 3<f; : > opened; while [ ! -e written ]; do sleep 0.05; done; cat <&3; cat f";
    let reading = prints(sandbox, line, "old\nnew\n");
    let writing = async {
        super::calls::until(sandbox, "[ -e opened ]", super::calls::AT_ONCE).await?;
        sandbox.write_path(&file, "new\n".into(), Expect::Anything).await?;
        sandbox.write_path(&work_file(sandbox, "written").await?, "".into(), Expect::Absent).await?;
        Ok(())
    };
    futures_util::future::try_join(reading, writing).await.map(drop)
}
