//! Finds the control groups of this process, and where their hierarchies are mounted.

use std::{fs, io::Read, path::PathBuf};

/// The groups of this process, as `/proc/self/cgroup` names them.
pub(crate) struct OwnGroups(String);

impl OwnGroups {
    /// Reads `/proc/self/cgroup`.
    pub(crate) fn read() -> Result<Self, String> {
        read("/proc/self/cgroup").map(Self)
    }

    /// Returns whether version 1 has all limiting controllers, so that version 2 has none of them.
    pub(crate) fn all_in_version1(&self) -> bool {
        ["memory", "pids", "cpu"].into_iter().all(|controller| {
            let mut controllers = self.0.lines().filter_map(|line| line.split(':').nth(1));
            controllers.any(|names| names.split(',').any(|name| name == controller))
        })
    }

    /// Returns the hierarchies with their mount points.
    pub(crate) fn hierarchies(&self) -> Result<Hierarchies, String> {
        Ok(Hierarchies::parse(&self.0, &read("/proc/self/mountinfo")?))
    }
}

/// Reads a file into one large buffer: the kernel generates the whole content again for every small read.
fn read(path: &str) -> Result<String, String> {
    let mut text = String::with_capacity(16 * 1024);
    fs::File::open(path)
        .and_then(|mut file| file.read_to_string(&mut text))
        .map_err(|_| "the control group of this process is unknown".to_owned())?;
    Ok(text)
}

/// The hierarchies that this process sees.
pub(crate) struct Hierarchies {
    groups: Vec<InGroup>,
    mounts: Vec<Mounted>,
}

/// A line of /proc/self/cgroup.
struct InGroup {
    controllers: Vec<String>,
    path: String,
}

/// A mounted hierarchy.
struct Mounted {
    root: String,
    place: String,
    unified: bool,
    options: Vec<String>,
}

impl Hierarchies {
    fn parse(groups: &str, mounts: &str) -> Self {
        let groups = groups.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let controllers = fields.next()?.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            Some(InGroup { controllers, path: fields.next()?.to_owned() })
        });
        let mounts = mounts.lines().filter_map(|line| {
            let (mount, system) = line.split_once(" - ")?;
            let mut mount = mount.split(' ').skip(3);
            let (root, place) = (mount.next()?.to_owned(), mount.next()?.to_owned());
            let mut system = system.split(' ');
            let unified = match system.next()? {
                "cgroup" => false,
                "cgroup2" => true,
                _ => return None,
            };
            let options = system.nth(1)?.split(',').map(str::to_owned).collect();
            Some(Mounted { root, place, unified, options })
        });
        Self { groups: groups.collect(), mounts: mounts.collect() }
    }

    /// Returns the directory of this process's group in the version 1 hierarchy of a controller.
    pub(crate) fn version1(&self, controller: &str) -> Option<PathBuf> {
        let group = self.groups.iter().find(|group| group.controllers.iter().any(|name| name == controller))?;
        let has = |mount: &&Mounted| !mount.unified && mount.options.iter().any(|name| name == controller);
        directory(self.mounts.iter().find(has)?, &group.path)
    }

    /// Returns the directory of this process's group in the version 2 hierarchy.
    pub(crate) fn unified(&self) -> Option<PathBuf> {
        let group = self.groups.iter().find(|group| group.controllers.is_empty())?;
        directory(self.mounts.iter().find(|mount| mount.unified)?, &group.path)
    }

    /// Returns whether version 2 enforces limits here. It may be mounted beside version 1 with no useful controller.
    pub(crate) fn unified_limits(&self) -> bool {
        let Some(own) = self.unified() else { return false };
        let useful = |names: String| names.split_whitespace().any(|name| ["memory", "pids", "cpu"].contains(&name));
        fs::read_to_string(own.join("cgroup.controllers")).is_ok_and(useful)
    }
}

/// Returns the directory of a group below a mount that may show only a part of the hierarchy.
fn directory(mount: &Mounted, path: &str) -> Option<PathBuf> {
    let below = path.strip_prefix(mount.root.trim_end_matches('/'))?;
    if below.split('/').any(|name| name == "..") {
        return None;
    }
    Some(PathBuf::from(&mount.place).join(below.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(groups: &str, mounts: &str, controller: &str, wanted: Option<&str>) {
        let found = Hierarchies::parse(groups, mounts);
        let found = if controller.is_empty() { found.unified() } else { found.version1(controller) };
        assert_eq!(found, wanted.map(PathBuf::from), "{controller} in {groups}");
    }

    #[test]
    fn a_group_is_found_below_its_mount() {
        let v1 = "31 23 0:28 / /cg/memory rw,relatime - cgroup cgroup rw,memory\n\
                  32 23 0:29 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  33 23 0:30 / /cg/unified rw shared:4 - cgroup2 cgroup2 rw\n";
        check("4:memory:/a/b\n0::/\n", v1, "memory", Some("/cg/memory/a/b"));
        check("4:cpu,cpuacct:/\n", v1, "cpuacct", Some("/cg/cpu,cpuacct"));
        check("4:memory:/a/b\n0::/x.scope\n", v1, "", Some("/cg/unified/x.scope"));
        check("4:memory:/a\n", v1, "pids", None);
    }

    #[test]
    fn a_mount_of_a_part_shows_only_what_is_in_that_part() {
        let part = "31 23 0:28 /docker/abc /cg/memory ro - cgroup cgroup rw,memory\n";
        check("4:memory:/docker/abc/x\n", part, "memory", Some("/cg/memory/x"));
        check("4:memory:/other\n", part, "memory", None);
        check("4:memory:/../x\n", "31 23 0:28 / /cg/memory ro - cgroup cgroup rw,memory\n", "memory", None);
    }
}
