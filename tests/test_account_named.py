"""Every statement of the store names its account: the policy is the second belt, not the only one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from keepstone import store
from keepstone.access.readscope import account_scope
from keepstone.services import Services
from keepstone.store.db import update_rows

STORE = Path(store.__file__).parent

TABLES = {
    name
    for path in (STORE / "migrations").glob("*.sql")
    for name in re.findall(r"CREATE TABLE (\w+)", path.read_text())
}
OF_THE_SERVER = {"plans", "provider_settings", "job_faults", "migrations", "schema_level", "servers", "guesses"}
KEYED = TABLES - OF_THE_SERVER

# All but what puts a whole backup back, as the owner of the tables: that is of all accounts.
OF_ACCOUNTS = sorted(path for path in STORE.glob("*.py") if path.name != "load.py")

# A table that a statement reads or writes. `SET x = … FROM t` and `DELETE FROM t USING u` are among them.
_TOUCHES = re.compile(rf"\b(?:FROM|JOIN|INTO|UPDATE|USING)\s+({'|'.join(sorted(KEYED))})\b(?!\s*\.)")
_WHOLE = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE)\b")


def constants(tree: ast.Module) -> dict[str, ast.expr]:
    """What a module gives a name: pieces of statements among it."""
    named: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            named[node.target.id] = node.value
    return named


def text_of(node: ast.expr, named: dict[str, ast.expr]) -> str:
    """What is written there; of what an f-string fills in, the pieces that the module has given a name."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return " ".join(text_of(part, named) for part in node.values)
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name) and node.value.id in named:
        return text_of(named[node.value.id], named)
    return ""


def statements(tree: ast.AST, named: dict[str, ast.expr]) -> Iterator[str]:
    """Every text of a module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield text_of(node, named)
        else:
            yield from statements(node, named)


def unnamed(source: str) -> list[str]:
    """Statements that touch more tables than they name accounts, and whole ones that take none as a parameter."""
    tree = ast.parse(source)
    return [
        " ".join(text.split())
        for text in statements(tree, constants(tree))
        if len(_TOUCHES.findall(text)) > len(re.findall(r"\baccount\b(?!\)s)", text))
        or (_TOUCHES.search(text) and _WHOLE.search(text) and "%(account)s" not in text)
    ]


@pytest.mark.parametrize("path", OF_ACCOUNTS, ids=lambda path: path.name)
def test_every_statement_names_its_account(path: Path) -> None:
    assert unnamed(path.read_text()) == []


@pytest.mark.parametrize("path", OF_ACCOUNTS, ids=lambda path: path.name)
def test_every_statement_has_named_parameters(path: Path) -> None:
    tree = ast.parse(path.read_text())
    positional = [text for text in statements(tree, constants(tree)) if re.search(r"(?<!%)%s", text)]
    assert positional == [], "a list of parameters has no room for the account"


def test_the_guard_sees_what_it_should() -> None:
    assert unnamed('x = "SELECT id FROM users WHERE id = %(id)s"')
    assert unnamed('x = f"SELECT id FROM users WHERE account = %(account)s AND {more} (SELECT 1 FROM keys)"')
    assert not unnamed('x = "SELECT id FROM users JOIN keys k USING (account, id) WHERE k.account = %(account)s"')
    assert not unnamed('x = "SELECT * FROM all_users(%(a)s)"')
    assert not unnamed('"""Takes one from users."""')


async def test_the_connection_fills_in_the_account_of_its_scope(services: Services) -> None:
    number = "SELECT %(account)s::int"
    async with services.db.transaction(account_scope(7)) as conn:
        assert await (await conn.execute(number)).fetchone() == (7,)
        assert await (await conn.execute(number, {"account": 8})).fetchone() == (7,), "the scope's, whoever asks"
        assert await (await conn.execute("SELECT '%%', %(x)s::int", {"x": 1})).fetchone() == ("%", 1)
        await update_rows(conn, "users", {"id": "usr_nobody"}, {"name": "x"})
    async with services.db.unscoped() as conn:
        with pytest.raises(psycopg.ProgrammingError, match="account"):
            await conn.execute(number, {})
