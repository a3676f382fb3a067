//! Names that file calls may not change in any directory, whether or not they exist yet.
//!
//! Invariant: names are compared without letter case, since there are file systems that do so.

use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    host_executed::{GIT_DIRECTORY, GIT_HEAD, IN_GIT_DIRECTORY, OF_CLIENTS},
};

/// Names that file calls may not change, in any directory: for [`WorkspaceBuilder::protected_names`].
///
/// ```
/// use workden::{ProtectedNames, Workspace};
///
/// let project = tempfile::tempdir()?;
/// let names = ProtectedNames::host_executed().and(".envrc")?;
/// let workspace = Workspace::builder().root(project.path()).protected_names("/", names).build_blocking()?;
/// workspace.write("src/main.rs", "fn main() {}\n")?;
/// for file in [".envrc", ".git/hooks/pre-commit", "sub/.git/config", ".mcp.json"] {
///     assert!(workspace.write(file, "").is_err(), "{file}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`WorkspaceBuilder::protected_names`]: crate::WorkspaceBuilder::protected_names
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedNames {
    /// Names below each other, like `.git/hooks`; everything below the last is protected as well.
    places: Vec<Vec<String>>,
    /// Names of files. A directory may have such a name.
    files: Vec<String>,
}

/// How a path relates to the protected names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Unrelated.
    Apart,
    /// It is, or would be, a directory above a protected name.
    Leads,
    /// It is protected if it is a file.
    IsFile,
    /// It is protected, or below a protected path.
    Within,
}

impl ProtectedNames {
    /// Returns the names of [`workden_core::host_executed`]: what git and clients of the Model Context Protocol execute
    /// outside by themselves. `HEAD` is among them: without it, no directory becomes a repository.
    #[must_use]
    pub fn host_executed() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of_git = IN_GIT_DIRECTORY.iter().map(|name| owned(&[GIT_DIRECTORY, name]));
        let of_clients = OF_CLIENTS.iter().map(|file| file.split('/').map(str::to_owned).collect());
        Self { places: of_git.chain(of_clients).collect(), files: owned(&[GIT_HEAD]) }
    }

    /// Adds a name, or several with `/` between them, such as `.envrc` or `.idea/runConfigurations`.
    ///
    /// # Errors
    ///
    /// When it is empty.
    pub fn and(mut self, names: &str) -> Result<Self> {
        let names: Vec<String> = VirtualPath::parse(names)?.components().map(str::to_owned).collect();
        if names.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "invalid protected name: it is empty"));
        }
        self.places.push(names);
        Ok(self)
    }

    pub(crate) fn standing(&self, path: &VirtualPath) -> Standing {
        let path: Vec<&str> = path.components().collect();
        let mut standing = Standing::Apart;
        for place in &self.places {
            for from in 0..path.len() {
                let rest = &path[from..];
                let same = rest.iter().zip(place).take_while(|(one, other)| one.eq_ignore_ascii_case(other)).count();
                if same == place.len() {
                    return Standing::Within;
                }
                if same == rest.len() {
                    standing = Standing::Leads;
                }
            }
        }
        match path.last() {
            Some(last) if self.files.iter().any(|file| file.eq_ignore_ascii_case(last)) => Standing::IsFile,
            _ => standing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_in_any_directory_and_in_any_letter_case() {
        let names = ProtectedNames::host_executed().and(".envrc").unwrap();
        for (path, expected) in [
            ("/.git/hooks", Standing::Within),
            ("/w/sub/.git/hooks/pre-commit", Standing::Within),
            ("/w/.GIT/Config", Standing::Within),
            ("/w/.git/modules/a/config", Standing::Within),
            ("/w/.git/commondir", Standing::Within),
            ("/w/.mcp.json", Standing::Within),
            ("/w/.cursor/mcp.json", Standing::Within),
            ("/w/.envrc", Standing::Within),
            ("/w/bare/HEAD", Standing::IsFile),
            ("/w/.git", Standing::Leads),
            ("/w/.cursor", Standing::Leads),
            ("/w/.git/index", Standing::Apart),
            ("/w/.git/refs/heads/config", Standing::Apart),
            ("/w/hooks/pre-commit", Standing::Apart),
            ("/w/head/of/all", Standing::Apart),
            ("/w/.gitignore", Standing::Apart),
            ("/", Standing::Apart),
        ] {
            assert_eq!(names.standing(&VirtualPath::parse(path).unwrap()), expected, "{path}");
        }
    }

    #[test]
    fn no_name_is_an_error() {
        assert_eq!(ProtectedNames::default().and("/").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
