"""The failure matrix of file tailing: 31 scenarios in which tailers lose or double lines, and where each is tested.

Every test named here carries its row: in its name, or as `Row N` in its docstring. What needs another system
or mount than a test may have is simulated, and its docstring says so.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parents[1]


class Row(NamedTuple):
    """A scenario: what happens, the tests (file: names), whether it is simulated in all of them."""

    scenario: str
    tests: dict[str, tuple[str, ...]]
    simulated: bool = False


MATRIX: dict[int, Row] = {
    1: Row(
        "kill -9 at any instant",
        {
            "crash/test_kill.py": (
                "test_killed_at_random_a_service_loses_nothing_and_stores_nothing_twice",
                "test_killed_at_random_it_loses_nothing_of_files_that_are_moved_rewritten_and_restored",
            ),
            "crash/test_points.py": (
                "test_death_at_any_failpoint_converges",
                "test_death_before_any_statement_converges",
            ),
        },
    ),
    2: Row(
        "power loss",
        {"crash/test_power.py": ("test_a_log_that_lost_its_end_is_made_good_by_the_transcripts",)},
        simulated=True,
    ),
    3: Row(
        "half-written last line",
        {
            "files/test_tail.py": ("test_row_3_a_half_written_last_line_is_not_yielded",),
            "test_ingest.py": ("test_half_a_line_is_left_where_it_is",),
        },
    ),
    4: Row(
        "a character split at the border of a read",
        {"files/test_tail.py": ("test_row_4_a_character_split_at_the_end_is_whole_next_time",)},
    ),
    5: Row(
        "truncated to 0 and rewritten",
        {
            "files/test_fingerprint.py": ("test_row_5_truncated_and_rewritten_longer_does_not_match",),
            "test_ingest.py": ("test_truncated_and_rewritten_keeps_the_old_and_reads_the_new",),
        },
    ),
    6: Row(
        "truncated shorter, same beginning",
        {
            "files/test_fingerprint.py": ("test_row_6_truncated_with_the_same_head_does_not_match",),
            "test_ingest.py": ("test_truncated_shorter_then_grown_another_way_holds_both",),
        },
    ),
    7: Row(
        "replaced by a rename",
        {
            "files/test_watch.py": ("test_row_7_inotify_hears_a_replacement_by_rename",),
            "test_ingest.py": ("test_replaced_by_another_content_is_another_file",),
        },
    ),
    8: Row(
        "an inode number that is used again",
        {
            "files/test_fingerprint.py": ("test_row_8_an_inode_number_used_again_does_not_match",),
            "test_ingest.py": ("test_a_reused_inode_is_no_identity",),
        },
    ),
    9: Row(
        "moved to another project's folder",
        {
            "files/test_sweep.py": ("test_row_9_a_moved_file_is_gone_here_and_found_there",),
            "test_ingest.py": ("test_moved_to_another_project_it_is_not_read_again_and_stays_what_it_was",),
        },
    ),
    10: Row(
        "deleted, then restored",
        {
            "files/test_sweep.py": ("test_row_10_what_is_gone_is_said_once_and_found_when_restored",),
            "test_ingest.py": ("test_deleted_and_restored_it_goes_on_where_it_was",),
        },
    ),
    11: Row(
        "copied under another name",
        {
            "files/test_fingerprint.py": ("test_row_9_and_11_moved_or_copied_content_matches",),
            "test_ingest.py": ("test_a_copy_under_another_name_adds_nothing",),
        },
    ),
    12: Row(
        "sparse or NUL tail",
        {
            "files/test_tail.py": ("test_row_12_nul_bytes_pass_through_whole",),
            "test_ingest.py": ("test_a_tail_of_nul_bytes_hides_nothing_that_follows",),
        },
    ),
    13: Row(
        "a file that grows while it is read",
        {
            "files/test_tail.py": ("test_row_13_what_is_appended_during_the_turn_waits",),
            "test_ingest.py": ("test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_stood",),
        },
    ),
    14: Row(
        "a line of 200 MB",
        {
            "files/test_tail.py": ("test_row_14_a_line_too_long_is_passed_over_and_reported",),
            "regressions/test_large_input.py": ("test_row_14_a_line_of_200_mb_is_passed_over_in_little_memory",),
        },
    ),
    15: Row(
        "the right to read is lost, then back",
        {
            "files/test_supervisor.py": ("test_row_15_a_folder_that_became_readable_is_watched_by_a_new_observer",),
            "test_report.py": ("test_row_15_an_unreadable_folder_is_told_of_until_it_is_readable",),
        },
        simulated=True,
    ),
    16: Row(
        "the disk of the database is full",
        {"end_to_end/test_weather.py": ("test_row_16_a_full_disk_is_told_of_and_loses_nothing",)},
    ),
    17: Row(
        "the database is locked for 10 s",
        {"end_to_end/test_weather.py": ("test_row_17_a_database_that_another_holds_for_ten_seconds",)},
    ),
    18: Row(
        "clock jumps",
        {
            "files/test_sweep.py": ("test_row_18_a_clock_set_back_hides_no_change",),
            "files/test_watch.py": ("test_the_wall_clock_decides_nothing",),
        },
        simulated=True,
    ),
    19: Row(
        "two indexers at once",
        {"end_to_end/test_weather.py": ("test_row_19_a_second_service_is_refused_and_the_first_goes_on",)},
    ),
    20: Row(
        "10,000 files changed while off",
        {
            "end_to_end/test_weather.py": ("test_row_20_ten_thousand_files_that_changed_while_it_was_off",),
            "files/test_discover.py": ("test_row_20_the_newest_comes_first",),
        },
    ),
    21: Row(
        "the kernel's queue overflows",
        {
            "end_to_end/test_weather.py": ("test_row_21_a_flood_that_overflows_the_kernels_queue_loses_nothing",),
            "files/test_hints.py": ("test_row_21_an_overflow_in_watchdogs_log_is_heard",),
        },
    ),
    22: Row(
        "the limit of watches is reached",
        {
            "end_to_end/test_weather.py": ("test_row_22_a_watch_limit_is_told_of_and_loses_nothing",),
            "files/test_watch.py": ("test_row_22_no_watch_at_all_is_noticed_and_said",),
        },
    ),
    23: Row(
        "the root is missing",
        {
            "end_to_end/test_weather.py": ("test_row_23_and_24_a_root_that_is_removed_and_made_again",),
            "files/test_supervisor.py": ("test_row_23_a_missing_root_is_waited_for",),
        },
    ),
    24: Row(
        "the root is deleted and made again",
        {
            "end_to_end/test_weather.py": ("test_row_23_and_24_a_root_that_is_removed_and_made_again",),
            "files/test_watch.py": ("test_row_24_inotify_hears_a_root_made_again",),
        },
    ),
    25: Row(
        "the root is a link",
        {"files/test_watch.py": ("test_row_25_inotify_hears_new_projects_below_a_linked_root",)},
    ),
    26: Row("links that lead in a circle", {"files/test_walk.py": ("test_row_26_loops_end",)}),
    27: Row(
        "a network mount that reports nothing",
        {
            "files/test_supervisor.py": ("test_row_27_a_network_root_is_polled_from_the_start",),
            "files/test_watch.py": ("test_simulated_fsevents_that_drop_their_hints_lead_to_polling",),
        },
        simulated=True,
    ),
    28: Row(
        "SIGTERM in the middle of a batch",
        {"end_to_end/test_weather.py": ("test_row_28_told_to_stop_in_the_middle_it_ends_soon_and_whole",)},
    ),
    29: Row(
        "the machine sleeps and wakes",
        {
            "files/test_supervisor.py": ("test_row_29_a_machine_that_slept_asks_for_a_sweep",),
            "files/test_watch.py": ("test_row_29_waking_from_sleep_brings_a_sweep",),
        },
        simulated=True,
    ),
    30: Row(
        "a resumed session appends to a torn line",
        {"test_ingest.py": ("test_a_torn_line_with_the_next_record_glued_on_costs_only_itself",)},
    ),
    31: Row(
        "a source rewritten without its history",
        {"test_ingest.py": ("test_rewritten_without_its_history_keeps_what_was_read_in_order",)},
    ),
}
NAMED = [(number, file, name) for number, row in MATRIX.items() for file, names in row.tests.items() for name in names]


@cache
def docstrings(file: str) -> dict[str, str]:
    """The tests of a file and what they say of themselves."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_all_31_scenarios_are_here() -> None:
    assert list(MATRIX) == list(range(1, 32))
    assert all(row.tests for row in MATRIX.values())


@pytest.mark.parametrize(("number", "file", "name"), NAMED)
def test_the_test_is_there_and_carries_its_row(number: int, file: str, name: str) -> None:
    said = docstrings(file)[name]
    assert f"_{number}_" in name.partition("row")[2] or f"Row {number}" in said, said


@pytest.mark.parametrize(("number", "file", "name"), [named for named in NAMED if MATRIX[named[0]].simulated])
def test_what_is_simulated_says_so(number: int, file: str, name: str) -> None:
    assert "imulated" in name + docstrings(file)[name], MATRIX[number].scenario
