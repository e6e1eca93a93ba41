-- What plans cost, and why jobs failed.

ALTER TABLE plans ADD COLUMN price text CHECK (length(price) BETWEEN 1 AND 40);  -- as it is shown; null: not for sale
UPDATE plans p SET price = known.price
  FROM (VALUES ('free', '$0'), ('pro', '$10/mo'), ('max', '$40/mo')) AS known (name, price)
 WHERE p.name = known.name AND p.price IS NULL;

-- The class of the exception that a job ended with last, never its message. Of the queue, so it names no account.
CREATE TABLE job_faults (
    job    bigint PRIMARY KEY,
    error  text NOT NULL CHECK (length(error) <= 100),
    at     timestamptz NOT NULL DEFAULT now()
);

-- They take or answer with more from here on, which can't be changed in place.
DROP FUNCTION IF EXISTS put_plan(text, bigint, bigint, bigint, int, int, int), all_users();
