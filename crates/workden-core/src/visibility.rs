//! `Visibility`: the part of a policy that travels to where the files are.
//!
//! List, glob and grep evaluate it before they show a name or open a file, so that nothing is
//! ever filtered afterwards. It is plain data (it crosses a wire into sandboxes); `compile` turns
//! it into something that answers quickly. An unreadable pattern is an error when it compiles.

use serde::{Deserialize, Serialize};

use crate::{
    Result, VirtualPath,
    search::glob::{self, PathRule, RuleCase},
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
    /// What may be listed.
    #[serde(default)]
    pub list: Rules,
    /// What may be read.
    #[serde(default)]
    pub read: Rules,
    /// The only endings (`.md`) that may be read, in any letter case; `None` for all. An empty
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
    /// A glob over the path as the agent sees it; `**` crosses directories, `*` does not.
    pub pattern: String,
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
    /// Somebody would have to approve first; a search skips and counts it.
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
    list: CompiledRules,
    read: CompiledRules,
    suffixes: Option<Vec<String>>,
    max_bytes: Option<u64>,
}

#[derive(Clone, Debug)]
struct CompiledRules {
    rules: Vec<(PathRule, Sight)>,
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
        let layers = self.layers.iter().filter(|layer| path.is_within(&layer.under));
        layers.map(sight).max().unwrap_or_default()
    }
}

impl CompiledLayer {
    fn new(layer: &Layer) -> Result<Self> {
        Ok(Self {
            under: layer.under.clone(),
            list: CompiledRules::new(&layer.list)?,
            read: CompiledRules::new(&layer.read)?,
            suffixes: layer.suffixes.as_ref().map(|all| all.iter().map(|suffix| suffix.to_lowercase()).collect()),
            max_bytes: layer.max_bytes,
        })
    }

    fn suffix_sight(&self, path: &VirtualPath) -> Sight {
        let Some(suffixes) = &self.suffixes else { return Sight::Shown };
        let name = path.name().unwrap_or("").to_lowercase();
        // A leading dot is a hidden file, not an ending.
        let stem = name.trim_start_matches('.');
        let suffix = stem.rfind('.').map_or("", |at| &stem[at..]);
        if suffixes.iter().any(|allowed| allowed == suffix) { Sight::Shown } else { Sight::Hidden }
    }
}

impl CompiledRules {
    fn new(rules: &Rules) -> Result<Self> {
        let compiled = rules.rules.iter().map(|rule| Ok((glob::compile(&rule.pattern, rule.case)?, rule.sight)));
        Ok(Self { rules: compiled.collect::<Result<_>>()?, otherwise: rules.otherwise })
    }

    fn sight(&self, path: &VirtualPath) -> Sight {
        let first = self.rules.iter().find(|(pattern, _)| pattern.is_match(path));
        first.map_or(self.otherwise, |(_, sight)| *sight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn rule(pattern: &str, sight: Sight) -> Rule {
        Rule { pattern: pattern.to_owned(), sight, case: RuleCase::Insensitive }
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
