"""Which of the makers' tests do not apply to a server, by the beginnings of their names, and why."""

from collections.abc import Mapping

_INSIDE = "looks inside their own implementation: its tables, files, locks, connections or functions"
_THEIR_SCORES = "expects the scores of a made-up embedder, which counts letters: the server reads texts itself"
_SETTINGS = "expects an embedder in the settings of the store: there is none to set"
_SWEEP = "writes expired rows into their tables and waits for their sweep: ours are never shown once they expire"
_NUMBERS = "asks for infinity, which JSON does not have: refused, with a ValueError"
_NAMES = "expects a field's name with quotes to be refused: it is a name as any other here, and harms nothing"
_DOTS = "expects `.` and `..` to be followed: a path that has them is refused"
_SIZE = "makes a file of more than 1 MB, which is refused when it is made"
_CLOSED = "expects an error after `close`, which a session here does not have: it keeps nothing open"

_STORES = {
    "test_scores": _THEIR_SCORES,
    "test_embed_with_path": _THEIR_SCORES,
    "test_vector_search_edge_cases": _THEIR_SCORES,
    "test_vector_store_initialization": _SETTINGS,
    "test_namespace_match_pattern": _INSIDE,
    "test_escape_": _INSIDE,
}
NOT_OURS: Mapping[str, Mapping[str, str]] = {
    "store": {"test_embed_with_path": _THEIR_SCORES},
    "store-sqlite": {
        "test_scores": _THEIR_SCORES,
        "test_vector_store_initialization[": _SETTINGS,
        "test_numeric_filter_safety": _NUMBERS,
        "test_sql_injection_vulnerability": _NAMES,
        "test_list_namespaces_prefix_uses_indexable_condition": _INSIDE,
        "test_escape_": _INSIDE,
        "test_namespace_match_pattern": _INSIDE,
        "test_vector_store_initialization": _SETTINGS,
    },
    "store-postgres": {
        **_STORES,
        "test_abatch_uses_single_pool_checkout": _INSIDE,
        "test_nonnull_migrations": _INSIDE,
        "test_omit_expired": _SWEEP,
    },
    "sessions": dict.fromkeys(
        (
            "test_await_mutation",
            "test_sqlite_session_close_",
            "test_sqlite_session_closes_",
            "test_sqlite_session_failed_",
            "test_sqlite_session_file_lock_",
            "test_sqlite_session_get_items_limit_skips_corrupt",
            "test_sqlite_session_get_items_session_settings_limit_skips_corrupt",
            "test_sqlite_session_keeps_connections",
            "test_sqlite_session_pop_item_returns_none_after",
            "test_sqlite_session_pop_item_skips_corrupt",
            "test_sqlite_session_post_commit",
            "test_sqlite_session_reaps",
            "test_sqlite_session_rollback",
        ),
        _INSIDE,
    )
    | {"test_sqlite_session_closed_rejects": _CLOSED},
    "memory-tool": {
        "test_mkdir_": _INSIDE,
        "test_symlink_": _INSIDE,
        "test_validate_path_returns": _INSIDE,
        "test_insert_preserves_crlf": _INSIDE,
        "test_str_replace_preserves_crlf": _INSIDE,
        "test_view_preserves_crlf": _INSIDE,
        "test_delete_not_allow_deleting_memories_directory[/memories]": _INSIDE,
        "test_delete_not_allow_deleting_memories_directory[/memories/]": _INSIDE,
        "test_delete_not_allow_deleting_memories_directory": _DOTS,
        "test_rename_not_allow_renaming_memories_directory[/memories/.]": _DOTS,
        "test_rename_not_allow_renaming_memories_directory[/memories/sub/..]": _DOTS,
        "test_view_error_for_files_with_too_many_lines": _SIZE,
    },
}
