//! Images that a test makes of programs of this machine, with the libraries that they load, and brings into the cluster.
//!
//! `cluster/image` imports them. In a cluster of another origin, `WORKDEN_TEST_IMPORT` names a program that does the same:
//! `NAME DIRECTORY --entrypoint PROGRAM`.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::in_cluster::stripped;

/// The service, as `deploy/kubernetes/service/Dockerfile` lays it out.
pub(crate) const SERVICE: &str = "workden-test/service:1";
/// The Postgres of this machine, which does what the official image does with its variables.
pub(crate) const POSTGRES: &str = "workden-test/postgres:1";

const START_POSTGRES: &str = r#"#!/bin/sh -e
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" >/tmp/password
  initdb --no-sync --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C "$PGDATA"
  rm /tmp/password
  echo "CREATE DATABASE $POSTGRES_DB;" | postgres --single -D "$PGDATA" postgres
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
fi
exec postgres -D "$PGDATA" -c 'listen_addresses=*'
"#;

/// Brings the image of the service into the cluster.
pub(crate) fn import_service() {
    let root = Root::new();
    let program = env!("CARGO_BIN_EXE_workden");
    root.write("/usr/local/bin/workden", &stripped(Path::new(program)));
    root.libraries_of(Path::new(program));
    let architecture = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "amd64" };
    let keeper = fs::read(std::env::var_os("WORKDEN_KEEPER").unwrap()).unwrap();
    root.write(&format!("/usr/local/lib/workden/workden-keeper-{architecture}"), &keeper);
    root.import(SERVICE, "/usr/local/bin/workden");
}

/// Brings the image of Postgres into the cluster.
pub(crate) fn import_postgres() {
    let root = Root::new();
    let bin = crate::server::programs();
    for name in ["postgres", "initdb", "pg_isready"] {
        let program = bin.join(name);
        root.copy(&program);
        root.libraries_of(&program);
        root.link(&format!("/usr/bin/{name}"), &program);
    }
    let of_version = bin.parent().unwrap();
    for library in fs::read_dir(of_version.join("lib")).unwrap().flatten() {
        let name = library.file_name().into_string().unwrap();
        // Its compiler of queries needs the libraries of LLVM, and is left out by Postgres where it is missing.
        if name.ends_with(".so") && !name.starts_with("llvmjit") {
            root.copy(&library.path());
        }
    }
    root.copy(&Path::new("/usr/share/postgresql").join(of_version.file_name().unwrap()));
    // The zone that a client names.
    root.copy(Path::new("/usr/share/zoneinfo/UTC"));
    root.copy(Path::new("/bin/busybox"));
    for name in ["sh", "rm"] {
        root.link(&format!("/bin/{name}"), Path::new("/bin/busybox"));
    }
    root.write("/etc/passwd", b"postgres:x:999:999::/tmp:/bin/sh\n");
    root.write("/start", START_POSTGRES.as_bytes());
    root.import(POSTGRES, "/start");
}

/// The root directory of an image.
struct Root(TempDir);

impl Root {
    fn new() -> Self {
        let root = Self(TempDir::new().unwrap());
        fs::set_permissions(root.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
        root
    }

    fn at(&self, path: &Path) -> PathBuf {
        let inside = self.0.path().join(path.strip_prefix("/").unwrap());
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        inside
    }

    /// Writes a program, or a file that all users read.
    fn write(&self, path: &str, content: &[u8]) {
        let inside = self.at(Path::new(path));
        fs::write(&inside, content).unwrap();
        fs::set_permissions(inside, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Copies a file or a directory of this machine to its own path, without links.
    fn copy(&self, path: &Path) {
        let status = Command::new("cp").args(["-R", "--dereference"]).arg(path).arg(self.at(path)).status();
        assert!(status.unwrap().success(), "{}", path.display());
    }

    fn link(&self, path: &str, to: &Path) {
        symlink(to, self.at(Path::new(path))).unwrap();
    }

    /// Copies what a program loads.
    fn libraries_of(&self, program: &Path) {
        let listed = Command::new("ldd").arg(program).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let words = listed.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
        words.filter(|library| !self.at(library).exists()).for_each(|library| self.copy(library));
    }

    fn import(&self, name: &str, entry_point: &str) {
        let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cluster/image");
        let program = std::env::var("WORKDEN_TEST_IMPORT").unwrap_or_else(|_| usual.to_owned());
        let output = Command::new(program).arg(name).arg(self.0.path()).args(["--entrypoint", entry_point]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
