-- What somebody is called, without what can't be seen or only looks like a mark: by it namesakes are found, who are told
-- apart wherever they are shown.
ALTER TABLE users ADD COLUMN plain_name text GENERATED ALWAYS AS (
    lower(btrim(split_part(regexp_replace(coalesce(nullif(btrim(name), ''), split_part(email, '@', 1)), '\s+', ' ', 'g'),
                           ' (', 1)))) STORED;
CREATE INDEX users_by_plain_name ON users (account, plain_name);
