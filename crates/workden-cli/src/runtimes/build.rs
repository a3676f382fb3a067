//! `workden runtimes build`: builds the image of a runtime and prints progress on standard error.
//!
//! Invariant: standard output is the name of the image, and nothing else.

use std::{
    io::{IsTerminal, Write},
    sync::{Mutex, OnceLock},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use workden::sandboxes::docker::BuildProgress;
use workden_core::show_size;

use super::images;
use crate::failure::{Failure, request};

/// Whether an existing image is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caching {
    AsTheRuntimeSays,
    Never,
}

pub(super) async fn run(which: &str, caching: Caching, network: Option<&str>) -> Result<(), Failure> {
    let mut runtime = workden::runtime_named(which).map_err(request)?;
    if caching == Caching::Never {
        runtime.cache_image = false;
    }
    let mut images = images()?;
    if let Some(network) = network {
        images = images.build_network(network);
    }
    let news = News::new();
    let ended = images.ensure(&runtime, &|progress| news.tell(&progress)).await;
    news.end();
    let image = ended.map_err(request)?;
    writeln!(anstream::stdout().lock(), "{image}").map_err(Failure::Output)
}

/// Prints the progress of a pull or a build.
pub(crate) enum News {
    /// A progress bar.
    Terminal(ProgressBar),
    /// One line after the other. It holds the last line, because some repeat a hundred times.
    Plain(Mutex<String>),
    /// One of the other two, created with the first progress.
    WhenNeeded(OnceLock<Box<News>>),
}

impl News {
    pub(crate) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::Plain(Mutex::default());
        }
        // The number of steps is unknown until the first one starts.
        let bar = styled(ProgressBar::new_spinner(), "{spinner} {wide_msg}");
        bar.enable_steady_tick(Duration::from_millis(120));
        Self::Terminal(bar)
    }

    /// Shows nothing until there is progress, which for most callers never comes.
    pub(crate) fn when_needed() -> Self {
        Self::WhenNeeded(OnceLock::new())
    }

    pub(crate) fn tell(&self, progress: &BuildProgress) {
        match self {
            _ if *progress == BuildProgress::Ready => self.end(),
            Self::WhenNeeded(news) => news.get_or_init(|| Box::new(Self::new())).tell(progress),
            Self::Terminal(bar) => {
                if let BuildProgress::Step { nth, of, .. } = progress {
                    let bar = styled(bar.clone(), "{spinner} [{bar:20}] {pos}/{len} {wide_msg}");
                    bar.set_length(u64::from(*of));
                    bar.set_position(u64::from(*nth));
                }
                bar.set_message(line(progress, Detail::Moving));
            }
            Self::Plain(last) => {
                let line = line(progress, Detail::Lasting);
                if let Ok(mut last) = last.lock()
                    && *last != line
                {
                    // The build continues even if standard error is closed.
                    let _ = writeln!(anstream::stderr().lock(), "{line}");
                    *last = line;
                }
            }
        }
    }

    /// Removes the progress bar.
    pub(crate) fn end(&self) {
        match self {
            Self::Terminal(bar) => bar.finish_and_clear(),
            Self::Plain(_) => {}
            Self::WhenNeeded(news) => {
                if let Some(news) = news.get() {
                    news.end();
                }
            }
        }
    }
}

/// Restyles a bar. A template that does not parse leaves it unchanged.
fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Whether the next line replaces this one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Moving,
    Lasting,
}

fn line(progress: &BuildProgress, detail: Detail) -> String {
    match progress {
        BuildProgress::Step { nth, of, what } => match detail {
            Detail::Moving => what.clone(),
            Detail::Lasting => format!("step {nth}/{of}: {what}"),
        },
        BuildProgress::Output(line) => match detail {
            Detail::Moving => line.clone(),
            Detail::Lasting => format!("  {line}"),
        },
        BuildProgress::Pulling { image, status, layer, bytes } => {
            let layer = layer.as_ref().map(|layer| format!(" {layer}")).unwrap_or_default();
            let bytes = bytes.filter(|_| detail == Detail::Moving);
            let bytes = bytes.map(|(done, of)| format!(", {} of {}", show_size(done), show_size(of)));
            format!("pulling {image}:{layer} {status}{}", bytes.unwrap_or_default())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_lines() {
        let step = BuildProgress::Step { nth: 2, of: 5, what: "RUN [\"x\"]".into() };
        let pulling = BuildProgress::Pulling {
            image: "x:1".into(),
            status: "Downloading".into(),
            layer: Some("0af".into()),
            bytes: Some((1024, 4096)),
        };
        for (progress, moving, lasting) in [
            (step, "RUN [\"x\"]", "step 2/5: RUN [\"x\"]"),
            (BuildProgress::Output("a".into()), "a", "  a"),
            (pulling, "pulling x:1: 0af Downloading, 1 KB of 4 KB", "pulling x:1: 0af Downloading"),
        ] {
            assert_eq!(line(&progress, Detail::Moving), moving);
            assert_eq!(line(&progress, Detail::Lasting), lasting);
        }
    }
}
