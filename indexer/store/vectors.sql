-- The schema of HOME/vectors/vectors.db: every vector, and what of the memory has been taken in.
--
-- A file of its own, beside index.db: one process writes each, so neither waits for the other; a damaged
-- one is set aside and made anew without a look at the memory; and a memory that is rebuilt keeps the
-- vectors of its texts, which are known by their hash. Nothing here is text.

-- What of each row has been taken in. There is no watermark: a row is in step when its stamp is that of
-- its content, whatever became of the rows before it.
CREATE TABLE IF NOT EXISTS vector_sync (
  id INTEGER PRIMARY KEY,         -- search_texts.id
  kind TEXT NOT NULL,
  project_key TEXT NOT NULL,
  merged TEXT,                    -- key of the project that its own was merged into
  type TEXT,                      -- of an observation
  time INTEGER,                   -- epoch milliseconds
  session INTEGER NOT NULL,       -- sdk_sessions.id of its owner
  stamp BLOB NOT NULL             -- of its documents and of the columns above
);

-- The documents of each row, by their stable names. Chroma knows them by these.
CREATE TABLE IF NOT EXISTS documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  row INTEGER NOT NULL REFERENCES vector_sync(id),
  name TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,             -- of the text
  latin INTEGER NOT NULL,         -- 1: also for models that know Latin letters alone
  mark BLOB NOT NULL              -- of the hash and the row's columns: what Chroma should hold
);
CREATE INDEX IF NOT EXISTS idx_documents_row ON documents(row);
CREATE INDEX IF NOT EXISTS idx_documents_hash ON documents(hash);

-- The vectors: a text has one a model, however many rows say it.
CREATE TABLE IF NOT EXISTS vectors (
  model TEXT NOT NULL,
  hash BLOB NOT NULL,
  vector BLOB NOT NULL,           -- little-endian float16, normalised
  PRIMARY KEY (model, hash)
);                                -- with row ids: by hash alone a third of every page would stay empty

-- Models that have vectors here. whole: once it had all of them, so that it can answer for its arm.
CREATE TABLE IF NOT EXISTS models (
  model TEXT PRIMARY KEY,
  arm TEXT NOT NULL,
  whole INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Rows whose documents may lack a vector of the model.
CREATE TABLE IF NOT EXISTS waiting (
  model TEXT NOT NULL,
  row INTEGER NOT NULL,
  PRIMARY KEY (model, row)
) WITHOUT ROWID;

-- What Chroma has been given, and the names it is to be told about: added, changed or taken away.
CREATE TABLE IF NOT EXISTS indexed (
  model TEXT NOT NULL,
  name TEXT NOT NULL,
  mark BLOB NOT NULL,
  PRIMARY KEY (model, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unindexed (
  model TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (model, name)
) WITHOUT ROWID;

-- Single values: which generation of Chroma's folder counts, what was said once.
CREATE TABLE IF NOT EXISTS settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
