//! The part of a policy that is sent with a request: what a listing or a search may show.
//!
//! Invariant: a search never shows a file that the policy denies to read, nor a file that a rule asks about: the latter
//! is skipped and counted. A default of `ask` was answered when the search was judged.

use workden_core::{
    Layer, Op, Resolved, Rule as SightRule, RuleCase, Rules, Sight, VirtualPath, Visibility, search::glob,
};

use crate::{
    Action, AllowList, CompiledRuleset, MountApproval, MountTable, Operation, Policy, PolicyLayer,
    requirement::requirements,
};

impl Policy {
    pub(crate) fn visible(&self, op: Op<'_>) -> Visibility {
        let layers = self.layers().iter().flat_map(|layer| match layer {
            PolicyLayer::Rules(rules) => of_rules(rules, op),
            PolicyLayer::Mounts(mounts) => of_mounts(mounts, op),
            PolicyLayer::AllowList(places) => of_places(places),
        });
        Visibility { layers: layers.collect() }
    }
}

fn of_rules(rules: &CompiledRuleset, op: Op<'_>) -> Vec<Layer> {
    let sights = |operation| sights(rules, operation);
    let mut layers = vec![Layer { list: sights(Operation::Ls), read: sights(Operation::Read), ..Layer::open() }];
    match op {
        Op::Glob(_) => layers.push(Layer { list: sights(Operation::Glob), ..Layer::open() }),
        Op::Grep(_) => layers.push(Layer { read: sights(Operation::Grep), ..Layer::open() }),
        Op::Stat(_) | Op::List(_) | Op::Read(_) | Op::Write(_) | Op::Change(_) | Op::MakeDir(_) => {}
        Op::Remove(_) | Op::Rename { .. } | Op::Copy { .. } | Op::Execute(_) => {}
    }
    layers.retain(|layer| *layer != Layer::open());
    layers
}

fn sights(rules: &CompiledRuleset, operation: Operation) -> Rules {
    let written = rules.source().of(operation).map_or(&[][..], |rules| &rules.rules);
    let sight = |action| match action {
        Action::Allow => Sight::Shown,
        Action::Ask => Sight::Asks,
        Action::Deny => Sight::Hidden,
    };
    let rule = |rule: &crate::Rule| SightRule {
        pattern: rule.pattern.clone(),
        except: rule.except.clone(),
        sight: sight(rule.action),
        case: rule.effective_case(),
    };
    let otherwise = match rules.default_of(operation) {
        Action::Allow | Action::Ask => Sight::Shown,
        Action::Deny => Sight::Hidden,
    };
    Rules { rules: written.iter().map(rule).collect(), otherwise }
}

fn of_mounts(mounts: &MountTable, op: Op<'_>) -> Vec<Layer> {
    let places: Vec<&VirtualPath> = mounts.iter().map(|mount| &mount.at).collect();
    let mut layers = vec![only(&places)];
    for mount in mounts.iter() {
        let is_nested = |other: &&VirtualPath| **other != mount.at && other.is_within(&mount.at);
        let is_in_it = |at: &Resolved| [&at.typed, &at.real].iter().any(|path| mounts.find(path) == Some(mount));
        // A search in the mount was approved as a whole.
        let was_asked = || requirements(op).any(|(_, at)| is_in_it(at));
        let otherwise = match mount.read_approval {
            MountApproval::Needed if !was_asked() => Sight::Asks,
            MountApproval::Needed | MountApproval::NotNeeded => Sight::Shown,
        };
        layers.push(Layer {
            under: mount.at.clone(),
            except: places.iter().copied().filter(is_nested).cloned().collect(),
            list: Rules::default(),
            read: Rules { rules: Vec::new(), otherwise },
            suffixes: mount.suffixes.clone(),
            max_bytes: mount.max_file_bytes,
        });
    }
    layers.retain(|layer| {
        let nothing = Layer { under: layer.under.clone(), except: layer.except.clone(), ..Layer::open() };
        *layer != nothing
    });
    layers
}

fn of_places(places: &AllowList) -> Vec<Layer> {
    places.read.iter().map(|read| only(&read.iter().collect::<Vec<_>>())).collect()
}

/// Shows these paths with everything below them, of their parents only the way to them, and nothing else.
fn only(places: &[&VirtualPath]) -> Layer {
    if places.iter().any(|place| place.is_root()) {
        return Layer::open();
    }
    let shown =
        |pattern: String| SightRule { pattern, except: Vec::new(), sight: Sight::Shown, case: RuleCase::Sensitive };
    let within = |place: &VirtualPath| {
        let place = glob::escape(place);
        [shown(format!("{place}/**")), shown(place)]
    };
    let within: Vec<SightRule> = places.iter().flat_map(|place| within(place)).collect();
    let above = |place: &&VirtualPath| std::iter::successors(place.parent(), VirtualPath::parent);
    let mut above: Vec<VirtualPath> = places.iter().flat_map(above).collect();
    above.sort();
    above.dedup();
    let leads = above.iter().map(|place| shown(glob::escape(place)));
    Layer {
        list: Rules { rules: within.iter().cloned().chain(leads).collect(), otherwise: Sight::Hidden },
        read: Rules { rules: within, otherwise: Sight::Hidden },
        ..Layer::open()
    }
}
