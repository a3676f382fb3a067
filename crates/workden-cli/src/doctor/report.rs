//! The report about a machine, a cluster or an account, as text and as JSON.
//!
//! Styles are always written; the output stream strips them where it shows no colours.

use std::fmt;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use workden_core::sandbox::{Finding, Need, Outcome};

use crate::isolation::{LANDLOCK_LEVEL_LACKS, LANDLOCK_LEVEL_VERSION, landlock_version};

const HEADING: Style = Style::new().bold();
const WORKS: Style = AnsiColor::Green.on_default();
const LACKING: Style = AnsiColor::Red.on_default().bold();
const MEND: Style = AnsiColor::Yellow.on_default();

/// The report about a machine, a cluster or an account.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    #[serde(skip)]
    subject: Subject,
    pub(super) verdict: Verdict,
    findings: Vec<Finding>,
    /// Of a machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    landlock_level: Option<LandlockLevel>,
}

/// What was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Machine,
    #[cfg(feature = "kubernetes")]
    Cluster,
    #[cfg(feature = "daytona")]
    Account,
}

/// The level that must be requested by name: what it needs, and what it lacks.
#[derive(Debug, Serialize)]
struct LandlockLevel {
    /// The Landlock version of this kernel.
    version: Option<u32>,
    /// The oldest version that suffices.
    needed: u32,
    lacks: Vec<&'static str>,
}

/// The overall result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Sandboxes work, with every wall and every limit.
    Full,
    /// Sandboxes work, but a wall or a limit is missing.
    Partial,
    /// Sandboxes do not work.
    None,
}

/// The groups of findings about a cluster.
#[cfg(feature = "kubernetes")]
const OF_CLUSTER: [(Need, &str); 5] = [
    (Need::Sandbox, "Sandboxes: the cluster, the namespace, and the permissions to start a pod"),
    (Need::Sessions, "Sessions: permissions to share a pod with other processes"),
    (Need::Wall, "More walls: a sandbox is safer with them"),
    (Need::Limits, "Limits: how much all sandboxes together may use"),
    (Need::Optional, "Optional: faster ways to a pod, and better messages"),
];

/// The groups of findings about an account.
#[cfg(feature = "daytona")]
const OF_ACCOUNT: [(Need, &str); 2] = [
    (Need::Sandbox, "Sandboxes: the API, the key, and the permissions to create and delete a sandbox"),
    (Need::Optional, "Optional: without a keeper, Daytona's toolbox serves files and commands"),
];

/// The groups of findings about a machine, each with a heading that says what is lost without them.
const OF_MACHINE: [(Need, &str); 4] = [
    (Need::Sandbox, "Sandboxes: namespaces, a private root, system calls"),
    (Need::Wall, "More walls: a sandbox is safe without them, and safer with them"),
    (Need::Limits, "Limits: without them a sandbox that names a limit does not start"),
    (Need::LandlockLevel, "Level `landlock`: weaker, without namespaces, only on request"),
];

impl Report {
    /// Returns the report about a cluster.
    #[cfg(feature = "kubernetes")]
    pub(super) fn of_cluster(findings: Vec<Finding>) -> Self {
        Self::elsewhere(Subject::Cluster, findings)
    }

    /// Returns the report about an account.
    #[cfg(feature = "daytona")]
    pub(super) fn of_account(findings: Vec<Finding>) -> Self {
        Self::elsewhere(Subject::Account, findings)
    }

    /// Every finding that a sandbox needs must work, or be unknown; optional ones do not count.
    #[cfg(any(feature = "daytona", feature = "kubernetes"))]
    fn elsewhere(subject: Subject, findings: Vec<Finding>) -> Self {
        let mut counted = findings.iter().filter(|finding| finding.need != Need::Optional);
        let has_sandbox = !findings.iter().any(|finding| finding.need == Need::Sandbox && finding.is_lacking());
        let verdict = match (has_sandbox, counted.any(Finding::is_lacking)) {
            (false, _) => Verdict::None,
            (true, true) => Verdict::Partial,
            (true, false) => Verdict::Full,
        };
        Self { subject, verdict, findings, landlock_level: None }
    }

    pub(super) fn of(findings: Vec<Finding>) -> Self {
        // The finding `sandbox` is a dry run of a whole sandbox; the parts explain its result and do not overrule it.
        let has_sandbox = findings.iter().any(|finding| finding.name == "sandbox" && finding.works());
        // The weaker level does not count: it is never chosen automatically.
        let mut parts = findings.iter().filter(|finding| finding.need != Need::LandlockLevel);
        let verdict = match (has_sandbox, parts.all(Finding::works)) {
            (false, _) => Verdict::None,
            (true, false) => Verdict::Partial,
            (true, true) => Verdict::Full,
        };
        let landlock_level = Some(LandlockLevel {
            version: landlock_version(),
            needed: LANDLOCK_LEVEL_VERSION,
            lacks: LANDLOCK_LEVEL_LACKS.into(),
        });
        Self { subject: Subject::Machine, verdict, findings, landlock_level }
    }

    fn has_landlock_level(&self) -> bool {
        self.findings.iter().any(|finding| finding.need == Need::LandlockLevel && finding.works())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verdicts, levels) = match self.subject {
            Subject::Machine => (
                [
                    "This machine isolates commands, with every wall and every limit.",
                    "This machine isolates commands, but something is missing.",
                    "This machine does not isolate commands: `workden run` refuses to start.",
                ],
                &OF_MACHINE[..],
            ),
            #[cfg(feature = "kubernetes")]
            Subject::Cluster => (
                [
                    "This cluster runs sandboxes, and nothing is missing.",
                    "This cluster runs sandboxes, but something is missing.",
                    "This cluster does not run sandboxes.",
                ],
                &OF_CLUSTER[..],
            ),
            #[cfg(feature = "daytona")]
            Subject::Account => (
                [
                    "This account of Daytona runs sandboxes.",
                    "This account of Daytona runs sandboxes, but something is missing.",
                    "This account of Daytona does not run sandboxes.",
                ],
                &OF_ACCOUNT[..],
            ),
        };
        let [full, partial, none] = verdicts;
        let verdict = match self.verdict {
            Verdict::Full => full,
            Verdict::Partial => partial,
            Verdict::None => none,
        };
        writeln!(f, "{HEADING}{verdict}{HEADING:#}")?;
        let width = self.findings.iter().map(|finding| finding.title.chars().count()).max().unwrap_or(0);
        for (need, heading) in levels {
            let mut findings = self.findings.iter().filter(|finding| finding.need == *need).peekable();
            if findings.peek().is_some() {
                writeln!(f, "\n{HEADING}{heading}{HEADING:#}")?;
            }
            for finding in findings {
                show(finding, width, f)?;
                if let Some(level) = &self.landlock_level
                    && finding.need == Need::LandlockLevel
                    && finding.works()
                {
                    level.show(f)?;
                }
            }
        }
        match self.verdict {
            _ if self.subject != Subject::Machine => Ok(()),
            Verdict::None if self.has_landlock_level() => {
                writeln!(f, "\nUntil then `workden run --level landlock` isolates commands, with the gaps above.")
            }
            // Its one finding says what to use instead.
            Verdict::None if cfg!(not(target_os = "linux")) => Ok(()),
            Verdict::None => writeln!(
                f,
                "\nUntil then `workden run --sandbox host` runs commands on this machine, without any isolation."
            ),
            Verdict::Partial | Verdict::Full => Ok(()),
        }
    }
}

impl LandlockLevel {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lacks.iter().try_for_each(|lacks| writeln!(f, "           {MEND}lacks:{MEND:#} {lacks}"))
    }
}

fn show(finding: &Finding, width: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let title = &finding.title;
    match &finding.outcome {
        Outcome::Unknown(why) => writeln!(f, "  {MEND}unknown{MEND:#}  {title:<width$}  {why}"),
        Outcome::Works(how) => writeln!(f, "  {WORKS}works  {WORKS:#}  {title:<width$}  {how}"),
        Outcome::Lacking { why, fix } => {
            writeln!(f, "  {LACKING}missing{LACKING:#}  {title:<width$}  {why}")?;
            for (nth, line) in fix.as_deref().unwrap_or_default().lines().enumerate() {
                let mark = if nth == 0 { "fix:" } else { "" };
                writeln!(f, "           {MEND}{mark:<4} {line}{MEND:#}")?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(name: &str, need: Need, outcome: Outcome) -> Finding {
        Finding::new(name, format!("the {name}"), need, outcome)
    }

    fn works() -> Outcome {
        Outcome::Works("it does".to_owned())
    }

    fn lacks(fix: Option<&str>) -> Outcome {
        Outcome::Lacking { why: "it is off".to_owned(), fix: fix.map(str::to_owned) }
    }

    #[test]
    fn the_dry_run_decides_and_its_parts_explain() {
        for (sandbox, part, verdict) in [
            (works(), works(), Verdict::Full),
            (works(), lacks(None), Verdict::Partial),
            (lacks(None), works(), Verdict::None),
        ] {
            let findings = vec![finding("sandbox", Need::Sandbox, sandbox), finding("part", Need::Wall, part)];
            assert_eq!(Report::of(findings).verdict, verdict);
        }
        assert_eq!(Report::of(Vec::new()).verdict, Verdict::None);
    }

    #[cfg(feature = "kubernetes")]
    #[test]
    fn a_cluster_needs_what_starts_a_pod() {
        for (need, outcome, verdict) in [
            (Need::Sandbox, works(), Verdict::Full),
            (Need::Sandbox, Outcome::Unknown("not permitted".to_owned()), Verdict::Full),
            (Need::Optional, lacks(None), Verdict::Full),
            (Need::Sessions, lacks(None), Verdict::Partial),
            (Need::Wall, lacks(None), Verdict::Partial),
            (Need::Sandbox, lacks(None), Verdict::None),
        ] {
            let findings = vec![finding("cluster", Need::Sandbox, works()), finding("part", need, outcome)];
            let report = Report::of_cluster(findings);
            assert_eq!(report.verdict, verdict, "{report}");
            assert!(report.to_string().contains("the part") && !report.to_string().contains("This machine"));
        }
    }

    #[cfg(feature = "daytona")]
    #[test]
    fn an_account_needs_what_creates_a_sandbox_and_works_without_a_keeper() {
        for (account, keeper, verdict) in [
            (works(), works(), Verdict::Full),
            (works(), lacks(None), Verdict::Full),
            (lacks(None), works(), Verdict::None),
        ] {
            let findings = vec![finding("account", Need::Sandbox, account), finding("keeper", Need::Optional, keeper)];
            let report = Report::of_account(findings);
            assert_eq!(report.verdict, verdict, "{report}");
            assert!(report.to_string().contains("the keeper") && report.to_string().contains("account of Daytona"));
        }
    }

    #[test]
    fn every_finding_is_shown_with_what_would_mend_it() {
        let report = Report::of(vec![
            finding("sandbox", Need::Sandbox, lacks(Some("sysctl -w a=1\nand try again"))),
            finding("kernel", Need::Sandbox, works()),
            finding("memory", Need::Limits, lacks(None)),
        ]);
        let shown = anstream::adapter::strip_str(&report.to_string()).to_string();
        insta::assert_snapshot!(shown, @r"
        This machine does not isolate commands: `workden run` refuses to start.

        Sandboxes: namespaces, a private root, system calls
          missing  the sandbox  it is off
                   fix: sysctl -w a=1
                        and try again
          works    the kernel   it does

        Limits: without them a sandbox that names a limit does not start
          missing  the memory   it is off

        Until then `workden run --sandbox host` runs commands on this machine, without any isolation.
        ");
    }
}
