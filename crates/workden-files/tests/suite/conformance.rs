//! The conformance suite over every backend of this crate, plain and wrapped, in a runtime and
//! without one.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use tempfile::TempDir;
use workden_conformance::{PrefixBackend, Report, report};
use workden_core::{Backend, Guarded, OpenGate};
use workden_files::{CompositeBackend, Durability, LocalBackend, LocalOptions, PathOpening, memory};

/// Directories on the host, a new one for each workspace; all gone at the end.
struct Host {
    directory: TempDir,
    made: AtomicU32,
}

impl Host {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), made: AtomicU32::new(0) }
    }

    fn open(&self, options: LocalOptions) -> LocalBackend {
        options.open(self.make()).unwrap()
    }

    fn make(&self) -> PathBuf {
        let root = self.directory.path().join(self.made.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&root).unwrap();
        root
    }

    /// A directory whose writes need not survive a loss of power.
    fn local(&self, opening: PathOpening) -> LocalBackend {
        self.open(LocalBackend::options().durability(Durability::None).path_opening(opening))
    }
}

fn mounted(at: &str, backend: impl Backend + 'static) -> CompositeBackend {
    CompositeBackend::builder().mount(at, backend).unwrap().build()
}

/// What runs the suite.
#[derive(Clone, Copy, Debug)]
enum Executor {
    Runtime,
    NoRuntime,
}

const BOTH: [Executor; 2] = [Executor::Runtime, Executor::NoRuntime];

fn reported<B: Backend>(executor: Executor, make: impl Fn(&Host) -> B) -> Report {
    let host = Host::new();
    let suite = report(async || make(&host));
    match executor {
        Executor::Runtime => crate::local::block_on(suite),
        Executor::NoRuntime => futures_executor::block_on(suite),
    }
}

#[track_caller]
fn conforms<B: Backend>(executor: Executor, make: impl Fn(&Host) -> B) {
    let report = reported(executor, make);
    assert!(report.failed.is_empty(), "{executor:?}: {report}");
}

/// The suite on a backend: plain, behind no gate, behind one that allows all, and behind a pointer.
/// What wraps it only passes calls on, so one executor is enough for each of those.
#[track_caller]
fn conforms_plain_and_wrapped<B: Backend + 'static>(make: impl Fn(&Host) -> B) {
    for executor in BOTH {
        conforms(executor, &make);
    }
    conforms(Executor::Runtime, |host| Guarded::new(make(host)));
    conforms(Executor::NoRuntime, |host| Guarded::new(make(host)).gate(Arc::new(OpenGate)));
    conforms(Executor::Runtime, |host| Arc::new(make(host)) as Arc<dyn Backend>);
}

#[test]
fn a_host_directory_conforms() {
    conforms_plain_and_wrapped(|host| host.local(PathOpening::Detect));
}

#[test]
fn a_host_directory_conforms_when_paths_are_opened_step_by_step() {
    conforms_plain_and_wrapped(|host| host.local(PathOpening::StepByStep));
}

#[test]
fn a_host_directory_conforms_when_writes_are_synced() {
    for (executor, durability) in BOTH.into_iter().zip([Durability::Fsync, Durability::FsyncNames]) {
        conforms(executor, |host| host.open(LocalBackend::options().durability(durability)));
    }
}

#[test]
fn a_directory_of_a_backend_conforms_as_a_backend_of_its_own() {
    let work = crate::local::path("/workspace");
    let with_work = |host: &Host| {
        let root = host.make();
        std::fs::create_dir(root.join("workspace")).unwrap();
        LocalBackend::options().durability(Durability::None).open(root).unwrap()
    };
    conforms(Executor::NoRuntime, |host| PrefixBackend::new(with_work(host), work.clone()));
    conforms(Executor::NoRuntime, |host| PrefixBackend::new(mounted("/", with_work(host)), work.clone()));
    conforms(Executor::NoRuntime, |host| {
        PrefixBackend::new(mounted("/workspace", host.local(PathOpening::Detect)), work.clone())
    });
    conforms(Executor::NoRuntime, |host| mounted("/", PrefixBackend::new(Guarded::new(with_work(host)), work.clone())));
}

#[test]
fn memory_conforms_by_the_machines_clock() {
    for executor in BOTH {
        conforms(executor, |_| memory());
    }
}

#[test]
fn a_mount_table_over_memory_conforms() {
    conforms_plain_and_wrapped(|_| mounted("/", memory()));
}

#[test]
fn a_mount_table_over_a_host_directory_conforms() {
    conforms_plain_and_wrapped(|host| mounted("/", host.local(PathOpening::Detect)));
}

#[test]
fn mount_tables_and_gates_conform_inside_one_another() {
    for executor in BOTH {
        conforms(executor, |host| mounted("/", mounted("/", Guarded::new(host.local(PathOpening::Detect)))));
        conforms(executor, |_| Guarded::new(mounted("/", Guarded::new(memory()).gate(Arc::new(OpenGate)))));
    }
}

/// Checks that cannot hold where something is mounted beside what they look at, and which mounts
/// are in the way of each. All others hold, with their files on both sides of a mount.
const IN_THE_WAY: &[(&str, &[&str])] = &[
    // A mount is there from the start: it is listed and found.
    ("directories::a_listing_has_directories_first_then_by_name", EVERY),
    ("directories::a_listing_keeps_the_first_and_counts_the_rest", &["/d/e", "/new", "/src", "/secret"]),
    ("directories::a_listing_shows_hidden_names", EVERY),
    ("directories::a_listing_shows_one_level", &["/new", "/src", "/secret"]),
    ("entries::a_new_workspace_is_an_empty_directory", EVERY),
    ("entries::without_links_a_path_resolves_to_itself", &["/new", "/src", "/secret"]),
    ("globbing::files_are_found_and_directories_when_asked_for", EVERY),
    ("odd_names::every_character_but_nul_and_slash_is_legal_in_a_name", &["/d/e"]),
    ("odd_names::names_of_workdens_own_are_refused", &["/new", "/src", "/secret"]),
    ("removing::an_empty_directory_is_removed", &["/d/e", "/new", "/src", "/secret"]),
    ("removing::what_was_removed_can_be_made_anew", EVERY),
    ("renaming::a_directory_moves_with_all_that_is_in_it", &["/d", "/d/e", "/src", "/secret"]),
    ("views::a_file_on_the_way_to_another_mount_is_covered", EVERY),
    ("views::rules_hold_under_the_names_that_other_mounts_give", EVERY),
    ("views::rules_mean_the_paths_that_the_agent_sees", EVERY),
    ("views::what_another_mount_covers_is_not_entered", EVERY),
    ("visibility::a_glob_leaves_out_what_may_not_be_listed_and_counts_it", &["/d", "/d/e", "/new", "/src"]),
    ("visibility::a_layer_speaks_only_of_its_part", EVERY),
    ("visibility::a_listing_leaves_out_what_may_not_be_listed", &["/d", "/d/e", "/new", "/src"]),
    ("writing::a_file_is_replaced_as_a_whole", EVERY),
    ("writing::a_version_of_nothing_is_not_found", &["/new"]),
    // It cannot be written as a file, moved or removed.
    ("confusions::an_error_names_the_path", &["/d", "/d/e"]),
    ("grep_bounds::a_grep_out_of_time_says_so", &["/d", "/d/e"]),
    ("grep_bounds::counts_when_counts_are_asked_for", &["/d", "/d/e"]),
    ("grep_bounds::only_paths_when_only_paths_are_asked_for", &["/d", "/d/e"]),
    ("grep_bounds::the_first_lines_by_path_are_kept_and_all_are_counted", &["/d", "/d/e"]),
    ("renaming::a_directory_cannot_move_into_itself", &["/d", "/d/e"]),
    ("renaming::a_file_moves_with_its_content", &["/new"]),
    ("renaming::nothing_replaces_a_directory_and_a_directory_replaces_nothing", &["/d", "/d/e"]),
    // A repository ends at it.
    ("ignoring::a_file_that_is_named_is_searched_though_ignored", &["/d"]),
    ("ignoring::inside_a_repository_rules_are_honoured", &["/d"]),
    ("ignoring::rules_above_the_start_of_a_search_hold_below_it", &["/d", "/d/e"]),
    ("ignoring::the_nearest_rule_wins_and_can_take_back_in", &["/d"]),
];

const EVERY: &[&str] = &["/d", "/d/e", "/new", "/src", "/secret"];

/// The suite with a part of the tree elsewhere: it fails where [`IN_THE_WAY`] says, and nowhere else.
#[track_caller]
fn conforms_around<B: Backend>(mount: &'static str, make: impl Fn(&Host) -> B) {
    let expected: BTreeSet<String> =
        IN_THE_WAY.iter().filter(|(_, mounts)| mounts.contains(&mount)).map(|(name, _)| (*name).to_owned()).collect();
    for executor in BOTH {
        let report = reported(executor, &make);
        let failed: BTreeSet<String> = report.failed.iter().map(|(check, _)| check.to_string()).collect();
        let held: Vec<_> = expected.difference(&failed).collect();
        assert_eq!(failed, expected, "with {mount} mounted, {executor:?}: {held:?} hold after all, or: {report}");
    }
}

fn beside(root: impl Backend + 'static, at: &str, mount: impl Backend + 'static) -> CompositeBackend {
    CompositeBackend::builder().mount("/", root).unwrap().mount(at, mount).unwrap().build()
}

#[test]
fn a_host_directory_in_memory_conforms() {
    conforms_around("/d", |host| beside(memory(), "/d", host.local(PathOpening::Detect)));
}

#[test]
fn memory_in_a_host_directory_conforms() {
    conforms_around("/new", |host| beside(host.local(PathOpening::Detect), "/new", memory()));
    conforms_around("/src", |host| beside(host.local(PathOpening::Detect), "/src", memory()));
}

#[test]
fn a_mount_that_rules_speak_of_conforms() {
    conforms_around("/secret", |host| beside(memory(), "/secret", host.local(PathOpening::StepByStep)));
}

#[test]
fn a_mount_below_a_directory_that_is_not_stored_conforms() {
    conforms_around("/d/e", |host| {
        beside(host.local(PathOpening::Detect), "/d/e", Guarded::new(memory()).gate(Arc::new(OpenGate)))
    });
}
