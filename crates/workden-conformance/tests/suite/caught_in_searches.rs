//! Which checks must notice which way of being wrong about searches. Every check stands here, or in the
//! table beside this one.

use crate::broken::Spoil::{self, *};

/// What is wrong, and some of the checks that must notice.
pub(crate) const CAUGHT: &[(Spoil, &[&str])] = &[
    (
        ListIsReversed,
        &["directories::a_listing_has_directories_first_then_by_name", "directories::a_listing_shows_one_level"],
    ),
    (
        ListShowsAllLevels,
        &[
            "directories::a_listing_shows_one_level",
            "directories::a_listing_shows_hidden_names",
            "directories::a_listing_says_what_stat_says",
            "directories::a_listing_keeps_the_first_and_counts_the_rest",
        ],
    ),
    (
        ListHidesDotNames,
        &[
            "directories::a_listing_has_directories_first_then_by_name",
            "directories::a_listing_shows_hidden_names",
            "visibility::a_listing_leaves_out_what_may_not_be_listed",
        ],
    ),
    (ListKeepsEverything, &["directories::a_listing_keeps_the_first_and_counts_the_rest"]),
    (
        ListDisregardsRules,
        &["visibility::a_listing_leaves_out_what_may_not_be_listed", "visibility::a_layer_speaks_only_of_its_part"],
    ),
    (
        ListDisregardsTheView,
        &[
            "views::a_file_on_the_way_to_another_mount_is_covered",
            "views::rules_mean_the_paths_that_the_agent_sees",
            "views::what_another_mount_covers_is_not_entered",
        ],
    ),
    (ListForgetsSizes, &["directories::a_listing_says_what_stat_says"]),
    (ListShowsSomethingOfItsOwn, &["entries::a_new_workspace_is_an_empty_directory"]),
    (
        GlobMatchesAtAnyDepth,
        &[
            "globbing::stars_stay_in_a_name_and_double_stars_cross_directories",
            "globbing::braces_classes_and_question_marks_match_as_they_should",
            "globbing::a_pattern_starts_where_the_search_does_or_at_the_root",
            "globbing::files_are_found_and_directories_when_asked_for",
        ],
    ),
    (
        GlobTakesSignsLiterally,
        &[
            "globbing::braces_classes_and_question_marks_match_as_they_should",
            "globbing::a_pattern_that_is_none_is_refused",
            "ignoring::a_glob_honours_rules_when_told_to",
        ],
    ),
    (GlobStartsAtTheRoot, &["globbing::a_pattern_starts_where_the_search_does_or_at_the_root"]),
    (
        GlobSkipsHiddenNames,
        &[
            "globbing::stars_stay_in_a_name_and_double_stars_cross_directories",
            "globbing::hidden_names_are_found_unless_told_otherwise",
            "visibility::a_glob_leaves_out_what_may_not_be_listed_and_counts_it",
        ],
    ),
    (
        GlobShowsDirectories,
        &[
            "globbing::files_are_found_and_directories_when_asked_for",
            "globbing::the_newest_come_first_and_ties_go_by_path",
            "globbing::a_glob_says_what_stat_says",
        ],
    ),
    (
        GlobGoesByPath,
        &[
            "globbing::the_newest_come_first_and_ties_go_by_path",
            "globbing::a_glob_keeps_the_first_and_counts_the_rest",
        ],
    ),
    (GlobForgetsSizes, &["globbing::a_glob_says_what_stat_says"]),
    (GlobKeepsEverything, &["globbing::a_glob_keeps_the_first_and_counts_the_rest"]),
    (GlobDisregardsTime, &["globbing::a_glob_out_of_time_says_so"]),
    (
        GlobDisregardsRules,
        &[
            "visibility::a_glob_leaves_out_what_may_not_be_listed_and_counts_it",
            "visibility::a_rule_that_is_no_pattern_shows_nothing",
        ],
    ),
    (
        GlobDisregardsTheView,
        &[
            "views::a_file_on_the_way_to_another_mount_is_covered",
            "views::patterns_and_filters_mean_the_paths_that_the_agent_sees",
            "views::what_another_mount_covers_is_not_entered",
        ],
    ),
    (
        GlobDisregardsIgnoreFiles,
        &["ignoring::a_glob_honours_rules_when_told_to", "ignoring::a_glob_that_honours_rules_does_not_enter_git"],
    ),
    (
        GlobTakesAnyPattern,
        &["globbing::a_pattern_that_is_none_is_refused", "visibility::a_rule_that_is_no_pattern_shows_nothing"],
    ),
    (
        GrepCountsLinesFromZero,
        &[
            "grep_patterns::lines_come_with_their_numbers_and_without_their_endings",
            "grep_patterns::a_literal_is_taken_as_it_stands",
            "grep_patterns::letter_case_counts_as_asked",
            "grep_patterns::lines_around_a_match_are_shown_when_asked_for",
            "grep_patterns::a_file_gives_no_more_matches_than_asked_for",
            "grep_patterns::text_in_other_encodings_is_searched",
            "grep_places::a_single_file_can_be_searched",
        ],
    ),
    (
        GrepTakesLiteralsForExpressions,
        &[
            "grep_patterns::a_literal_is_taken_as_it_stands",
            "grep_patterns::an_invalid_expression_is_shown_where_and_what_instead",
        ],
    ),
    (GrepDisregardsCase, &["grep_patterns::letter_case_counts_as_asked"]),
    (
        GrepDisregardsContext,
        &[
            "grep_bounds::the_first_lines_by_path_are_kept_and_all_are_counted",
            "grep_patterns::lines_around_a_match_are_shown_when_asked_for",
        ],
    ),
    (GrepStaysWithinLines, &["grep_patterns::a_match_goes_over_lines_only_when_asked_to"]),
    (GrepDisregardsMaxCount, &["grep_patterns::a_file_gives_no_more_matches_than_asked_for"]),
    (
        GrepShowsWholeLines,
        &["grep_patterns::a_long_line_is_shown_in_part", "grep_patterns::a_pattern_made_to_backtrack_is_answered"],
    ),
    (
        GrepTakesAnyPattern,
        &[
            "grep_patterns::a_match_goes_over_lines_only_when_asked_to",
            "grep_patterns::an_invalid_expression_is_shown_where_and_what_instead",
            "grep_patterns::an_empty_pattern_is_refused",
            "grep_places::a_filter_that_is_no_pattern_is_refused",
        ],
    ),
    (
        GrepGivesUpOnLongLines,
        &["grep_patterns::a_long_line_is_shown_in_part", "grep_patterns::a_pattern_made_to_backtrack_is_answered"],
    ),
    (GrepGivesUpOnEncodings, &["grep_patterns::text_in_other_encodings_is_searched"]),
    (GrepIsUnordered, &["grep_bounds::counts_when_counts_are_asked_for"]),
    (
        GrepSearchesHiddenFiles,
        &[
            "grep_places::hidden_files_are_skipped_unless_told_otherwise",
            "grep_places::filters_match_as_ripgrep_does",
            "ignoring::inside_a_repository_rules_are_honoured",
            "ignoring::the_nearest_rule_wins_and_can_take_back_in",
        ],
    ),
    (
        GrepTreatsNamedFilesLikeOthers,
        &[
            "grep_places::a_single_file_can_be_searched",
            "grep_places::a_file_that_is_named_is_searched_hidden_or_filtered_out",
            "grep_places::binary_files_are_skipped_and_counted",
            "ignoring::a_file_that_is_named_is_searched_though_ignored",
            "visibility::a_file_that_is_named_is_held_to_the_rules_too",
        ],
    ),
    (
        GrepDisregardsFilters,
        &[
            "grep_places::filters_match_as_ripgrep_does",
            "grep_places::a_filter_that_is_no_pattern_is_refused",
            "visibility::no_filter_takes_back_in_what_is_hidden",
        ],
    ),
    (
        GrepForgetsWhatItSkipped,
        &[
            "grep_places::binary_files_are_skipped_and_counted",
            "visibility::a_grep_passes_over_what_may_not_be_read_and_counts_it",
            "visibility::no_filter_takes_back_in_what_is_hidden",
            "visibility::endings_limit_what_is_searched",
            "visibility::size_limits_what_is_searched",
            "visibility::the_first_rule_decides_and_the_strictest_layer_wins",
        ],
    ),
    (
        GrepKeepsEverything,
        &[
            "grep_bounds::the_first_lines_by_path_are_kept_and_all_are_counted",
            "grep_bounds::only_paths_when_only_paths_are_asked_for",
        ],
    ),
    (
        GrepAlwaysShowsLines,
        &["grep_bounds::only_paths_when_only_paths_are_asked_for", "grep_bounds::counts_when_counts_are_asked_for"],
    ),
    (GrepDisregardsTheCeiling, &["grep_bounds::a_grep_stops_at_its_ceiling_and_says_so"]),
    (GrepDisregardsTime, &["grep_bounds::a_grep_out_of_time_says_so"]),
    (
        GrepDisregardsRules,
        &[
            "visibility::a_grep_passes_over_what_may_not_be_read_and_counts_it",
            "visibility::endings_limit_what_is_searched",
            "visibility::size_limits_what_is_searched",
            "visibility::the_first_rule_decides_and_the_strictest_layer_wins",
            "visibility::a_layer_speaks_only_of_its_part",
        ],
    ),
    (
        GrepKnowsNoNamedFileInRules,
        &[
            "views::rules_mean_the_paths_that_the_agent_sees",
            "visibility::a_file_that_is_named_is_held_to_the_rules_too",
        ],
    ),
    (
        GrepDisregardsTheView,
        &[
            "views::patterns_and_filters_mean_the_paths_that_the_agent_sees",
            "views::rules_hold_under_the_names_that_other_mounts_give",
        ],
    ),
    (
        GrepDisregardsIgnoreFiles,
        &[
            "ignoring::inside_a_repository_rules_are_honoured",
            "ignoring::the_nearest_rule_wins_and_can_take_back_in",
            "ignoring::a_repository_inside_another_has_its_own_rules",
            "ignoring::rules_above_the_start_of_a_search_hold_below_it",
            "ignoring::rules_are_disregarded_when_told_to",
            "ignoring::a_file_that_is_named_is_searched_though_ignored",
        ],
    ),
    (GrepIgnoresOutsideRepositories, &["ignoring::outside_a_repository_nothing_is_ignored"]),
    (GrepIgnoresOnlyFromTheStart, &["ignoring::rules_above_the_start_of_a_search_hold_below_it"]),
    (
        GrepStartsAtTheRoot,
        &[
            "grep_places::files_are_found_below_the_start_in_the_order_of_their_paths",
            "grep_places::hidden_files_are_skipped_unless_told_otherwise",
            "grep_places::a_file_that_is_named_is_searched_hidden_or_filtered_out",
        ],
    ),
];
