-- Indexes that only readers need, and triggers: apart from schema.sql because a bulk load makes them
-- last, when an index is built from sorted rows. Every statement may run twice.

-- "The newest N" of everything, and of a project: read in order, never sorted.
CREATE INDEX IF NOT EXISTS idx_sdk_sessions_project_recent ON sdk_sessions(project_key, started_at_epoch DESC);
CREATE INDEX IF NOT EXISTS idx_sdk_sessions_recent ON sdk_sessions(started_at_epoch DESC);
CREATE INDEX IF NOT EXISTS idx_user_prompts_project_recent ON user_prompts(project_key, created_at_epoch DESC, id, prompt_kind);
CREATE INDEX IF NOT EXISTS idx_user_prompts_recent ON user_prompts(created_at_epoch DESC);
CREATE INDEX IF NOT EXISTS idx_assistant_messages_project_recent ON assistant_messages(project_key, created_at_epoch DESC);
CREATE INDEX IF NOT EXISTS idx_tool_uses_project_recent ON tool_uses(project_key, created_at_epoch DESC);
CREATE INDEX IF NOT EXISTS idx_tool_uses_file ON tool_uses(file_path) WHERE file_path IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_search_texts_session ON search_texts(session_db_id);

-- Rows follow their base rows out, whatever takes those away.
CREATE TRIGGER IF NOT EXISTS user_prompts_ad AFTER DELETE ON user_prompts BEGIN
  DELETE FROM search_texts WHERE id = old.id * 8;
END;
CREATE TRIGGER IF NOT EXISTS assistant_messages_ad AFTER DELETE ON assistant_messages BEGIN
  DELETE FROM search_texts WHERE id = old.id * 8 + 1;
END;
CREATE TRIGGER IF NOT EXISTS tool_uses_ad AFTER DELETE ON tool_uses BEGIN
  DELETE FROM search_texts WHERE id = old.id * 8 + 2;
END;
CREATE TRIGGER IF NOT EXISTS observations_ad AFTER DELETE ON observations BEGIN
  DELETE FROM search_texts WHERE id = old.id * 8 + 3;
END;
CREATE TRIGGER IF NOT EXISTS session_summaries_ad AFTER DELETE ON session_summaries BEGIN
  DELETE FROM search_texts WHERE id = old.id * 8 + 4;
END;
