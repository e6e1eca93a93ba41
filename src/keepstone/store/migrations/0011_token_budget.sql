-- What language models may read and write for an account in a month.
ALTER TABLE plans ADD COLUMN monthly_tokens bigint CHECK (monthly_tokens >= 0);
-- The function that takes one more comes with the others, which a fresh database has not yet.
DROP FUNCTION IF EXISTS put_plan(text, bigint, bigint, bigint, int, int, int, text);
