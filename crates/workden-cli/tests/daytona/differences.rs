//! The conformance suite without a keeper, at a stub or at Daytona: what differs is named here, and each is proven to
//! differ.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU32, Ordering},
};

use workden_conformance::{PrefixBackend, report, sandbox_checks};
use workden_core::{BackendExt, Sandbox, VirtualPath};

use crate::places::DaytonaService;

/// Checks of files that do not hold. Moves make no parents and reads have no time of change; searches do not read ignore
/// files, and count only the files that the daemon reported.
const FILES: &[&str] = &[
    "confusions::nothing_is_created_below_a_file",
    "copying::a_copy_says_what_was_there_and_what_is_now",
    "globbing::a_glob_out_of_time_says_so",
    "globbing::a_pattern_starts_where_the_search_does_or_at_the_root",
    "globbing::hidden_names_are_found_unless_told_otherwise",
    "grep_bounds::a_grep_out_of_time_says_so",
    "grep_bounds::only_paths_when_only_paths_are_asked_for",
    "grep_bounds::the_first_lines_by_path_are_kept_and_all_are_counted",
    "grep_patterns::text_in_other_encodings_is_searched",
    "grep_places::binary_files_are_skipped_and_counted",
    "grep_places::files_are_found_below_the_start_in_the_order_of_their_paths",
    "ignoring::a_file_that_is_named_is_searched_though_ignored",
    "ignoring::a_glob_honours_rules_when_told_to",
    "ignoring::a_glob_that_honours_rules_does_not_enter_git",
    "ignoring::a_repository_inside_another_has_its_own_rules",
    "ignoring::inside_a_repository_rules_are_honoured",
    "ignoring::rules_above_the_start_of_a_search_hold_below_it",
    "ignoring::rules_are_disregarded_when_told_to",
    "ignoring::the_nearest_rule_wins_and_can_take_back_in",
    "odd_names::a_name_that_is_too_long_is_not_echoed_in_full",
    "odd_names::every_character_but_nul_and_slash_is_legal_in_a_name",
    "odd_names::names_of_255_bytes_are_fine_and_longer_ones_are_refused",
    "odd_names::names_of_workdens_own_are_refused",
    "reading::reading_says_how_large_the_file_is_and_when_it_changed",
    "renaming::a_directory_cannot_move_into_itself",
    "renaming::a_directory_moves_with_all_that_is_in_it",
    "renaming::a_file_moves_with_its_content",
    "renaming::nothing_replaces_a_directory_and_a_directory_replaces_nothing",
    "views::patterns_and_filters_mean_the_paths_that_the_agent_sees",
    "views::rules_hold_under_the_names_that_other_mounts_give",
    "visibility::a_grep_passes_over_what_may_not_be_read_and_counts_it",
    "visibility::endings_limit_what_is_searched",
    "visibility::no_filter_takes_back_in_what_is_hidden",
    "visibility::size_limits_what_is_searched",
    "visibility::the_first_rule_decides_and_the_strictest_layer_wins",
    "writing::a_write_says_what_was_there_and_what_is_now",
];

/// Checks of files that a race decides: a write is not atomic, which a reader sees or does not.
const RACES: &[&str] = &["concurrency::a_reader_sees_the_old_or_the_new_content"];

/// Checks of commands that do not hold: no separate streams, jobs, signals, terminals or watches, and no output of a
/// command that timed out.
const COMMANDS: &[&str] = &[
    "directories::a_directory_that_is_none_is_refused",
    "directories::commands_start_in_the_directory_that_is_named",
    "environments::a_request_adds_to_the_environment",
    "executing::a_signal_is_128_and_its_number",
    "executing::a_timeout_is_124_with_what_was_printed_until_then",
    "executing::a_vector_without_a_program_is_refused",
    "inheritance::a_command_has_its_standard_streams_open_and_nothing_else",
    "job_output::a_character_is_not_split_between_reads",
    "job_output::a_read_is_bounded",
    "job_output::a_wait_ends_with_the_first_output",
    "job_output::a_wait_ends_with_the_job",
    "job_output::half_a_character_at_the_end_is_marked",
    "job_output::reading_again_gives_the_same",
    "job_output::reading_goes_on_where_it_stopped",
    "job_output::the_output_of_what_a_job_left_behind_is_in_its_log",
    "job_output::what_the_log_has_no_room_for_is_skipped_and_said",
    "job_output::without_a_wait_a_read_returns_at_once",
    "jobs::a_job_ends_as_a_command_does",
    "jobs::a_job_outlives_the_call",
    "jobs::a_killed_job_is_over",
    "jobs::an_argument_vector_runs_as_it_is",
    "jobs::jobs_are_listed_oldest_first",
    "jobs::a_running_command_is_seen_and_killed",
    "jobs::running_jobs_are_counted",
    "jobs::the_input_of_a_job_is_at_its_end",
    "jobs::what_a_finished_job_left_behind_is_killed_with_it",
    "orphans::a_dropped_process_leaves_no_process",
    "orphans::a_dropped_terminal_leaves_no_process",
    "orphans::a_killed_job_leaves_no_process",
    "orphans::a_timeout_leaves_no_process",
    "orphans::others_are_left_alone",
    "orphans::there_is_time_to_say_goodbye",
    "output_bounds::a_flood_is_counted_to_the_byte",
    "output_bounds::a_flood_that_is_stopped_keeps_its_head_and_tail",
    "output_bounds::the_full_log_has_all_of_it",
    "shared_files::a_command_that_holds_a_file_open_keeps_the_old_content",
    "signals::a_signal_arrives_and_can_be_handled",
    "signals::a_signal_ends_a_process_that_does_not_handle_it",
    "signals::a_signal_reaches_the_group",
    "signals::a_signal_to_one_that_has_ended_is_fine",
    "signals::a_stopped_process_goes_on_when_told",
    "stopping::later_calls_are_gone",
    "stopping::who_is_waiting_is_told",
    "streams::a_process_answers_while_its_input_is_open",
    "streams::a_process_is_told_by_the_pid_that_it_has",
    "streams::a_program_that_is_missing_is_127_and_one_that_cannot_run_126",
    "streams::bytes_arrive_as_they_are",
    "streams::megabytes_go_in_and_come_out",
    "streams::output_and_error_come_apart_each_in_order",
    "streams::pipes_have_no_size",
    "streams::the_end_comes_though_the_output_is_held_open",
    "streams::what_is_written_is_read_until_the_input_is_closed",
    "streams::a_reader_that_waits_slows_its_command_down_and_no_other",
    "streams::writing_to_a_process_that_reads_no_more_is_refused",
    "terminals::a_lot_of_output_arrives_whole",
    "terminals::a_process_leads_its_terminal",
    "terminals::a_terminal_can_be_resized_and_says_so",
    "terminals::a_terminal_has_the_size_that_was_asked_for",
    "terminals::all_three_streams_are_one_terminal",
    "terminals::closing_the_input_is_the_end_of_a_file",
    "terminals::control_c_interrupts",
    "terminals::control_z_stops_what_runs_in_a_shell_with_jobs",
    "terminals::what_is_typed_is_echoed_and_read_by_lines",
    "watching::a_directory_alone_is_watched_unless_more_is_asked",
    "watching::a_directory_that_moves_is_told_by_its_new_name",
    "watching::a_reader_that_waits_long_misses_nothing_silently",
    "watching::a_tree_is_watched_with_directories_that_come_later",
    "watching::changes_by_commands_are_told",
    "watching::changes_by_file_calls_are_told_without_temporary_names",
    "watching::hidden_names_are_not_told",
    "watching::the_end_of_the_directory_ends_the_watch",
    "watching::what_cannot_be_watched_is_refused",
];

/// Compares what failed with what is named.
fn compare(what: &str, failed: &[(String, String)], named: &[&str]) {
    let failures: Vec<String> = failed.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    let failed: BTreeSet<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
    let named: BTreeSet<&str> = named.iter().copied().collect();
    let (more, fewer): (Vec<_>, Vec<_>) = (failed.difference(&named).collect(), named.difference(&failed).collect());
    assert!(more.is_empty(), "{what} that are not named: {more:#?}\n{}", failures.join("\n"));
    assert!(fewer.is_empty(), "{what} that are named and hold: {fewer:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_toolbox_differ_as_named() {
    let service = DaytonaService::open().await;
    let (sandbox, next) = (std::sync::Arc::new(service.served()), AtomicU32::new(0));
    let report = report(async || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let place = VirtualPath::parse(&format!("/home/daytona/{number}")).unwrap();
        sandbox.make_dir_path(&place).await.unwrap();
        PrefixBackend::new(std::sync::Arc::clone(&sandbox), place)
    })
    .await;
    let failed = report.failed.iter().map(|(check, why)| (check.to_string(), why.to_string()));
    let failed: Vec<_> = failed.filter(|(name, _)| !RACES.contains(&name.as_str())).collect();
    compare("checks of files", &failed, FILES);
    sandbox.stop().await.unwrap();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_the_toolbox_differ_as_named() {
    let service = DaytonaService::open().await;
    let mut failed = Vec::new();
    for check in sandbox_checks() {
        let sandbox = service.served();
        if let Err(why) = check.run(&sandbox).await {
            failed.push((check.to_string(), why.to_string()));
        }
        sandbox.stop().await.unwrap();
    }
    compare("checks of commands", &failed, COMMANDS);
    service.stop().await;
}
