-- The full-text index over search_texts, and the triggers that keep it. Apart from schema.sql because
-- an SQLite without FTS5 skips it (capture goes on), and a bulk load runs it last.
-- Words fold by porter and unicode61; marks (Mn, Mc) are kept, or Thai and Indic words would break
-- at every vowel (retrieval.md section 3).
CREATE VIRTUAL TABLE IF NOT EXISTS search_fts USING fts5(
  title, body,
  content = 'search_texts', content_rowid = 'id',
  tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);
CREATE TRIGGER IF NOT EXISTS search_texts_ai AFTER INSERT ON search_texts BEGIN
  INSERT INTO search_fts(rowid, title, body) VALUES (new.id, new.title, new.body);
END;
CREATE TRIGGER IF NOT EXISTS search_texts_ad AFTER DELETE ON search_texts BEGIN
  INSERT INTO search_fts(search_fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
END;
CREATE TRIGGER IF NOT EXISTS search_texts_au AFTER UPDATE OF title, body ON search_texts BEGIN
  INSERT INTO search_fts(search_fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
  INSERT INTO search_fts(rowid, title, body) VALUES (new.id, new.title, new.body);
END;
