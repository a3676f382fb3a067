//! Converts the options of a builder into a `Confinement`. No other module does that.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{Confinement, Level, Mount, MountAccess, RootFiles, WorkFiles},
};
use workden_files::open_mounts;

use super::LinuxSandboxBuilder;
use crate::{
    GitFiles, SandboxOptions,
    git_files::hold_what_runs_outside,
    git_identity,
    limits::{NamedLimits, memory_of_machine},
    toolchains::{SystemParts, Toolchain},
};

/// The mount point of the workspace, where commands start.
pub(super) const DIRECTORY: &str = "/workspace";
/// The home of the sandbox's user, which exists as long as the sandbox.
const HOME: &str = "/home/agent";
/// The search path of a system without toolchains.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Directories in which nothing can be mounted.
const CLOSED: [&str; 4] = ["/proc", "/dev", "/sys", "/run"];
/// Default size of an ephemeral workspace in bytes.
pub(super) const EPHEMERAL_BYTES: u64 = 1024 * 1024 * 1024;

/// Returns where commands start, and where the work directory is mounted.
pub(super) fn directory(builder: &LinuxSandboxBuilder) -> Result<VirtualPath> {
    match (builder.level, &builder.options.work_dir) {
        (Level::Namespaces, None) => VirtualPath::parse(DIRECTORY),
        (Level::Namespaces, Some(named)) if !named.is_root() => Ok(named.clone()),
        (Level::Namespaces, Some(_)) => {
            let sentence = "`work_dir` cannot be `/`, where a Linux sandbox has its own files";
            Err(Error::new(ErrorKind::InvalidArgument, sentence).hint(format!("use `{DIRECTORY}`")))
        }
        (Level::Landlock, Some(named)) if !named.is_root() => {
            SandboxOptions::refuse("the level `landlock`", &[("work_dir", true)]).map(|()| VirtualPath::root())
        }
        (Level::Landlock, _) => Ok(VirtualPath::root()),
    }
}

/// Returns the work directory and the mounts, by the host's paths.
pub(super) fn shown_files(builder: &LinuxSandboxBuilder) -> Vec<Mount> {
    let options = &builder.options;
    // Landlock shows paths of the host, but policies refer to them as paths in `/workspace`.
    let at = options.work_dir.clone().or_else(|| VirtualPath::parse(DIRECTORY).ok());
    let work = options.root().zip(at).map(|(source, at)| Mount { source, at, access: MountAccess::ReadWrite });
    work.into_iter().chain(options.absolute_mounts()).collect()
}

/// When the identity of the user in git is looked up, which takes a millisecond.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IdentityLookup {
    /// For a sandbox that shows a repository: for one command in a sandbox of its own.
    InRepositories,
    /// For a sandbox in which commands may create a repository.
    Always,
}

pub(super) fn confinement(builder: &LinuxSandboxBuilder, lookup: IdentityLookup) -> Result<Confinement> {
    let options = &builder.options;
    options.check()?;
    let host = &options.host;
    let directory = directory(builder)?;
    let root = match &builder.root_files {
        RootFiles::Host => RootFiles::Host,
        RootFiles::Directory(path) => RootFiles::Directory(host.directory.join(path)),
    };
    let is_writable = |mount: &Mount| mount.access == MountAccess::ReadWrite;
    let writable: Vec<_> = shown_files(builder).into_iter().filter(is_writable).map(|mount| mount.source).collect();
    let mut toolchains =
        builder.toolchains.iter().map(|name| Toolchain::find(name, host, &writable)).collect::<Result<Vec<_>>>()?;
    let mut mounts: Vec<Mount> = options.absolute_mounts().collect();
    // The project as it is visible at its own path.
    let visible = options.root().and_then(|root| root.canonicalize().ok());
    let visible = visible.filter(|root| builder.level == Level::Landlock || is_path(&directory, root));
    for (name, found) in builder.toolchains.iter().zip(&toolchains) {
        if found.system == SystemParts::Needed && root != RootFiles::Host {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("the toolchain `{name}` is installed in the host's `/usr`"),
            )
            .hint("a sandbox with another root file system does not have it: install the toolchain there"));
        }
        add_toolchain(&mut mounts, found, visible.as_deref())?;
    }
    for found in of_project(builder, &directory, &writable) {
        if found.system == SystemParts::None || root == RootFiles::Host {
            add_toolchain(&mut mounts, &found, visible.as_deref())?;
            toolchains.push(found);
        }
    }
    if builder.level == Level::Namespaces {
        add_kept(&mut mounts, builder);
    }
    let mut read_only = options.read_only.clone();
    // Landlock cannot revoke access below a directory that it grants; the sandbox reports that.
    let mut git_links = Vec::new();
    if options.git_files == GitFiles::Protected && builder.level == Level::Namespaces {
        for shown in shown_files(builder).iter().filter(|mount| mount.access == MountAccess::ReadWrite) {
            hold_what_runs_outside(shown, &mut read_only, &mut git_links);
        }
    }
    if builder.level == Level::Namespaces {
        read_only.extend(programs_inside(builder, &shown_files(builder)));
    }
    let is_looked_up = lookup == IdentityLookup::Always || shows_repository(builder);
    let git_identity = if is_looked_up { git_identity::of(host) } else { None };
    let work = match options.root() {
        Some(directory) => WorkFiles::Directory(directory),
        None => WorkFiles::Ephemeral { most_bytes: builder.ephemeral },
    };
    let mut environment = environment(builder, &toolchains);
    options.env.add_to(&mut environment, host)?;
    let limits =
        NamedLimits { memory: options.memory, cpus: options.cpus, processes: options.pids, ..builder.limits.clone() };
    Ok(Confinement {
        level: builder.level,
        root,
        work,
        directory,
        mounts,
        expected: options.expected.clone(),
        read_only,
        git_links,
        masked: options.masked.clone(),
        network: options.network.unwrap_or_default(),
        git_identity,
        environment,
        limits: limits.with_defaults(options.strength, memory_of_machine()),
    })
}

/// Whether a writable directory is the top of a repository.
fn shows_repository(builder: &LinuxSandboxBuilder) -> bool {
    let is_writable = |mount: &&Mount| mount.access == MountAccess::ReadWrite;
    shown_files(builder).iter().filter(is_writable).any(|mount| mount.source.join(".git").symlink_metadata().is_ok())
}

/// Returns where these directories show a program that the next sandbox starts on the host.
pub(super) fn programs_inside(builder: &LinuxSandboxBuilder, shown: &[Mount]) -> Vec<VirtualPath> {
    builder.options.keeper().map(|keeper| keeper.inside(shown)).unwrap_or_default()
}

fn is_path(at: &VirtualPath, path: &Path) -> bool {
    at.as_str().as_bytes() == path.as_os_str().as_encoded_bytes()
}

/// Returns the toolchains that the project selects and the host has, besides those that are named. They are seen at
/// the paths of the sandbox.
fn of_project(builder: &LinuxSandboxBuilder, directory: &VirtualPath, writable: &[PathBuf]) -> Vec<Toolchain> {
    let Some(project) = builder.options.root() else { return Vec::new() };
    let inside = match builder.level {
        Level::Namespaces => Path::new(directory.as_str()),
        Level::Landlock => &project,
    };
    let names = builder.project_toolchains.iter().filter(|name| !builder.toolchains.contains(name));
    let found = names.filter_map(|name| Toolchain::of_project(name, &builder.options.host, &project, writable).ok());
    found.map(|found| found.seen_in(&project, inside)).filter(|found| fits(builder, found)).collect()
}

/// Whether the directories of a toolchain can be mounted: one that was found by itself must not keep a sandbox from
/// starting.
fn fits(builder: &LinuxSandboxBuilder, found: &Toolchain) -> bool {
    let is_closed = |path: &Path| CLOSED.iter().any(|closed| path.starts_with(closed));
    let mut mounts = Vec::new();
    if found.shown.iter().any(|shown| is_closed(&shown.at)) || add_toolchain(&mut mounts, found, None).is_err() {
        return false;
    }
    open_mounts(&[shown_files(builder), mounts].concat()).is_ok()
}

/// Adds the directories that the caller keeps, where no other mount is above or below them.
fn add_kept(mounts: &mut Vec<Mount>, builder: &LinuxSandboxBuilder) {
    let is_above = |above: &VirtualPath, below: &VirtualPath| Path::new(below.as_str()).starts_with(above.as_str());
    for kept in &builder.kept.mounts {
        if !mounts.iter().any(|mount| is_above(&mount.at, &kept.at) || is_above(&kept.at, &mount.at)) {
            mounts.push(kept.clone());
        }
    }
}

/// Toolchains may share directories; each is mounted once, and not at all where it is `visible` already.
fn add_toolchain(mounts: &mut Vec<Mount>, found: &Toolchain, visible: Option<&Path>) -> Result<()> {
    for shown in found.shown.iter().filter(|shown| !visible.is_some_and(|above| shown.at.starts_with(above))) {
        let at = shown.at.to_str().ok_or_else(|| {
            Error::new(ErrorKind::InvalidPath, "a toolchain is in a directory whose name is not UTF-8")
        })?;
        // By its given path, so that a link that commands have put there is noticed when it is opened.
        let mount = Mount { source: shown.at.clone(), at: VirtualPath::parse(at)?, access: MountAccess::ReadOnly };
        if !mounts.iter().any(|there| there.at == mount.at) {
            mounts.push(mount);
        }
    }
    Ok(())
}

/// Returns a clean environment, with the variables of the toolchains and of what is kept.
fn environment(builder: &LinuxSandboxBuilder, toolchains: &[Toolchain]) -> BTreeMap<String, String> {
    let (level, host) = (builder.level, &builder.options.host);
    let kept = builder.kept.programs.iter().map(|path| path.as_str().to_owned());
    let programs = toolchains.iter().flat_map(|found| &found.programs).map(|path| path.display().to_string());
    let programs = kept.filter(|_| level == Level::Namespaces).chain(programs);
    let mut all = BTreeMap::from(
        [
            ("PATH", programs.chain([PATH.to_owned()]).collect::<Vec<_>>().join(":")),
            ("HOME", HOME.to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", host.variable("TERM").unwrap_or("dumb").to_owned()),
            ("USER", "agent".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    // Without namespaces the home is created when the sandbox starts, and the user is one of the host's. What a
    // toolchain expects below the home is its default, so no variable is needed.
    let at_home = level == Level::Namespaces;
    all.retain(|name, _| at_home || !["HOME", "USER"].contains(&name.as_str()));
    for (name, value) in toolchains.iter().flat_map(|found| &found.environment) {
        if !at_home && value.starts_with('~') {
            continue;
        }
        let value = value.strip_prefix('~').map_or_else(|| value.clone(), |below| format!("{HOME}{below}"));
        all.insert(name.clone(), value);
    }
    if at_home {
        all.extend(builder.kept.environment.clone());
    }
    all
}

#[cfg(test)]
mod tests {
    use workden_core::sandbox::{Limit, Network};

    use super::*;
    use crate::{HostEnvironment, KeptDirectories, LinuxSandbox};

    fn path(typed: &str) -> VirtualPath {
        VirtualPath::parse(typed).unwrap()
    }

    fn host(variables: &[(&str, &str)]) -> HostEnvironment {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        HostEnvironment { variables: variables.collect(), directory: "/somewhere".into() }
    }

    #[test]
    fn without_a_word_there_is_an_empty_workspace_no_network_and_a_clean_environment() {
        let plan = LinuxSandbox::builder()
            .environment_of(host(&[("PATH", "/of/host"), ("TOKEN", "secret"), ("TERM", "xterm")]))
            .confinement()
            .unwrap();
        assert_eq!(plan.root, RootFiles::Host);
        assert_eq!(plan.work, WorkFiles::Ephemeral { most_bytes: EPHEMERAL_BYTES });
        assert_eq!(plan.network, Network::None);
        assert_eq!((plan.mounts.len(), plan.masked.len()), (0, 0));
        let environment: Vec<String> = plan.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            environment,
            [
                "HOME=/home/agent",
                "LANG=C.UTF-8",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "TERM=xterm",
                "USER=agent"
            ]
        );
    }

    #[test]
    fn what_is_named_is_in_the_plan() {
        let plan = LinuxSandbox::builder()
            .environment_of(host(&[("EDITOR", "vi")]))
            .root("project")
            .mount("/data", "/data", MountAccess::ReadWrite)
            .mount("/shared", "shared", MountAccess::ReadOnly)
            .env("KEY", "value")
            .pass_env("EDITOR")
            .network(Network::Host)
            .memory(64 << 20)
            .masked("/workspace/.env")
            .confinement()
            .unwrap();
        assert_eq!(plan.work, WorkFiles::Directory("/somewhere/project".into()));
        let mounts: Vec<&Path> = plan.mounts.iter().map(|mount| mount.source.as_path()).collect();
        assert_eq!(mounts, [Path::new("/data"), Path::new("/somewhere/shared")]);
        assert_eq!((plan.environment["KEY"].as_str(), plan.environment["EDITOR"].as_str()), ("value", "vi"));
        assert_eq!(plan.limits.memory, Some(Limit::required(64 << 20)));
        assert_eq!(plan.masked, [path("/workspace/.env")]);
    }

    #[test]
    fn without_namespaces_nothing_is_planned_that_only_they_can_give() {
        let plan = LinuxSandbox::builder().root("project").level(Level::Landlock).confinement().unwrap();
        assert_eq!((plan.level, plan.directory.as_str()), (Level::Landlock, "/"));
        assert!(plan.read_only.is_empty(), "{:?}", plan.read_only);
        let names: Vec<&String> = plan.environment.keys().collect();
        assert_eq!(names, ["LANG", "PATH", "TERM"]);
    }

    #[test]
    fn what_would_run_outside_is_held_in_all_that_is_writable() {
        let (project, data, given) = (repository(), repository(), repository());
        std::fs::write(project.path().join(".mcp.json"), "{}").unwrap();
        std::os::unix::fs::symlink("../.git", project.path().join("sub/.git")).unwrap();
        let plan = LinuxSandbox::builder()
            .root(project.path())
            .mount("/data", data.path(), MountAccess::ReadWrite)
            .mount("/given", given.path(), MountAccess::ReadOnly);
        let planned = plan.confinement().unwrap();
        let held = ["/workspace/.git/hooks", "/workspace/.git/config", "/workspace/.mcp.json"];
        let held_there = ["/data/.git/hooks", "/data/.git/config"];
        assert_eq!(planned.read_only, held.into_iter().chain(held_there).map(path).collect::<Vec<_>>());
        assert_eq!(planned.git_links, [path("/workspace/sub/.git")]);
        let writable = plan.git_files(GitFiles::Writable).confinement().unwrap();
        assert!(writable.read_only.is_empty() && writable.git_links.is_empty());
    }

    fn repository() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for directory in [".git/hooks", "sub"] {
            std::fs::create_dir_all(place.path().join(directory)).unwrap();
        }
        std::fs::write(place.path().join(".git/config"), "").unwrap();
        place
    }

    #[test]
    fn a_toolchain_comes_first_on_the_search_path_and_with_its_directories() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        for directory in [".rustup/toolchains", ".cargo/bin"] {
            std::fs::create_dir_all(home.join(directory)).unwrap();
        }
        let plan = LinuxSandbox::builder()
            .environment_of(host(&[("HOME", home.to_str().unwrap())]))
            .toolchain("rust")
            .toolchain("rust")
            .confinement()
            .unwrap();
        let sources: Vec<&Path> = plan.mounts.iter().map(|mount| mount.source.as_path()).collect();
        assert_eq!(sources, [home.join(".cargo/bin"), home.join(".rustup")]);
        assert!(plan.mounts.iter().all(|mount| mount.access == MountAccess::ReadOnly));
        assert!(plan.environment["PATH"].starts_with(&format!("{}:", home.join(".cargo/bin").display())));
        assert_eq!(plan.environment["CARGO_HOME"], "/home/agent/.cargo");
    }

    /// A project with a virtual environment of a Python of uv, and the host that has it.
    fn with_environment() -> (tempfile::TempDir, PathBuf, HostEnvironment) {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        let python = home.join(".local/share/uv/python/cpython-3.12.1");
        for directory in [python.join("bin"), python.join("lib/python3.12"), home.join("project/.venv/bin")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::fs::copy("/bin/true", python.join("bin/python3")).unwrap();
        std::os::unix::fs::symlink(python.join("bin/python3"), home.join("project/.venv/bin/python")).unwrap();
        let text = format!("home = {}\n", python.join("bin").display());
        std::fs::write(home.join("project/.venv/pyvenv.cfg"), text).unwrap();
        let host = host(&[("HOME", home.to_str().unwrap()), ("VIRTUAL_ENV", "/somewhere/else")]);
        (place, home, host)
    }

    #[test]
    fn a_toolchain_of_the_project_is_found_and_the_project_is_not_mounted_again() {
        let (_place, home, host) = with_environment();
        let project = home.join("project");
        for inside in ["/workspace", project.to_str().unwrap()] {
            let plan = LinuxSandbox::builder().environment_of(host.clone()).root(&project).work_dir(inside);
            let plan = plan.project_toolchain("python").project_toolchain("go").confinement().unwrap();
            let sources: Vec<&Path> = plan.mounts.iter().map(|mount| mount.source.as_path()).collect();
            assert_eq!(sources, [home.join(".local/share/uv/python/cpython-3.12.1")]);
            assert_eq!(plan.environment["VIRTUAL_ENV"], format!("{inside}/.venv"));
            assert!(plan.environment["PATH"].starts_with(&format!("{inside}/.venv/bin:/usr/local/")));
        }
        // A toolchain by name is shown at its own path, unless the project is.
        let host = HostEnvironment { directory: project.clone(), ..host };
        for (inside, count) in [("/workspace", 2), (project.to_str().unwrap(), 1)] {
            let plan = LinuxSandbox::builder().environment_of(host.clone()).root(&project).work_dir(inside);
            let plan = plan.env("VIRTUAL_ENV", "").toolchain("python").confinement().unwrap();
            assert_eq!(plan.mounts.len(), count, "{:?}", plan.mounts);
        }
    }

    #[test]
    fn a_toolchain_that_cannot_be_mounted_keeps_no_sandbox_from_starting() {
        let (_place, home, host) = with_environment();
        let project = home.join("project");
        let plan = || LinuxSandbox::builder().environment_of(host.clone()).root(&project).project_toolchain("python");
        assert_eq!(plan().confinement().unwrap().mounts.len(), 1);
        // Behind a link that commands can exchange, which a sandbox refuses to mount.
        std::os::unix::fs::symlink(home.join(".local"), project.join("link")).unwrap();
        assert!(!fits(&plan(), &found_at(project.join("link/share").to_str().unwrap())));
        assert!(!fits(&plan(), &found_at("/run/tools")) && fits(&plan(), &found_at("/usr")));
    }

    fn found_at(path: &str) -> Toolchain {
        let shown = crate::toolchains::Shown { at: path.into(), real: path.into() };
        Toolchain { shown: vec![shown], ..Toolchain::default() }
    }

    #[test]
    fn what_is_kept_gives_way_to_mounts_and_variables() {
        let kept = |at: &str| Mount { source: "/state".into(), at: path(at), access: MountAccess::ReadOnly };
        let kept = KeptDirectories {
            mounts: vec![kept("/home/agent/.cache/pip"), kept("/home/agent/.npm/_cacache"), kept("/home/agent/go")],
            programs: vec![path("/home/agent/.local/bin")],
            environment: [("GOBIN", "/x"), ("A", "kept")].map(|(name, value)| (name.into(), value.into())).into(),
        };
        let builder = LinuxSandbox::builder()
            .kept(kept)
            .mount("/home/agent/.npm", "/srv", MountAccess::ReadWrite)
            .mount("/home/agent/go/pkg", "/srv", MountAccess::ReadWrite)
            .env("A", "named");
        let plan = builder.clone().confinement().unwrap();
        let at: Vec<&str> = plan.mounts.iter().map(|mount| mount.at.as_str()).collect();
        assert_eq!(at, ["/home/agent/.npm", "/home/agent/go/pkg", "/home/agent/.cache/pip"]);
        assert_eq!((plan.environment["A"].as_str(), plan.environment["GOBIN"].as_str()), ("named", "/x"));
        assert!(plan.environment["PATH"].starts_with("/home/agent/.local/bin:/usr"));
        let plan =
            LinuxSandbox::builder().kept(builder.kept).level(Level::Landlock).root("/srv").confinement().unwrap();
        assert!(plan.mounts.is_empty() && !plan.environment.contains_key("GOBIN"), "{plan:?}");
    }

    #[test]
    fn a_toolchain_of_the_system_does_not_fit_another_root() {
        let host = host(&[("PATH", "/bin"), ("HOME", "/home/me")]);
        let program = host.program("python3", |_| true);
        let error = LinuxSandbox::builder()
            .environment_of(host)
            .root_files("/srv/root")
            .toolchain("python")
            .confinement()
            .unwrap_err();
        let expected = if program.is_some() { ErrorKind::Unsupported } else { ErrorKind::NotFound };
        assert_eq!(error.kind(), expected, "{error}");
    }
}
