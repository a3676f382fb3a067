//! The directories of the race, and the rule that denies one of them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use workden_core::{
    Access, Backend, Error, ErrorKind, Gate, Guarded, Judgement, Layer, Op, Resolved, Rule, RuleCase, Rules, Sight,
    Verdict, VirtualPath, Visibility,
};
use workden_files::{Durability, LocalBackend, PathOpening};

use crate::Failure;

/// The mark in every content and every second name of the forbidden directory, and nowhere else.
pub(super) const MARK: &str = "OUTSIDE";
/// Directories, and the links that they are swapped with.
pub(super) const PAIRS: [(&str, &str); 2] = [("swap-a", "link-a"), ("swap-b", "link-b")];

/// The target of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forbidden {
    /// A directory outside the root.
    Outside,
    /// A directory inside the root that a rule denies.
    Denied,
}

/// The directories of one race, removed on drop.
pub(super) struct Ground {
    pub(super) root: PathBuf,
    /// The forbidden directory.
    pub(super) forbidden: PathBuf,
    home: PathBuf,
    what: Forbidden,
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

impl Ground {
    pub(super) fn new(what: Forbidden) -> Result<Self, Failure> {
        let home = std::env::temp_dir().join(format!("workden-race-{}-{what:?}", std::process::id()));
        fs::create_dir_all(&home)?;
        let home = fs::canonicalize(home)?;
        let root = home.join("root");
        let forbidden = match what {
            Forbidden::Outside => home.join("outside"),
            Forbidden::Denied => root.join("vault"),
        };
        let ground = Self { root, forbidden, home, what };
        ground.fill()?;
        Ok(ground)
    }

    fn fill(&self) -> Result<(), Failure> {
        let (root, forbidden) = (&self.root, &self.forbidden);
        let inside = PAIRS.map(|(directory, _)| (root.join(directory), "inside"));
        for (directory, word) in inside.into_iter().chain([(forbidden.clone(), MARK)]) {
            fs::create_dir_all(directory.join("sub"))?;
            fs::write(directory.join("file.txt"), format!("{word} needle\n"))?;
            fs::write(directory.join("sub/file.txt"), format!("{word} needle\n"))?;
            fs::write(directory.join(format!("{word}-name.txt")), format!("{word}\n"))?;
        }
        // One absolute link, as host tools write it, and one relative link.
        std::os::unix::fs::symlink(forbidden, root.join(PAIRS[0].1))?;
        let relative = match self.what {
            Forbidden::Outside => "../outside",
            Forbidden::Denied => "vault",
        };
        std::os::unix::fs::symlink(relative, root.join(PAIRS[1].1))?;
        Ok(())
    }

    /// Returns the backend under attack.
    pub(super) fn files(&self, opening: PathOpening) -> Result<Arc<dyn Backend>, Failure> {
        let local = LocalBackend::options().durability(Durability::None).path_opening(opening).open(&self.root)?;
        Ok(match self.what {
            Forbidden::Outside => Arc::new(local),
            Forbidden::Denied => Arc::new(Guarded::new(local).gate(Arc::new(NotTheVault))),
        })
    }

    /// Returns whether a check before opening would let this path pass.
    pub(super) fn is_allowed(&self, real: &Path) -> bool {
        match self.what {
            Forbidden::Outside => real.starts_with(&self.root),
            Forbidden::Denied => real.starts_with(&self.root) && !real.starts_with(&self.forbidden),
        }
    }

    /// Returns every path in the forbidden directory with its content.
    pub(super) fn forbidden_tree(&self) -> Result<BTreeMap<PathBuf, Vec<u8>>, Failure> {
        tree(&self.forbidden)
    }
}

/// The rule that denies the vault, for paths as typed and as real.
#[derive(Debug)]
struct NotTheVault;

#[async_trait]
impl Gate for NotTheVault {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let is_vault = |path: &VirtualPath| path.components().next() == Some("vault");
        match op.paths().any(|at| is_vault(&at.typed) || is_vault(&at.real)) {
            true => Verdict::Deny(Error::new(ErrorKind::Denied, "the vault is closed")).into(),
            false => Verdict::Allow.into(),
        }
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        let hide = |pattern: &str| Rule {
            pattern: pattern.into(),
            except: Vec::new(),
            sight: Sight::Hidden,
            case: RuleCase::Sensitive,
        };
        let rules = Rules { rules: vec![hide("/vault"), hide("/vault/**")], otherwise: Sight::Shown };
        Visibility { layers: vec![Layer { list: rules.clone(), read: rules, ..Layer::open() }] }
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}

/// Every path below a directory with its content.
fn tree(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Failure> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(tree(&path)?);
        } else {
            all.insert(path.clone(), fs::read(&path)?);
        }
    }
    Ok(all)
}
