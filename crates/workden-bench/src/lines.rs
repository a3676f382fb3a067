//! The table of the benchmarks that measure time and memory of whole programs: a line for each figure,
//! with its target and verdict.

use std::time::Duration;

use crate::{
    samples::Samples,
    table::{aligned, time},
};

/// The target of a line, at the median.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// At most this many times the peer.
    Ratio(f64),
    /// At least this many times faster than the peer.
    FasterBy(f64),
    /// At most this much longer than the peer.
    Over(Duration),
    /// At most this long.
    Within(Duration),
    /// No target; shown for orientation.
    Shown,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    cells: [String; 6],
    passes: bool,
}

impl Line {
    pub(crate) fn beside(what: &str, peer_name: &str, ours: &Samples, peer: &Samples, target: Target) -> Self {
        let (own, other) = (ours.median().as_secs_f64(), peer.median().as_secs_f64());
        let (shown, wanted, passes) = match target {
            Target::Ratio(most) => (format!("{:.2} x", own / other), format!("<= {most:?} x"), own <= other * most),
            Target::FasterBy(least) => {
                (format!("{:.1} x faster", other / own), format!(">= {least:.0} x faster"), own * least <= other)
            }
            Target::Over(most) => (
                format!("{:+.2} ms", (own - other) * 1e3),
                format!("<= +{}", time(most.as_secs_f64())),
                own - other <= most.as_secs_f64(),
            ),
            Target::Within(most) => {
                let faster = format!("{:.1} x faster", other / own);
                (faster, format!("<= {}", time(most.as_secs_f64())), own <= most.as_secs_f64())
            }
            Target::Shown => (format!("{:.2} x", own / other), "-".to_owned(), true),
        };
        let peer = format!("{peer_name}: {}", pair(peer));
        let cells = [what.to_owned(), peer, pair(ours), shown, wanted, verdict(target, passes)];
        Self { cells, passes }
    }

    pub(crate) fn alone(what: &str, ours: &Samples, target: Target) -> Self {
        let mut line = Self::beside(what, "", ours, &Samples::default(), target);
        line.cells[1] = "-".to_owned();
        line.cells[3] = "-".to_owned();
        line
    }

    /// Ours beside different work of the peer, so without a ratio.
    pub(crate) fn near(what: &str, peer_name: &str, ours: &Samples, peer: &Samples, target: Target) -> Self {
        let mut line = Self::beside(what, peer_name, ours, peer, target);
        line.cells[3] = "-".to_owned();
        line
    }

    /// Memory that must stay below a limit.
    pub(crate) fn bytes(what: &str, held: u64, most: u64) -> Self {
        let passes = held < most;
        let cells = [
            what.to_owned(),
            "-".to_owned(),
            megabytes(held),
            "-".to_owned(),
            format!("< {}", megabytes(most)),
            verdict(Target::Ratio(1.0), passes),
        ];
        Self { cells, passes }
    }

    /// Memory that may be at most this part of the peer's; without a target it is shown only.
    pub(crate) fn bytes_beside(what: &str, peer_name: &str, ours: u64, peer: u64, most: Option<f64>) -> Self {
        let ratio = ours as f64 / peer as f64;
        let passes = most.is_none_or(|most| ratio <= most);
        let cells = [
            what.to_owned(),
            format!("{peer_name}: {}", megabytes(peer)),
            megabytes(ours),
            format!("{ratio:.2} x"),
            most.map_or_else(|| "-".to_owned(), |most| format!("<= {most:.1} x")),
            verdict(most.map_or(Target::Shown, Target::Ratio), passes),
        ];
        Self { cells, passes }
    }

    /// How often something happens in a second; with a target, ours must be so many times the peer's.
    pub(crate) fn rates(what: &str, peer_name: &str, ours: f64, peer: f64, least: Option<f64>) -> Self {
        let ratio = ours / peer;
        let passes = least.is_none_or(|least| ratio >= least);
        let cells = [
            what.to_owned(),
            format!("{peer_name}: {peer:.0}"),
            format!("{ours:.0}"),
            format!("{ratio:.1} x"),
            least.map_or_else(|| "-".to_owned(), |least| format!(">= {least:.0} x")),
            verdict(least.map_or(Target::Shown, Target::Ratio), passes),
        ];
        Self { cells, passes }
    }

    pub(crate) fn what(&self) -> &str {
        &self.cells[0]
    }

    pub(crate) fn passes(&self) -> bool {
        self.passes
    }
}

fn verdict(target: Target, passes: bool) -> String {
    match (target, passes) {
        (Target::Shown, _) => "-",
        (_, true) => "pass",
        (_, false) => "FAIL",
    }
    .to_owned()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}

fn pair(samples: &Samples) -> String {
    format!("{} / {}", time(samples.min().as_secs_f64()), time(samples.median().as_secs_f64()))
}

/// Formats the lines as Markdown.
pub(crate) fn markdown(lines: &[Line]) -> String {
    let head =
        ["what", "peer min / median", "ours min / median", "ours : peer", "target", "verdict"].map(str::to_owned);
    aligned(&std::iter::once(head).chain(lines.iter().map(|line| line.cells.clone())).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(milliseconds: u64) -> Samples {
        let mut samples = Samples::default();
        samples.add(Duration::from_millis(milliseconds));
        samples
    }

    #[test]
    fn a_target_is_met_or_missed() {
        for (ours, peer, target, expected) in [
            (11, 10, Target::Ratio(1.1), true),
            (12, 10, Target::Ratio(1.1), false),
            (10, 30, Target::FasterBy(3.0), true),
            (10, 29, Target::FasterBy(3.0), false),
            (11, 10, Target::Over(Duration::from_millis(1)), true),
            (12, 10, Target::Over(Duration::from_millis(1)), false),
            (10, 0, Target::Within(Duration::from_millis(10)), true),
            (11, 0, Target::Within(Duration::from_millis(10)), false),
            (99, 1, Target::Shown, true),
        ] {
            let line = Line::beside("what", "peer", &took(ours), &took(peer), target);
            assert_eq!(line.passes(), expected, "{ours} {peer} {target:?}");
        }
        assert!(Line::bytes_beside("memory", "peer", 20, 100, Some(0.2)).passes());
        assert!(!Line::bytes_beside("memory", "peer", 21, 100, Some(0.2)).passes());
        assert!(Line::bytes_beside("memory", "peer", 99, 100, None).passes());
        assert!(Line::rates("calls", "peer", 200.0, 10.0, Some(20.0)).passes());
        assert!(!Line::rates("calls", "peer", 199.0, 10.0, Some(20.0)).passes());
        assert!(Line::bytes("memory", 63, 64).passes() && !Line::bytes("memory", 64, 64).passes());
    }
}
