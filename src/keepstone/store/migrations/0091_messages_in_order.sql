-- expand, concurrently: what was said in a space since it was last read is found without a walk through all that was ever said there
CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_in_order ON keepstone.messages (account, space, seq);
