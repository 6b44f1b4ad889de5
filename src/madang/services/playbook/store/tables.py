"""The tables of the playbook service, in both dialects.

The number of an owner's playbooks is kept beside the owner by triggers: counting them would walk over all of them.
"""

from __future__ import annotations

from madang.database.port import MigrationSet, private_rows, replace_table

MIGRATIONS = MigrationSet(
    "playbook",
    sqlite=(
        """
        CREATE TABLE playbook_owner (
          no INTEGER PRIMARY KEY,
          user_id TEXT NOT NULL, assistant_id TEXT NOT NULL,
          total INTEGER NOT NULL DEFAULT 0,
          UNIQUE (user_id, assistant_id)
        );
        CREATE TABLE playbook (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL UNIQUE,
          owner_no INTEGER NOT NULL REFERENCES playbook_owner (no),
          version INTEGER NOT NULL,
          created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
          goal TEXT NOT NULL, initial_command TEXT NOT NULL, steps INTEGER NOT NULL,
          sort_key TEXT NOT NULL, search_text TEXT NOT NULL,
          workflow TEXT NOT NULL, success_criteria TEXT NOT NULL
        );
        CREATE INDEX playbook_by_creation ON playbook (owner_no, seq);
        CREATE INDEX playbook_by_update ON playbook (owner_no, updated_at, seq);
        CREATE INDEX playbook_by_goal ON playbook (owner_no, sort_key, seq);

        CREATE TABLE playbook_bucket (
          owner_no INTEGER, bits INTEGER, bucket INTEGER, total INTEGER NOT NULL,
          PRIMARY KEY (owner_no, bits, bucket)
        ) WITHOUT ROWID;
        CREATE TRIGGER playbook_added AFTER INSERT ON playbook BEGIN
          UPDATE playbook_owner SET total = total + 1 WHERE no = new.owner_no;
          INSERT INTO playbook_bucket VALUES (new.owner_no, 15, new.seq >> 15, 1), (new.owner_no, 10, new.seq >> 10, 1)
            ON CONFLICT DO UPDATE SET total = total + 1;
        END;
        CREATE TRIGGER playbook_removed AFTER DELETE ON playbook BEGIN
          UPDATE playbook_owner SET total = total - 1 WHERE no = old.owner_no;
          UPDATE playbook_bucket SET total = total - 1
            WHERE owner_no = old.owner_no AND (bits, bucket) IN (VALUES (15, old.seq >> 15), (10, old.seq >> 10));
        END;

        CREATE TABLE playbook_run (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL UNIQUE,
          owner_no INTEGER NOT NULL REFERENCES playbook_owner (no),
          playbook_id TEXT NOT NULL, goal TEXT NOT NULL, version INTEGER NOT NULL,
          session_id TEXT NOT NULL, selected_at TEXT NOT NULL
        );
        CREATE INDEX playbook_run_by_owner ON playbook_run (owner_no, seq);
        CREATE INDEX playbook_run_by_playbook ON playbook_run (owner_no, playbook_id, seq);

        CREATE TABLE playbook_view (
          owner_no INTEGER, session_id TEXT, page_size INTEGER NOT NULL,
          PRIMARY KEY (owner_no, session_id)
        ) WITHOUT ROWID;
        """,
        # Nothing is counted per bucket and no page size is remembered any more. Both tables stay, unused: a process of
        # an older version may have this file open, and it writes to playbook_view and looks into playbook_bucket. An
        # empty playbook_bucket makes it walk the index, so its pages stay right too. The totals are left to triggers
        # for the same reason: they count what that process adds.
        """
        DROP TRIGGER playbook_added;
        DROP TRIGGER playbook_removed;
        CREATE TRIGGER playbook_added AFTER INSERT ON playbook BEGIN
          UPDATE playbook_owner SET total = total + 1 WHERE no = new.owner_no;
        END;
        CREATE TRIGGER playbook_removed AFTER DELETE ON playbook BEGIN
          UPDATE playbook_owner SET total = total - 1 WHERE no = old.owner_no;
        END;
        DELETE FROM playbook_bucket;
        """,
        # Every key begins with the user, and a foreign key holds the user too: no row can be attached to the owner of
        # another user. A process of an older version no longer works with these tables, so its two go.
        f"""
        DROP TABLE playbook_bucket;
        DROP TABLE playbook_view;
        CREATE UNIQUE INDEX playbook_owner_by_no ON playbook_owner (user_id, no);

        CREATE TABLE playbook_new (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL,
          user_id TEXT NOT NULL,
          owner_no INTEGER NOT NULL,
          version INTEGER NOT NULL,
          created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
          goal TEXT NOT NULL, initial_command TEXT NOT NULL, steps INTEGER NOT NULL,
          sort_key TEXT NOT NULL, search_text TEXT NOT NULL,
          workflow TEXT NOT NULL, success_criteria TEXT NOT NULL,
          UNIQUE (user_id, id),
          FOREIGN KEY (user_id, owner_no) REFERENCES playbook_owner (user_id, no)
        );
        INSERT INTO playbook_new
          SELECT p.seq, p.id, o.user_id, p.owner_no, p.version, p.created_at, p.updated_at, p.goal, p.initial_command,
            p.steps, p.sort_key, p.search_text, p.workflow, p.success_criteria
          FROM playbook p JOIN playbook_owner o ON o.no = p.owner_no ORDER BY p.seq;
        {replace_table("playbook")}
        CREATE INDEX playbook_by_creation ON playbook (user_id, owner_no, seq);
        CREATE INDEX playbook_by_update ON playbook (user_id, owner_no, updated_at, seq);
        CREATE INDEX playbook_by_goal ON playbook (user_id, owner_no, sort_key, seq);
        CREATE TRIGGER playbook_added AFTER INSERT ON playbook BEGIN
          UPDATE playbook_owner SET total = total + 1 WHERE no = new.owner_no;
        END;
        CREATE TRIGGER playbook_removed AFTER DELETE ON playbook BEGIN
          UPDATE playbook_owner SET total = total - 1 WHERE no = old.owner_no;
        END;

        CREATE TABLE playbook_run_new (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL,
          user_id TEXT NOT NULL,
          owner_no INTEGER NOT NULL,
          playbook_id TEXT NOT NULL, goal TEXT NOT NULL, version INTEGER NOT NULL,
          session_id TEXT NOT NULL, selected_at TEXT NOT NULL,
          UNIQUE (user_id, id),
          FOREIGN KEY (user_id, owner_no) REFERENCES playbook_owner (user_id, no)
        );
        INSERT INTO playbook_run_new
          SELECT r.seq, r.id, o.user_id, r.owner_no, r.playbook_id, r.goal, r.version, r.session_id, r.selected_at
          FROM playbook_run r JOIN playbook_owner o ON o.no = r.owner_no ORDER BY r.seq;
        {replace_table("playbook_run")}
        CREATE INDEX playbook_run_by_owner ON playbook_run (user_id, owner_no, seq);
        CREATE INDEX playbook_run_by_playbook ON playbook_run (user_id, owner_no, playbook_id, seq);
        """,
        """
        CREATE TABLE playbook_deleted (
          user_id TEXT NOT NULL, id TEXT NOT NULL,
          deleted_at TEXT NOT NULL,
          seq INTEGER NOT NULL, owner_no INTEGER NOT NULL,
          version INTEGER NOT NULL,
          created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
          goal TEXT NOT NULL, initial_command TEXT NOT NULL, steps INTEGER NOT NULL,
          sort_key TEXT NOT NULL, search_text TEXT NOT NULL,
          workflow TEXT NOT NULL, success_criteria TEXT NOT NULL,
          PRIMARY KEY (user_id, id),
          FOREIGN KEY (user_id, owner_no) REFERENCES playbook_owner (user_id, no)
        );
        CREATE INDEX playbook_deleted_by_time ON playbook_deleted (user_id, deleted_at);
        """,
    ),
    postgresql=(
        f"""
        CREATE TABLE playbook_owner_row (
          no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          user_id TEXT NOT NULL, assistant_id TEXT NOT NULL,
          UNIQUE (user_id, assistant_id)
        );
        -- No index on seq alone: for "the first 20 of this owner" the planner would walk it past everybody's rows.
        -- The user is in each index, because the policy asks for it of every row that is only skipped.
        -- COLLATE "C" is the order of SQLite: the same page, whichever database keeps it.
        CREATE TABLE playbook (
          seq BIGINT GENERATED ALWAYS AS IDENTITY,
          id TEXT NOT NULL UNIQUE,
          user_id TEXT NOT NULL,
          owner_no BIGINT NOT NULL REFERENCES playbook_owner_row (no),
          version INTEGER NOT NULL,
          created_at TEXT NOT NULL, updated_at TEXT COLLATE "C" NOT NULL,
          goal TEXT NOT NULL, initial_command TEXT NOT NULL, steps INTEGER NOT NULL,
          sort_key TEXT COLLATE "C" NOT NULL, search_text TEXT NOT NULL,
          workflow TEXT NOT NULL, success_criteria TEXT NOT NULL,
          PRIMARY KEY (owner_no, seq) INCLUDE (user_id)
        );
        CREATE INDEX playbook_by_update ON playbook (owner_no, updated_at, seq) INCLUDE (user_id);
        CREATE INDEX playbook_by_goal ON playbook (owner_no, sort_key, seq) INCLUDE (user_id);

        -- Counts are sums of changes: a counter row would make all who add playbooks for one owner wait for each other.
        -- Now and then the changes so far are folded into one row each, so that there are never many to add up; what
        -- folding leaves behind is vacuumed early, because every total walks past it.
        CREATE TABLE playbook_count (
          user_id TEXT NOT NULL, owner_no BIGINT NOT NULL, bits INTEGER NOT NULL, bucket BIGINT NOT NULL,
          change BIGINT NOT NULL
        ) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000);
        CREATE INDEX playbook_count_by_owner ON playbook_count (owner_no, bits, bucket) INCLUDE (user_id, change);
        CREATE FUNCTION playbook_counted() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
          kept playbook = CASE WHEN tg_op = 'INSERT' THEN new ELSE old END;
          change BIGINT = CASE WHEN tg_op = 'INSERT' THEN 1 ELSE -1 END;
        BEGIN
          INSERT INTO playbook_count (owner_no, bits, bucket, change) VALUES
            (kept.owner_no, 62, 0, change),
            (kept.owner_no, 15, kept.seq >> 15, change),
            (kept.owner_no, 10, kept.seq >> 10, change);
          IF random() < 1.0 / 256 THEN
            WITH many AS (
              SELECT c.bits, c.bucket FROM playbook_count c WHERE c.owner_no = kept.owner_no
              GROUP BY c.bits, c.bucket HAVING count(*) > 1
            ), gone AS (
              DELETE FROM playbook_count c USING many
              WHERE c.owner_no = kept.owner_no AND c.bits = many.bits AND c.bucket = many.bucket
              RETURNING c.bits, c.bucket, c.change
            )
            INSERT INTO playbook_count (owner_no, bits, bucket, change)
            SELECT kept.owner_no, g.bits, g.bucket, sum(g.change) FROM gone g
            GROUP BY g.bits, g.bucket HAVING sum(g.change) <> 0;
          END IF;
          RETURN NULL;
        END $$;
        CREATE TRIGGER playbook_counted AFTER INSERT OR DELETE ON playbook
          FOR EACH ROW EXECUTE FUNCTION playbook_counted();

        CREATE TABLE playbook_run (
          seq BIGINT GENERATED ALWAYS AS IDENTITY,
          id TEXT NOT NULL UNIQUE,
          user_id TEXT NOT NULL,
          owner_no BIGINT NOT NULL REFERENCES playbook_owner_row (no),
          playbook_id TEXT NOT NULL, goal TEXT NOT NULL, version INTEGER NOT NULL,
          session_id TEXT NOT NULL, selected_at TEXT NOT NULL,
          PRIMARY KEY (owner_no, seq) INCLUDE (user_id)
        );
        CREATE INDEX playbook_run_by_playbook ON playbook_run (owner_no, playbook_id, seq) INCLUDE (user_id);

        CREATE TABLE playbook_view (
          owner_no BIGINT, session_id TEXT, page_size INTEGER NOT NULL, user_id TEXT NOT NULL,
          PRIMARY KEY (owner_no, session_id)
        );
        {private_rows("playbook_owner_row", "playbook", "playbook_count", "playbook_run", "playbook_view")}

        -- The tables of the other dialect, for the same statements. security_invoker: policies hold through them.
        CREATE VIEW playbook_owner WITH (security_invoker = true) AS
          SELECT no, user_id, assistant_id, (
            SELECT coalesce(sum(c.change), 0)::BIGINT FROM playbook_count c
            WHERE c.owner_no = o.no AND c.bits = 62
          ) AS total FROM playbook_owner_row o;
        CREATE VIEW playbook_bucket WITH (security_invoker = true) AS
          SELECT owner_no, bits, bucket, sum(change)::BIGINT AS total
          FROM playbook_count GROUP BY owner_no, bits, bucket;
        """,
        # As in the other dialect: playbook_view, playbook_count and its view playbook_bucket stay, unused, for older
        # processes. The total is a column now. Units that add playbooks for one owner at once collide in its
        # row and run one after the other: playbooks are written by hand, so that is no load to build for.
        # FORCE is lifted for the statement that counts: a migration has no user, so it would see no rows.
        """
        ALTER TABLE playbook NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE playbook_owner_row NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE playbook_owner_row ADD total BIGINT NOT NULL DEFAULT 0;
        UPDATE playbook_owner_row o SET total = (SELECT count(*) FROM playbook p WHERE p.owner_no = o.no);
        ALTER TABLE playbook FORCE ROW LEVEL SECURITY;
        ALTER TABLE playbook_owner_row FORCE ROW LEVEL SECURITY;
        CREATE OR REPLACE VIEW playbook_owner WITH (security_invoker = true) AS
          SELECT no, user_id, assistant_id, total FROM playbook_owner_row;
        CREATE OR REPLACE FUNCTION playbook_counted() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF tg_op = 'INSERT' THEN
            UPDATE playbook_owner_row SET total = total + 1 WHERE no = new.owner_no;
          ELSE
            UPDATE playbook_owner_row SET total = total - 1 WHERE no = old.owner_no;
          END IF;
          RETURN NULL;
        END $$;
        TRUNCATE playbook_count;
        """,
        # As in the other dialect. Row-level security does not guard a foreign key, so it has to hold the user itself;
        # rows that a fault attached to the owner of another user are seen by neither of the two, and go.
        # BY DEFAULT: a user who is moved to another server brings his numbers.
        """
        DROP VIEW playbook_bucket;
        DROP TABLE playbook_count, playbook_view;
        ALTER TABLE playbook_owner_row NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE playbook NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE playbook_run NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE playbook DISABLE TRIGGER playbook_counted;
        DELETE FROM playbook p USING playbook_owner_row o WHERE o.no = p.owner_no AND o.user_id <> p.user_id;
        DELETE FROM playbook_run r USING playbook_owner_row o WHERE o.no = r.owner_no AND o.user_id <> r.user_id;
        UPDATE playbook_owner_row o SET total = n.total
          FROM (
            SELECT o.no, count(p.seq) AS total FROM playbook_owner_row o LEFT JOIN playbook p ON p.owner_no = o.no
            GROUP BY o.no
          ) n WHERE n.no = o.no AND n.total <> o.total;
        ALTER TABLE playbook ENABLE TRIGGER playbook_counted;

        ALTER TABLE playbook
          DROP CONSTRAINT playbook_owner_no_fkey, DROP CONSTRAINT playbook_pkey, DROP CONSTRAINT playbook_id_key;
        ALTER TABLE playbook_run
          DROP CONSTRAINT playbook_run_owner_no_fkey, DROP CONSTRAINT playbook_run_pkey,
          DROP CONSTRAINT playbook_run_id_key;
        ALTER TABLE playbook_owner_row
          DROP CONSTRAINT playbook_owner_row_pkey, ADD PRIMARY KEY (user_id, no),
          ALTER no SET GENERATED BY DEFAULT;
        ALTER TABLE playbook
          ADD PRIMARY KEY (user_id, owner_no, seq), ADD UNIQUE (user_id, id), ALTER seq SET GENERATED BY DEFAULT,
          ADD FOREIGN KEY (user_id, owner_no) REFERENCES playbook_owner_row (user_id, no);
        DROP INDEX playbook_by_update, playbook_by_goal;
        CREATE INDEX playbook_by_update ON playbook (user_id, owner_no, updated_at, seq);
        CREATE INDEX playbook_by_goal ON playbook (user_id, owner_no, sort_key, seq);
        ALTER TABLE playbook_run
          ADD PRIMARY KEY (user_id, owner_no, seq), ADD UNIQUE (user_id, id), ALTER seq SET GENERATED BY DEFAULT,
          ADD FOREIGN KEY (user_id, owner_no) REFERENCES playbook_owner_row (user_id, no);
        DROP INDEX playbook_run_by_playbook;
        CREATE INDEX playbook_run_by_playbook ON playbook_run (user_id, owner_no, playbook_id, seq);
        ALTER TABLE playbook_owner_row FORCE ROW LEVEL SECURITY;
        ALTER TABLE playbook FORCE ROW LEVEL SECURITY;
        ALTER TABLE playbook_run FORCE ROW LEVEL SECURITY;

        CREATE OR REPLACE FUNCTION playbook_counted() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF tg_op = 'INSERT' THEN
            UPDATE playbook_owner_row SET total = total + 1 WHERE user_id = new.user_id AND no = new.owner_no;
          ELSE
            UPDATE playbook_owner_row SET total = total - 1 WHERE user_id = old.user_id AND no = old.owner_no;
          END IF;
          RETURN NULL;
        END $$;
        """,
        f"""
        CREATE TABLE playbook_deleted (
          user_id TEXT NOT NULL, id TEXT NOT NULL,
          deleted_at TEXT COLLATE "C" NOT NULL,
          seq BIGINT NOT NULL, owner_no BIGINT NOT NULL,
          version INTEGER NOT NULL,
          created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
          goal TEXT NOT NULL, initial_command TEXT NOT NULL, steps INTEGER NOT NULL,
          sort_key TEXT NOT NULL, search_text TEXT NOT NULL,
          workflow TEXT NOT NULL, success_criteria TEXT NOT NULL,
          PRIMARY KEY (user_id, id),
          FOREIGN KEY (user_id, owner_no) REFERENCES playbook_owner_row (user_id, no)
        );
        CREATE INDEX playbook_deleted_by_time ON playbook_deleted (user_id, deleted_at);
        {private_rows("playbook_deleted")}
        """,
    ),
)
