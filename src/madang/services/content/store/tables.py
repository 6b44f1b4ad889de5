"""The tables of the content service, in both dialects.

Row numbers are never reused: an index beside the database may still have one of a deleted row. Embedded, the table
`content_change` is the queue of what that index has to add or remove, written in the transaction of the rows. On a
server the tokens of a chunk are a column, and `content_part`, `content_word` and `content_vocabulary` are an inverted
index of the older chunks of a large store (`parts`).
"""

from __future__ import annotations

from madang.database.port import MigrationSet, private_rows, replace_table


def _deleted_stores(time: str) -> str:
    """Stores that can be restored stay where they are with all that is in them: a row says that they are deleted."""
    return f"""
        ALTER TABLE content_store ADD COLUMN deleted_at {time};
        DROP INDEX content_store_own;
        CREATE UNIQUE INDEX content_store_own ON content_store (user_id, session_id)
          WHERE is_own = 1 AND deleted_at IS NULL;
        CREATE INDEX content_store_deleted ON content_store (user_id, deleted_at) WHERE deleted_at IS NOT NULL;
        """


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
        # Every key begins with the user, and a foreign key holds the user too: nothing can be attached to the store of
        # another user. A chunk holds its store, as on a server. Rows are copied in the order of their numbers and
        # indexes are made over the finished tables, because the texts may be many.
        f"""
        CREATE TABLE content_store_new (
          no INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL,
          user_id TEXT NOT NULL, session_id TEXT NOT NULL,
          name TEXT NOT NULL, description TEXT NOT NULL, is_own INTEGER NOT NULL,
          created_at TEXT NOT NULL,
          UNIQUE (user_id, no), UNIQUE (user_id, id)
        );
        CREATE TABLE content_new (
          no INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL,
          user_id TEXT NOT NULL,
          store_no INTEGER NOT NULL,
          sha256 TEXT NOT NULL,
          filename TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL,
          line_count INTEGER NOT NULL, chunk_count INTEGER NOT NULL, preview TEXT NOT NULL,
          page_lines TEXT NOT NULL, uploaded_at TEXT NOT NULL,
          UNIQUE (user_id, id), UNIQUE (user_id, store_no, sha256), UNIQUE (user_id, store_no, no),
          FOREIGN KEY (user_id, store_no) REFERENCES content_store_new (user_id, no) ON DELETE CASCADE
        );
        CREATE TABLE content_chunk_new (
          no INTEGER PRIMARY KEY AUTOINCREMENT,
          user_id TEXT NOT NULL,
          store_no INTEGER NOT NULL,
          content_no INTEGER NOT NULL,
          number INTEGER NOT NULL, from_line INTEGER NOT NULL, to_line INTEGER NOT NULL,
          text TEXT NOT NULL,
          FOREIGN KEY (user_id, store_no, content_no) REFERENCES content_new (user_id, store_no, no) ON DELETE CASCADE
        );
        CREATE TABLE content_change_new (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          user_id TEXT NOT NULL,
          store_no INTEGER NOT NULL,
          content_no INTEGER NOT NULL,
          FOREIGN KEY (user_id, store_no) REFERENCES content_store_new (user_id, no) ON DELETE CASCADE
        );
        INSERT INTO content_store_new
          SELECT no, id, user_id, session_id, name, description, is_own, created_at FROM content_store ORDER BY no;
        INSERT INTO content_new
          SELECT c.no, c.id, s.user_id, c.store_no, c.sha256, c.filename, c.mime_type, c.size, c.line_count,
            c.chunk_count, c.preview, c.page_lines, c.uploaded_at
          FROM content c JOIN content_store s ON s.no = c.store_no ORDER BY c.no;
        INSERT INTO content_chunk_new
          SELECT k.no, c.user_id, c.store_no, k.content_no, k.number, k.from_line, k.to_line, k.text
          FROM content_chunk k CROSS JOIN content_new c ON c.no = k.content_no ORDER BY k.no;
        INSERT INTO content_change_new
          SELECT d.seq, s.user_id, d.store_no, d.content_no
          FROM content_change d JOIN content_store s ON s.no = d.store_no ORDER BY d.seq;
        {"".join(map(replace_table, ("content_chunk", "content_change", "content", "content_store")))}
        CREATE INDEX content_store_by_session ON content_store (user_id, session_id, no);
        CREATE UNIQUE INDEX content_store_own ON content_store (user_id, session_id) WHERE is_own = 1;
        CREATE UNIQUE INDEX content_chunk_by_number ON content_chunk (user_id, content_no, number);
        CREATE INDEX content_chunk_by_line ON content_chunk (user_id, content_no, to_line, number);
        CREATE INDEX content_change_by_store ON content_change (user_id, store_no, seq, content_no);
        """,
        # Deleted contents that can be restored. They are of no interest to an index: it gets them back as new ones.
        """
        CREATE TABLE content_deleted (
          user_id TEXT NOT NULL, id TEXT NOT NULL,
          deleted_at TEXT NOT NULL,
          no INTEGER NOT NULL, store_no INTEGER NOT NULL,
          sha256 TEXT NOT NULL,
          filename TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL,
          line_count INTEGER NOT NULL, chunk_count INTEGER NOT NULL, preview TEXT NOT NULL,
          page_lines TEXT NOT NULL, uploaded_at TEXT NOT NULL,
          PRIMARY KEY (user_id, no), UNIQUE (user_id, id),
          FOREIGN KEY (user_id, store_no) REFERENCES content_store (user_id, no) ON DELETE CASCADE
        );
        CREATE TABLE content_chunk_deleted (
          user_id TEXT NOT NULL,
          content_no INTEGER NOT NULL,
          number INTEGER NOT NULL, from_line INTEGER NOT NULL, to_line INTEGER NOT NULL,
          text TEXT NOT NULL,
          PRIMARY KEY (user_id, content_no, number),
          FOREIGN KEY (user_id, content_no) REFERENCES content_deleted (user_id, no) ON DELETE CASCADE
        );
        CREATE INDEX content_deleted_by_time ON content_deleted (user_id, deleted_at);
        CREATE INDEX content_deleted_by_store ON content_deleted (user_id, store_no);
        """,
        _deleted_stores("TEXT"),
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
        # As in the other dialect. Row-level security does not guard a foreign key, so it has to hold the user itself;
        # rows that a fault attached to the store of another user are seen by neither of the two, and go. With the
        # store in the key of a chunk, the planner cannot choose to walk everybody's newest chunks by number.
        # BY DEFAULT: a user who is moved to another server brings his numbers.
        # FORCE is lifted meanwhile: a migration has no user, so it would see no rows.
        """
        ALTER TABLE content_store NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE content NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE content_chunk NO FORCE ROW LEVEL SECURITY;
        DELETE FROM content c USING content_store s WHERE s.no = c.store_no AND s.user_id <> c.user_id;
        DELETE FROM content_chunk k USING content c
          WHERE c.no = k.content_no AND (c.user_id, c.store_no) <> (k.user_id, k.store_no);

        ALTER TABLE content_chunk DROP CONSTRAINT content_chunk_content_no_fkey, DROP CONSTRAINT content_chunk_pkey;
        ALTER TABLE content
          DROP CONSTRAINT content_store_no_fkey, DROP CONSTRAINT content_pkey, DROP CONSTRAINT content_id_key,
          DROP CONSTRAINT content_store_no_sha256_key;
        DROP INDEX content_by_store, content_chunk_by_number, content_chunk_by_line, content_chunk_by_store;
        ALTER TABLE content_store
          DROP CONSTRAINT content_store_pkey, DROP CONSTRAINT content_store_id_key,
          ADD PRIMARY KEY (user_id, no), ADD UNIQUE (user_id, id), ALTER no SET GENERATED BY DEFAULT;
        ALTER TABLE content
          ADD PRIMARY KEY (user_id, no), ADD UNIQUE (user_id, id), ADD UNIQUE (user_id, store_no, sha256),
          ADD UNIQUE (user_id, store_no, no), ALTER no SET GENERATED BY DEFAULT,
          ADD FOREIGN KEY (user_id, store_no) REFERENCES content_store (user_id, no) ON DELETE CASCADE;
        ALTER TABLE content_chunk
          ADD PRIMARY KEY (user_id, store_no, no), ALTER no SET GENERATED BY DEFAULT,
          ADD FOREIGN KEY (user_id, store_no, content_no) REFERENCES content (user_id, store_no, no) ON DELETE CASCADE;
        CREATE UNIQUE INDEX content_chunk_by_number ON content_chunk (user_id, content_no, number);
        CREATE INDEX content_chunk_by_line ON content_chunk (user_id, content_no, to_line, number);
        ALTER TABLE content_store FORCE ROW LEVEL SECURITY;
        ALTER TABLE content FORCE ROW LEVEL SECURITY;
        ALTER TABLE content_chunk FORCE ROW LEVEL SECURITY;
        """,
        # A part holds the words of the chunks after_no < no <= to_no, one row for each word. Its number is not
        # after_no: a part that is made anew stands beside the old one until that is deleted. The part comes before the
        # word in the key, so that a fold writes one stretch of the index and a deletion reads one.
        # The reference to the store is checked at the commit: a fold takes its time, and must not hold up a deletion.
        # `many` is beside `hits`, so that counting does not read the arrays. The vocabulary has every word of any part
        # once: a word that may be misspelled has too many spellings to look them up in each part.
        # A content whose `analysis` is another name was tokenized by another version, up to chunk `analyzed_to` if
        # that is set; the chunks of before have no word_count.
        f"""
        ALTER TABLE content ADD COLUMN analysis TEXT NOT NULL DEFAULT '', ADD COLUMN analyzed_to BIGINT;
        ALTER TABLE content_chunk ADD COLUMN word_count INTEGER;
        CREATE TABLE content_part (
          user_id TEXT NOT NULL,
          store_no BIGINT NOT NULL,
          no BIGINT GENERATED BY DEFAULT AS IDENTITY,
          after_no BIGINT NOT NULL, to_no BIGINT NOT NULL,
          chunks INTEGER NOT NULL, length BIGINT NOT NULL, gone INTEGER NOT NULL DEFAULT 0,
          analysis TEXT NOT NULL,
          PRIMARY KEY (user_id, store_no, no),
          FOREIGN KEY (user_id, store_no) REFERENCES content_store (user_id, no) ON DELETE CASCADE
            DEFERRABLE INITIALLY DEFERRED
        );
        CREATE TABLE content_word (
          user_id TEXT NOT NULL,
          store_no BIGINT NOT NULL,
          part_no BIGINT NOT NULL,
          word TEXT COLLATE "C" NOT NULL,
          many INTEGER NOT NULL,
          hits BIGINT[] NOT NULL,
          PRIMARY KEY (user_id, store_no, part_no, word),
          FOREIGN KEY (user_id, store_no, part_no) REFERENCES content_part (user_id, store_no, no) ON DELETE CASCADE
        );
        CREATE TABLE content_vocabulary (
          user_id TEXT NOT NULL,
          store_no BIGINT NOT NULL,
          word TEXT COLLATE "C" NOT NULL,
          PRIMARY KEY (user_id, store_no, word),
          FOREIGN KEY (user_id, store_no) REFERENCES content_store (user_id, no) ON DELETE CASCADE
            DEFERRABLE INITIALLY DEFERRED
        );
        {private_rows("content_part", "content_word", "content_vocabulary")}
        """,
        # As in the other dialect, with the words of each chunk, which took long to find.
        f"""
        CREATE TABLE content_deleted (
          user_id TEXT NOT NULL, id TEXT NOT NULL,
          deleted_at TEXT COLLATE "C" NOT NULL,
          no BIGINT NOT NULL, store_no BIGINT NOT NULL,
          sha256 TEXT NOT NULL,
          filename TEXT NOT NULL, mime_type TEXT NOT NULL, size BIGINT NOT NULL,
          line_count BIGINT NOT NULL, chunk_count BIGINT NOT NULL, preview TEXT NOT NULL,
          page_lines TEXT NOT NULL, uploaded_at TEXT NOT NULL,
          analysis TEXT NOT NULL, analyzed_to BIGINT,
          PRIMARY KEY (user_id, no), UNIQUE (user_id, id),
          FOREIGN KEY (user_id, store_no) REFERENCES content_store (user_id, no) ON DELETE CASCADE
        );
        CREATE TABLE content_chunk_deleted (
          user_id TEXT NOT NULL,
          content_no BIGINT NOT NULL,
          number BIGINT NOT NULL, from_line BIGINT NOT NULL, to_line BIGINT NOT NULL,
          text TEXT NOT NULL, words TSVECTOR NOT NULL, word_count INTEGER,
          PRIMARY KEY (user_id, content_no, number),
          FOREIGN KEY (user_id, content_no) REFERENCES content_deleted (user_id, no) ON DELETE CASCADE
        );
        CREATE INDEX content_deleted_by_time ON content_deleted (user_id, deleted_at);
        CREATE INDEX content_deleted_by_store ON content_deleted (user_id, store_no);
        {private_rows("content_deleted", "content_chunk_deleted")}
        """,
        _deleted_stores('TEXT COLLATE "C"'),
    ),
)
