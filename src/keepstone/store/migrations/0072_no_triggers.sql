-- expand: a fact names its space by itself; tables of accounts have no triggers, which on a cluster they can't.
DROP TRIGGER IF EXISTS place_fact ON facts;
DROP FUNCTION IF EXISTS place_fact();
