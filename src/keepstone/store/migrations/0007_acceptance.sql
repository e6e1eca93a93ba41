-- Whom a foreign issuer knows, and who agreed to be in an account.

ALTER TABLE users ADD COLUMN subject_issuer text;  -- whose `subject` it is; null: noted before anybody came with it
-- When they took the place that somebody made for them; whom the operator added has one at once. Until then a foreign
-- issuer's word for their address does not let them in, where whoever owns the account would read what they keep.
ALTER TABLE users ADD COLUMN accepted_at timestamptz;
UPDATE users u SET accepted_at = u.created_at
 WHERE u.subject IS NOT NULL
    OR EXISTS (SELECT FROM audit a WHERE a.account = u.account AND a.object_id = u.id AND a.action = 'user.create'
                                     AND a.via = 'cli');

-- Made anew, with another shape, by what runs after all migrations.
DROP FUNCTION IF EXISTS token_holder(text, text);
DROP FUNCTION IF EXISTS subject_holder(text, text);
