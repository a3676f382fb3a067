//! What only several processes can show: edits of one file from all sides, writers that are killed,
//! and a user without rights. The binary starts itself again for each part.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test without the test harness")]

use std::{
    io::{Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use workden_core::{
    BackendExt, ErrorKind, Expect, IfExists, Removal, VirtualPath,
    search::{Context, GlobRequest, GrepRequest, ListRequest},
    text::Replacement,
};
use workden_files::{Durability, LocalBackend, PathOpening};

/// A test and the name it is told by.
type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("sixty-four edits by threads and processes are all applied", all_edits_are_applied),
    ("a writer killed at any moment leaves a whole file", a_killed_writer_leaves_a_whole_file),
    ("a user without rights is told so, and sees no host path", a_user_without_rights_is_told_so),
    ("a file of another owner stays with its group", a_file_of_another_owner_stays_with_its_group),
    ("without another thread to be had everything still works", without_threads_everything_works),
    ("a search that shows much around each match stays small", a_search_that_shows_much_stays_small),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["part", "edit", directory, first, count] => edit_lines(directory, number(first), number(count)),
        ["part", "write", directory] => write_for_ever(directory),
        ["part", "unprivileged", directory] => act_without_rights(directory),
        ["part", "group", directory] => write_as_a_member(directory),
        ["part", "threadless", directory] => act_without_threads(directory),
        ["part", "around", directory] => search_around(directory),
        _ => {
            for (name, test) in TESTS {
                let started = Instant::now();
                test();
                println!("test {name} ... ok ({:.1} s)", started.elapsed().as_secs_f64());
            }
            println!("\ntest result: ok. {} passed; 0 failed", TESTS.len());
        }
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap()
}

fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(future)
}

/// This binary again, as one of its parts.
fn part(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("part").args(arguments);
    command
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn all_edits_are_applied() {
    const PROCESSES: usize = 8;
    const EACH: usize = 4;
    const THREADS: usize = 64 - PROCESSES * EACH;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    let lines = |state: &str| (0..64).map(|n| format!("line {n:02} {state}\n")).collect::<String>();
    std::fs::write(&file, lines("open")).unwrap();

    let children: Vec<Child> = (0..PROCESSES)
        .map(|nth| {
            let (first, count) = ((THREADS + nth * EACH).to_string(), EACH.to_string());
            part(&["edit", text(directory.path()), &first, &count]).spawn().unwrap()
        })
        .collect();
    thread::scope(|scope| {
        for line in 0..THREADS {
            let directory = directory.path();
            scope.spawn(move || edit_lines(text(directory), line, 1));
        }
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), lines("done"));
    assert_eq!(names(directory.path()), ["file"]);
}

/// Edits some lines, one after the other, through a handle of its own.
fn edit_lines(directory: &str, first: usize, count: usize) {
    let files = LocalBackend::open(directory).unwrap();
    block_on(async {
        for line in first..first + count {
            let edit = Replacement::once(format!("line {line:02} open"), format!("line {line:02} done"));
            assert_eq!(files.edit(&path("/file"), &[edit]).await.unwrap(), 1);
        }
    });
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A content of one letter, so that a mixture is seen at once.
fn whole(letter: u8) -> Vec<u8> {
    vec![letter; 1_500_000]
}

fn a_killed_writer_leaves_a_whole_file() {
    const KILLS: u64 = 200;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, whole(b'a')).unwrap();
    let mut temporary_files = 0;
    for kill in 0..KILLS {
        let mut writer = part(&["write", text(directory.path())]).stdout(Stdio::piped()).spawn().unwrap();
        // It says when it begins; then any moment will do.
        let mut ready = [0];
        writer.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        thread::sleep(Duration::from_micros(kill * 7919 % 12_000));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let content = std::fs::read(&file).unwrap();
        assert_eq!(content, whole(content[0]), "kill {kill} left a mixture");
        temporary_files += usize::from(names(directory.path()).len() > 1);
    }
    assert!(temporary_files > 0, "no kill came in the middle of a write: the test shows nothing");
    let files = LocalBackend::open(directory.path()).unwrap();
    block_on(async { files.write_path(&path("/other"), "x".into(), Expect::Absent).await.unwrap() });
    let mut left = names(directory.path());
    left.sort();
    assert_eq!(left, ["file", "other"], "the next write clears up");
    println!("  {KILLS} kills, {temporary_files} of them in the middle of a write");
}

fn write_for_ever(directory: &str) {
    let files = LocalBackend::options().durability(Durability::None).open(directory).unwrap();
    block_on(async {
        print!(".");
        std::io::stdout().flush().unwrap();
        for round in 0..u8::MAX {
            let content = whole(b'a' + round % 26);
            files.write_path(&path("/file"), content.into(), Expect::Anything).await.unwrap();
            files.edit(&path("/file"), &[Replacement::all("a", "b")]).await.ok();
        }
    });
}

const UNPRIVILEGED: u32 = 65_534;

fn a_user_without_rights_is_told_so() {
    use std::os::unix::fs::{PermissionsExt, chown};
    assert!(rustix::process::geteuid().is_root(), "another user can only be had as root");
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    let mode = |path: &PathBuf, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(&directory.path().to_path_buf(), 0o755);
    std::fs::create_dir(&root).unwrap();
    for (name, owner, bits) in [("mine", UNPRIVILEGED, 0o700), ("theirs", 0, 0o755), ("closed", 0, 0o700)] {
        let place = root.join(name);
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("file"), "needle").unwrap();
        chown(place.join("file"), Some(owner), Some(owner)).unwrap();
        chown(&place, Some(owner), Some(owner)).unwrap();
        mode(&place, bits);
    }
    std::fs::write(root.join("mine/unreadable"), "needle").unwrap();
    mode(&root.join("mine/unreadable"), 0o600);
    let binary = for_all_users(directory.path());
    let status = Command::new(&binary)
        .args(["part", "unprivileged", text(&root)])
        .uid(UNPRIVILEGED)
        .gid(UNPRIVILEGED)
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(root.join("mine/unreadable")).unwrap(), "needle");
}

/// A copy of this binary: it may lie where another user cannot look.
fn for_all_users(directory: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let binary = directory.join("part");
    std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    for path in [directory, &binary] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    binary
}

const TEAM: u32 = 54_321;

fn a_file_of_another_owner_stays_with_its_group() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    for (name, bits) in [("team", 0o660), ("others", 0o666)] {
        std::fs::write(root.join(name), "old").unwrap();
        std::fs::set_permissions(root.join(name), std::fs::Permissions::from_mode(bits)).unwrap();
    }
    std::fs::set_permissions(root.join("others"), std::fs::Permissions::from_mode(0o676)).unwrap();
    chown(root.join("team"), Some(0), Some(TEAM)).unwrap();
    chown(&root, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
    let ids = ["--reuid", "65534", "--regid", "65534", "--groups", "54321"];
    let binary = for_all_users(directory.path());
    let status = Command::new("setpriv").args(ids).arg(binary).args(["part", "group", text(&root)]).status().unwrap();
    assert!(status.success());
    let seen = |name: &str| {
        let stat = std::fs::metadata(root.join(name)).unwrap();
        (stat.gid(), stat.mode() & 0o777)
    };
    assert_eq!(seen("team"), (TEAM, 0o660), "the team can still write it");
    assert_eq!(seen("others"), (UNPRIVILEGED, 0o666), "another group may no more than all others");
}

fn write_as_a_member(directory: &str) {
    let files = LocalBackend::open(directory).unwrap();
    block_on(async {
        for name in ["/team", "/others"] {
            files.write_path(&path(name), "new".into(), Expect::Anything).await.unwrap();
        }
    });
}

fn without_threads_everything_works() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::os::unix::fs::chown(&root, Some(UNPRIVILEGED - 1), Some(UNPRIVILEGED)).unwrap();
    let binary = for_all_users(directory.path());
    let mut command = Command::new(&binary);
    // A user of its own: the limit is on all that one user has.
    let part = command.args(["part", "threadless", text(&root)]).uid(UNPRIVILEGED - 1).gid(UNPRIVILEGED);
    assert!(part.stderr(Stdio::null()).status().unwrap().success());
}

fn act_without_threads(directory: &str) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let files = LocalBackend::open(directory).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    setrlimit(Resource::Nproc, Rlimit { current: Some(1), maximum: Some(1) }).unwrap();
    assert!(thread::Builder::new().spawn(|| ()).is_err(), "the limit must hold for this to tell anything");
    runtime.block_on(async {
        let large = "needle\n".repeat(1_000_000);
        files.write_path(&path("/file"), large.clone().into(), Expect::Absent).await.unwrap();
        files.write_path(&path("/file"), large.clone().into(), Expect::Anything).await.unwrap();
        assert_eq!(files.read_bytes(&path("/file")).await.unwrap(), large);
        let request = GrepRequest::literal("needle").max_count(10);
        assert_eq!(files.grep_path(&path("/"), &request).await.unwrap().matches, 10);
        assert_eq!(files.glob_path(&path("/"), &GlobRequest::new("*")).await.unwrap().entries.len(), 1);
    });
}

fn a_search_that_shows_much_stays_small() {
    let directory = tempfile::tempdir().unwrap();
    let first = directory.path().join("0");
    std::fs::write(&first, format!("needle{}", "\n".repeat(110_000))).unwrap();
    for nth in 1..80 {
        std::fs::hard_link(&first, directory.path().join(nth.to_string())).unwrap();
    }
    assert!(part(&["around", text(directory.path())]).status().unwrap().success());
}

fn search_around(directory: &str) {
    let files = LocalBackend::open(directory).unwrap();
    let request = GrepRequest::literal("needle").context(Context::new(0, 1_000_000));
    let found = block_on(files.grep_path(&VirtualPath::root(), &request)).unwrap();
    assert_eq!(found.matches, 80);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let kilobytes: u64 = most.trim_end_matches("kB").trim().parse().unwrap();
    assert!(kilobytes < 150_000, "it took {most}");
}

fn act_without_rights(directory: &str) {
    for opening in [PathOpening::Detect, PathOpening::StepByStep] {
        let files = LocalBackend::options().path_opening(opening).open(directory).unwrap();
        let denied = |what: &str, error: workden_core::Error| {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{what}: {error}");
            assert!(!error.to_string().contains(directory), "{error}");
        };
        block_on(async {
            files.write_path(&path("/mine/new"), "needle".into(), Expect::Anything).await.unwrap();
            let edit = [Replacement::once("needle", "x")];
            denied("read", files.read_bytes(&path("/closed/file")).await.unwrap_err());
            denied("read", files.read_bytes(&path("/mine/unreadable")).await.unwrap_err());
            denied("write", files.write_path(&path("/theirs/new"), "x".into(), Expect::Anything).await.unwrap_err());
            denied("write", files.write_path(&path("/theirs/file"), "x".into(), Expect::Anything).await.unwrap_err());
            // The directory is ours, so a rename would do it; but the file is not to be written.
            denied(
                "write",
                files.write_path(&path("/mine/unreadable"), "x".into(), Expect::Anything).await.unwrap_err(),
            );
            denied("edit", files.edit(&path("/theirs/file"), &edit).await.unwrap_err());
            denied("list", files.list_path(&path("/closed"), &ListRequest::default()).await.unwrap_err());
            denied("make", files.make_dir_path(&path("/theirs/d")).await.unwrap_err());
            denied("remove", files.remove_path(&path("/theirs/file"), Removal::One).await.unwrap_err());
            let moved = files.move_path(&path("/theirs/file"), &path("/mine/file2"), IfExists::Refuse).await;
            denied("move", moved.unwrap_err());
            let found = files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
            let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(paths, ["/mine/file", "/mine/new", "/theirs/file"]);
            assert_eq!(found.skipped.unreadable, 2, "counted: one file, one directory");
            let globbed = files.glob_path(&path("/"), &GlobRequest::new("**")).await.unwrap();
            assert_eq!((globbed.entries.len(), globbed.skipped.unreadable), (4, 1));
        });
    }
}
