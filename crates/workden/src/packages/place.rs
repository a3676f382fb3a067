//! The path at which commands see a project: `/workspace`, or its own path on the host.
//!
//! Invariant: the path that is chosen automatically never changes the meaning of a path that the caller named.

use std::path::Path;

use workden_core::{Error, ErrorKind, Result, VirtualPath};
use workden_sandboxes::LinuxSandboxBuilder;

use super::has_own_home;
use crate::directories::host_path;

/// The usual path of a project.
const WORKSPACE: &str = "/workspace";
/// Directories that a sandbox provides: a project above one of them would cover it.
const OF_SANDBOX: [&str; 12] =
    ["/home/agent", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/tmp", "/proc", "/dev", "/sys", "/run"];
/// Directories in which nothing can be mounted.
const CLOSED: [&str; 4] = ["/proc", "/dev", "/sys", "/run"];

/// Where commands see the project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProjectPath {
    /// At its own path if it has a virtual environment that was made for that path, and no option names a path in
    /// `/workspace`; otherwise at `/workspace`.
    #[default]
    Auto,
    /// At the path that it has on the host.
    Own,
    /// At `/workspace`.
    Workspace,
}

/// Sets the path of the project, unless the options have set one.
pub(super) fn placed(
    path: ProjectPath,
    builder: LinuxSandboxBuilder,
    project: &Path,
    used: &[&str],
) -> Result<LinuxSandboxBuilder> {
    let options = builder.options();
    let mounts = options.mounts.iter().map(|mount| &mount.at);
    let of_options = mounts.chain(&options.read_only).chain(&options.masked).map(VirtualPath::as_str);
    let named = of_options.chain(used.iter().copied()).find(|at| Path::new(at).starts_with(WORKSPACE));
    match path {
        ProjectPath::Workspace => Ok(builder),
        _ if options.work_dir.is_some() => Ok(builder),
        ProjectPath::Auto => {
            let is_needed = workden_sandboxes::toolchains::has_environment_for_its_path;
            let real = project.canonicalize().ok().filter(|real| named.is_none() && is_needed(real));
            match real.filter(|_| has_own_home(&builder)).and_then(|real| own_path(&real)) {
                Some(own) => Ok(builder.work_dir(own)),
                None => Ok(builder),
            }
        }
        ProjectPath::Own => {
            if !has_own_home(&builder) {
                // Without namespaces commands see the paths of the host.
                return Ok(builder);
            }
            if let Some(named) = named {
                let sentence = format!("`{named}` is not in the project, which is at its own path");
                return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint("name a path below the directory of the project, or leave out `own`"));
            }
            let own = project.canonicalize().ok().and_then(|real| own_path(&real)).ok_or_else(unsupported)?;
            Ok(builder.work_dir(own))
        }
    }
}

/// Returns the path of a project on the host, if a sandbox can have it there.
fn own_path(real: &Path) -> Option<VirtualPath> {
    let covers = OF_SANDBOX.iter().any(|place| Path::new(place).starts_with(real));
    let is_closed = CLOSED.iter().any(|place| real.starts_with(place));
    host_path(real).ok().filter(|_| !covers && !is_closed && real.to_str().is_some())
}

fn unsupported() -> Error {
    let sentence = "the directory cannot be shown at its own path, where a sandbox has other files";
    Error::new(ErrorKind::Unsupported, sentence).hint("work in a directory below it, or use the path `/workspace`")
}

#[cfg(test)]
mod tests {
    use workden_core::sandbox::{Level, MountAccess};
    use workden_sandboxes::LinuxSandbox;

    use super::*;

    #[test]
    fn a_path_that_a_sandbox_needs_itself_is_not_a_projects() {
        for (path, is_own) in [
            ("/home/me/project", true),
            ("/srv", true),
            ("/tmp/project", true),
            ("/home/agent/project", true),
            ("/", false),
            ("/home", false),
            ("/home/agent", false),
            ("/tmp", false),
            ("/run/user/1000/project", false),
        ] {
            assert_eq!(own_path(Path::new(path)).is_some(), is_own, "{path}");
        }
    }

    #[test]
    fn an_automatic_path_gives_way_to_paths_that_are_named() {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().canonicalize().unwrap();
        let own = project.to_str().unwrap();
        std::fs::create_dir_all(project.join(".venv/bin")).unwrap();
        std::fs::write(project.join(".venv/bin/activate"), format!("VIRTUAL_ENV={own}/.venv\n")).unwrap();
        let builder = LinuxSandbox::builder;
        let at = |path, builder, used: &[&str]| {
            placed(path, builder, &project, used).and_then(|builder| builder.directory()).unwrap().as_str().to_owned()
        };
        assert_eq!(at(ProjectPath::Auto, builder(), &[]), own);
        assert_eq!(at(ProjectPath::Own, builder(), &[]), own);
        assert_eq!(at(ProjectPath::Workspace, builder(), &[]), "/workspace");
        let git = builder().mount("/workspace/.git", "/srv", MountAccess::ReadOnly);
        assert_eq!(at(ProjectPath::Auto, git.clone(), &[]), "/workspace");
        assert!(placed(ProjectPath::Own, git, &project, &[]).is_err());
        assert_eq!(at(ProjectPath::Auto, builder().masked("/workspace/.env"), &[]), "/workspace");
        assert_eq!(at(ProjectPath::Auto, builder(), &["/workspace/secrets/**"]), "/workspace");
        assert_eq!(at(ProjectPath::Auto, builder().work_dir("/code"), &[]), "/code");
        assert_eq!(at(ProjectPath::Auto, builder().level(Level::Landlock), &[]), "/");
    }
}
