"""Faults to plant into the code, each with the test that must catch it: is the suite worth anything?

A fault is what a tired hand might do, and what other tools did: small, plausible, and wrong. `python -m
benchmarks mutations` plants each into a copy of the code and runs its test there, which must pass without
the fault and fail with it.
"""

from __future__ import annotations

from typing import NamedTuple


class Edit(NamedTuple):
    """One replacement in a file below indexer/; `old` stands there exactly once."""

    file: str
    old: str
    new: str


class Fault(NamedTuple):
    """name: what was done wrong. test: pytest's name of the test that finds it, below tests/. needs: a module
    without which that test is skipped."""

    name: str
    test: str
    edits: tuple[Edit, ...]
    needs: str = ""


_COMMIT = """        passing("ingest.begin")
        with transaction(self._conn):
"""

LOSS = (
    Fault(
        "the checkpoint is committed before its rows",
        "crash/test_points.py::test_death_at_any_failpoint_converges[first]",
        (
            Edit(
                "ingest.py",
                _COMMIT,
                """        passing("ingest.begin")
        with transaction(self._conn):
            for mark in batch.marks:
                start = mark.row.offset, mark.row.line_no
                self._move_on(mark)
                mark.row.offset, mark.row.line_no = start
        with transaction(self._conn):
""",
            ),
        ),
    ),
    Fault(
        "part of a line is kept in memory, and the offset goes past it",
        "test_ingest.py::test_half_a_line_is_left_where_it_is",
        (
            Edit(
                "ingest.py",
                "        self.failed: set[str] = set()\n",
                "        self.failed: set[str] = set()\n        self.parts: dict[str, bytes] = {}\n",
            ),
            Edit(
                "ingest.py",
                "            cleaned = redact(line.data)\n",
                '            cleaned = redact(self.parts.pop(file.path, b"") + line.data)\n',
            ),
            Edit(
                "ingest.py",
                "        more = number - row.line_no >= rows or end - begin >= data\n",
                """        more = number - row.line_no >= rows or end - begin >= data
        if not more and end < stat.size:
            self.parts[file.path] = self.parts.get(file.path, b"") + os.pread(fd, stat.size - end, end)
            end = stat.size
""",
            ),
        ),
    ),
    Fault(
        "the offset goes past a last line that has no newline yet",
        "test_ingest.py::test_a_complete_last_line_is_read_after_a_quiet_time_and_the_offset_stays_before_it",
        (
            Edit(
                "files/tail.py",
                """            end = end if data[-1] == NEWLINE else""",
                """            if data[-1] != NEWLINE and end == size and data[-1] == 0x7D:
                yield tuple.__new__(Line, (data, offset, end, count))
                return
            end = end if data[-1] == NEWLINE else""",
            ),
        ),
    ),
    Fault(
        "the mark before the offset is not compared",
        "test_ingest.py::test_rewritten_behind_a_long_common_beginning_is_read_again",
        (
            Edit(
                "files/fingerprint.py",
                """    if _digest(fd, offset - fp.tail_len, fp.tail_len, key) != fp.tail_hash:
        return False
""",
                "",
            ),
        ),
    ),
    Fault(
        "the mark at the head is not compared",
        "test_ingest.py::test_rewritten_before_a_common_end_is_read_again",
        (
            Edit(
                "files/fingerprint.py",
                "    return _digest(fd, 0, fp.head_len, key) == fp.head_hash\n",
                "    return True\n",
            ),
        ),
    ),
    Fault(
        "an inode number is taken for identity",
        "test_ingest.py::test_a_reused_inode_is_no_identity",
        (
            Edit(
                "store/checkpoints.py",
                "        if probe.holds(other) and (other.status",
                "        if (other.ino == ino or probe.holds(other)) and (other.status",
            ),
        ),
    ),
    Fault(
        "a record is torn apart at NUL bytes and given up",
        "sources/test_salvage.py::test_a_record_behind_nul_bytes_is_kept",
        (Edit("sources/salvage.py", r'_PIECE = re.compile(rb"[^\x00]+")', r'_PIECE = re.compile(rb"\A[^\x00]+")'),),
    ),
    Fault(
        "the writer's lock is not taken",
        "store/test_connection.py::test_a_second_writer_is_refused_with_the_firsts_pid",
        (
            Edit(
                "store/connection.py",
                "            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
                "            pass\n",
            ),
        ),
    ),
    Fault(
        "a transaction that fails is left open",
        "store/test_connection.py::test_a_commit_that_fails_leaves_nothing_open",
        (Edit("store/connection.py", "        if conn.in_transaction:\n", "        if False:\n"),),
    ),
    Fault(
        "a full disk or a held database ends the service",
        "end_to_end/test_weather.py::test_row_16_a_full_disk_is_told_of_and_loses_nothing[limit-disk I/O error-a limit "
        "on file sizes]",
        (
            Edit(
                "daemon.py",
                "            self._stall(error, now)\n        self._report.",
                "            raise\n        self._report.",
            ),
        ),
    ),
    Fault(
        "a transcript that vanished takes its rows along",
        "test_ingest.py::test_what_is_deleted_stays_remembered",
        (
            Edit(
                "store/checkpoints.py",
                """    conn.executemany("UPDATE ingest_files SET status = 'gone' WHERE id = ?", gone)\n""",
                """    of_file = "SELECT uuid FROM session_records WHERE file_id = ?"
    conn.executemany(f"DELETE FROM user_prompts WHERE native_prompt_id IN ({of_file})", gone)
""",
            ),
        ),
    ),
    Fault(
        "the archive's file has its name before it is synced",
        "archive/test_chunks.py::test_a_file_is_synced_before_it_has_its_name",
        (
            Edit(
                "archive/chunks.py",
                "            _write(fd, data)\n            if not",
                "            _write(fd, data)\n            scratch.rename(path)\n            if not",
            ),
            Edit("archive/chunks.py", "        scratch.rename(path)\n        if self", "        if self"),
        ),
    ),
)

COUNTS = (
    Fault(
        "a prompt that is known already is counted again",
        "test_ingest.py::test_rewritten_with_a_record_put_before_is_read_again_and_nothing_doubles",
        (
            Edit(
                "store/prompts.py",
                "        if context.in_order:\n",
                "        if context.in_order or context.mode is not NEW:\n",
            ),
            Edit("store/numbering.py", "        if session.renumber:\n", "        if False:\n"),
        ),
    ),
    Fault(
        "records that arrive late are numbered last",
        "store/test_numbering.py::test_older_records_that_arrive_late_come_first",
        (Edit("store/numbering.py", "        if session.renumber:\n", "        if False:\n"),),
    ),
    Fault(
        "who was read first owns a shared record",
        "store/test_placing.py::test_the_older_session_owns_a_shared_record",
        (
            Edit(
                "store/placing.py",
                "        if best.session != session.id:\n            return FILL\n",
                "        if owner is not None:\n            return FILL\n",
            ),
        ),
    ),
    Fault(
        "a call is known by an id that is not unique",
        "sources/test_claude_code.py::test_an_assistant_record",
        (
            Edit(
                "sources/replies.py",
                "    identity = tool_use_id if is_strong_tool_id(tool_use_id) else _scoped(tool_use_id, uuid, weak)\n",
                "    identity = tool_use_id\n",
            ),
        ),
    ),
    Fault(
        "observations of two projects with one title are one",
        "test_dedup.py::test_project_platform_and_kind_of_agent_tell_apart",
        (
            Edit(
                "store/memories.py",
                """    parts = "\\0".join((project_key, platform, normal, "agent" if agent else "main"))\n""",
                """    parts = "\\0".join((platform, normal, "agent" if agent else "main"))\n""",
            ),
        ),
    ),
    Fault(
        "of equal observations the one that was read first stands",
        "store/test_duplicates.py::test_the_order_of_reading_does_not_matter",
        (
            Edit(
                "store/duplicates.py",
                "key=lambda row: (row[1] or 0, row[2], row[3]))",
                "key=lambda row: row[0])",
            ),
        ),
    ),
)

WATCHING = (
    Fault(
        "a sweep trusts the hints",
        "files/test_sweep.py::test_any_change_is_found",
        (
            Edit(
                "files/sweep.py",
                "            if self._differs(path, stat):\n",
                "            if path not in self._settled:\n",
            ),
        ),
    ),
    Fault(
        "an emitter that died is not missed",
        "files/test_observer.py::test_a_dead_observer_or_emitter_is_seen",
        (
            Edit(
                "files/observer.py",
                "        return all(part.is_alive() for part in parts)\n",
                "        return self._observer.is_alive() and len(parts) > 0\n",
            ),
        ),
    ),
    Fault(
        "a kernel that has no watches left is not noticed",
        "files/test_supervisor.py::test_row_22_a_silent_limit_is_found_by_counting",
        (Edit("files/supervisor.py", "        if self.watches >= len(listed) or ", "        if self.watches or "),),
    ),
    Fault(
        "changes that no hint announced are not counted",
        "files/test_supervisor.py::test_three_sweeps_with_unannounced_changes_end_the_trust_in_hints",
        (Edit("files/supervisor.py", "            self._missing += 1\n", "            self._missing += 0\n"),),
    ),
    Fault(
        "a service that stands still says that it gets on",
        "test_report.py::test_a_service_that_stands_still_says_since_when",
        (Edit("report.py", "        if lag == 0 or not self._course or ", "        if lag >= 0 or "),),
    ),
    Fault(
        "the status says that all is read while files wait",
        "test_report.py::test_the_status_says_how_much_is_unread",
        (Edit("report.py", '"pending_files": self._waiting(),', '"pending_files": 0,'),),
    ),
)

SECRETS = (
    Fault(
        "text is redacted after it was cut",
        "end_to_end/test_redaction.py::test_a_secret_that_straddles_the_cut_is_gone_whole",
        (
            Edit("ingest.py", "            cleaned = redact(line.data)\n", "            cleaned = line.data\n"),
            Edit(
                "store/bodies.py",
                "    return text if len(data) <= STORED else cut(text, STORED)\n",
                "    from indexer.redact import Redactor\n\n"
                "    return Redactor().text(text if len(data) <= STORED else cut(text, STORED))\n",
            ),
        ),
    ),
    Fault(
        "the tombstone is written after the rows are gone",
        "crash/test_forget_crash.py::test_death_before_any_statement_of_a_forgetting_converges",
        (
            Edit(
                "store/erasing.py",
                """stones.bury("record", [uuid for (uuid,) in conn.execute("SELECT uuid FROM temp.dying")])""",
                "pass",
            ),
            Edit(
                "store/erasing.py",
                "    with transaction(conn):\n        _unanswer(conn)\n",
                """    late = [uuid for (uuid,) in conn.execute("SELECT uuid FROM temp.dying")]
    with transaction(conn):
        _unanswer(conn)
""",
            ),
            Edit(
                "store/erasing.py",
                """    passing("forget.done")\n""",
                """    with transaction(conn):
        Tombstones(conn).bury("record", late)
    passing("forget.done")
""",
            ),
        ),
    ),
    Fault(
        "the log is not cut after forgetting",
        "store/test_erasing.py::test_the_log_is_cut_though_the_database_stays_open",
        (
            Edit(
                "store/erasing.py",
                """    busy, _, _ = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()\n""",
                "    busy = conn is None\n",
            ),
        ),
    ),
    Fault(
        "free pages keep what was deleted",
        "store/test_connection.py::test_the_writers_pragmas",
        (
            Edit("store/connection.py", """    conn.execute("PRAGMA main.secure_delete = ON")\n""", ""),
            Edit(
                "store/connection.py",
                """    conn.execute("PRAGMA secure_delete = ON")\n""",
                """    conn.execute("PRAGMA secure_delete = OFF")\n""",
            ),
        ),
    ),
    Fault(
        "a link in the place of a transcript is followed",
        "files/test_tail.py::test_open_does_not_follow_a_link",
        (Edit("files/tail.py", "os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK", "os.O_CLOEXEC | os.O_NONBLOCK"),),
    ),
    Fault(
        "a folder or a pipe is taken for a transcript",
        "files/test_tail.py::test_open_never_waits_for_a_fifo",
        (
            Edit(
                "files/tail.py",
                "        if not stat.S_ISREG(os.fstat(fd).st_mode):\n",
                "        if stat.S_ISBLK(os.fstat(fd).st_mode):\n",
            ),
        ),
    ),
    Fault(
        "the memory's files are made as the umask has it",
        "store/test_connection.py::test_home_and_database_are_their_owners_alone",
        (
            Edit(
                "store/connection.py",
                """    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
""",
                "    path.touch()\n",
            ),
        ),
    ),
    Fault(
        "what a web page wrote is told to the next session",
        "test_context.py::test_what_the_web_alone_said_is_not_in_it",
        (Edit("context.py", "        if one.outside or (one", "        if (one"),),
    ),
    Fault(
        "escape sequences reach the terminal",
        "test_text.py::test_sanitize",
        (Edit("text.py", '    text = _ESCAPE.sub("", text)\n', ""),),
    ),
    Fault(
        "any token is let in",
        "test_mcp_server.py::test_who_does_not_is_refused",
        (Edit("mcp_server.py", "and not hmac.compare_digest(given, wanted)", "and not given"),),
        needs="mcp",
    ),
    Fault(
        "a foreign page may ask the server",
        "test_mcp_server.py::test_a_foreign_host_or_origin_is_refused",
        (
            Edit(
                "mcp_server.py",
                "server.streamable_http_app(host=LOOPBACK, ",
                'server.streamable_http_app(host="0.0.0.0", ',
            ),
        ),
        needs="mcp",
    ),
)

SEARCHING = (
    Fault(
        "filters are applied to the best rows only",
        "store/test_filters.py::test_a_filter_is_applied_before_the_limit",
        (
            Edit(
                "store/lexical.py",
                "    if rows is None:\n        rows = conn.execute(statement, values).fetchall()\n",
                "    if rows is None:\n"
                "        passing = {row[0] for row in conn.execute(statement, values | {'limit': 1 << 30})}\n"
                "        best = _unfiltered(conn, expression, limit) or []\n"
                "        rows = [row for row in best if row[0] in passing]\n",
            ),
        ),
    ),
    Fault(
        "words are not quoted",
        "test_query.py::test_every_word_is_quoted",
        (Edit("query.py", """    return f'"{words}"'\n""", "    return words\n"),),
    ),
    Fault(
        "a broken index ends the search",
        "store/test_lexical.py::test_without_the_index_the_newest_texts_are_searched",
        (
            Edit(
                "store/lexical.py",
                "    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT)\n",
                "    return error is None\n",
            ),
        ),
    ),
    Fault(
        "the index keeps what an updated row no longer says",
        "store/test_tools.py::test_a_result_that_is_replaced_is_not_found_any_more",
        (
            Edit(
                "store/fts.sql",
                "  INSERT INTO search_fts(search_fts, rowid, title, body) VALUES ('delete', old.id, old.title, "
                "old.body);\n  INSERT",
                "  INSERT",
            ),
        ),
    ),
    Fault(
        "a search may write",
        "store/test_connection.py::test_a_reader_cannot_write",
        (
            Edit("store/connection.py", "?mode=ro", "?mode=rw"),
            Edit("store/connection.py", """        conn.execute("PRAGMA query_only = ON")\n""", ""),
        ),
    ),
)

MODELS = (
    Fault(
        "the budget counts a call when its answer has come",
        "test_refine.py::test_a_call_that_was_cut_off_was_spent_and_is_made_again_later",
        (
            Edit("refine.py", "            refined.spend(self._conn, day, 1, ask.most)\n", ""),
            Edit(
                "refine.py", "spend(self._conn, job.day, 0, cost - job.ask.most)", "spend(self._conn, job.day, 1, cost)"
            ),
        ),
    ),
    Fault(
        "what is sent to a model is sent as it is stored",
        "test_refine.py::test_what_is_sent_is_redacted_whatever_is_stored",
        (Edit("refine.py", "        text = self._redactor.text(ask.text)\n", "        text = ask.text\n"),),
    ),
    Fault(
        "an answer about a forgotten turn is kept",
        "test_refine.py::test_an_answer_about_what_was_forgotten_meanwhile_is_not_kept",
        (
            Edit(
                "refine.py",
                "            if row is None or row.hash != job.hash:\n",
                "            if row and row.hash != job.hash:\n",
            ),
        ),
    ),
)

FAULTS: tuple[Fault, ...] = (*LOSS, *COUNTS, *WATCHING, *SECRETS, *SEARCHING, *MODELS)
