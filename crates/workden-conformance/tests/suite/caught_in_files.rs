//! Which checks must notice which way of being wrong about files. Every check stands here, or in the
//! table beside this one.

use workden_core::ErrorKind;

use crate::broken::Spoil::{self, *};

/// What is wrong, and some of the checks that must notice.
pub(crate) const CAUGHT: &[(Spoil, &[&str])] = &[
    (
        Kind(ErrorKind::NotFound),
        &[
            "confusions::every_call_on_something_missing_says_so",
            "odd_names::names_of_255_bytes_are_fine_and_longer_ones_are_refused",
            "odd_names::three_hundred_nested_directories_are_fine",
        ],
    ),
    (Kind(ErrorKind::AlreadyExists), &["confusions::every_call_that_wants_a_directory_refuses_a_file"]),
    (
        Kind(ErrorKind::IsDirectory),
        &["confusions::every_call_that_wants_a_file_refuses_a_directory", "confusions::an_error_names_the_path"],
    ),
    (
        Kind(ErrorKind::NotDirectory),
        &[
            "confusions::every_call_through_a_file_says_that_it_is_no_directory",
            "confusions::nothing_is_created_below_a_file",
            "confusions::every_call_that_wants_a_directory_refuses_a_file",
        ],
    ),
    (Kind(ErrorKind::NotEmpty), &["confusions::an_error_names_the_path"]),
    (
        Kind(ErrorKind::InvalidPath),
        &[
            "odd_names::names_of_255_bytes_are_fine_and_longer_ones_are_refused",
            "odd_names::a_name_that_is_too_long_is_not_echoed_in_full",
            "odd_names::names_of_workdens_own_are_refused",
        ],
    ),
    (Kind(ErrorKind::InvalidPattern), &["grep_patterns::an_empty_pattern_is_refused"]),
    (
        Kind(ErrorKind::InvalidArgument),
        &["changing::a_change_that_cannot_be_planned_changes_nothing", "editing::an_edit_must_say_what_to_replace"],
    ),
    (Kind(ErrorKind::NotText), &["text_windows::binary_content_is_not_read_as_text"]),
    (Kind(ErrorKind::TooLarge), &["reading::a_whole_beyond_its_ceiling_is_too_large"]),
    (OpensAnotherFile, &["reading::an_open_file_holds_what_a_read_gives"]),
    (Kind(ErrorKind::OutOfRange), &["hashlines::lines_are_shown_with_number_and_hash"]),
    (Kind(ErrorKind::Conflict), &["changing::a_change_of_another_version_is_a_conflict"]),
    (ErrorsAreVague, &["text_windows::lines_past_the_end_are_out_of_range"]),
    (ErrorsAreEndless, &["odd_names::a_name_that_is_too_long_is_not_echoed_in_full"]),
    (ResolveForgetsWhatWasTyped, &["entries::without_links_a_path_resolves_to_itself"]),
    (ResolveMakesDirectories, &["entries::without_links_a_path_resolves_to_itself"]),
    (ResolveSeesDirectoriesEverywhere, &["entries::resolving_says_what_is_there_as_stat_does"]),
    (
        StatAddsToSizes,
        &[
            "entries::a_file_is_described_with_its_size",
            "reading::reading_says_how_large_the_file_is_and_when_it_changed",
        ],
    ),
    (StatGivesDirectoriesASize, &["entries::a_directory_is_described_without_a_size"]),
    (
        StatTakesDirectoriesForFiles,
        &[
            "entries::a_new_workspace_is_an_empty_directory",
            "entries::a_directory_is_described_without_a_size",
            "entries::only_files_are_said_to_exist",
            "writing::a_file_is_made_with_the_directories_above_it",
        ],
    ),
    (StatGoesBackInTime, &["entries::a_time_of_change_does_not_go_back"]),
    (
        ReadDropsCarriageReturns,
        &[
            "editing::a_text_that_is_not_there_is_answered_with_the_nearest_lines",
            "reading::content_comes_back_as_it_was_written",
            "reading::a_megabyte_of_noise_comes_back_as_it_was_written",
        ],
    ),
    (
        ReadDropsFinalNewlines,
        &["hashlines::a_hash_that_does_not_fit_changes_nothing", "reading::content_comes_back_as_it_was_written"],
    ),
    (ReadStopsAt64KiB, &["reading::a_megabyte_of_noise_comes_back_as_it_was_written"]),
    (
        ReadDisregardsOffsets,
        &["reading::a_part_is_read_by_offset_and_length", "reading::a_part_past_the_end_is_empty_or_shorter"],
    ),
    (ReadRefusesPartsPastTheEnd, &["reading::a_part_past_the_end_is_empty_or_shorter"]),
    (ReadHasNoCeiling, &["reading::a_whole_beyond_its_ceiling_is_too_large"]),
    (ReadSaysTheSizeOfThePart, &["reading::a_part_is_read_by_offset_and_length"]),
    (
        TextSkipsALine,
        &[
            "text_windows::lines_are_numbered_in_six_columns",
            "text_windows::a_footer_says_how_many_lines_are_left",
            "text_windows::an_empty_file_reads_as_empty",
            "text_windows::lines_past_the_end_are_out_of_range",
            "text_windows::a_read_ends_at_the_ceiling_and_says_how_to_go_on",
            "text_windows::a_line_beyond_the_ceiling_is_shown_in_part",
            "text_windows::a_ceiling_of_the_callers_ends_after_a_whole_line",
            "text_windows::other_encodings_are_decoded",
        ],
    ),
    (
        TextDisregardsTheLimit,
        &[
            "hashlines::lines_are_shown_with_number_and_hash",
            "text_windows::a_footer_says_how_many_lines_are_left",
            "text_windows::a_window_of_lines_keeps_their_endings",
        ],
    ),
    (
        TextHasNoCeiling,
        &[
            "text_windows::a_line_beyond_the_ceiling_is_shown_in_part",
            "text_windows::a_ceiling_of_the_callers_ends_after_a_whole_line",
        ],
    ),
    (
        TextIsTakenForUtf8,
        &["text_windows::other_encodings_are_decoded", "text_windows::binary_content_is_not_read_as_text"],
    ),
    (
        TextDropsCarriageReturns,
        &[
            "text_windows::a_window_of_lines_keeps_their_endings",
            "text_windows::a_window_of_characters_counts_characters",
        ],
    ),
    (TextCountsBytes, &["text_windows::a_window_of_characters_counts_characters"]),
    (TextHasTheVersionOfTheWindow, &["text_windows::a_window_has_the_version_of_the_whole"]),
    (
        TextOfNothingIsAnError,
        &["hashlines::lines_are_shown_with_number_and_hash", "text_windows::an_empty_file_reads_as_empty"],
    ),
    (
        WriteDisregardsExpectations,
        &[
            "concurrency::of_many_who_create_a_file_one_wins",
            "concurrency::of_many_who_replace_a_version_one_wins",
            "streaming::a_stream_is_held_to_what_the_writer_expects",
            "writing::absent_means_that_nothing_may_be_there",
            "writing::a_version_means_that_very_content",
            "writing::a_version_of_nothing_is_not_found",
            "writing::a_refused_write_leaves_nothing_behind",
        ],
    ),
    (WriteAddsANewline, &["entries::every_spelling_of_a_path_leads_to_one_file"]),
    (WriteConvertsLineEndings, &["reading::content_comes_back_as_it_was_written"]),
    (
        WriteAppends,
        &[
            "editing::a_text_that_stands_more_often_is_ambiguous",
            "editing::what_cannot_be_edited_without_loss_is_refused",
            "editing::an_edit_must_say_what_to_replace",
            "writing::a_file_is_replaced_as_a_whole",
        ],
    ),
    (WriteMakesNoDirectories, &["entries::every_spelling_of_a_path_leads_to_one_file"]),
    (WriteKeepsHalfAStream, &["streaming::an_error_in_the_middle_of_a_stream_changes_nothing"]),
    (
        WriteTakesTheFirstPiece,
        &[
            "streaming::a_stream_is_written_whole",
            "streaming::a_stream_that_keeps_one_waiting_is_written_whole",
            "streaming::a_stream_is_held_to_what_the_writer_expects",
            "streaming::an_error_in_the_middle_of_a_stream_changes_nothing",
        ],
    ),
    (WriteShutsOthersOut, &["streaming::no_caller_waits_for_a_stream_that_keeps_its_writer_waiting"]),
    (
        WriteSaysNothingWasThere,
        &["writing::a_write_says_what_was_there_and_what_is_now", "writing::a_version_means_that_very_content"],
    ),
    (
        WriteInventsVersions,
        &[
            "streaming::a_stream_is_written_whole",
            "writing::a_write_says_what_was_there_and_what_is_now",
            "writing::a_version_is_that_of_the_content",
        ],
    ),
    (WriteLeavesATemporaryFile, &["writing::a_refused_write_leaves_nothing_behind"]),
    (WriteMakesWhatItExpects, &["writing::a_version_of_nothing_is_not_found"]),
    (
        WriteChecksThenWrites,
        &["concurrency::of_many_who_create_a_file_one_wins", "concurrency::of_many_who_replace_a_version_one_wins"],
    ),
    (
        WriteIsTorn,
        &["concurrency::a_reader_sees_the_old_or_the_new_content", "writing::absent_means_that_nothing_may_be_there"],
    ),
    (
        ChangeDisregardsExpectations,
        &[
            "changing::a_change_of_another_version_is_a_conflict",
            "changing::of_two_changes_of_one_version_the_second_is_a_conflict",
            "changing::what_is_to_be_absent_is_not_changed",
            "changing::what_is_expected_is_looked_at_first",
            "concurrency::of_many_who_change_a_version_one_wins",
        ],
    ),
    (ChangePlansFirst, &["changing::what_is_expected_is_looked_at_first"]),
    (
        ChangeReadsThenWrites,
        &[
            "concurrency::of_many_who_change_a_version_one_wins",
            "concurrency::sixty_four_edits_of_one_file_are_all_applied",
        ],
    ),
    (ChangeMakesWhatIsMissing, &["changing::a_change_makes_no_file"]),
    (
        ChangeMakesTheFirstOnly,
        &[
            "changing::the_parts_that_are_named_change_and_the_rest_is_kept",
            "changing::a_change_that_cannot_be_planned_changes_nothing",
            "editing::several_edits_are_applied_together_or_not_at_all",
        ],
    ),
    (
        ChangeKeepsWhatFits,
        &[
            "changing::a_change_that_cannot_be_planned_changes_nothing",
            "editing::several_edits_are_applied_together_or_not_at_all",
        ],
    ),
    (
        ChangeAddsANewline,
        &[
            "changing::the_parts_that_are_named_change_and_the_rest_is_kept",
            "changing::a_change_of_the_expected_version_is_made",
            "concurrency::sixty_four_edits_of_one_file_are_all_applied",
            "editing::a_text_that_stands_once_is_replaced",
            "editing::every_place_is_replaced_when_all_are_meant",
            "editing::several_edits_are_applied_together_or_not_at_all",
            "editing::an_edit_keeps_every_byte_outside_it",
            "editing::a_file_of_crlf_lines_stays_one",
            "hashlines::lines_are_replaced_added_and_deleted_by_hash",
            "hashlines::a_hashline_edit_keeps_encoding_and_line_endings",
        ],
    ),
    (
        ChangeTakesBinaryContent,
        &[
            "changing::a_change_that_cannot_be_planned_changes_nothing",
            "editing::an_edit_keeps_every_byte_outside_it",
            "editing::what_cannot_be_edited_without_loss_is_refused",
        ],
    ),
    (ChangeRefusesTheSame, &["changing::a_change_to_the_same_is_a_change"]),
    (ChangeSaysAnotherPath, &["changing::a_change_says_where_it_was_and_what_it_did"]),
    (
        ChangeInventsVersions,
        &[
            "changing::a_change_says_where_it_was_and_what_it_did",
            "changing::a_change_to_the_same_is_a_change",
            "changing::a_change_of_the_expected_version_is_made",
        ],
    ),
    (
        ChangeMiscounts,
        &[
            "changing::a_change_says_where_it_was_and_what_it_did",
            "changing::a_change_to_the_same_is_a_change",
            "editing::a_text_that_stands_once_is_replaced",
            "editing::every_place_is_replaced_when_all_are_meant",
            "hashlines::lines_are_replaced_added_and_deleted_by_hash",
        ],
    ),
    (ChangeLeavesATemporaryFile, &["changing::a_change_that_cannot_be_planned_changes_nothing"]),
    (ChangeDisregardsItsCeiling, &["changing::a_change_beyond_its_ceiling_is_too_large"]),
    (NamesAreTheirOwnOthers, &["entries::what_has_one_name_has_no_others"]),
    (AttributesAreForgotten, &["entries::attributes_stay_with_a_file_or_are_refused"]),
    (
        MakeDirMakesOnlyTheLast,
        &[
            "concurrency::many_can_make_the_same_directory",
            "directories::a_directory_is_made_with_those_above_it",
            "directories::making_a_directory_again_is_fine",
        ],
    ),
    (
        MakeDirTwiceFails,
        &["concurrency::many_can_make_the_same_directory", "directories::making_a_directory_again_is_fine"],
    ),
    (RemoveTakesTrees, &["removing::a_directory_that_holds_something_is_not_removed_by_accident"]),
    (
        RemoveTakesSimilarNames,
        &["removing::a_file_is_removed_and_its_neighbours_stay", "removing::a_tree_is_removed_with_all_that_is_in_it"],
    ),
    (
        RemoveDoesNothing,
        &[
            "removing::a_file_is_removed_and_its_neighbours_stay",
            "removing::an_empty_directory_is_removed",
            "removing::a_tree_is_removed_with_all_that_is_in_it",
            "removing::what_was_removed_can_be_made_anew",
        ],
    ),
    (
        RemoveTakesEmptyParents,
        &["directories::a_directory_stays_when_it_becomes_empty", "removing::an_empty_directory_is_removed"],
    ),
    (RemoveEmptiesTheRoot, &["removing::the_root_cannot_be_removed"]),
    (
        RenameLeavesTheOld,
        &["renaming::a_file_moves_with_its_content", "renaming::a_file_replaces_a_file_only_when_told_to"],
    ),
    (RenameAlwaysReplaces, &["renaming::a_file_replaces_a_file_only_when_told_to"]),
    (RenameLosesEmptyDirectories, &["renaming::a_directory_moves_with_all_that_is_in_it"]),
    (
        RenameReplacesDirectories,
        &[
            "renaming::nothing_replaces_a_directory_and_a_directory_replaces_nothing",
            "renaming::what_moves_to_its_own_name_stays",
        ],
    ),
    (RenameIntoItselfLoses, &["renaming::a_directory_cannot_move_into_itself"]),
    (RenameToItselfRemoves, &["renaming::what_moves_to_its_own_name_stays"]),
    (
        CopyRemovesTheOriginal,
        &[
            "copying::a_copy_has_the_content_and_the_original_stays",
            "copying::a_copy_says_what_was_there_and_what_is_now",
            "copying::a_copy_replaces_a_file_only_when_told_to",
            "odd_names::every_character_but_nul_and_slash_is_legal_in_a_name",
        ],
    ),
    (CopyAlwaysReplaces, &["copying::a_copy_replaces_a_file_only_when_told_to"]),
    (CopySaysNothingWasThere, &["copying::a_copy_says_what_was_there_and_what_is_now"]),
    (CopyStaysTied, &["copying::a_copy_leads_a_life_of_its_own"]),
    (CopyOntoItselfEmpties, &["copying::a_file_copied_onto_itself_stays"]),
];
