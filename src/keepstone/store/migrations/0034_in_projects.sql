-- What is in a project is found when the project goes for good.
CREATE INDEX memories_in_projects ON memories (account, project_id) WHERE project_id IS NOT NULL;
