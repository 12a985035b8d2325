-- What came from elsewhere: read with schema.sql, of which this is a part that came with schema 7.
-- Imported records are rows like any others; the file they stand in is none of this machine
-- (checkpoints.IMPORTED), and their membership says so (session_records.flags & 16). Imported memories have
-- no origin in memory.sql: a compressor of ours never replaces them.

-- The name of this memory in what it exports: random, made once, never derived from the machine.
CREATE TABLE IF NOT EXISTS device (
  id TEXT NOT NULL
);

-- Where imported prompts, answers and calls come from, as long as no transcript of ours holds them.
CREATE TABLE IF NOT EXISTS imported_records (
  uuid TEXT PRIMARY KEY,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  origin_device_id TEXT NOT NULL, -- device.id of that memory, or claude-mem
  origin_local_id TEXT            -- the name of its row there, as prompt:12
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_imported_records_session ON imported_records(session_db_id);

-- Where imported observations, summaries and to-dos come from.
CREATE TABLE IF NOT EXISTS imported_memories (
  identity TEXT PRIMARY KEY,      -- the same for the same memory in whatever export
  kind TEXT NOT NULL CHECK (kind IN ('observation', 'summary', 'work')),
  row_id INTEGER NOT NULL,
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  turn_id TEXT,                   -- the turn, part or record it tells of, which our compressor then leaves alone
  origin_device_id TEXT NOT NULL,
  origin_local_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS idx_imported_memories_row ON imported_memories(kind, row_id);
CREATE INDEX IF NOT EXISTS idx_imported_memories_session ON imported_memories(session_db_id);
