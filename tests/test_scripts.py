"""A file of SQL is cut where its statements end, and nowhere else."""

import pytest

from keepstone.store.scripts import statements_of


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("SELECT 1; SELECT 2;\n", ["SELECT 1", "SELECT 2"]),
        ("SELECT 1", ["SELECT 1"]),
        ("-- nothing; at all\n/* ; */", []),
        ("-- why; so\nSELECT 1;\n-- the end", ["-- why; so\nSELECT 1"]),
        ("SELECT 'a;''b;', \"c;d\"; SELECT 2", ["SELECT 'a;''b;', \"c;d\"", "SELECT 2"]),
        (
            "DO $$ BEGIN PERFORM 1; END $$; SELECT $b$ $$;' $b$;",
            ["DO $$ BEGIN PERFORM 1; END $$", "SELECT $b$ $$;' $b$"],
        ),
        ("SELECT 'it''s -- no comment'; SELECT 2", ["SELECT 'it''s -- no comment'", "SELECT 2"]),
        (";;", []),
    ],
)
def test_a_script_is_cut_into_its_statements(script: str, statements: list[str]) -> None:
    assert list(statements_of(script)) == statements
