//! The built-in runtimes.

use workden_core::{Error, ErrorKind, Result};

use super::{PackageManager, RuntimeConfig};

const PYTHON: &str = "python:3.12-slim";
const NODE: &str = "node:20-slim";

/// A built-in runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinRuntime {
    /// Its name.
    pub name: &'static str,
    /// Its purpose.
    pub description: &'static str,
    /// The image, or the base image if there are packages.
    image: &'static str,
    packages: &'static [&'static str],
    package_manager: PackageManager,
    work_dir: &'static str,
}

/// All built-in runtimes, in the order in which they are listed.
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
    /// Returns the configuration of the runtime.
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

/// Returns the built-in runtime of this name.
///
/// # Errors
///
/// `NotFound`, with the available names.
pub fn builtin(name: &str) -> Result<RuntimeConfig> {
    let found = BUILTIN_RUNTIMES.iter().find(|runtime| runtime.name == name);
    found.map(BuiltinRuntime::config).ok_or_else(|| {
        let names = BUILTIN_RUNTIMES.map(|runtime| runtime.name).join(", ");
        let sentence = format!("Unknown runtime '{}'. Available: {names}", name.escape_debug());
        Error::new(ErrorKind::NotFound, sentence).hint("for a custom runtime use the path of a .toml file")
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
