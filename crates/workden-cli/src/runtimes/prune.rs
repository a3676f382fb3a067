//! `workden runtimes prune`: removes superseded images and prints their names and size.

use std::io::Write;

use workden::sandboxes::docker::{BuiltImage, Pruned};
use workden_core::show_size;

use super::images;
use crate::failure::{Failure, request};

/// Whether images are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Remove,
    Nothing,
}

pub(super) async fn run(files: &[String], doing: Doing) -> Result<(), Failure> {
    let keep = files.iter().map(|file| workden::runtime_named(file).map_err(request)).collect::<Result<Vec<_>, _>>()?;
    let images = images()?;
    let pruned = match doing {
        Doing::Remove => images.prune(&keep).await,
        Doing::Nothing => images.prune_dry_run(&keep).await,
    };
    let text = told(&pruned.map_err(request)?, doing);
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

fn told(pruned: &Pruned, doing: Doing) -> String {
    let (removed, sum) = match doing {
        Doing::Remove => ("removed", "Removed"),
        Doing::Nothing => ("would remove", "Would remove"),
    };
    let gone = pruned.removed.iter().map(|image| format!("{removed} {}\n", name(image)));
    let kept = pruned.in_use.iter().map(|image| format!("kept {}, which a container uses\n", name(image)));
    let lines: String = gone.chain(kept).collect();
    let sum = match pruned.removed.len() {
        0 if pruned.in_use.is_empty() => "No image is superseded.".to_owned(),
        0 => "No image is superseded and unused.".to_owned(),
        1 => format!("{sum} 1 image, {}.", show_size(pruned.bytes)),
        many => format!("{sum} {many} images, {}.", show_size(pruned.bytes)),
    };
    lines + &sum + "\n"
}

fn name(image: &BuiltImage) -> String {
    let id = image.id.trim_start_matches("sha256:");
    let id = id.get(..12).unwrap_or(id);
    match (&image.tag, &image.runtime) {
        (Some(tag), _) => tag.clone(),
        (None, Some(runtime)) => format!("{id} (formerly `{runtime}`)"),
        (None, None) => format!("{id} (of an unfinished build)"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn image(tag: Option<&str>, runtime: Option<&str>) -> BuiltImage {
        BuiltImage {
            id: "sha256:0123456789abcdef".into(),
            tag: tag.map(str::to_owned),
            runtime: runtime.map(str::to_owned),
            hash: None,
            size: 0,
            created: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn it_is_said_what_went_and_what_did_not() {
        assert_eq!(told(&Pruned::default(), Doing::Remove), "No image is superseded.\n");
        let pruned = Pruned {
            removed: vec![image(None, Some("mine")), image(None, None)],
            in_use: vec![image(Some("workden-runtime:a-0"), Some("a"))],
            bytes: 3 << 20,
        };
        insta::assert_snapshot!(told(&pruned, Doing::Remove), @"
        removed 0123456789ab (formerly `mine`)
        removed 0123456789ab (of an unfinished build)
        kept workden-runtime:a-0, which a container uses
        Removed 2 images, 3 MB.
        ");
        assert!(told(&pruned, Doing::Nothing).ends_with("Would remove 2 images, 3 MB.\n"));
        let used = Pruned { removed: Vec::new(), ..pruned };
        assert!(told(&used, Doing::Remove).ends_with("No image is superseded and unused.\n"));
    }
}
