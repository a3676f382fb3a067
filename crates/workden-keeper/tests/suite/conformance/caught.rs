//! The exec part of the suite fails when it should: each defect is caught by the checks named beside it, and the same
//! sandbox without a defect passes them.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use workden_conformance::{SandboxCheck, sandbox_checks};

use super::{
    broken::{
        Broken,
        Spoil::{self, *},
    },
    host::Host,
};

/// Checks that run at a time: most of them wait for something.
const AT_A_TIME: usize = 6;

/// The defects, and some of the checks that must notice them.
const CAUGHT: &[(Spoil, &[&str])] = &[
    (ExitCodesAreZero, &["executing::a_line_prints_and_ends_with_its_exit_code"]),
    (SignalsAreExitCodes, &["executing::a_signal_is_128_and_its_number"]),
    (OutputIsCutSilently, &["output_bounds::of_more_the_head_and_the_tail_are_kept_and_the_rest_is_counted"]),
    (LeftOutIsOneOff, &["output_bounds::characters_are_not_cut", "output_bounds::a_flood_is_counted_to_the_byte"]),
    (LogsAreLost, &["output_bounds::the_full_log_has_all_of_it"]),
    (InputIsOpen, &["executing::standard_input_is_at_its_end"]),
    (TimeoutsLoseWhatWasPrinted, &["executing::a_timeout_is_124_with_what_was_printed_until_then"]),
    (DurationsAreNothing, &["executing::the_duration_is_told"]),
    (
        VectorsGoThroughAShell,
        &["executing::argument_vectors_arrive_as_they_are", "jobs::an_argument_vector_runs_as_it_is"],
    ),
    (
        EnvironmentIsLost,
        &["environments::a_request_adds_to_the_environment", "environments::values_arrive_as_they_are"],
    ),
    (DirectoryIsIgnored, &["directories::commands_start_in_the_directory_that_is_named"]),
    (DroppedCallsGoOn, &["orphans::a_dropped_call_leaves_no_process"]),
    (StreamsAreOne, &["streams::output_and_error_come_apart_each_in_order"]),
    (BytesAreTakenForText, &["streams::bytes_arrive_as_they_are"]),
    (TerminalsHaveOneSize, &["terminals::a_terminal_has_the_size_that_was_asked_for"]),
    (JobsAreForgotten, &["jobs::jobs_are_listed_oldest_first"]),
    (JobsAreNotCounted, &["jobs::running_jobs_are_counted"]),
    (CommandsHaveNoLine, &["jobs::a_running_command_is_seen_and_killed"]),
    (ReadsSplitCharacters, &["job_output::a_character_is_not_split_between_reads"]),
    (ReadsStartAtTheBeginning, &["job_output::reading_again_gives_the_same"]),
    (
        KillsLeaveChildren,
        &["orphans::a_killed_job_leaves_no_process", "jobs::what_a_finished_job_left_behind_is_killed_with_it"],
    ),
    (UnknownJobsAreOver, &["jobs::a_job_that_was_never_started_is_not_found"]),
    (WatchesAreShallow, &["watching::a_tree_is_watched_with_directories_that_come_later"]),
    (HiddenNamesAreTold, &["watching::hidden_names_are_not_told"]),
    (MissedEventsAreSilent, &["watching::a_reader_that_waits_long_misses_nothing_silently"]),
    (StoppingDoesNothing, &["stopping::later_calls_are_gone"]),
];

/// Returns whether this check passes on a sandbox with this defect.
async fn is_content(host: &Host, check: &SandboxCheck, spoil: Spoil) -> bool {
    let sandbox = Broken::new(host.keeper(), spoil);
    let outcome = check.run(&sandbox).await;
    sandbox.end().await;
    outcome.is_ok()
}

#[tokio::test]
async fn each_way_of_being_wrong_is_caught_and_being_right_is_not() {
    let host = Host::new();
    let by_name: BTreeMap<String, &SandboxCheck> = sandbox_checks().map(|check| (check.to_string(), check)).collect();
    let pairs = CAUGHT.iter().flat_map(|(spoil, names)| names.iter().map(move |name| (*spoil, *name)));
    let each = pairs.map(async |(spoil, name)| {
        let check = by_name[name];
        let missed = is_content(&host, check, spoil).await;
        let blamed = !is_content(&host, check, Nothing).await;
        let said = [(missed, format!("{name} does not notice {spoil:?}")), (blamed, format!("{name} fails anyway"))];
        said.into_iter().filter_map(|(wrong, sentence)| wrong.then_some(sentence))
    });
    let said: Vec<_> = futures_util::stream::iter(each).buffer_unordered(AT_A_TIME).collect().await;
    let wrong: Vec<String> = said.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
