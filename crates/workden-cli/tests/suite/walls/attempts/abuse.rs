//! Abuse: too much of everything. The sandbox holds, and names the limit that was hit.

use super::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("fork without end", "perl -e 'my $n = 0; while ($n < 100000) { my $p = fork; last unless defined $p; $n++; if (!$p) { sleep 900; exit } } print $n < 200 ? \"held\" : \"escaped\"'")
        .with(&["--pids", "64"]),
    attempt("start threads without end", "perl -e 'my $n = 0; while ($n < 5000) { my $r = fork; last unless defined $r; if (!$r) { 1 while fork; sleep 5; exit } $n++ } print \"held\"'")
        .with(&["--pids", "64"]),
    attempt("fill /tmp", "head -c 4G /dev/zero > /tmp/fill 2>/dev/null && echo escaped || echo held"),
    attempt("fill /dev/shm", "head -c 4G /dev/zero > /dev/shm/fill 2>/dev/null && echo escaped || echo held"),
    // If this succeeds, it does so at once, without writing 4 gigabytes.
    attempt("fill the home", "(fallocate -l 4G \"$HOME/fill\" || head -c 4G /dev/zero > \"$HOME/fill\") 2>/dev/null && echo escaped || echo held"),
    attempt("open files without end", "perl -e 'my @f; while (@f < 200000) { open(my $f, \"<\", \"/dev/null\") or last; push @f, $f } print @f < 100000 ? \"held\" : \"escaped\"'"),
    attempt("raise one's own limits", "ulimit -n 1000000 2>/dev/null && echo escaped || echo held"),
    attempt("take the machine's share of asynchronous input and output", "perl -e 'my $context = \"\\0\" x 8; print syscall($ENV{SYS_io_setup}, 1000, $context) < 0 ? \"held\" : \"escaped\"'")
        .escapes_unconfined(),
    attempt("take the machine's share of terminals", "perl -e 'my $n = 0; for (1 .. 4) { my $p = open(my $r, \"-|\"); if (!$p) { my @t; while (@t < 900) { open(my $t, \"+<\", \"/dev/ptmx\") or last; push @t, $t } $| = 1; print scalar(@t), \"\\n\"; sleep 900; exit } push @r, $r; push @p, $p } $n += readline $_ for @r; kill 9, @p; print $n <= 600 ? \"held\" : \"escaped: $n\"'"),
    attempt("take the user's share of inotify", "perl -e 'my $n = 0; $n++ while $n < 100 && syscall($ENV{SYS_inotify_init1}, 0) >= 0; print $n <= 32 ? \"held\" : \"escaped: $n\"'"),
    attempt("make names without end in /tmp", "perl -e 'my $n = 0; while ($n < 3000000) { open(my $f, \">\", \"/tmp/n$n\") or last; close $f; $n++ } print $n < 2000000 ? \"held\" : \"escaped\"'"),
];
