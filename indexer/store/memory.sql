-- What memory is made of, and what is still to be made: read with schema.sql, of which this is a part that
-- came with schema 6. Beside observations and summaries rather than in them: what was imported from
-- elsewhere has no origin here, and so is never replaced by what we make ourselves.

-- How far a session's turns are compressed. Pending: revision <> done.
CREATE TABLE IF NOT EXISTS compress_marks (
  session_db_id INTEGER PRIMARY KEY REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  revision INTEGER NOT NULL DEFAULT 1, -- +1 with every transaction that touched the session
  done INTEGER NOT NULL DEFAULT 0,     -- the revision that the memory was made of
  seen TEXT,                           -- hash of what it was made of: most new rows belong to a turn still going on
  compressor TEXT,                     -- that made it, as rules/1
  last_turn TEXT,                      -- id of the last finished turn: while it grows on, its rows stay
  error TEXT                           -- why it could not be made; NULL: it could
);
CREATE INDEX IF NOT EXISTS idx_compress_marks_pending ON compress_marks(session_db_id) WHERE revision <> done;

-- Which turn an observation came from. turn_id and slot are its identity: compressing again keeps its row.
CREATE TABLE IF NOT EXISTS observation_origins (
  observation_id INTEGER PRIMARY KEY REFERENCES observations(id) ON DELETE CASCADE,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  turn_id TEXT NOT NULL,          -- uuid of the prompt, or session:<id> and what tells its turns apart
  slot TEXT NOT NULL,             -- commit:0 | edits | repair:0 | discovery | decision:0 | choice
  days TEXT,                      -- JSON: the UTC days on which its own session said it
  canonical_id INTEGER,           -- the earliest observation of the same key, when dedup is on; NULL: itself
  UNIQUE (turn_id, slot)
);
CREATE INDEX IF NOT EXISTS idx_observation_origins_session ON observation_origins(session_db_id);
CREATE INDEX IF NOT EXISTS idx_observation_origins_canonical ON observation_origins(canonical_id) WHERE canonical_id IS NOT NULL;

-- The calls an observation came from. tool_uses.observation_id is the first of them.
CREATE TABLE IF NOT EXISTS observation_tool_uses (
  observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
  tool_use_row INTEGER NOT NULL REFERENCES tool_uses(id) ON DELETE CASCADE,
  PRIMARY KEY (observation_id, tool_use_row)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_observation_tool_uses_row ON observation_tool_uses(tool_use_row);

-- Which part of a session, from one compaction to the next, a summary tells of.
CREATE TABLE IF NOT EXISTS summary_origins (
  summary_id INTEGER PRIMARY KEY REFERENCES session_summaries(id) ON DELETE CASCADE,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  part INTEGER NOT NULL,
  UNIQUE (session_db_id, part)
);

-- Which record changed an item of a to-do list.
CREATE TABLE IF NOT EXISTS work_state_origins (
  entry_id INTEGER PRIMARY KEY REFERENCES work_state_entries(id) ON DELETE CASCADE,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  identity TEXT NOT NULL UNIQUE
);
CREATE INDEX IF NOT EXISTS idx_work_state_origins_session ON work_state_origins(session_db_id);
CREATE TRIGGER IF NOT EXISTS work_state_origins_ad AFTER DELETE ON work_state_origins BEGIN
  DELETE FROM work_state_entries WHERE id = old.entry_id;
END;

-- The observations that dedup merged into an earlier one and that say something else under the same title.
CREATE VIEW IF NOT EXISTS observation_variants AS
  SELECT g.canonical_id AS observation_id, o.id AS variant_id, o.narrative, o.facts, o.created_at_epoch
  FROM observation_origins g JOIN observations o ON o.id = g.observation_id
  JOIN observations c ON c.id = g.canonical_id
  WHERE g.canonical_id <> o.id AND coalesce(o.narrative, '') <> coalesce(c.narrative, '');

-- Pairs of titles so alike that a person may want to merge them; never merged by themselves. The pair is
-- ordered by native identity, so that it is the same in any order of reading.
CREATE TABLE IF NOT EXISTS observation_dedup_candidates (
  first_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
  second_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
  score REAL NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'merged', 'dismissed')),
  PRIMARY KEY (first_id, second_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_dedup_candidates_second ON observation_dedup_candidates(second_id);
