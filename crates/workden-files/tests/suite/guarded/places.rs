//! Places with a secret in them, and every name that leads to it there.

use std::{
    fs::{self, hard_link},
    os::unix::fs::symlink,
    path::Path,
    sync::Arc,
};

use futures_executor::block_on;
use tempfile::TempDir;
use workden_core::{Backend, BackendExt, Expect};
use workden_files::{CompositeBackend, LocalBackend, PathOpening, memory};

use super::path;

/// In the denied file, and nowhere else.
pub(crate) const MARK: &str = "TOP-SECRET";
/// The file that rules deny, in every place.
pub(crate) const SECRET: &str = "/vault/secret.txt";

/// Spellings of the path itself.
const SPELLINGS: &[&str] = &[
    SECRET,
    "vault/secret.txt",
    "//vault///secret.txt/",
    "/vault/./secret.txt",
    "/vault/x/../secret.txt",
    "/open/../vault/secret.txt",
];

/// Names that a host directory can add.
const LINKED: &[&str] =
    &["/link", "/dirlink/secret.txt", "/chain", "/open/hard.txt", "/open/deep/hard.md", "/new\nline/hard.txt"];

/// A workspace, all names that lead to the secret in it, and the directories of the host behind it.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) files: Arc<dyn Backend>,
    pub(crate) ways: Vec<&'static str>,
    _host: Option<TempDir>,
}

fn fill(files: &dyn Backend) {
    for (typed, content) in
        [(SECRET, format!("{MARK}\n")), ("/vault/plain.txt", "plain\n".into()), ("/open/a", "a\n".into())]
    {
        block_on(files.write_path(&path(typed), content.into(), Expect::Absent)).unwrap();
    }
}

fn fill_host(root: &Path) {
    for directory in ["vault", "open/deep", "new\nline"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let secret = root.join("vault/secret.txt");
    fs::write(&secret, format!("{MARK}\n")).unwrap();
    fs::write(root.join("vault/plain.txt"), "plain\n").unwrap();
    fs::write(root.join("open/a"), "a\n").unwrap();
    symlink("vault/secret.txt", root.join("link")).unwrap();
    symlink("/vault", root.join("dirlink")).unwrap();
    symlink("open/../link", root.join("chain")).unwrap();
    for name in ["open/hard.txt", "open/deep/hard.md", "new\nline/hard.txt"] {
        hard_link(&secret, root.join(name)).unwrap();
    }
}

fn ways(more: &[&'static str]) -> Vec<&'static str> {
    SPELLINGS.iter().chain(more).copied().collect()
}

fn local(root: &Path) -> LocalBackend {
    LocalBackend::open(root).unwrap()
}

/// Every place, made anew.
pub(crate) fn places() -> Vec<Place> {
    vec![
        in_memory(),
        on_disk("a directory", PathOpening::Detect),
        on_disk("a directory, step by step", PathOpening::StepByStep),
        mounted_memory(),
        mounted_directory(),
        two_mounts_of_one_directory(),
        two_mounts_and_one_name(),
        a_mount_inside_another(),
        a_mount_above_another(),
        links_between_mounts(),
        tables_in_tables(),
    ]
}

fn in_memory() -> Place {
    let files = memory();
    fill(&files);
    Place { name: "memory", files: Arc::new(files), ways: ways(&[]), _host: None }
}

fn on_disk(name: &'static str, opening: PathOpening) -> Place {
    let host = tempfile::tempdir().unwrap();
    fill_host(host.path());
    let files = LocalBackend::options().path_opening(opening).open(host.path()).unwrap();
    Place { name, files: Arc::new(files), ways: ways(LINKED), _host: Some(host) }
}

fn mounted_memory() -> Place {
    let files = CompositeBackend::builder().mount("/", memory()).unwrap().mount("/vault", memory()).unwrap().build();
    fill(&files);
    Place { name: "a mount of memory", files: Arc::new(files), ways: ways(&[]), _host: None }
}

fn mounted_directory() -> Place {
    let host = tempfile::tempdir().unwrap();
    fill_host(host.path());
    let table = CompositeBackend::builder().mount("/", local(host.path())).unwrap();
    let files = table.mount("/memory", memory()).unwrap().build();
    Place { name: "a mount of a directory", files: Arc::new(files), ways: ways(LINKED), _host: Some(host) }
}

fn two_mounts_of_one_directory() -> Place {
    let host = tempfile::tempdir().unwrap();
    fill_host(host.path());
    let vault = host.path().join("vault");
    let table = CompositeBackend::builder().mount("/", memory()).unwrap();
    let files = table.mount("/vault", local(&vault)).unwrap().mount("/twin", local(&vault)).unwrap().build();
    block_on(files.write_path(&path("/open/a"), "a".into(), Expect::Absent)).unwrap();
    fs::create_dir(vault.join("deep")).unwrap();
    hard_link(vault.join("secret.txt"), vault.join("deep/hard")).unwrap();
    Place {
        name: "two mounts of one directory",
        files: Arc::new(files),
        ways: ways(&["/twin/secret.txt", "/twin/deep/hard", "/vault/deep/hard"]),
        _host: Some(host),
    }
}

fn two_mounts_and_one_name() -> Place {
    let host = tempfile::tempdir().unwrap();
    let vault = host.path().join("vault");
    fs::create_dir(&vault).unwrap();
    let table = CompositeBackend::builder().mount("/", memory()).unwrap().mount("/vault", local(&vault)).unwrap();
    let files = table.mount("/twin", local(&vault)).unwrap().mount("/all", local(host.path())).unwrap().build();
    fill(&files);
    Place {
        name: "two mounts of one directory, and one above, of a file with one name",
        files: Arc::new(files),
        ways: ways(&["/twin/secret.txt", "/all/vault/secret.txt"]),
        _host: Some(host),
    }
}

fn a_mount_inside_another() -> Place {
    let host = tempfile::tempdir().unwrap();
    fill_host(host.path());
    let table = CompositeBackend::builder().mount("/", local(host.path())).unwrap();
    let files = table.mount("/twin/er", local(&host.path().join("vault"))).unwrap().build();
    let linked: Vec<&str> = LINKED.iter().copied().chain(["/twin/er/secret.txt"]).collect();
    Place {
        name: "a mount of a directory inside another mount",
        files: Arc::new(files),
        ways: ways(&linked),
        _host: Some(host),
    }
}

fn a_mount_above_another() -> Place {
    let host = tempfile::tempdir().unwrap();
    fill_host(host.path());
    let table = CompositeBackend::builder().mount("/vault", local(&host.path().join("vault"))).unwrap();
    let files = table.mount("/all", local(host.path())).unwrap().mount("/open", memory()).unwrap().build();
    block_on(files.write_path(&path("/open/a"), "a".into(), Expect::Absent)).unwrap();
    Place {
        name: "a mount of a directory above another mount",
        files: Arc::new(files),
        ways: ways(&["/all/vault/secret.txt", "/all/open/hard.txt", "/all/new\nline/hard.txt", "/all/link"]),
        _host: Some(host),
    }
}

fn links_between_mounts() -> Place {
    let host = tempfile::tempdir().unwrap();
    fill_host(host.path());
    let (vault, open) = (host.path().join("vault"), host.path().join("open"));
    let table = CompositeBackend::builder().mount("/vault", local(&vault)).unwrap();
    let files = table.mount("/open", local(&open)).unwrap().build();
    Place {
        name: "hard links between two mounts",
        files: Arc::new(files),
        ways: ways(&["/open/hard.txt", "/open/deep/hard.md"]),
        _host: Some(host),
    }
}

fn tables_in_tables() -> Place {
    let host = tempfile::tempdir().unwrap();
    fill_host(host.path());
    let inner = CompositeBackend::builder().mount("/er", local(&host.path().join("vault"))).unwrap();
    let inner = inner.mount("/open", local(&host.path().join("open"))).unwrap().build();
    let table = CompositeBackend::builder().mount("/", local(host.path())).unwrap();
    let files = table.mount("/twin", inner).unwrap().build();
    Place {
        name: "a mount table in a mount table",
        files: Arc::new(files),
        ways: ways(&["/twin/er/secret.txt", "/twin/open/hard.txt", "/open/hard.txt", "/dirlink/secret.txt"]),
        _host: Some(host),
    }
}
