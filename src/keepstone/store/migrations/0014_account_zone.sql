-- Whoever calls comes with the time zone of their account, so that dates are told in it (10_functions.sql).
DROP FUNCTION IF EXISTS credential_holder(text, text);
DROP FUNCTION IF EXISTS token_holder(text, text);
DROP FUNCTION IF EXISTS subject_holder(text, text, text);
