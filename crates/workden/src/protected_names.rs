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
/// let den = Workspace::builder().root(project.path()).protected_names("/", names).build_blocking()?;
/// den.write("src/main.rs", "fn main() {}\n")?;
/// for file in [".envrc", ".git/hooks/pre-commit", "sub/.git/config", ".mcp.json"] {
///     assert!(den.write(file, "").is_err(), "{file}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`WorkspaceBuilder::protected_names`]: crate::WorkspaceBuilder::protected_names
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedNames {
    /// One name below the other; all that is below the last is fixed as well.
    places: Vec<Vec<String>>,
    /// Names of files. A directory may have such a name.
    files: Vec<String>,
}

/// What a path is to fixed names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Apart,
    /// It is, or would be, a directory above one.
    Leads,
    /// It is one if it is a file.
    IsFile,
    /// It is one, or below one.
    Within,
}

impl ProtectedNames {
    /// Those of [`workden_core::host_executed`]: what git and clients of the Model Context Protocol run outside,
    /// without being told. A `HEAD` is among them: no directory becomes a repository without one.
    #[must_use]
    pub fn host_executed() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of_git = IN_GIT_DIRECTORY.iter().map(|name| owned(&[GIT_DIRECTORY, name]));
        let of_clients = OF_CLIENTS.iter().map(|file| file.split('/').map(str::to_owned).collect());
        Self { places: of_git.chain(of_clients).collect(), files: owned(&[GIT_HEAD]) }
    }

    /// One more: a name, or several with `/` between them, such as `.envrc` or `.idea/runConfigurations`.
    ///
    /// # Errors
    ///
    /// When there is no name in it.
    pub fn and(mut self, names: &str) -> Result<Self> {
        let names: Vec<String> = VirtualPath::parse(names)?.components().map(str::to_owned).collect();
        if names.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "a fixed name has at least one character"));
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
