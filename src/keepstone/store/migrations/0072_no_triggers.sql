-- A fact's space is named by whoever writes it. Tables of accounts have no triggers: on a cluster they can't.

DROP TRIGGER IF EXISTS place_fact ON facts;
DROP FUNCTION IF EXISTS place_fact();
