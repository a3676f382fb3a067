//! `workden.toml`: mounts, rules, limits, approvals and the setup of a project as a file.
//!
//! Invariant: a file that loads is valid. Unknown names, patterns that do not parse and examples that do not hold are
//! errors with line and column, and are never ignored.

mod extends;
mod locate;
mod relative;
mod setup;
mod shape;
mod size;

use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result, VirtualPath};
use workden_policy::{
    MountApproval, MountMode, MountRules, MountTable, Operation, OperationRules, PathScope, Policy, Preset, Ruleset,
};

use self::locate::{Step, at_offset, position};
pub use self::setup::SetupConfig;

/// The content of a `workden.toml`.
///
/// ```
/// use workden::Config;
///
/// let config = Config::parse(r#"
///     extends = "default"
///
///     [[mounts]]
///     at = "/input"
///     directory = "data"
///     mode = "ro"
///
///     [rules.execute]
///     rules = [{ pattern = "git status *", action = "allow", match = ["git status -s"] }]
/// "#)?;
/// assert_eq!(config.mounts[0].at.as_str(), "/input");
///
/// let wrong = Config::parse("extends = \"default\"\n\n[rules.reed]\n").unwrap_err();
/// assert!(wrong.to_string().starts_with("line 3, column 8: unknown field `reed`"), "{wrong}");
/// # Ok::<(), workden_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "workden.toml", description = "What may be done in a workspace."))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The preset, whose rules apply after the rules below: `default` if absent. `none` is the word for no preset:
    /// then only the rules below protect anything.
    #[serde(with = "extends")]
    #[cfg_attr(feature = "schema", schemars(with = "extends::Extends"))]
    pub extends: Option<Preset>,
    /// Directories, each mounted at its own path. Absent, the program chooses the directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountConfig>,
    /// Rules; the first that matches decides, before those of the preset. A pattern for paths that has a `/` and does
    /// not start with one counts from the project. Rules for writing also apply to editing and deleting, unless these
    /// have rules of their own.
    #[serde(skip_serializing_if = "Ruleset::is_empty")]
    pub rules: Ruleset,
    /// Limits for all files.
    #[serde(skip_serializing_if = "LimitsConfig::is_empty")]
    pub limits: LimitsConfig,
    /// How calls that require approval are answered.
    pub approvals: ApprovalsConfig,
    /// Commands that prepare the project, which `workden setup` runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<SetupConfig>,
}

/// A directory that is mounted at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MountConfig {
    /// The path that the agent sees.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: VirtualPath,
    /// The directory on the host; a relative path counts from this file.
    pub directory: String,
    /// Whether it may be written.
    #[serde(default)]
    pub mode: MountMode,
    /// The only suffixes that files may have, like `.md`; absent, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffixes: Option<Vec<String>>,
    /// The largest file that may be read or written: bytes, or a size like `"10MB"`.
    #[serde(default, deserialize_with = "size::read", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<size::Size>"))]
    pub max_file_bytes: Option<u64>,
    /// Whether each read requires approval.
    #[serde(default)]
    pub read_approval: MountApproval,
    /// Whether each write requires approval.
    #[serde(default)]
    pub write_approval: MountApproval,
}

/// Limits for every file, in any mount.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The only suffixes that files may have, like `.md`; absent, any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffixes: Option<Vec<String>>,
    /// The largest file that may be read or written: bytes, or a size like `"10MB"`.
    #[serde(deserialize_with = "size::read", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<size::Size>"))]
    pub max_file_bytes: Option<u64>,
}

/// How calls that require approval are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalsConfig {
    /// The approval mode.
    pub mode: ApprovalMode,
}

/// Who answers when the policy asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// The approver that the program names; without one, calls that require approval are refused.
    #[default]
    Interactive,
    /// Calls that require approval are approved, unless the program names an approver.
    ApproveAll,
    /// Calls that require approval are refused.
    Strict,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extends: Some(Preset::Default),
            mounts: Vec::new(),
            rules: Ruleset::default(),
            limits: LimitsConfig::default(),
            approvals: ApprovalsConfig::default(),
            setup: None,
        }
    }
}

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` with line and column: TOML that does not parse, an unknown name, a pattern that does not
    /// parse, an example that does not hold, two mounts at one path.
    pub fn parse(text: &str) -> Result<Self> {
        shape::check(text)?;
        let config: Self = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            // Its parser calls every kind of choice a table.
            at_offset(text, offset, &error.message().replace("wanted string or table", "expected a string"))
        })?;
        config.check_default(text)?;
        config.check_rules(text)?;
        config.check_mounts(text)?;
        if let Some(setup) = &config.setup {
            setup.check(text)?;
        }
        Ok(config)
    }

    /// Returns its rules for a project at this path, followed by those of the preset; `None` when it has neither.
    #[must_use]
    pub fn ruleset(&self, surroundings: PathScope, project: &VirtualPath) -> Option<Ruleset> {
        let rules = relative::rooted(&with_writing(&self.rules), project);
        match self.extends {
            None if rules.is_empty() => None,
            None => Some(rules),
            Some(preset) => Some(rules.before(&preset.ruleset_in(surroundings))),
        }
    }

    /// Returns its policy for a project at this path, from which relative patterns count.
    ///
    /// # Errors
    ///
    /// None for a configuration that [`Config::parse`] returned; as there for any other.
    pub fn policy(&self, surroundings: PathScope, project: &VirtualPath) -> Result<Policy> {
        self.policy_with(surroundings, project, |rules| rules)
    }

    /// Does the same, with a change of the rules.
    pub(crate) fn policy_with(
        &self,
        surroundings: PathScope,
        project: &VirtualPath,
        change: impl FnOnce(Ruleset) -> Ruleset,
    ) -> Result<Policy> {
        let mut policy = Policy::new();
        if let Some(rules) = self.ruleset(surroundings, project).map(change) {
            policy = policy.with_rules(&rules)?;
        }
        if !self.mounts.is_empty() {
            policy = policy.with_mounts(MountTable::new(self.mounts.iter().map(MountConfig::rules).collect())?);
        }
        if !self.limits.is_empty() {
            let LimitsConfig { suffixes, max_file_bytes } = self.limits.clone();
            let everywhere = MountRules { suffixes, max_file_bytes, ..MountRules::read_write(VirtualPath::root()) };
            policy = policy.with_mounts(MountTable::new(vec![everywhere])?);
        }
        Ok(policy)
    }

    /// Returns a sentence for each rule about a directory that neither a machine has, nor one of these paths is in: `/src/**`
    /// where the project is at `/workspace`. Such a rule protects nothing.
    #[must_use]
    pub fn rules_without_paths(&self, paths: &[VirtualPath]) -> Vec<String> {
        let operations = Operation::ALL.into_iter().filter(|operation| *operation != Operation::Execute);
        let rules = operations.flat_map(|operation| {
            let rules = self.rules.of(operation).map_or(&[][..], |rules| &rules.rules);
            rules.iter().enumerate().map(move |(nth, rule)| (operation, nth + 1, &rule.pattern))
        });
        let elsewhere = rules.filter(|(_, _, pattern)| relative::is_elsewhere(pattern, paths));
        let sentence = |(operation, number, pattern): (Operation, usize, &String)| {
            let project = pattern.trim_start_matches('/');
            format!(
                "rule {number} of `{operation}` (pattern `{pattern}`) matches nothing here; for the project, write \
                 `{project}`"
            )
        };
        elsewhere.map(sentence).collect()
    }

    /// Rejects a `default` beside a preset: every operation of a preset has a default, so that it would never apply.
    fn check_default(&self, text: &str) -> Result<()> {
        if self.extends.is_none() || self.rules.default.is_none() {
            return Ok(());
        }
        let place = position(text, &[Step::Key("rules"), Step::Key("default")]);
        let sentence =
            format!("{place}`default` is not supported with a preset: each operation of a preset has its own");
        Err(Error::new(ErrorKind::InvalidArgument, sentence)
            .hint("set it for one operation, like `[rules.write]`, or write `extends = \"none\"`"))
    }

    /// Compiles each rule alone, so that an error names its line.
    fn check_rules(&self, text: &str) -> Result<()> {
        for operation in Operation::ALL {
            let rules = self.rules.of(operation).map_or(&[][..], |rules| &rules.rules);
            for (nth, rule) in rules.iter().enumerate() {
                let mut patterns = std::iter::once(&rule.pattern).chain(&rule.except);
                let is_odd = |text: &&String| text.starts_with(['~', '!', '\\', ' ', '\t']) || *text == "./";
                if let Some(odd) = patterns.find(is_odd).filter(|_| operation != Operation::Execute) {
                    let path = [Step::Key("rules"), Step::Key(operation.name()), Step::Key("rules"), Step::Nth(nth)];
                    let (place, number) = (position(text, &path), nth + 1);
                    let sentence = format!("{place}rule {number} of `{operation}` (pattern `{odd}`) matches nothing");
                    return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                        .hint("write a path of the project like `src/**`, or a name like `*.pem`"));
                }
                let mut alone = Ruleset::default();
                let of = OperationRules { default: None, rules: vec![rule.clone()] };
                *alone.of_mut(operation) = Some(of);
                if let Err(error) = relative::rooted(&alone, &VirtualPath::root()).compile() {
                    let path = [Step::Key("rules"), Step::Key(operation.name()), Step::Key("rules"), Step::Nth(nth)];
                    // Compiled alone, each rule is number 1.
                    let told = error.sentence().replacen("rule 1 of", &format!("rule {} of", nth + 1), 1);
                    let sentence = format!("{}{told}", position(text, &path));
                    let located = Error::new(ErrorKind::InvalidArgument, sentence);
                    return Err(error.hint_text().map_or(located.clone(), |hint| located.clone().hint(hint)));
                }
            }
        }
        Ok(())
    }

    fn check_mounts(&self, text: &str) -> Result<()> {
        for (nth, mount) in self.mounts.iter().enumerate() {
            if mount.directory.trim().is_empty() {
                let place = position(text, &[Step::Key("mounts"), Step::Nth(nth), Step::Key("directory")]);
                return Err(Error::new(ErrorKind::InvalidArgument, format!("{place}`directory` is empty"))
                    .hint("use `.` for the directory of this file"));
            }
            if let Err(error) = MountTable::new(vec![mount.rules()]) {
                let place = position(text, &[Step::Key("mounts"), Step::Nth(nth), Step::Key("suffixes")]);
                let sentence = format!("{place}{}", error.sentence());
                return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("write it like `.md`"));
            }
            if self.mounts[..nth].iter().any(|other| other.at == mount.at) {
                let place = position(text, &[Step::Key("mounts"), Step::Nth(nth), Step::Key("at")]);
                let sentence = format!("{place}two directories are mounted at `{}`", mount.at);
                return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("mount it at another path"));
            }
        }
        Ok(())
    }
}

/// Lets the rules of writing apply to editing and deleting, unless these have rules of their own: a reader of
/// `[rules.write]` expects that a file that may not be written stays as it is.
fn with_writing(rules: &Ruleset) -> Ruleset {
    let mut all = rules.clone();
    for follower in [Operation::Edit, Operation::Delete] {
        if all.of(follower).is_none() {
            *all.of_mut(follower) = rules.write.clone();
        }
    }
    all
}

impl MountConfig {
    fn rules(&self) -> MountRules {
        MountRules {
            at: self.at.clone(),
            access: self.mode,
            suffixes: self.suffixes.clone(),
            max_file_bytes: self.max_file_bytes,
            read_approval: self.read_approval,
            write_approval: self.write_approval,
        }
    }
}

impl LimitsConfig {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the JSON Schema of a `workden.toml`, for editors.
#[cfg(feature = "schema")]
#[must_use]
pub fn config_schema() -> String {
    let schema = schemars::schema_for!(Config);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}
