//! `deploy/compose`: the service and its Postgres in containers. And the image for clusters.
//!
//! Debian's Compose is version 1, which does not pass on `systempaths=unconfined`. So it starts the database, and resolves
//! the file; the container of the service is then started by `docker run` with the options in it.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;
use tempfile::TempDir;

use super::places::{docker, unique};
use crate::processes::{eventually, soon};

const PASSWORD: &str = "of-the-test";

/// The images of the tests come from no registry: Postgres is that of this machine, and does what the official image
/// does with its variables.
const OF_THIS_MACHINE: &str = r#"
services:
  database:
    volumes: ["/usr:/usr:ro"]
    healthcheck:
      test: ["CMD-SHELL", "$$(ls -d /usr/lib/postgresql/*/bin)/pg_isready --username=workden --host=127.0.0.1"]
    entrypoint:
      - sh
      - -ec
      - |
        bin=$$(ls -d /usr/lib/postgresql/*/bin) data=/var/lib/postgresql/data
        run() { setpriv --reuid=65534 --clear-groups -- "$$@"; }
        chown 65534 $$data
        if [ ! -e $$data/PG_VERSION ]; then
          echo "$$POSTGRES_PASSWORD" > /tmp/password; chmod 644 /tmp/password
          run $$bin/initdb --no-sync --username=$$POSTGRES_USER --pwfile=/tmp/password --auth=scram-sha-256 $$data
          echo "CREATE DATABASE $$POSTGRES_DB;" | run $$bin/postgres --single -D $$data postgres
          echo "host all all all scram-sha-256" >> $$data/pg_hba.conf
        fi
        exec setpriv --reuid=65534 --clear-groups -- $$bin/postgres -D $$data \
          -c "listen_addresses=*" -c unix_socket_directories=/tmp
"#;

/// The service, as Compose resolves it.
#[derive(Deserialize)]
struct Resolved {
    services: Services,
}

#[derive(Deserialize)]
struct Services {
    workden: Service,
}

#[derive(Deserialize)]
struct Service {
    image: String,
    command: Vec<String>,
    environment: BTreeMap<String, String>,
    ports: Vec<String>,
    volumes: Vec<String>,
    security_opt: Vec<String>,
    cap_drop: Vec<String>,
    init: bool,
}

impl Service {
    /// Returns the arguments of `docker run`. Compose names volumes and networks after the project.
    fn arguments(&self, project: &str) -> Vec<String> {
        let add = |words: &mut Vec<String>, option: &str, value: String| words.extend([option.to_owned(), value]);
        let mut words = ["run", "--detach", "--name", project].map(str::to_owned).to_vec();
        add(&mut words, "--network", format!("{project}_default"));
        if self.init {
            words.push("--init".to_owned());
        }
        self.environment.iter().for_each(|(name, value)| add(&mut words, "--env", format!("{name}={value}")));
        self.ports.iter().for_each(|port| add(&mut words, "--publish", port.clone()));
        self.security_opt.iter().for_each(|option| add(&mut words, "--security-opt", option.clone()));
        self.cap_drop.iter().for_each(|dropped| add(&mut words, "--cap-drop", dropped.clone()));
        for volume in &self.volumes {
            let named = if volume.starts_with('/') { String::new() } else { format!("{project}_") };
            add(&mut words, "--volume", format!("{named}{volume}"));
        }
        words.push(self.image.clone());
        words.extend(self.command.clone());
        words
    }
}

/// A started project.
struct Composed {
    project: String,
    files: TempDir,
    port: u16,
    image: String,
}

impl Composed {
    fn up() -> Self {
        let (project, files) = (unique("compose"), TempDir::new().unwrap());
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/compose");
        for name in ["compose.yaml", "serve.toml"] {
            fs::copy(deploy.join(name), files.path().join(name)).unwrap();
        }
        // Another user reads it in the container.
        fs::set_permissions(files.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(files.path().join("machine.yaml"), OF_THIS_MACHINE).unwrap();
        let image = format!("{project}:latest");
        build(&deploy.join("Dockerfile"), &image);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let composed = Self { project, files, port, image };
        composed.compose(&["up", "--detach", "database"]);
        composed.wait_for_database();
        let resolved: Resolved = serde_saphyr::from_str(&composed.compose(&["config"])).unwrap();
        let arguments = resolved.services.workden.arguments(&composed.project);
        docker(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        composed
    }

    fn compose(&self, words: &[&str]) -> String {
        let mut compose = Command::new("docker-compose");
        compose.args(["--project-name", &self.project, "--file", "compose.yaml", "--file", "machine.yaml"]).args(words);
        compose.env("WORKDEN_IMAGE", &self.image).env("WORKDEN_PORT", self.port.to_string());
        compose.env("POSTGRES_IMAGE", "workden-test/python").env("POSTGRES_PASSWORD", PASSWORD);
        let output = compose.current_dir(self.files.path()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn wait_for_database(&self) {
        let container = format!("{}_database_1", self.project);
        let health = || docker(&["inspect", "--format", "{{.State.Health.Status}}", &container]);
        eventually("a healthy database", || health() == "healthy");
    }

    /// Calls the service, and returns the body of its answer; empty if it does not answer.
    fn call(&self, key: &str, path: &str, more: &[&str]) -> String {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--noproxy", "*", "--header", &format!("Authorization: Bearer {key}")]).args(more);
        let output = curl.arg(format!("http://127.0.0.1:{}{path}", self.port)).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    async fn ready(&self) {
        soon("the service to answer", async || self.call("", "/readyz", &[]).contains("ok")).await;
    }

    fn logs(&self) -> String {
        let output = Command::new("docker").args(["logs", &self.project]).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

impl Drop for Composed {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rm", "--force", "--volumes", &self.project]).output();
        self.compose(&["down", "--volumes", "--timeout", "1"]);
        let _ = Command::new("docker").args(["volume", "rm", &format!("{}_files", self.project)]).output();
        docker(&["image", "rm", &self.image]);
    }
}

/// Builds the image of the service, with the program of this build.
fn build(dockerfile: &Path, image: &str) {
    let context = TempDir::new().unwrap();
    let program: PathBuf = context.path().join("workden");
    let stripped = Command::new("strip").args([env!("CARGO_BIN_EXE_workden"), "-o"]).arg(&program).status();
    assert!(stripped.unwrap().success());
    let file = dockerfile.display().to_string();
    let base = "BASE=workden-test/python";
    docker(&["build", "--file", &file, "--build-arg", base, "--tag", image, &context.path().display().to_string()]);
}

#[tokio::test]
async fn the_service_and_its_database_start_and_keep_what_they_have() {
    let composed = Composed::up();
    composed.ready().await;
    let key =
        docker(&["exec", &composed.project, "workden", "serve", "--new-key", "--config", "/etc/workden/serve.toml"]);
    assert!(key.starts_with("e2b_"), "{key}: {}", composed.logs());
    let post = |path: &str, body: &str| composed.call(&key, path, &["--json", body]);
    let made = post("/v1/sessions", "{\"name\": \"first\"}");
    assert!(made.contains("\"state\":\"running\""), "{made}\n{}", composed.logs());
    let ran = post("/v1/sessions/first/commands", "{\"command\": \"echo kept > note; id -u\"}");
    assert!(ran.contains("\"exit_code\":0") && !ran.contains("\"output\":\"0\\n\""), "{ran}");
    composed.compose(&["restart", "--timeout", "20", "database"]);
    composed.wait_for_database();
    docker(&["restart", "-t", "20", &composed.project]);
    composed.ready().await;
    let read = composed.call(&key, "/v1/sessions/first/files?path=note", &[]);
    assert_eq!(read, "kept\n", "{}", composed.logs());
    assert!(!composed.logs().contains(&key) && !composed.logs().contains(PASSWORD), "{}", composed.logs());
}

#[test]
fn the_image_for_clusters_is_built_of_static_programs_alone() {
    let (image, context) = (format!("{}:1", unique("for-clusters")), TempDir::new().unwrap());
    // Only a release has a static `workden`; the keeper stands for it.
    let keeper = std::env::var_os("WORKDEN_KEEPER").unwrap();
    for name in ["workden", "workden-keeper-amd64", "workden-keeper-arm64"] {
        fs::copy(&keeper, context.path().join(name)).unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes/service/Dockerfile");
    let (file, from) = (file.display().to_string(), context.path().display().to_string());
    docker(&["build", "--file", &file, "--tag", &image, &from]);
    let started = Command::new(&keeper).arg("--version").output().unwrap();
    let run = ["run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", &image, "--version"];
    assert_eq!(docker(&run), String::from_utf8(started.stdout).unwrap().trim());
    let config = docker(&["image", "inspect", "--format", "{{.Config.User}} {{.Config.Env}}", &image]);
    assert!(config.starts_with("8420:8420 "), "{config}");
    assert!(config.contains("WORKDEN_KEEPER=/usr/local/lib/workden/workden-keeper-amd64"), "{config}");
    docker(&["image", "rm", &image]);
}
