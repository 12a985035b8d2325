-- What models made of turns, and what that cost: read with schema.sql, of which this is a part that came
-- with schema 7. Observations are always made by rules first; what stands here takes their place each time a
-- session's memory is made, so that nothing paid for is lost by that, or by a rebuild.

-- A turn that was put to a model.
CREATE TABLE IF NOT EXISTS model_turns (
  turn_id TEXT PRIMARY KEY,       -- as in observation_origins
  session_db_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  hash TEXT NOT NULL,             -- of all that the turn held: what was made of another one does not count
  state TEXT NOT NULL CHECK (state IN ('asked', 'made', 'nothing', 'failed')),
  model TEXT NOT NULL,            -- as anthropic/claude-haiku-4-5
  attempts INTEGER NOT NULL DEFAULT 0, -- calls that were made for it
  retry_at_epoch INTEGER,         -- not to be asked again before
  amiss TEXT,                     -- what was wrong with the last answer, as it was told to the model
  error TEXT,                     -- why there is no answer
  made TEXT                       -- JSON: the findings, redacted
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_model_turns_session ON model_turns(session_db_id);
CREATE INDEX IF NOT EXISTS idx_model_turns_failed ON model_turns(turn_id) WHERE state = 'failed';

-- Sessions all of whose turns were put to a model, as far as compress_marks.seen says.
CREATE TABLE IF NOT EXISTS model_sessions (
  session_db_id INTEGER PRIMARY KEY REFERENCES sdk_sessions(id) ON DELETE CASCADE,
  seen TEXT NOT NULL,
  model TEXT NOT NULL
);

-- What was spent on a UTC day. A call is counted before it is made, at the most it can cost.
CREATE TABLE IF NOT EXISTS model_days (
  day TEXT PRIMARY KEY,
  calls INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Providers that answered with an error, and until when they are left alone.
CREATE TABLE IF NOT EXISTS model_pauses (
  provider TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  message TEXT NOT NULL,
  failures INTEGER NOT NULL,      -- in a row
  since_epoch INTEGER NOT NULL,
  until_epoch INTEGER NOT NULL
) WITHOUT ROWID;
