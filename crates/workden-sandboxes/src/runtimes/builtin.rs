//! The runtimes that come with workden, by name.

use workden_core::{Error, ErrorKind, Result};

use super::{PackageManager, RuntimeConfig};

const PYTHON: &str = "python:3.12-slim";
const NODE: &str = "node:20-slim";

/// A runtime that comes with workden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinRuntime {
    /// What it is called.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// The image that it is, or is built from if it has packages.
    image: &'static str,
    packages: &'static [&'static str],
    package_manager: PackageManager,
    work_dir: &'static str,
}

/// All of them, in the order in which they are told.
pub const BUILTIN_RUNTIMES: [BuiltinRuntime; 5] = [
    BuiltinRuntime {
        name: "python-minimal",
        description: "Python and its standard library, and nothing else",
        image: PYTHON,
        packages: &[],
        package_manager: PackageManager::Pip,
        work_dir: "/workspace",
    },
    BuiltinRuntime {
        name: "python-datascience",
        description: "Python for tables, numbers, charts and models",
        image: PYTHON,
        packages: &["pandas", "numpy", "matplotlib", "scikit-learn", "seaborn"],
        package_manager: PackageManager::Pip,
        work_dir: "/workspace",
    },
    BuiltinRuntime {
        name: "python-web",
        description: "Python for web services and their databases",
        image: PYTHON,
        packages: &["fastapi", "uvicorn", "sqlalchemy", "httpx"],
        package_manager: PackageManager::Pip,
        work_dir: "/workspace",
    },
    BuiltinRuntime {
        name: "node-minimal",
        description: "Node.js with npm, and nothing else",
        image: NODE,
        packages: &[],
        package_manager: PackageManager::Npm,
        work_dir: "/app",
    },
    BuiltinRuntime {
        name: "node-react",
        description: "Node.js for user interfaces: React, TypeScript and a bundler",
        image: NODE,
        packages: &["typescript", "vite", "react", "react-dom", "@types/react"],
        package_manager: PackageManager::Npm,
        work_dir: "/app",
    },
];

impl BuiltinRuntime {
    /// The runtime itself.
    #[must_use]
    pub fn config(&self) -> RuntimeConfig {
        let image = Some(self.image.to_owned());
        let (image, base_image) = if self.packages.is_empty() { (image, None) } else { (None, image) };
        RuntimeConfig {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            image,
            base_image,
            packages: self.packages.iter().map(|&package| package.to_owned()).collect(),
            package_manager: self.package_manager,
            work_dir: self.work_dir.to_owned(),
            ..RuntimeConfig::default()
        }
    }
}

/// The runtime of this name.
///
/// # Errors
///
/// `NotFound`, with what there is.
pub fn builtin(name: &str) -> Result<RuntimeConfig> {
    let found = BUILTIN_RUNTIMES.iter().find(|runtime| runtime.name == name);
    found.map(BuiltinRuntime::config).ok_or_else(|| {
        let names = BUILTIN_RUNTIMES.map(|runtime| runtime.name).join(", ");
        let sentence = format!("Unknown runtime '{}'. Available: {names}", name.escape_debug());
        Error::new(ErrorKind::NotFound, sentence).hint("a runtime of your own is a file that ends in .toml")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_make_sense() {
        for runtime in BUILTIN_RUNTIMES {
            let config = builtin(runtime.name).unwrap();
            assert_eq!(config.check(), Ok(()));
            assert_eq!(config.dockerfile().unwrap().is_some(), !runtime.packages.is_empty());
        }
        assert!(builtin("python-datascience").unwrap().packages.contains(&"seaborn".to_owned()));
        assert_eq!(builtin("node-react").unwrap().work_dir, "/app");
    }

    #[test]
    fn an_unknown_name_is_answered_with_what_there_is() {
        let error = builtin("x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(
            error.sentence(),
            "Unknown runtime 'x'. Available: python-minimal, python-datascience, python-web, node-minimal, node-react"
        );
    }
}
