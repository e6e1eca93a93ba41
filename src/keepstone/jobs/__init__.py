"""Background work. `tasks` says what there is to do, `worker` does it; every task can run twice without harm."""
