-- The schema of HOME/index.db, and its documentation: read this file to know what the memory holds.
--
-- Names are claude-mem v13's where it has the thing; tests/fixtures/columns.tsv lists what was kept,
-- dropped (with the reason) and added. Conventions:
--   * `*_epoch` columns are integers, milliseconds since 1970 UTC, always the record's own time;
--     NULL when no record of the file is dated. The text twin (`created_at`) is ISO 8601 in UTC,
--     computed when read: it takes no room and cannot disagree.
--   * `project` is the name a person knows, `project_key` the folded key all filters use.
--   * `session_db_id` is the owner of a row. Which records a session shows is `session_records`:
--     a fork shows rows that its origin owns.
-- Every statement may run twice. Indexes that only readers need are in indexes.sql.

-- One row a schema step that has been carried out; written last, in the step's own transaction.
CREATE TABLE IF NOT EXISTS schema_versions (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at TEXT NOT NULL
);

-- A project as it is keyed: repository (host/owner/repo), path, or configured environment.
CREATE TABLE IF NOT EXISTS projects (
  id INTEGER PRIMARY KEY,
  project_key TEXT NOT NULL UNIQUE,
  display TEXT NOT NULL,          -- spelling of the earliest session
  source TEXT NOT NULL            -- guess | path | git-remote | environment
);

-- Another name for a project: alias_key is read as project_key. Taking a row away undoes the merge.
CREATE TABLE IF NOT EXISTS project_aliases (
  alias_key TEXT PRIMARY KEY,
  project_key TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_project_aliases_key ON project_aliases(project_key);

-- What a working directory was resolved to, once: the directory may be gone tomorrow.
CREATE TABLE IF NOT EXISTS project_resolutions (
  cwd TEXT PRIMARY KEY,
  project_key TEXT NOT NULL,
  display TEXT NOT NULL,
  source TEXT NOT NULL,
  root TEXT,                      -- repository root on disk, if there was one
  resolved_at_epoch INTEGER NOT NULL
) WITHOUT ROWID;

-- A session of the agent. One row an id, whatever number of files hold it.
CREATE TABLE IF NOT EXISTS sdk_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  content_session_id TEXT NOT NULL,
  memory_session_id TEXT UNIQUE,  -- parent of observations and summaries; derived, registered once
  project TEXT NOT NULL DEFAULT '',
  project_key TEXT NOT NULL DEFAULT '',
  platform_source TEXT NOT NULL DEFAULT 'claude',
  user_prompt TEXT,               -- start of the first prompt, for titles
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed', 'failed')),
  prompt_counter INTEGER NOT NULL DEFAULT 0, -- human prompts the session shows
  custom_title TEXT,
  ai_title TEXT,
  summary_title TEXT,             -- from an older client's summary line; stands in for a missing ai_title
  observed_model TEXT,            -- of its latest message on the main thread
  observed_model_epoch INTEGER,
  observed_billing TEXT,
  cwd TEXT,
  project_key_source TEXT,        -- guess | path | git-remote | environment
  project_rank INTEGER NOT NULL DEFAULT -1, -- how good the evidence for `cwd` is; only a better one replaces it
  project_file_id INTEGER,        -- the file that evidence came from: ties go to the smaller path
  git_branch TEXT,
  client_version TEXT,
  forked_from TEXT,               -- content_session_id of the session this one was copied from
  origin_epoch INTEGER,           -- first time in file order of its main file: who is older
  origin_rank INTEGER NOT NULL DEFAULT 1, -- 0: origin_epoch is a main file's, 1: a sub-agent file's
  started_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', started_at_epoch / 1000.0, 'unixepoch')) VIRTUAL,
  started_at_epoch INTEGER,       -- smallest time
  last_at_epoch INTEGER,          -- largest time
  completed_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', completed_at_epoch / 1000.0, 'unixepoch')) VIRTUAL,
  completed_at_epoch INTEGER,
  UNIQUE (platform_source, content_session_id)
);
CREATE INDEX IF NOT EXISTS idx_sdk_sessions_content ON sdk_sessions(content_session_id);

-- A transcript file and how far it has been read. Its rows and this row commit together.
CREATE TABLE IF NOT EXISTS ingest_files (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  path TEXT NOT NULL,             -- real path
  folder TEXT NOT NULL DEFAULT '',
  session_id TEXT,                -- session named by the path
  agent_id TEXT,
  dev INTEGER, ino INTEGER, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, -- stat at the last complete read
  offset INTEGER NOT NULL DEFAULT 0,  -- 0, or just after a newline
  line_no INTEGER NOT NULL DEFAULT 0, -- lines before offset
  head_len INTEGER NOT NULL DEFAULT 0, head_hash BLOB, -- of the first bytes, up to 1,024
  tail_len INTEGER NOT NULL DEFAULT 0, tail_hash BLOB, -- of the last bytes before offset, up to 64
  generation INTEGER NOT NULL DEFAULT 0, -- +1 whenever reading starts over
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'gone', 'unreadable', 'replaced')),
  parser_version INTEGER NOT NULL DEFAULT 0,
  first_epoch INTEGER,            -- first dated record in file order
  last_epoch INTEGER,             -- last dated record in file order: dates the undated ones after it
  last_version TEXT,              -- of the last record that names one: that of the unversioned lines after it
  ignored TEXT NOT NULL DEFAULT '{}', -- JSON: records that hold nothing, by kind
  last_error TEXT,
  committed_at TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_ingest_files_path ON ingest_files(path) WHERE status <> 'replaced';
CREATE INDEX IF NOT EXISTS idx_ingest_files_inode ON ingest_files(ino, dev);
CREATE INDEX IF NOT EXISTS idx_ingest_files_status ON ingest_files(status);
CREATE INDEX IF NOT EXISTS idx_ingest_files_lost ON ingest_files(head_len, head_hash) WHERE status IN ('gone', 'replaced');

-- Which files a session stands in; its first time and its last titles in each.
CREATE TABLE IF NOT EXISTS session_files (
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  file_id INTEGER NOT NULL REFERENCES ingest_files(id) ON DELETE CASCADE,
  is_agent INTEGER NOT NULL,
  first_epoch INTEGER,
  custom_title TEXT,
  ai_title TEXT,
  PRIMARY KEY (session_db_id, file_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_session_files_file ON session_files(file_id);

-- Membership: the records a session holds, where they stand, and on what terms.
-- flags: 1 = written by a sub-agent (side chain), 2 = a copy that names its origin (forkedFrom),
-- 4 = the owner: this session's own columns stand in the record's rows. Exactly one member owns.
-- 8 = became the owner when the one before was forgotten, and has not been read again since.
-- 16 = known from an import alone: any other copy is better.
CREATE TABLE IF NOT EXISTS session_records (
  uuid TEXT NOT NULL,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  file_id INTEGER NOT NULL,       -- ingest_files.id; no foreign key: its index would cost as much as the row
  position INTEGER NOT NULL,      -- line number in the file, from 1; less than 0: gone from the file since
  flags INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (uuid, session_db_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_session_records_order ON session_records(session_db_id, file_id, position);

-- What people typed. native_prompt_id is the record's uuid: unique over the store.
CREATE TABLE IF NOT EXISTS user_prompts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  content_session_id TEXT NOT NULL,
  project_key TEXT NOT NULL DEFAULT '',
  prompt_number INTEGER NOT NULL DEFAULT 0, -- 1.. for prompts; commands and shell input: that of the prompt before
  prompt_kind TEXT NOT NULL DEFAULT 'prompt' CHECK (prompt_kind IN ('prompt', 'command', 'shell')),
  prompt_text TEXT NOT NULL,
  native_prompt_id TEXT NOT NULL UNIQUE,
  native_prompt_hash TEXT NOT NULL, -- SHA-256 of the whole cleaned prompt
  is_private INTEGER NOT NULL DEFAULT 0,
  is_queued INTEGER NOT NULL DEFAULT 0, -- typed while a turn was running
  time_source TEXT NOT NULL DEFAULT 'record', -- record | neighbour (undated) | none
  cwd TEXT,
  created_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_at_epoch / 1000.0, 'unixepoch')) VIRTUAL,
  created_at_epoch INTEGER
);
CREATE INDEX IF NOT EXISTS idx_user_prompts_session ON user_prompts(session_db_id, prompt_number);

CREATE INDEX IF NOT EXISTS idx_user_prompts_private ON user_prompts(native_prompt_id) WHERE is_private;

-- One API message: model and usage counted once. Its visible text is in assistant_texts.
CREATE TABLE IF NOT EXISTS assistant_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id TEXT NOT NULL UNIQUE,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  content_session_id TEXT NOT NULL,
  project_key TEXT NOT NULL DEFAULT '',
  record_uuid TEXT NOT NULL,      -- its first record: decides owner and order
  prompt_number INTEGER NOT NULL DEFAULT 0,
  agent_id TEXT,
  model TEXT,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_creation_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  created_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_at_epoch / 1000.0, 'unixepoch')) VIRTUAL,
  created_at_epoch INTEGER
);
CREATE INDEX IF NOT EXISTS idx_assistant_messages_session ON assistant_messages(session_db_id, created_at_epoch);

-- The text blocks of assistant messages, keyed by the record that wrote them: a replay never appends.
CREATE TABLE IF NOT EXISTS assistant_texts (
  uuid TEXT PRIMARY KEY,
  message_row_id INTEGER NOT NULL REFERENCES assistant_messages(id) ON DELETE CASCADE,
  created_at_epoch INTEGER,
  position INTEGER NOT NULL,      -- line number in the owner's file: the order within the message
  text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_assistant_texts_message ON assistant_texts(message_row_id, position);

-- Raw tool calls. `identity` is tool_use_id when that is strong, else `<record uuid>:<id>`.
CREATE TABLE IF NOT EXISTS tool_uses (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  identity TEXT NOT NULL UNIQUE,
  tool_use_id TEXT NOT NULL,
  content_session_id TEXT NOT NULL,
  memory_session_id TEXT,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  project TEXT NOT NULL DEFAULT '',
  project_key TEXT NOT NULL DEFAULT '',
  platform_source TEXT NOT NULL DEFAULT 'claude',
  record_uuid TEXT NOT NULL,      -- the assistant record that carries the call
  result_uuid TEXT,               -- the record that answered it; NULL: unanswered
  tool_name TEXT NOT NULL,
  file_path TEXT,                 -- the file it is about, if it names one
  is_error INTEGER,
  prompt_number INTEGER NOT NULL DEFAULT 0,
  agent_type TEXT,
  agent_id TEXT,                  -- sub-agent that made the call; NULL: the main thread
  observation_id INTEGER REFERENCES observations(id) ON DELETE SET NULL,
  input_hash TEXT,                -- of the uncut input, so that the merged hash can be had later
  content_hash TEXT,              -- 16 hex of SHA-256 over name, uncut input, uncut response
  cwd TEXT,
  created_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_at_epoch / 1000.0, 'unixepoch')) VIRTUAL,
  created_at_epoch INTEGER,
  result_at_epoch INTEGER,
  side_file TEXT,                 -- where the client put an output too large for the transcript
  tool_input TEXT,                -- JSON, at most 64 KiB of UTF-8, then …[truncated: N bytes]
  tool_response TEXT              -- text, the same cap
);
CREATE INDEX IF NOT EXISTS idx_tool_uses_session ON tool_uses(session_db_id, created_at_epoch);
CREATE INDEX IF NOT EXISTS idx_tool_uses_observation ON tool_uses(observation_id) WHERE observation_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_tool_uses_agent ON tool_uses(session_db_id, agent_id) WHERE agent_id IS NOT NULL;

-- Results whose call has not been seen (yet): merged and taken away when it turns up.
CREATE TABLE IF NOT EXISTS unmatched_results (
  uuid TEXT NOT NULL,
  identity TEXT NOT NULL,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  created_at_epoch INTEGER,
  is_error INTEGER,
  side_file TEXT,
  response_hash TEXT NOT NULL,
  tool_response TEXT NOT NULL,
  PRIMARY KEY (identity, uuid)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_unmatched_results_session ON unmatched_results(session_db_id);

-- What a compressor needs beyond prompts, calls and texts, kept because the transcript will be gone.
CREATE TABLE IF NOT EXISTS turn_events (
  uuid TEXT NOT NULL,
  ordinal INTEGER NOT NULL,       -- several events of one record
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  created_at_epoch INTEGER,
  kind TEXT NOT NULL,
  data TEXT NOT NULL,             -- JSON, at most 8 KiB
  PRIMARY KEY (uuid, ordinal)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_turn_events_session ON turn_events(session_db_id, created_at_epoch);

-- Sub-agents of a session and the call that spawned each.
CREATE TABLE IF NOT EXISTS session_agents (
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  agent_id TEXT NOT NULL,
  tool_use_id TEXT,
  agent_type TEXT,
  description TEXT,
  PRIMARY KEY (session_db_id, agent_id)
) WITHOUT ROWID;

-- Ids of calls that were not stored, because they stand in the turn of a wholly private prompt: what they
-- spawned is known by them (private.py).
CREATE TABLE IF NOT EXISTS private_calls (
  identity TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Titles written by an older client, each for the session that holds its leaf record.
CREATE TABLE IF NOT EXISTS session_titles (
  leaf_uuid TEXT PRIMARY KEY,
  title TEXT NOT NULL
) WITHOUT ROWID;

-- The prompt queue of clients before 2.1.101, where a prompt may exist as an enqueue line only.
CREATE TABLE IF NOT EXISTS queue_operations (
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  file_id INTEGER NOT NULL REFERENCES ingest_files(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  operation TEXT NOT NULL,
  created_at_epoch INTEGER,
  text TEXT,
  version TEXT,                   -- client that wrote it: that of the record before it; NULL: not known yet
  PRIMARY KEY (session_db_id, file_id, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_queue_operations_file ON queue_operations(file_id);

-- The redaction rule set that stands behind every text here. Another one is given the next number; then all
-- texts go through it (pending says how far that is), and files are read again, which refreshes their rows.
CREATE TABLE IF NOT EXISTS redaction (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  rules TEXT NOT NULL,            -- names the rule set by its content
  pending TEXT                    -- JSON: where to go on; NULL: all is done
);

-- Files that were last read under another rule set: reading them again refreshes the rows they own.
CREATE TABLE IF NOT EXISTS stale_files (
  file_id INTEGER PRIMARY KEY REFERENCES ingest_files(id) ON DELETE CASCADE
) WITHOUT ROWID;

-- Bytes that could not be read as records: where they stand and why, never what they say.
CREATE TABLE IF NOT EXISTS dead_letters (
  file_id INTEGER NOT NULL REFERENCES ingest_files(id) ON DELETE CASCADE,
  offset INTEGER NOT NULL,        -- of the bytes in the file
  length INTEGER NOT NULL,
  line INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (file_id, offset)
) WITHOUT ROWID;

-- Observations: turns compressed into memory.
CREATE TABLE IF NOT EXISTS observations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  memory_session_id TEXT NOT NULL REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE,
  project TEXT NOT NULL,
  project_key TEXT NOT NULL DEFAULT '',
  type TEXT NOT NULL,
  title TEXT, subtitle TEXT, narrative TEXT, text TEXT,
  facts TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, -- JSON arrays, unescaped
  prompt_number INTEGER,
  discovery_tokens INTEGER NOT NULL DEFAULT 0,
  content_hash TEXT NOT NULL,
  generated_by_model TEXT,
  agent_type TEXT, agent_id TEXT,
  merged_into_project TEXT,
  metadata TEXT,
  occurrence_count INTEGER NOT NULL DEFAULT 1,
  title_norm_key TEXT,
  reinforcement_dates TEXT, last_reinforced TEXT,
  created_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_at_epoch / 1000.0, 'unixepoch')) VIRTUAL,
  created_at_epoch INTEGER,
  UNIQUE (memory_session_id, content_hash)
);
CREATE INDEX IF NOT EXISTS idx_observations_project_recent ON observations(project_key, created_at_epoch DESC, id);
CREATE INDEX IF NOT EXISTS idx_observations_merged_recent ON observations(merged_into_project, created_at_epoch DESC, id) WHERE merged_into_project IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_observations_title_key ON observations(title_norm_key) WHERE title_norm_key IS NOT NULL;

CREATE TABLE IF NOT EXISTS session_summaries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  memory_session_id TEXT NOT NULL REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE,
  project TEXT NOT NULL,
  project_key TEXT NOT NULL DEFAULT '',
  request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT,
  files_read TEXT, files_edited TEXT,
  prompt_number INTEGER,
  discovery_tokens INTEGER NOT NULL DEFAULT 0,
  merged_into_project TEXT,
  created_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_at_epoch / 1000.0, 'unixepoch')) VIRTUAL,
  created_at_epoch INTEGER
);
CREATE INDEX IF NOT EXISTS idx_session_summaries_session ON session_summaries(memory_session_id);
CREATE INDEX IF NOT EXISTS idx_session_summaries_project_recent ON session_summaries(project_key, created_at_epoch DESC, id);
CREATE INDEX IF NOT EXISTS idx_session_summaries_merged_recent ON session_summaries(merged_into_project, created_at_epoch DESC, id) WHERE merged_into_project IS NOT NULL;

-- The agent's to-dos: append-only, the last value of a key wins.
CREATE TABLE IF NOT EXISTS work_state_entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project TEXT NOT NULL,
  project_key TEXT NOT NULL DEFAULT '',
  list_name TEXT NOT NULL,
  fields TEXT NOT NULL,           -- JSON
  created_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_at_epoch / 1000.0, 'unixepoch')) VIRTUAL,
  created_at_epoch INTEGER
);
CREATE INDEX IF NOT EXISTS idx_work_state_entries_project ON work_state_entries(project_key, list_name, created_at_epoch);

-- The archive: redacted lines of every transcript, in files under HOME/archive named by their content
-- (indexer/archive/chunks.py). A chunk lives as long as an extent names it: counted, never noted.
CREATE TABLE IF NOT EXISTS archive_chunks (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,      -- 40 hex of SHA-256 over the redacted lines and their places: the file's name
  raw INTEGER NOT NULL,           -- bytes of transcript it stands for
  size INTEGER NOT NULL           -- bytes on disk
);

-- Which stretch of which transcript a chunk holds, as it was when read for the generation-th time.
CREATE TABLE IF NOT EXISTS archive_extents (
  file_id INTEGER NOT NULL REFERENCES ingest_files(id) ON DELETE CASCADE,
  generation INTEGER NOT NULL,    -- of ingest_files: +1 whenever the file was read from its start again
  start INTEGER NOT NULL,         -- bytes of the transcript before it
  stop INTEGER NOT NULL,          -- offset just after its last newline
  line_no INTEGER NOT NULL,       -- lines before it
  lines INTEGER NOT NULL,
  chunk_id INTEGER REFERENCES archive_chunks(id), -- NULL: pruned
  PRIMARY KEY (file_id, generation, start)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_archive_extents_chunk ON archive_extents(chunk_id) WHERE chunk_id IS NOT NULL;

-- The ends of transcripts that are still being written: small pieces, until they are worth a chunk.
CREATE TABLE IF NOT EXISTS archive_tails (
  file_id INTEGER NOT NULL REFERENCES ingest_files(id) ON DELETE CASCADE,
  generation INTEGER NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  is_open INTEGER NOT NULL DEFAULT 0, -- a last line without newline: the next reading writes it again
  data BLOB NOT NULL,             -- as in a chunk
  PRIMARY KEY (file_id, generation, start)
);

-- What the full-text index sees of every kind of row, made by text.search_tokens. One index over all
-- kinds, so that their scores can be compared. id = row_id * 8 + code of the table
-- (0 prompt, 1 assistant, 2 tool_use, 3 observation, 4 summary), so that no second index is needed.
-- The columns that filters use stand before the texts: they are read without the overflow pages.
CREATE TABLE IF NOT EXISTS search_texts (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,             -- prompt | command | shell | assistant | tool_use | observation | summary
  uuid TEXT,                      -- the record it comes from (for membership and the source line)
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  project_key TEXT NOT NULL DEFAULT '',
  created_at_epoch INTEGER,
  detail TEXT,                    -- tool name of a tool use, type of an observation
  title TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT ''
);

-- What has been forgotten, so that it does not come back (tombstones.py): keyed hashes of session ids and
-- record uuids, never the ids themselves.
CREATE TABLE IF NOT EXISTS tombstones (
  hash BLOB PRIMARY KEY
) WITHOUT ROWID;

-- What is still to be done of a forgetting (erasing.py); written with its tombstones, taken away piece by
-- piece. kind: session (row id of one whose rows go), record (uuid of one that goes alone), and the last
-- works: names, index, pages, log.
CREATE TABLE IF NOT EXISTS erasures (
  kind TEXT NOT NULL,
  value NOT NULL,
  PRIMARY KEY (kind, value)
) WITHOUT ROWID;

-- Sessions that are not stored because the settings exclude their project, by keyed hash, and the files
-- they stand in: these are read again when the settings change. file_id 0: which settings these were.
CREATE TABLE IF NOT EXISTS excluded_sessions (
  hash BLOB NOT NULL,
  file_id INTEGER NOT NULL,
  PRIMARY KEY (hash, file_id)
) WITHOUT ROWID;
