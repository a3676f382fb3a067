//! The table of `bench linux`.

use std::time::Duration;

use super::measure::Samples;
use crate::table::time;

/// What a line must show, at the median.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// At most this many times the peer.
    Ratio(f64),
    /// At most this much longer than the peer.
    Over(Duration),
    /// At most this long.
    Within(Duration),
}

/// One line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    cells: [String; 6],
    passes: bool,
}

impl Line {
    pub(super) fn beside(what: &str, peer_name: &str, ours: Samples, peer: Samples, target: Target) -> Self {
        let (own, other) = (ours.median().as_secs_f64(), peer.median().as_secs_f64());
        let (shown, wanted, passes) = match target {
            Target::Ratio(most) => (format!("{:.2} x", own / other), format!("<= {most:.1} x"), own <= other * most),
            Target::Over(most) => (
                format!("{:+.2} ms", (own - other) * 1e3),
                format!("<= +{}", time(most.as_secs_f64())),
                own - other <= most.as_secs_f64(),
            ),
            Target::Within(most) => {
                (String::new(), format!("<= {}", time(most.as_secs_f64())), own <= most.as_secs_f64())
            }
        };
        let cells =
            [what.to_owned(), format!("{peer_name}: {}", pair(&peer)), pair(&ours), shown, wanted, verdict(passes)];
        Self { cells, passes }
    }

    pub(super) fn alone(what: &str, ours: Samples, target: Target) -> Self {
        let mut line = Self::beside(what, "", ours, Samples::default(), target);
        line.cells[1] = "-".to_owned();
        line.cells[3] = "-".to_owned();
        line
    }

    pub(super) fn bytes(what: &str, held: u64, most: u64) -> Self {
        let megabytes = |bytes: u64| format!("{:.2} MB", bytes as f64 / 1e6);
        let passes = held < most;
        let cells = [
            what.to_owned(),
            "-".to_owned(),
            megabytes(held),
            "-".to_owned(),
            format!("< {}", megabytes(most)),
            verdict(passes),
        ];
        Self { cells, passes }
    }

    pub(super) fn passes(&self) -> bool {
        self.passes
    }
}

fn verdict(passes: bool) -> String {
    if passes { "pass" } else { "FAIL" }.to_owned()
}

fn pair(samples: &Samples) -> String {
    format!("{} / {}", time(samples.min().as_secs_f64()), time(samples.median().as_secs_f64()))
}

/// The lines in Markdown.
pub(super) fn markdown(lines: &[Line]) -> String {
    let head =
        ["what", "peer min / median", "ours min / median", "ours : peer", "target", "verdict"].map(str::to_owned);
    let rows: Vec<&[String; 6]> = std::iter::once(&head).chain(lines.iter().map(|line| &line.cells)).collect();
    let widths: [usize; 6] = std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!(" {cell:<width$} ")).collect();
        text.push_str(&format!("|{}|\n", cells.join("|")));
        if index == 0 {
            text.push_str(&format!("|{}|\n", widths.map(|width| "-".repeat(width + 2)).join("|")));
        }
    }
    text
}
