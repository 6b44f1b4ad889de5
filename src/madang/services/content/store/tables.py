"""The tables of the content service, in both dialects.

Row numbers are never reused: an index beside the database may still have one of a deleted row. Embedded, the table
`content_change` is the queue of what that index has to add or remove, written in the transaction of the rows; on a
server the tokens of a chunk are a column, and there is no index.
"""

from __future__ import annotations

from madang.storage.database import MigrationSet, private_rows

MIGRATIONS = MigrationSet(
    "content",
    sqlite=(
        """
        CREATE TABLE content_store (
          no INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL UNIQUE,
          user_id TEXT NOT NULL, session_id TEXT NOT NULL,
          name TEXT NOT NULL, description TEXT NOT NULL, is_own INTEGER NOT NULL,
          created_at TEXT NOT NULL
        );
        CREATE INDEX content_store_by_session ON content_store (user_id, session_id, no);
        CREATE UNIQUE INDEX content_store_own ON content_store (user_id, session_id) WHERE is_own = 1;

        CREATE TABLE content (
          no INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL UNIQUE,
          store_no INTEGER NOT NULL REFERENCES content_store (no) ON DELETE CASCADE,
          sha256 TEXT NOT NULL,
          filename TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL,
          line_count INTEGER NOT NULL, chunk_count INTEGER NOT NULL, preview TEXT NOT NULL,
          page_lines TEXT NOT NULL, uploaded_at TEXT NOT NULL,
          UNIQUE (store_no, sha256)
        );
        CREATE INDEX content_by_store ON content (store_no, no);

        CREATE TABLE content_chunk (
          no INTEGER PRIMARY KEY AUTOINCREMENT,
          content_no INTEGER NOT NULL REFERENCES content (no) ON DELETE CASCADE,
          number INTEGER NOT NULL, from_line INTEGER NOT NULL, to_line INTEGER NOT NULL,
          text TEXT NOT NULL
        );
        CREATE UNIQUE INDEX content_chunk_by_number ON content_chunk (content_no, number);
        CREATE INDEX content_chunk_by_line ON content_chunk (content_no, to_line, number);

        CREATE TABLE content_change (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          store_no INTEGER NOT NULL REFERENCES content_store (no) ON DELETE CASCADE,
          content_no INTEGER NOT NULL
        );
        CREATE INDEX content_change_by_store ON content_change (store_no, seq, content_no);
        """,
    ),
    postgresql=(
        f"""
        CREATE TABLE content_store (
          no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          id TEXT NOT NULL UNIQUE,
          user_id TEXT NOT NULL, session_id TEXT NOT NULL,
          name TEXT NOT NULL, description TEXT NOT NULL, is_own INTEGER NOT NULL,
          created_at TEXT NOT NULL
        );
        CREATE INDEX content_store_by_session ON content_store (user_id, session_id, no);
        CREATE UNIQUE INDEX content_store_own ON content_store (user_id, session_id) WHERE is_own = 1;

        CREATE TABLE content (
          no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          id TEXT NOT NULL UNIQUE,
          user_id TEXT NOT NULL,
          store_no BIGINT NOT NULL REFERENCES content_store (no) ON DELETE CASCADE,
          sha256 TEXT NOT NULL,
          filename TEXT NOT NULL, mime_type TEXT NOT NULL, size BIGINT NOT NULL,
          line_count BIGINT NOT NULL, chunk_count BIGINT NOT NULL, preview TEXT NOT NULL,
          page_lines TEXT NOT NULL, uploaded_at TEXT NOT NULL,
          UNIQUE (store_no, sha256)
        );
        CREATE INDEX content_by_store ON content (store_no, no);

        -- The store is in each chunk, so that other stores are filtered out before anything is ranked.
        CREATE TABLE content_chunk (
          no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          user_id TEXT NOT NULL,
          store_no BIGINT NOT NULL,
          content_no BIGINT NOT NULL REFERENCES content (no) ON DELETE CASCADE,
          number BIGINT NOT NULL, from_line BIGINT NOT NULL, to_line BIGINT NOT NULL,
          text TEXT NOT NULL, words TSVECTOR NOT NULL
        ) WITH (toast_tuple_target = 8160);
        -- Every search reads the tokens of every chunk of the store: they stay in the row, uncompressed.
        ALTER TABLE content_chunk ALTER words SET STORAGE EXTERNAL;
        CREATE UNIQUE INDEX content_chunk_by_number ON content_chunk (content_no, number);
        CREATE INDEX content_chunk_by_line ON content_chunk (content_no, to_line, number);
        CREATE INDEX content_chunk_by_store ON content_chunk (store_no);
        CREATE INDEX content_chunk_by_words ON content_chunk USING gin (words);
        {private_rows("content_store", "content", "content_chunk")}
        """,
        # Under row-level security the server never uses it, and it took 21 MB for 18,000 chunks.
        "DROP INDEX content_chunk_by_words",
    ),
)
