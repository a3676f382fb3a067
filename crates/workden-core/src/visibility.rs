//! `Visibility`: the part of a policy that travels to where the files are.
//!
//! List, glob and grep evaluate it before they show a name or open a file, so that nothing is
//! ever filtered afterwards. It is plain data (it crosses a wire into sandboxes); `compile` turns
//! it into something that answers quickly. An unreadable pattern is an error when it compiles.

use serde::{Deserialize, Serialize};

use crate::{
    Result, VirtualPath,
    search::glob::{PathRules, PatternOf, RuleCase},
    suffix::Suffixes,
};

/// What a search may show, as layers of which the strictest wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visibility {
    /// The layers; none at all shows everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
}

/// One set of limits on a part of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The part it speaks of; elsewhere it shows everything.
    pub under: VirtualPath,
    /// Parts of that which it does not speak of, because another layer does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<VirtualPath>,
    /// What may be listed.
    #[serde(default)]
    pub list: Rules,
    /// What may be read.
    #[serde(default)]
    pub read: Rules,
    /// The only endings that may be read, as in [`suffix`](crate::suffix); `None` for all. An empty
    /// list allows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffixes: Option<Vec<String>>,
    /// The largest file that may be read, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl Layer {
    /// A layer over the whole workspace that shows everything, to be narrowed.
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

/// Ordered patterns, of which the first that matches decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The rules in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// What holds when none matches.
    #[serde(default)]
    pub otherwise: Sight,
}

/// A pattern over whole paths, and what holds where it matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// A glob over the path as the agent sees it; `**` crosses directories, `*` does not. See
    /// [`glob::compile`](crate::search::glob::compile).
    pub pattern: String,
    /// Globs of what it does not match all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// What holds for what it matches.
    pub sight: Sight,
    /// Whether letter case counts.
    #[serde(default)]
    pub case: RuleCase,
}

/// How much of a thing may be seen without asking. Ordered: the larger is the stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// It may be seen.
    #[default]
    Shown,
    /// It would have to be approved first; a search skips and counts it.
    Asks,
    /// It may not be seen.
    Hidden,
}

impl Visibility {
    /// Shows everything.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// Both at once: what either hides is hidden.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.layers.extend(other.layers.iter().cloned());
        self
    }

    /// Prepares it for use.
    ///
    /// # Errors
    ///
    /// `InvalidPattern` when a pattern does not parse.
    pub fn compile(&self) -> Result<CompiledVisibility> {
        let layers = self.layers.iter().map(CompiledLayer::new).collect::<Result<_>>()?;
        Ok(CompiledVisibility { layers })
    }
}

/// A `Visibility` that is ready to answer.
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
    /// Whether everything is shown, so that no path needs to be built to ask.
    #[must_use]
    pub fn shows_everything(&self) -> bool {
        self.layers.is_empty()
    }

    /// Whether the name of this may be listed.
    #[must_use]
    pub fn to_list(&self, path: &VirtualPath) -> Sight {
        self.strictest(path, |layer| layer.list.sight(path))
    }

    /// Whether this may be read, as far as its path tells.
    #[must_use]
    pub fn to_read(&self, path: &VirtualPath) -> Sight {
        self.strictest(path, |layer| layer.read.sight(path).max(layer.suffix_sight(path)))
    }

    /// Whether a file of this size may be read there.
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
