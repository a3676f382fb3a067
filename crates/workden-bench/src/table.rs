//! The table: a line for each comparison, with its target and verdict.

use crate::contender::Measured;

/// The target of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// Ours takes at most this many times the peer's time.
    AtMost(f64),
    /// Ours is at least this many times faster.
    FasterBy(f64),
    /// No target; shown for orientation.
    Shown,
}

/// Ours beside one peer.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) row: String,
    pub(crate) ours: Measured,
    pub(crate) peer: Measured,
    pub(crate) target: Target,
    /// The memory limit of ours, if any.
    pub(crate) most_kib: Option<u64>,
}

impl Comparison {
    /// Our median divided by the peer's.
    fn ratio(&self) -> f64 {
        self.ours.median / self.peer.median
    }

    /// Returns whether the targets are met.
    pub(crate) fn passes(&self) -> bool {
        let time = match self.target {
            Target::AtMost(most) => self.ratio() <= most,
            Target::FasterBy(least) => 1.0 / self.ratio() >= least,
            Target::Shown => true,
        };
        time && self.most_kib.is_none_or(|most| self.ours.peak_kib < most)
    }

    fn cells(&self) -> [String; 10] {
        let pair = |measured: &Measured| format!("{} / {}", time(measured.min), time(measured.median));
        let (ratio, mut target) = match self.target {
            Target::AtMost(most) => (format!("{:.2} x", self.ratio()), format!("<= {most:.1} x")),
            Target::FasterBy(least) => {
                (format!("{:.1} x faster", 1.0 / self.ratio()), format!(">= {least:.0} x faster"))
            }
            Target::Shown => (format!("{:.2} x", self.ratio()), "-".to_owned()),
        };
        if let Some(most) = self.most_kib {
            target.push_str(&format!(", < {}", memory(most)));
        }
        let verdict = match (self.target, self.passes()) {
            (Target::Shown, _) => "-",
            (_, true) => "pass",
            (_, false) => "FAIL",
        };
        [
            self.row.clone(),
            self.peer.label.clone(),
            self.ours.count.to_string(),
            pair(&self.peer),
            pair(&self.ours),
            ratio,
            target,
            verdict.to_owned(),
            memory(self.peer.peak_kib),
            memory(self.ours.peak_kib),
        ]
    }
}

/// Formats the comparisons as Markdown.
pub(crate) fn markdown(comparisons: &[Comparison]) -> String {
    let head = [
        "what",
        "peer",
        "found",
        "peer min / median",
        "ours min / median",
        "ours : peer",
        "target",
        "verdict",
        "peer peak",
        "our peak",
    ]
    .map(str::to_owned);
    aligned(&std::iter::once(head).chain(comparisons.iter().map(Comparison::cells)).collect::<Vec<_>>())
}

/// Formats a head and rows as Markdown, with columns that align on a terminal.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
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

/// Formats a time in a suitable unit.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        0.001.. => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.3} ms", seconds * 1e3),
    }
}

fn memory(kib: u64) -> String {
    format!("{:.1} MB", kib as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(median: f64, peak_kib: u64) -> Measured {
        Measured { label: "rg".to_owned(), min: median, median, peak_kib, count: 3 }
    }

    fn comparison(ours: f64, peer: f64, target: Target) -> Comparison {
        let row = "grep".to_owned();
        Comparison { row, ours: measured(ours, 1024), peer: measured(peer, 2048), target, most_kib: None }
    }

    #[test]
    fn a_target_is_met_or_missed() {
        for (ours, peer, target, expected) in [
            (1.1, 1.0, Target::AtMost(1.1), true),
            (1.2, 1.0, Target::AtMost(1.1), false),
            (1.0, 5.0, Target::FasterBy(5.0), true),
            (1.0, 4.9, Target::FasterBy(5.0), false),
            (9.0, 1.0, Target::Shown, true),
        ] {
            assert_eq!(comparison(ours, peer, target).passes(), expected, "{ours} {peer} {target:?}");
        }
    }

    #[test]
    fn memory_beyond_its_limit_fails_a_fast_row() {
        let fast = comparison(1.0, 100.0, Target::FasterBy(5.0));
        assert!(Comparison { most_kib: Some(1025), ..fast.clone() }.passes());
        assert!(!Comparison { most_kib: Some(1024), ..fast }.passes());
    }

    #[test]
    fn the_table_is_markdown_in_columns() {
        let text = markdown(&[comparison(0.002, 0.001, Target::AtMost(1.1))]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert!(lines[2].contains("| 2.00 x") && lines[2].contains("| FAIL"), "{text}");
    }
}
