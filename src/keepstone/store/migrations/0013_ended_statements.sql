-- A statement of a person that a later message ended in other words: it holds as long as that message is not there.
ALTER TABLE statements ADD COLUMN ended_by text COLLATE "C";
