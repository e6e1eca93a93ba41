-- What somebody who is being erased left in places that others share; docs/operations.md says by which rules it goes.
-- Runs past row-level security as the owner of the tables, so it makes sure itself that they are being erased, in this
-- account. What lies in places of their own goes with the row of the user, which the caller deletes next.
--
-- Returns what is left to do: `place` and `id` of sources whose passages are to go (`message`, `memory`, `summary`,
-- `document`), of threads to sum up anew (`thread`), and of what others made and they changed last, which has yet to get
-- back the newest text that is left (a memory by its kind: `chat`, `node`, `landmark` …; and `file` or `artifact`). And
-- `gone`: places that go, whose jobs are to be forgotten (`forget_jobs`).
CREATE OR REPLACE FUNCTION erase_traces(of_account int, wanted text) RETURNS TABLE (place bigint, what text, id text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    here constant int := of_account;
    own bigint[];         -- places in which nobody else is
    going bigint[];       -- all places that go, with their parts
    shared bigint[];      -- places that stay, in which they may have left something
    their_chats text[];
    fresh bigint;
    salt constant text := gen_random_uuid()::text;
    said text[];          -- messages
    talks text[];         -- the threads of these
    summed text[];        -- summaries that hold words of theirs
    gone text[];          -- memories, then documents
    changed text[];       -- memories, then documents, of others, of which a version is gone
BEGIN
    PERFORM own_account(of_account);
    IF NOT EXISTS (SELECT 1 FROM users u WHERE u.account = here AND u.id = wanted AND u.erased_at IS NOT NULL) THEN
        RETURN;
    END IF;

    -- --- Places ------------------------------------------------------------------------------------------------------

    SELECT coalesce(array_agg(s.space), '{}') INTO own
      FROM spaces s JOIN members m ON m.account = here AND m.space = s.space
     WHERE s.account = here AND m.user_id = wanted AND s.kind IN ('workspace', 'project', 'room')
       AND NOT EXISTS (SELECT 1 FROM members o WHERE o.account = here AND o.space = s.space AND o.user_id <> wanted);
    -- A graph is the account's; one that they made goes when nobody else has kept anything in it.
    own := own || ARRAY(SELECT s.space FROM spaces s
                         WHERE s.account = here AND s.kind = 'graph' AND s.part_of IS NULL AND s.named_by = wanted
                           AND NOT s.metadata @> '{"default": true}'
                           AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.account = here AND m.space = s.space
                                                                    AND m.user_id IS DISTINCT FROM wanted));
    SELECT coalesce(array_agg(s.space), '{}') INTO going FROM spaces s
     WHERE s.account = here
       AND (s.owner = wanted OR s.space = ANY (own) OR s.part_of = ANY (own)
            OR s.part_of IN (SELECT o.space FROM spaces o WHERE o.account = here AND o.owner = wanted)
            OR NOT EXISTS (SELECT 1 FROM users u WHERE u.account = here AND u.erased_at IS NULL));
    SELECT coalesce(array_agg(s.space), '{}') INTO shared FROM spaces s
     WHERE s.account = here AND s.kind IN ('workspace', 'library', 'project', 'room', 'graph', 'global')
       AND s.owner IS NULL AND NOT s.space = ANY (going);
    -- In the order in which others hold them, so that nobody waits for somebody who waits for this. From here on nothing
    -- is added, no vector either.
    PERFORM 1 FROM chats c WHERE c.account = here AND c.space = ANY (going || shared) ORDER BY c.id FOR UPDATE;
    PERFORM 1 FROM rooms r WHERE r.account = here AND r.space = ANY (going || shared) ORDER BY r.space FOR UPDATE;
    PERFORM 1 FROM spaces s WHERE s.account = here AND s.space = ANY (going || shared) ORDER BY s.space FOR UPDATE;
    -- Before their rows go, here or with the user's: what search knows of them.
    PERFORM empty_spaces(here, going);
    RETURN QUERY SELECT g.space, 'gone'::text, ''::text FROM unnest(going) AS g (space);
    -- Keys that are limited to some places name them in words.
    UPDATE keys k SET spaces = ARRAY(
               SELECT n FROM unnest(k.spaces) n
                WHERE NOT EXISTS (SELECT 1 FROM spaces s
                                   WHERE s.account = here AND s.space = ANY (going) AND n = s.kind || ':' || s.name)
                   OR EXISTS (SELECT 1 FROM spaces s WHERE s.account = here AND NOT s.space = ANY (going)
                                                     AND n = s.kind || ':' || s.name))
     WHERE k.account = here AND k.spaces IS NOT NULL;
    -- What they asked, what names or quotes them, and what was made of places that go.
    DELETE FROM traces t
     WHERE t.account = here
       AND (t.user_id = wanted OR wanted = ANY (t.readers || t.people) OR t.spaces && going
            OR t.space IN (SELECT s.space FROM spaces s WHERE s.account = here AND s.named_by = wanted)
            OR t.sources && ARRAY(SELECT 'agent:' || a.slug FROM agents a
                                   WHERE a.account = here AND wanted IN (a.created_by, a.changed_by)));
    DELETE FROM spaces s WHERE s.account = here AND s.space = ANY (own);
    UPDATE members m SET role = 'owner'
      FROM (SELECT DISTINCT ON (o.space) o.space, o.user_id FROM members o
             WHERE o.account = here AND o.user_id <> wanted
               AND EXISTS (SELECT 1 FROM members e
                            WHERE e.account = here AND e.space = o.space AND e.user_id = wanted AND e.role = 'owner')
               AND NOT EXISTS (SELECT 1 FROM members e
                                WHERE e.account = here AND e.space = o.space AND e.user_id <> wanted
                                  AND e.role = 'owner')
             ORDER BY o.space, array_position(ARRAY['editor', 'member', 'viewer'], o.role), o.added_at) heir
     WHERE m.account = here AND m.space = heir.space AND m.user_id = heir.user_id;
    UPDATE spaces s SET title = initcap(s.kind), named_by = NULL WHERE s.account = here AND s.named_by = wanted;
    UPDATE accounts a SET name = 'Account', named_by = NULL WHERE a.account = here AND a.named_by = wanted;
    UPDATE rooms r SET project_id = NULL
     WHERE r.account = here AND NOT EXISTS (SELECT 1 FROM spaces s WHERE s.account = here AND s.kind = 'project'
                                                                   AND s.name = r.project_id);

    -- --- What was said, and what stands for it -----------------------------------------------------------------------

    SELECT coalesce(array_agg(c.id), '{}') INTO their_chats FROM chats c
     WHERE c.account = here AND c.space = ANY (shared) AND c.created_by = wanted;
    SELECT coalesce(array_agg(m.id), '{}'), coalesce(array_agg(DISTINCT m.thread_id), '{}') INTO said, talks
      FROM messages m
     WHERE m.account = here AND m.space = ANY (shared)
       AND (m.user_id = wanted OR m.sent_by = wanted OR m.thread_id = ANY (their_chats));
    -- Tier upon tier. A compaction also stands for what an earlier one stood for: of those all go.
    WITH RECURSIVE told AS (
        SELECT s.id FROM summaries s
         WHERE s.account = here AND s.space = ANY (shared)
           AND (s.source_ids && said
                OR s.tier = 'compaction'
                   AND (s.thread_id = ANY (talks || their_chats)
                        OR EXISTS (SELECT 1 FROM rooms r JOIN messages m USING (account, space)
                                    WHERE r.account = here AND r.space = s.space AND m.id = ANY (said))))
        UNION
        SELECT s.id FROM told t
          JOIN (SELECT s.id, unnest(s.source_ids) AS part FROM summaries s
                 WHERE s.account = here AND s.space = ANY (shared) AND s.tier IN ('day', 'week')) s ON s.part = t.id)
    SELECT coalesce(array_agg(t.id), '{}') INTO summed FROM told t;
    RETURN QUERY SELECT DISTINCT s.space, 'thread'::text, s.thread_id FROM summaries s
                  WHERE s.account = here AND s.id = ANY (summed) AND s.tier = 'thread';
    RETURN QUERY DELETE FROM summaries s WHERE s.account = here AND s.id = ANY (summed)
                 RETURNING s.space, 'summary'::text, s.id;
    -- Rooms are summed up anew, of what is left. Another number, so that what lies in Redis is no longer the latest.
    fresh := nextval(pg_get_serial_sequence('keepstone.messages', 'seq'));
    UPDATE rooms r SET dirty_from = least(r.dirty_from, m.since), last_seq = fresh
      FROM (SELECT m.space, min(m.at) AS since FROM messages m WHERE m.account = here AND m.id = ANY (said)
             GROUP BY m.space) m
     WHERE r.account = here AND r.space = m.space;
    RETURN QUERY SELECT DISTINCT p.space, 'message'::text, p.source_id FROM passages p
                  WHERE p.account = here AND p.source_kind = 'message' AND p.source_id = ANY (said);
    -- What followed them on its branch follows what they followed, as far as that is left.
    WITH RECURSIVE kept AS (
        SELECT m.id, m.follows FROM messages m
         WHERE m.account = here AND m.thread_id = ANY (talks) AND m.follows = ANY (said) AND m.id <> ALL (said)
        UNION ALL
        SELECT k.id, m.follows FROM kept k JOIN messages m ON m.account = here AND m.id = k.follows
         WHERE k.follows = ANY (said))
    UPDATE messages m SET follows = k.follows FROM kept k
     WHERE m.account = here AND m.id = k.id AND k.follows <> ALL (said);
    DELETE FROM messages m WHERE m.account = here AND m.id = ANY (said);
    -- What they deleted, or had an agent say, with every wording; and of what others made an agent say, their wordings.
    WITH away AS (DELETE FROM trashed_messages t
                   WHERE t.account = here AND t.space = ANY (shared) AND (t.user_id = wanted OR t.sent_by = wanted)
                  RETURNING t.id)
    DELETE FROM message_versions v
     WHERE v.account = here
       AND (v.message_id = ANY (said) OR v.message_id IN (SELECT a.id FROM away a) OR v.worded_by = wanted);
    UPDATE message_versions v SET changed_by = NULL WHERE v.account = here AND v.changed_by = wanted;
    UPDATE trashed_messages t SET deleted_by = NULL WHERE t.account = here AND t.deleted_by = wanted;
    UPDATE threads t SET title = '', named_by = NULL, message_count = (
               SELECT count(*) FROM messages m WHERE m.account = here AND m.thread_id = t.id)
     WHERE t.account = here AND t.named_by = wanted;
    UPDATE threads t SET message_count = (
               SELECT count(*) FROM messages m WHERE m.account = here AND m.thread_id = t.id)
     WHERE t.account = here AND t.id = ANY (talks);
    DELETE FROM threads t WHERE t.account = here AND t.title = '' AND t.message_count = 0;
    gone := ARRAY(SELECT DISTINCT unnest(d.memory_ids) FROM distillations d
                   WHERE d.account = here AND d.kind = 'compaction' AND d.source_id = ANY (summed));
    DELETE FROM distillations d
     WHERE d.account = here
       AND (d.user_id = wanted OR d.chat_id = ANY (their_chats) OR d.source_id = ANY (said || summed));
    DELETE FROM tool_calls c WHERE c.account = here AND coalesce(c.user_id, wanted) = wanted;
    DELETE FROM chats c WHERE c.account = here AND c.id = ANY (their_chats);
    UPDATE chats c SET title = '', named_by = NULL WHERE c.account = here AND c.named_by = wanted;

    -- --- What is remembered ------------------------------------------------------------------------------------------

    gone := gone || ARRAY(SELECT m.id FROM memories m
                           WHERE m.account = here AND m.space = ANY (shared) AND m.user_id = wanted);
    -- Of what others made: the versions whose text is theirs, whoever moved it to the trash or back meanwhile.
    WITH texts AS (
        SELECT v.memory_id, v.version, v.changed_by,
               md5(ROW(v.title, v.content, v.summary, v.type, v.tags, v.metadata)::text) AS text
          FROM memory_versions v JOIN memories m ON m.account = here AND m.id = v.memory_id
         WHERE v.account = here AND m.space = ANY (shared) AND m.user_id IS DISTINCT FROM wanted
           AND EXISTS (SELECT 1 FROM memory_versions o
                        WHERE o.account = here AND o.memory_id = v.memory_id AND o.changed_by = wanted)),
    steps AS (SELECT *, text IS DISTINCT FROM lag(text) OVER (PARTITION BY memory_id ORDER BY version) AS new FROM texts),
    runs AS (SELECT *, count(*) FILTER (WHERE new) OVER (PARTITION BY memory_id ORDER BY version) AS run FROM steps),
    written AS (SELECT memory_id, version,
                       first_value(changed_by) OVER (PARTITION BY memory_id, run ORDER BY version) AS author FROM runs),
    removed AS (DELETE FROM memory_versions v USING written w
                 WHERE v.account = here AND v.memory_id = w.memory_id AND v.version = w.version AND w.author = wanted
                RETURNING v.memory_id)
    SELECT coalesce(array_agg(DISTINCT memory_id), '{}') INTO changed FROM removed;
    UPDATE memory_versions v SET changed_by = NULL WHERE v.account = here AND v.changed_by = wanted;
    gone := gone || ARRAY(SELECT c FROM unnest(changed) AS c
                           WHERE NOT EXISTS (SELECT 1 FROM memory_versions v WHERE v.account = here AND v.memory_id = c));
    UPDATE spaces s SET memory_count = s.memory_count - g.number, size_bytes = s.size_bytes - g.size
      FROM (SELECT m.space, count(*) AS number, sum(m.kept_bytes) AS size FROM memories m
             WHERE m.account = here AND m.id = ANY (gone) AND m.deleted_at IS NULL AND m.cold_at IS NULL
             GROUP BY 1) g
     WHERE s.account = here AND s.space = g.space;
    RETURN QUERY DELETE FROM memories m WHERE m.account = here AND m.id = ANY (gone)
                 RETURNING coalesce((SELECT p.space FROM passages p WHERE p.account = here AND p.source_kind = 'memory'
                                        AND p.source_id = m.id LIMIT 1), m.space), 'memory'::text, m.id;
    -- What theirs had replaced stays replaced: that it was outdated is true without them, too.
    UPDATE memories m SET superseded_by = 'erased'
     WHERE m.account = here AND m.space = ANY (shared) AND m.superseded_by = ANY (gone);
    DELETE FROM traces t WHERE t.account = here AND t.sources && (said || summed || gone || changed);
    DELETE FROM edges e WHERE e.account = here AND e.created_by = wanted;
    RETURN QUERY SELECT m.space, m.kind, m.id FROM memories m
                  WHERE m.account = here AND m.id = ANY (changed)
                    AND NOT EXISTS (SELECT 1 FROM memory_versions v
                                     WHERE v.account = here AND v.memory_id = m.id AND v.version = m.version);
    DELETE FROM traces t
     WHERE t.account = here AND t.sources && ARRAY(
               SELECT f.id FROM facts f
                WHERE f.account = here AND (f.recorded_by = wanted OR f.source_id = ANY (said)));
    DELETE FROM facts f WHERE f.account = here AND (f.recorded_by = wanted OR f.source_id = ANY (said));

    -- --- Files and artifacts -----------------------------------------------------------------------------------------

    WITH texts AS (
        SELECT v.document_id, v.version, v.changed_by, v.original IS NOT NULL AS uploaded,
               md5(ROW(v.name, v.media_type, v.content)::text) AS text
          FROM document_versions v JOIN documents d ON d.account = here AND d.id = v.document_id
         WHERE v.account = here AND d.space = ANY (shared) AND d.created_by IS DISTINCT FROM wanted
           AND EXISTS (SELECT 1 FROM document_versions o
                        WHERE o.account = here AND o.document_id = v.document_id AND o.changed_by = wanted)),
    steps AS (SELECT *, uploaded OR text IS DISTINCT FROM lag(text) OVER (PARTITION BY document_id ORDER BY version) AS new
                FROM texts),
    runs AS (SELECT *, count(*) FILTER (WHERE new) OVER (PARTITION BY document_id ORDER BY version) AS run FROM steps),
    written AS (SELECT document_id, version,
                       first_value(changed_by) OVER (PARTITION BY document_id, run ORDER BY version) AS author FROM runs),
    removed AS (DELETE FROM document_versions v USING written w
                 WHERE v.account = here AND v.document_id = w.document_id AND v.version = w.version
                   AND w.author = wanted
                RETURNING v.document_id)
    SELECT coalesce(array_agg(DISTINCT document_id), '{}') INTO changed FROM removed;
    UPDATE document_versions v SET changed_by = NULL WHERE v.account = here AND v.changed_by = wanted;
    DELETE FROM traces t
     WHERE t.account = here AND t.sources && (changed || ARRAY(
               SELECT d.id FROM documents d WHERE d.account = here AND d.created_by = wanted));
    RETURN QUERY DELETE FROM documents d
                  WHERE d.account = here AND d.space = ANY (shared)
                    AND (d.created_by = wanted
                         OR NOT EXISTS (SELECT 1 FROM document_versions v WHERE v.account = here AND v.document_id = d.id))
                 RETURNING d.space, 'document'::text, d.id;
    RETURN QUERY SELECT d.space, d.kind, d.id FROM documents d
                  WHERE d.account = here AND d.id = ANY (changed)
                    AND NOT EXISTS (SELECT 1 FROM document_versions v
                                     WHERE v.account = here AND v.document_id = d.id AND v.version = d.version);

    -- --- What bears their name ---------------------------------------------------------------------------------------

    -- An agent that nobody else talks with goes; another one keeps its slug, by which others call it, and nothing else.
    WITH left_alone AS (
        DELETE FROM agents a
         WHERE a.account = here AND a.created_by = wanted
           AND NOT EXISTS (SELECT 1 FROM room_agents r WHERE r.account = here AND r.agent = a.slug)
           AND NOT EXISTS (SELECT 1 FROM spaces s WHERE s.account = here AND s.kind = 'dm' AND s.name = a.slug
                                                  AND s.owner <> wanted)
        RETURNING a.slug)
    UPDATE audit a SET object_id = CASE WHEN a.action LIKE 'agent.%' THEN 'erased' ELSE a.object_id END,
                       details = a.details - 'agent'
      FROM left_alone g
     WHERE a.account = here AND (a.action LIKE 'agent.%' AND a.object_id = g.slug OR a.details ->> 'agent' = g.slug);
    UPDATE agents a SET name = a.slug, instructions = '', changed_by = NULL, created_by = nullif(a.created_by, wanted)
     WHERE a.account = here AND (a.created_by = wanted OR a.changed_by = wanted);
    UPDATE keys k SET name = 'service key', created_by = NULL
     WHERE k.account = here AND k.created_by = wanted AND k.user_id IS DISTINCT FROM wanted;
    -- The account's sums stay what they are.
    UPDATE usage_ledger l
       SET user_id = NULL, call_id = 'erased:' || md5(salt || l.call_id),
           credential_id = (SELECT k.id FROM keys k WHERE k.account = here AND k.id = l.credential_id AND k.user_id IS NULL)
     WHERE l.account = here AND l.user_id = wanted;
    UPDATE queries q SET user_id = NULL, credential_id = NULL WHERE q.account = here AND q.user_id = wanted;
END $$;

-- The jobs that name them, or a place that goes with them, but for those that are running. Apart, because the queue lies
-- elsewhere than the memories on a distributed Postgres.
CREATE OR REPLACE FUNCTION forget_jobs(for_account int, wanted text, places bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
BEGIN
    PERFORM own_account(for_account);
    DELETE FROM procrastinate_jobs j
     WHERE (j.args ->> 'account')::int = for_account AND j.status <> 'doing'
       AND (j.args ->> 'user_id' = wanted OR (j.args ->> 'space')::bigint = ANY (places));
END $$;
