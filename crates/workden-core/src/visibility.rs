//! `Visibility`: the part of a policy that a backend evaluates next to its files.
//!
//! List, glob and grep evaluate it before they show a name or open a file, so that no result is filtered afterwards.
//! `Visibility` is plain data, because it crosses the wire into sandboxes; `compile` prepares it for fast answers and
//! returns an error for an invalid pattern.

use serde::{Deserialize, Serialize};

use crate::{
    Result, VirtualPath,
    search::glob::{PathRules, PatternOf, RuleCase},
    suffix::Suffixes,
};

/// The limits on what a search may show, as layers; the strictest layer wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visibility {
    /// The layers; without any, everything is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
}

/// One set of limits on a part of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The directory that the layer covers; it shows everything elsewhere.
    pub under: VirtualPath,
    /// Directories below `under` that the layer does not cover, because another layer does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<VirtualPath>,
    /// The rules for listing names.
    #[serde(default)]
    pub list: Rules,
    /// The rules for reading files.
    #[serde(default)]
    pub read: Rules,
    /// The only suffixes that may be read, as in [`suffix`](crate::suffix); `None` for all. An empty list allows
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffixes: Option<Vec<String>>,
    /// The largest file that may be read, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl Layer {
    /// Returns a layer that covers the whole workspace and shows everything, as a base for narrower ones.
    #[must_use]
    pub fn open() -> Self {
        Self {
            under: VirtualPath::root(),
            except: Vec::new(),
            list: Rules::default(),
            read: Rules::default(),
            suffixes: None,
            max_bytes: None,
        }
    }
}

/// Ordered rules; the first that matches decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The rules in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The sight if no rule matches.
    #[serde(default)]
    pub otherwise: Sight,
}

/// A pattern for whole paths, and the sight of the paths it matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// A glob over the path as the agent sees it; `**` crosses directories, `*` does not. See
    /// [`glob::compile`](crate::search::glob::compile).
    pub pattern: String,
    /// Globs of paths that the rule does not match, despite `pattern`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// The sight of the matched paths.
    pub sight: Sight,
    /// Whether letter case counts.
    #[serde(default)]
    pub case: RuleCase,
}

/// Whether a path may be seen without approval. Ordered by strictness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// The path may be seen.
    #[default]
    Shown,
    /// The path needs approval; a search skips and counts it.
    Asks,
    /// The path may not be seen.
    Hidden,
}

impl Visibility {
    /// Returns a visibility that shows everything.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// Combines both: a path that either hides is hidden.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.layers.extend(other.layers.iter().cloned());
        self
    }

    /// Compiles the patterns.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if a pattern does not parse.
    pub fn compile(&self) -> Result<CompiledVisibility> {
        let layers = self.layers.iter().map(CompiledLayer::new).collect::<Result<_>>()?;
        Ok(CompiledVisibility { layers })
    }
}

/// A `Visibility` with compiled patterns.
#[derive(Clone, Debug, Default)]
pub struct CompiledVisibility {
    layers: Vec<CompiledLayer>,
}

#[derive(Clone, Debug)]
struct CompiledLayer {
    under: VirtualPath,
    except: Vec<VirtualPath>,
    list: CompiledRules,
    read: CompiledRules,
    suffixes: Option<Suffixes>,
    max_bytes: Option<u64>,
}

#[derive(Clone, Debug)]
struct CompiledRules {
    rules: PathRules,
    sights: Vec<Sight>,
    otherwise: Sight,
}

impl CompiledVisibility {
    /// Whether everything is shown, so that a caller need not build paths to ask.
    #[must_use]
    pub fn shows_everything(&self) -> bool {
        self.layers.is_empty()
    }

    /// Returns whether the name at this path may be listed.
    #[must_use]
    pub fn to_list(&self, path: &VirtualPath) -> Sight {
        self.strictest(path, |layer| layer.list.sight(path))
    }

    /// Returns whether the file at this path may be read, judged by its path alone.
    #[must_use]
    pub fn to_read(&self, path: &VirtualPath) -> Sight {
        self.strictest(path, |layer| layer.read.sight(path).max(layer.suffix_sight(path)))
    }

    /// Returns whether a file of this size may be read at this path.
    #[must_use]
    pub fn size_to_read(&self, path: &VirtualPath, size: u64) -> Sight {
        self.strictest(path, |layer| match layer.max_bytes {
            Some(most) if size > most => Sight::Hidden,
            _ => Sight::Shown,
        })
    }

    fn strictest(&self, path: &VirtualPath, sight: impl Fn(&CompiledLayer) -> Sight) -> Sight {
        let layers = self.layers.iter().filter(|layer| layer.speaks_of(path));
        layers.map(sight).max().unwrap_or_default()
    }
}

impl CompiledLayer {
    fn new(layer: &Layer) -> Result<Self> {
        Ok(Self {
            under: layer.under.clone(),
            except: layer.except.clone(),
            list: CompiledRules::new(&layer.list)?,
            read: CompiledRules::new(&layer.read)?,
            suffixes: layer.suffixes.as_deref().map(Suffixes::new),
            max_bytes: layer.max_bytes,
        })
    }

    fn suffix_sight(&self, path: &VirtualPath) -> Sight {
        match &self.suffixes {
            Some(suffixes) if !suffixes.allow(path.name().unwrap_or("")) => Sight::Hidden,
            _ => Sight::Shown,
        }
    }

    fn speaks_of(&self, path: &VirtualPath) -> bool {
        path.is_within(&self.under) && !self.except.iter().any(|other| path.is_within(other))
    }
}

impl CompiledRules {
    fn new<'a>(rules: &'a Rules) -> Result<Self> {
        let pattern = |rule: &'a Rule| PatternOf { pattern: &rule.pattern, except: &rule.except, case: rule.case };
        let patterns: Vec<PatternOf<'_>> = rules.rules.iter().map(pattern).collect();
        let compiled = PathRules::compile(&patterns).map_err(|(_, error)| error)?;
        let sights = rules.rules.iter().map(|rule| rule.sight).collect();
        Ok(Self { rules: compiled, sights, otherwise: rules.otherwise })
    }

    fn sight(&self, path: &VirtualPath) -> Sight {
        let first = self.rules.first_match(path);
        first.and_then(|nth| self.sights.get(nth)).copied().unwrap_or(self.otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn rule(pattern: &str, sight: Sight) -> Rule {
        Rule { pattern: pattern.to_owned(), except: Vec::new(), sight, case: RuleCase::Insensitive }
    }

    fn path(typed: &str) -> VirtualPath {
        VirtualPath::parse(typed).unwrap()
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let read = Rules {
            rules: vec![rule("**/.env.example", Sight::Shown), rule("**/.env*", Sight::Hidden)],
            otherwise: Sight::Shown,
        };
        let layers = vec![Layer { read, ..Layer::open() }];
        let compiled = Visibility { layers }.compile().unwrap();
        assert_eq!(compiled.to_read(&path("/a/.env.example")), Sight::Shown);
        for hidden in ["/.env", "/a/.ENV.local", "/a\nb/.env", "/a/.env\n"] {
            assert_eq!(compiled.to_read(&path(hidden)), Sight::Hidden, "{hidden:?}");
        }
        assert_eq!(compiled.to_list(&path("/.env")), Sight::Shown, "listing has rules of its own");
    }

    #[test]
    fn the_strictest_layer_wins() {
        let asks = Layer { read: Rules { rules: vec![], otherwise: Sight::Asks }, ..Layer::open() };
        let hides =
            Layer { read: Rules { rules: vec![], otherwise: Sight::Hidden }, under: path("/private"), ..Layer::open() };
        let both = Visibility { layers: vec![hides] }.and(&Visibility { layers: vec![asks] }).compile().unwrap();
        assert_eq!(both.to_read(&path("/x")), Sight::Asks);
        assert_eq!(both.to_read(&path("/private/x")), Sight::Hidden);
        assert_eq!(both.to_read(&path("/privateer")), Sight::Asks);
    }

    #[test]
    fn endings_and_sizes_limit_reading() {
        let layer = Layer { suffixes: Some(vec![".md".into(), String::new()]), max_bytes: Some(10), ..Layer::open() };
        let compiled = Visibility { layers: vec![layer] }.compile().unwrap();
        assert_eq!(compiled.to_read(&path("/a.MD")), Sight::Shown);
        assert_eq!(compiled.to_read(&path("/a.rs")), Sight::Hidden);
        assert_eq!(compiled.to_read(&path("/Makefile")), Sight::Shown);
        assert_eq!(compiled.size_to_read(&path("/a.md"), 10), Sight::Shown);
        assert_eq!(compiled.size_to_read(&path("/a.md"), 11), Sight::Hidden);
        let nothing = Visibility { layers: vec![Layer { suffixes: Some(vec![]), ..Layer::open() }] };
        assert_eq!(nothing.compile().unwrap().to_read(&path("/a.md")), Sight::Hidden);
    }

    #[test]
    fn a_layer_can_leave_a_part_to_another() {
        let outer = Layer { suffixes: Some(vec!["md".into()]), except: vec![path("/in")], ..Layer::open() };
        let inner = Layer { suffixes: Some(vec!["rs".into()]), under: path("/in"), ..Layer::open() };
        let compiled = Visibility { layers: vec![outer, inner] }.compile().unwrap();
        for (typed, expected) in [
            ("/a.md", Sight::Shown),
            ("/a.rs", Sight::Hidden),
            ("/in/a.rs", Sight::Shown),
            ("/in/a.md", Sight::Hidden),
            ("/inner.md", Sight::Shown),
        ] {
            assert_eq!(compiled.to_read(&path(typed)), expected, "{typed}");
        }
    }

    #[test]
    fn it_travels_as_json_and_bad_patterns_do_not_load() {
        let layer =
            Layer { list: Rules { rules: vec![rule("/x/**", Sight::Asks)], otherwise: Sight::Shown }, ..Layer::open() };
        let visibility = Visibility { layers: vec![layer] };
        let sent = serde_json::to_string(&visibility).unwrap();
        assert_eq!(serde_json::from_str::<Visibility>(&sent).unwrap(), visibility);
        let bad = Rules { rules: vec![rule("[z-a]", Sight::Hidden)], otherwise: Sight::Shown };
        let bad = Visibility { layers: vec![Layer { read: bad, ..Layer::open() }] };
        assert_eq!(bad.compile().unwrap_err().kind(), ErrorKind::InvalidPattern);
    }
}
