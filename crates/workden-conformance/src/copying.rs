//! Copying files, with and without a file at the destination.

use workden_core::{Backend, BackendExt, ErrorKind, IfExists, Replaced, Version};

use crate::{
    Outcome,
    check::list_checks,
    reading::noise,
    typed::{holds, is_unchanged, listed, path, put, put_all, tree},
    verdict::{equal, refused},
};

list_checks! { copying:
    a_copy_has_the_content_and_the_original_stays,
    a_copy_says_what_was_there_and_what_is_now,
    a_copy_replaces_a_file_only_when_told_to,
    a_copy_leads_a_life_of_its_own,
    a_file_copied_onto_itself_stays,
}

/// A copy makes the missing parent directories.
pub async fn a_copy_has_the_content_and_the_original_stays(files: &dyn Backend) -> Outcome {
    let contents = [("/text", b"a\r\nb".to_vec()), ("/empty", Vec::new()), ("/noise", noise())];
    for (from, content) in contents {
        put(files, from, content.clone()).await?;
        let to = format!("/new/deep{from}");
        files.copy_path(&path(from)?, &path(&to)?, IfExists::Refuse).await?;
        holds(files, from, &content).await?;
        holds(files, &to, &content).await?;
    }
    equal("all copies", listed(files, "/new/deep").await?, ["/new/deep/empty", "/new/deep/noise", "/new/deep/text"])
}

/// A copy returns the same details as a write.
pub async fn a_copy_says_what_was_there_and_what_is_now(files: &dyn Backend) -> Outcome {
    put(files, "/a", "one").await?;
    for before in [Replaced::Nothing, Replaced::File] {
        let written = files.copy_path(&path("/a")?, &path("/d/b")?, IfExists::Replace).await?;
        equal("the path", written.path.as_str(), "/d/b")?;
        equal("what was there", written.replaced, before)?;
        equal("the version", written.version, Version::of(b"one"))?;
    }
    Ok(())
}

/// Without `IfExists::Replace` an existing destination is `AlreadyExists`, and both files stay.
pub async fn a_copy_replaces_a_file_only_when_told_to(files: &dyn Backend) -> Outcome {
    put_all(files, &[("/a", "from"), ("/d/b", "to, and longer")]).await?;
    let before = tree(files).await?;
    let answer = files.copy_path(&path("/a")?, &path("/d/b")?, IfExists::Refuse).await;
    refused("copy over a file", answer, ErrorKind::AlreadyExists)?;
    is_unchanged(files, &before).await?;
    files.copy_path(&path("/a")?, &path("/d/b")?, IfExists::Replace).await?;
    holds(files, "/a", "from").await?;
    holds(files, "/d/b", "from").await
}

/// A change to the original does not change the copy.
pub async fn a_copy_leads_a_life_of_its_own(files: &dyn Backend) -> Outcome {
    put(files, "/a", "one").await?;
    files.copy_path(&path("/a")?, &path("/b")?, IfExists::Refuse).await?;
    put(files, "/a", "two").await?;
    holds(files, "/b", "one").await?;
    put(files, "/b", "three").await?;
    holds(files, "/a", "two").await
}

/// Copying a file onto itself may succeed or fail, but loses nothing.
pub async fn a_file_copied_onto_itself_stays(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "x").await?;
    let before = tree(files).await?;
    for if_exists in [IfExists::Refuse, IfExists::Replace] {
        // The backend may do nothing or refuse: the contract is only about the files afterwards.
        let _ = files.copy_path(&path("/d/f")?, &path("/d/f")?, if_exists).await;
        is_unchanged(files, &before).await?;
    }
    Ok(())
}
