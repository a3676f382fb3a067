//! `workden runtimes list`: prints a table.

use std::{io::Write, time::SystemTime};

use workden::sandboxes::{
    docker::{BuiltImage, Images},
    runtimes::{BUILTIN_RUNTIMES, RuntimeConfig},
};
use workden_core::{Result as Answer, show_size};

use super::images;
use crate::failure::Failure;

const DASH: &str = "-";

pub(super) async fn run() -> Result<(), Failure> {
    let runtimes = BUILTIN_RUNTIMES.map(|runtime| runtime.config());
    // The list does not need a daemon.
    let images = images().ok();
    let found = match &images {
        Some(images) => is_there(images, &runtimes).await.ok(),
        None => None,
    };
    let built = match (&images, &found) {
        (Some(images), Some(_)) => images.list().await.unwrap_or_default(),
        _ => Vec::new(),
    };
    let text = table(&runtimes, found.as_deref()) + &others(&runtimes, &built);
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

/// Returns whether the daemon has the image of each runtime.
async fn is_there(images: &Images, runtimes: &[RuntimeConfig]) -> Answer<Vec<bool>> {
    let mut all = Vec::new();
    for runtime in runtimes {
        all.push(images.find(runtime).await?.is_some());
    }
    Ok(all)
}

fn table(runtimes: &[RuntimeConfig], found: Option<&[bool]>) -> String {
    let rows = runtimes.iter().enumerate().map(|(nth, runtime)| {
        let there = match found.and_then(|found| found.get(nth)) {
            Some(true) => "yes",
            Some(false) => "no",
            None => DASH,
        };
        let image = runtime.image.as_deref().or(runtime.base_image.as_deref()).unwrap_or(DASH);
        let packages = if runtime.packages.is_empty() { DASH.to_owned() } else { runtime.packages.join(" ") };
        [runtime.name.clone(), there.to_owned(), image.to_owned(), runtime.description.clone(), packages]
    });
    columns([["name", "built", "image or base", "description", "packages"].map(str::to_owned)].into_iter().chain(rows))
}

/// Lists images of the user's runtimes, and of earlier versions of the built-in ones.
fn others(runtimes: &[RuntimeConfig], built: &[BuiltImage]) -> String {
    let current: Vec<String> = runtimes.iter().filter_map(|runtime| Some(runtime.tag().ok()??.to_string())).collect();
    let now = SystemTime::now();
    let others = built
        .iter()
        .filter_map(|image| image.tag.as_ref().filter(|tag| !current.contains(tag)).map(|tag| (image, tag)));
    let rows: Vec<_> =
        others.map(|(image, tag)| [tag.clone(), show_size(image.size), age(image.created, now)]).collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            format!("\n{}", columns([["other images", "size", "built"].map(str::to_owned)].into_iter().chain(rows)))
        }
    }
}

/// Formats how long ago something was.
pub(super) fn age(then: SystemTime, now: SystemTime) -> String {
    let minutes = now.duration_since(then).unwrap_or_default().as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..120 => format!("{minutes} min ago"),
        120..2880 => format!("{} h ago", minutes / 60),
        _ => format!("{} days ago", minutes / 60 / 24),
    }
}

/// Aligns the columns of rows.
pub(crate) fn columns<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<_> = rows.collect();
    let widths: [usize; N] =
        std::array::from_fn(|nth| rows.iter().map(|row| row[nth].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn without_a_daemon_there_is_a_dash() {
        let runtimes = [BUILTIN_RUNTIMES[0].config(), BUILTIN_RUNTIMES[2].config()];
        insta::assert_snapshot!(table(&runtimes, None), @"
        name            built  image or base     description                                        packages
        python-minimal  -      python:3.12-slim  Python and its standard library, and nothing else  -
        python-web      -      python:3.12-slim  Python for web services and their databases        fastapi uvicorn sqlalchemy httpx
        ");
        assert!(table(&runtimes, Some(&[true, false])).contains("python-web      no     python"));
    }

    #[test]
    fn images_that_are_current_are_not_others() {
        let runtime = BUILTIN_RUNTIMES[2].config();
        let tag = runtime.tag().unwrap().unwrap().to_string();
        let image = |tag: &str| BuiltImage {
            id: String::new(),
            tag: Some(tag.to_owned()),
            runtime: None,
            hash: None,
            size: 3 << 20,
            created: SystemTime::now() - Duration::from_secs(600),
        };
        assert_eq!(others(std::slice::from_ref(&runtime), &[image(&tag)]), "");
        let text = others(&[runtime], &[image(&tag), image("workden-runtime:mine-0")]);
        assert_eq!(text, "\nother images            size  built\nworkden-runtime:mine-0  3 MB  10 min ago\n");
    }

    #[test]
    fn ages_are_told_as_people_say_them() {
        let now = SystemTime::now();
        for (seconds, told) in [(3, "just now"), (300, "5 min ago"), (7200, "2 h ago"), (864_000, "10 days ago")] {
            assert_eq!(age(now - Duration::from_secs(seconds), now), told);
        }
        assert_eq!(age(now + Duration::from_secs(9), now), "just now");
    }
}
