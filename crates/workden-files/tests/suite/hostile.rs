//! Trees and neighbours made to break things: deep ones, hard links, locks in both orders, links to
//! what is hidden.

use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use workden_core::{
    BackendExt, EntryKind, ErrorKind, Expect, IfExists, Layer, Removal, Rule, RuleCase, Rules, Sight, Visibility,
    search::{GlobKinds, GlobRequest, GrepRequest, ListRequest},
};

use crate::{
    local::{block_on, path, places, refused, rounds, symlink},
    writes::Mounted,
};

fn hiding(pattern: &str) -> Visibility {
    let hide =
        Rule { pattern: pattern.to_owned(), except: Vec::new(), sight: Sight::Hidden, case: RuleCase::Sensitive };
    let list = Rules { rules: vec![hide], otherwise: Sight::Shown };
    Visibility { layers: vec![Layer { list: list.clone(), read: list, ..Layer::open() }] }
}

#[test]
fn a_link_to_a_hidden_file_says_no_more_than_one_to_nothing() {
    for place in places() {
        std::fs::create_dir(place.root.join("secret")).unwrap();
        std::fs::write(place.root.join("secret/key"), "12345").unwrap();
        std::fs::write(place.root.join("open"), "123").unwrap();
        for (link, target) in [("to_key", "secret/key"), ("to_none", "secret/none"), ("to_open", "open")] {
            symlink(target, place.root.join(link));
        }
        block_on(async {
            let visibility = hiding("/secret/**");
            let request = ListRequest::default().visibility(visibility.clone());
            let listed = place.files.list_path(&path("/"), &request).await.unwrap().entries;
            let globbed = GlobRequest::new("*").visibility(visibility).kinds(GlobKinds::Everything);
            let globbed = place.files.glob_path(&path("/"), &globbed).await.unwrap().entries;
            for found in [listed, globbed] {
                let entry = |name: &str| found.iter().find(|entry| entry.path == path(name)).unwrap();
                assert_eq!((entry("/to_key").kind, entry("/to_key").size), (EntryKind::BrokenLink, None));
                assert_eq!(entry("/to_none").kind, EntryKind::BrokenLink);
                assert_eq!((entry("/to_open").kind, entry("/to_open").size), (EntryKind::File, Some(3)));
            }
        });
    }
}

#[test]
fn a_tree_of_a_thousand_levels_is_removed() {
    for place in places() {
        let mut at = rustix::fs::open(&place.root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..1_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&at, "e", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        block_on(place.files.remove_path(&path("/d"), Removal::Tree)).unwrap();
        assert_eq!(std::fs::read_dir(&place.root).unwrap().count(), 1);
    }
}

#[test]
fn removing_a_directory_and_moving_out_of_it_do_not_wait_for_each_other() {
    for place in places() {
        let started = Instant::now();
        block_on(async {
            for round in 0..rounds(200) {
                let directory = path(&format!("/d{round}"));
                let inside = directory.child("x").unwrap();
                place.files.write_path(&inside, "x".into(), Expect::Anything).await.unwrap();
                let files = place.files.clone();
                let moving = tokio::spawn(async move {
                    files.move_path(&inside, &path("/x"), IfExists::Replace).await.unwrap();
                });
                for _ in 0..1_000 {
                    match place.files.remove_path(&directory, Removal::One).await {
                        Ok(()) => break,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::NotEmpty),
                    }
                }
                moving.await.unwrap();
            }
        });
        assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
    }
}

#[test]
fn a_file_moved_onto_another_name_of_itself_has_one_name_then() {
    for place in places() {
        std::fs::write(place.root.join("a"), "content").unwrap();
        std::fs::hard_link(place.root.join("a"), place.root.join("b")).unwrap();
        block_on(place.files.move_path(&path("/a"), &path("/b"), IfExists::Replace)).unwrap();
        assert!(!place.root.join("a").exists(), "it was moved");
        assert_eq!(std::fs::read_to_string(place.root.join("b")).unwrap(), "content");
    }
}

#[test]
fn an_ignore_file_that_is_a_fifo_is_not_opened() {
    for place in places() {
        std::fs::create_dir(place.root.join(".git")).unwrap();
        std::fs::write(place.root.join("a.txt"), "needle").unwrap();
        let fifo = place.root.join(".gitignore");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let opened = std::thread::spawn({
            let fifo = fifo.clone();
            // Waits until it is opened for reading.
            move || rustix::fs::open(fifo, OFlags::WRONLY, Mode::empty()).map(drop)
        });
        std::thread::sleep(Duration::from_millis(50));
        block_on(async {
            for _ in 0..20 {
                let found = place.files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
                assert_eq!(found.matches, 1);
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        let disturbed = opened.is_finished();
        // Lets the writer go, whatever happened.
        let _reader = rustix::fs::open(&fifo, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
        opened.join().unwrap().unwrap();
        assert!(!disturbed, "the search opened a FIFO");
    }
}

#[test]
fn a_move_to_another_file_system_says_so() {
    for place in places() {
        let mounted = place.root.join("mounted");
        std::fs::create_dir(&mounted).unwrap();
        std::fs::write(place.root.join("file"), "stays").unwrap();
        let _mount = Mounted::new(&["-t", "tmpfs", "none"], &mounted);
        let moved = block_on(place.files.move_path(&path("/file"), &path("/mounted/file"), IfExists::Refuse));
        assert_eq!(refused(&place, moved).kind(), ErrorKind::Unsupported);
        assert_eq!(std::fs::read_to_string(place.root.join("file")).unwrap(), "stays");
    }
}

#[test]
fn a_write_that_waited_goes_where_its_path_leads_now() {
    for place in places() {
        let old = place.root.join("d");
        std::fs::create_dir(&old).unwrap();
        std::fs::create_dir(place.root.join("gone")).unwrap();
        for (directory, away) in [("d", Some("moved_away")), ("gone", None)] {
            let held = std::fs::File::open(place.root.join(directory)).unwrap();
            rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
            block_on(async {
                let files = place.files.clone();
                let name = path(&format!("/{directory}/file"));
                let writing = tokio::spawn(async move { files.write_path(&name, "x".into(), Expect::Anything).await });
                std::thread::sleep(Duration::from_millis(100));
                match away {
                    Some(away) => std::fs::rename(place.root.join(directory), place.root.join(away)).unwrap(),
                    None => std::fs::remove_dir(place.root.join(directory)).unwrap(),
                }
                drop(held);
                writing.await.unwrap().unwrap();
            });
            assert_eq!(std::fs::read_to_string(place.root.join(directory).join("file")).unwrap(), "x");
        }
        assert_eq!(std::fs::read_dir(place.root.join("moved_away")).unwrap().count(), 0);
    }
}

#[test]
fn links_that_go_up_and_down_for_ever_are_not_followed_for_ever() {
    for place in places() {
        std::fs::create_dir(place.root.join("x")).unwrap();
        std::fs::write(place.root.join("x/file"), "reached").unwrap();
        let wander = "x/../".repeat(800);
        for nth in 0..40 {
            let next = if nth == 0 { "x/file".to_owned() } else { format!("l{}", nth - 1) };
            symlink(format!("{wander}{next}"), place.root.join(format!("l{nth}")));
        }
        block_on(async {
            assert_eq!(place.files.read_bytes(&path("/l1")).await.unwrap(), "reached");
            let refused = refused(&place, place.files.read_bytes(&path("/l39")).await);
            assert_eq!(refused.kind(), ErrorKind::LinkLoop);
        });
    }
}

/// Opening a file waits for the holder of a lease on it, which may be any process of its owner.
#[test]
#[cfg(target_os = "linux")]
fn a_lease_of_another_process_is_told_and_a_search_counts_it() {
    use std::{
        io::{BufRead, BufReader},
        process::{Command, Stdio},
    };

    // F_SETLEASE with F_WRLCK. The signal that asks for the lease would end the process.
    let hold = r#"$SIG{IO} = "IGNORE"; open(my $f, "+<", $ARGV[0]) or die; fcntl($f, 1024, 1) or die $!; $| = 1; print "held\n"; sleep 600"#;
    for place in places() {
        std::fs::write(place.root.join("leased"), "needle").unwrap();
        let mut holder = Command::new("perl");
        holder.args(["-e", hold]).arg(place.root.join("leased")).stdout(Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        block_on(async {
            let error = place.files.read_bytes(&path("/leased")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
            assert!(error.sentence().contains("holds a lease"), "{error}");
            let found = place.files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
            assert_eq!((found.matches, found.skipped.unreadable), (0, 1));
        });
        holder.kill().unwrap();
        holder.wait().unwrap();
    }
}
