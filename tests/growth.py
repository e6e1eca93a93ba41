"""How the work on a text grows with it: every regular expression of the source, texts that are hostile to each, and
whether four times the text takes more than about four times the work.

Work is CPU time of this thread. What is quick at the larger size is linear enough: the steps of a quadratic search of
so many characters can't be taken in that time. A pattern in which every repetition ends somewhere, as in all rules,
grows no faster than the text; of it only what explodes within a sentence is looked for.
"""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import keepstone
from keepstone.engine.language import tables

# How Python itself reads a pattern; no types are written down for it.
op: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

SMALL, LARGE = 500, 2_000
QUICK = 0.004  # seconds: 2 million steps, half the square of LARGE, take several times as long
STEEP = 8.0  # linear is 4, quadratic 16
# Characters, and seconds that so few don't take unless the work explodes; then nothing larger is tried.
STEPS = ((14, 0.05), (17, 0.05), (20, 0.05), (23, 0.05), (26, 0.05), (60, 0.1), (200, 0.2))
_SENTENCE = (*STEPS, (400, 0.5))
_LONG = 50  # a repetition of at most so many is no danger
_LETTERS = "a1 A.-_'\"\n\t#*,:/@é中!?<>()[]{}|`~=+&$%^\\;\x00\u0301"

# Texts that no pattern in particular has to fear: one thing again and again.
HOSTILE: tuple[str, ...] = (
    *("a", "A", "1", "中", "é", " ", "\n", "\t", "_", "-", ".", "!", "?", "…", "#", "*", "`", "~", ">", "|", "=", ","),
    *("(", "[", "{", "<", '"', "“", "'", "@", "/", ":", "\u200b", "a\u0301", "🙂", "。", "「"),
    *("aA", "Aa ", "A ", "a ", "a.", "a-", "a'", "a@", "a_", "a,", "1/", "1.", "1-", "1,", "1:", "1 ", "f0"),
    *(
        "- ",
        "- a\n",
        "> ",
        "1. ",
        "[ ] ",
        "[a](",
        "![",
        "](",
        "a\n",
        "\n\n",
        " \n",
        "```\n",
        "~~~\n",
        "`a",
        "<a ",
        "</",
    ),
    *("**a", "__a", "a: ", "a? ", "a. ", "A. ", "(a) ", "#a ", "http://", "a@a.", '"a', "I am ", "my ", "A, ", "…a"),
)


def patterns() -> dict[str, re.Pattern[Any]]:
    """Every regular expression of the package, by where it is written: those that modules hold, those of the rule
    tables, and those that stand in a call.
    """
    found: dict[str, re.Pattern[Any]] = {}
    for module in modules():
        name = module.__name__.removeprefix("keepstone.")
        for variable, value in vars(module).items():
            for place, pattern in _within(value, f"{name}.{variable}", 6):
                found.setdefault(place, pattern)
        found.update(_in_calls(module, name))
    for file in sorted(tables.FOLDER.glob("*.toml")):
        found.update(_of_tables(tables.load(file.stem)))
    distinct: dict[tuple[Any, int], str] = {}
    for place, pattern in found.items():
        distinct.setdefault((pattern.pattern, pattern.flags), place)
    return {place: found[place] for place in distinct.values()}


def modules() -> Iterator[ModuleType]:
    for known in pkgutil.walk_packages(keepstone.__path__, "keepstone."):
        if not known.name.endswith("__main__"):
            yield importlib.import_module(known.name)


def _within(value: object, place: str, depth: int) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The patterns of a value: itself, or of what it holds."""
    if isinstance(value, re.Pattern | tables.LatePattern):
        yield place, re.compile(value.pattern, value.flags)
        return
    if depth == 0 or isinstance(value, str | bytes | type | ModuleType):
        return
    parts: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple | set | frozenset):
        parts = enumerate(value)
    elif type(value).__module__.startswith("keepstone"):
        names = [*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())]
        parts = [(name, getattr(value, name, None)) for name in names]
    for key, part in list(parts):
        yield from _within(part, f"{place}.{key}", depth - 1)


def _of_tables(rules: tables.RuleTables) -> dict[str, re.Pattern[Any]]:
    found: dict[str, re.Pattern[Any]] = {}
    for name, table in {**rules.data, **rules.data.get("shapes", {})}.items():
        place = f"{rules.name}.toml {name}"
        if isinstance(table, list) and name != "uses":
            found.update(_within(rules.rules(name), place, 6))
        elif name not in {"uses", "shapes"} and isinstance(table, dict | str):
            try:
                found.update(_within(rules.pattern(name), place, 1))
            except ValueError:
                continue  # words that are no phrases
    return found


def _in_calls(module: ModuleType, name: str) -> dict[str, re.Pattern[Any]]:
    """`re.sub(r"…", …)` in a function, where the pattern is known without calling it."""
    source = Path(module.__file__ or "").read_text(encoding="utf-8")
    found: dict[str, re.Pattern[Any]] = {}
    for node in ast.walk(ast.parse(source)) if "re." in source else ():
        if not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node.args):
            continue
        flags = next((word.value for word in node.keywords if word.arg == "flags"), None)
        flags = flags or next((argument for argument in node.args[1:] if ast.unparse(argument).startswith("re.")), None)
        try:
            written: Any = eval(ast.unparse(node.args[0]), vars(module))
            flag: int = eval(ast.unparse(flags), vars(module)) if flags else 0
            found[f"{name}:{node.lineno}"] = re.compile(written, flag)
        except (NameError, TypeError, AttributeError):
            continue  # made of what only the function knows
    return found


# --- texts ------------------------------------------------------------------------------------------------------------

Maker = Callable[[int], str]


def repeated(unit: str, before: str = "", after: str = "") -> Maker:
    def make(size: int) -> str:
        return before + unit * (size // len(unit) + 1) + after

    make.__name__ = f"{before!r} + {unit!r}… + {after!r}"
    return make


def hostile_texts(pattern: re.Pattern[Any], most: int = 24) -> list[Maker]:
    """Texts in which a pattern begins everywhere, goes on for long and fails at the end."""
    makers: dict[str, Maker] = {}
    for before, unit in dict.fromkeys((before, unit) for before, unit, _ in _repetitions(_tree(pattern), "")):
        if not unit:
            continue
        for maker in (repeated(unit, before, "\0"), repeated(before + unit), repeated(unit, "", "\0" + before)):
            makers.setdefault(maker.__name__, maker)
    everything = list(makers.values())
    return everything[:: max(1, len(everything) // most)]


def _tree(pattern: re.Pattern[Any]) -> list[Any]:
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return list(
        parser.parse(source, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags)
    )


def _repetitions(items: list[Any], before: str) -> Iterator[tuple[str, str, int]]:
    """What stands before each long repetition, what is repeated, and how often at most."""
    for kind, value in items:
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            _, most, part = value
            if most > _LONG:
                for unit in {_sample(list(part), first) for first in range(3)}:
                    yield before, unit, most
            yield from _repetitions(list(part), before)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from _repetitions(list(branch), before)
        elif kind is op.SUBPATTERN:
            yield from _repetitions(list(value[-1]), before)
        elif kind is op.ATOMIC_GROUP:
            yield from _repetitions(list(value), before)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from _repetitions(list(value[1]), before)
        before += _sample([(kind, value)], 0)


def _sample(items: Iterable[Any], first: int) -> str:
    """Something that it matches, or nearly; another one for another `first`."""
    text = ""
    for kind, value in items:
        if kind is op.LITERAL:
            text += chr(value)
        elif kind in (op.NOT_LITERAL, op.ANY, op.IN):
            letters = [letter for letter in _LETTERS if _fits(kind, value, letter)]
            text += letters[first % len(letters)] if letters else _listed(value)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            text += _sample(value[2], first) * max(value[0], 1 if value[1] > _LONG else 0)
        elif kind is op.BRANCH:
            text += _sample(value[1][first % len(value[1])], first)
        elif kind is op.SUBPATTERN:
            text += _sample(value[-1], first)
        elif kind is op.ATOMIC_GROUP:
            text += _sample(value, first)
    return text


def _listed(value: list[Any]) -> str:
    return next(
        (chr(what if kind is op.LITERAL else what[0]) for kind, what in value if kind in (op.LITERAL, op.RANGE)), ""
    )


def _fits(kind: Any, value: Any, letter: str) -> bool:
    if kind is op.ANY:
        return letter != "\n"
    if kind is op.NOT_LITERAL:
        return letter != chr(value)
    negated = value[0][0] is op.NEGATE
    return negated != any(_is_of(part, what, letter) for part, what in value[negated:])


def _is_of(part: Any, what: Any, letter: str) -> bool:
    if part is op.LITERAL:
        return ord(letter) == what
    if part is op.RANGE:
        return what[0] <= ord(letter) <= what[1]
    plain = {"DIGIT": str.isdigit, "SPACE": str.isspace, "WORD": lambda one: one.isalnum() or one == "_"}
    name = str(what).removeprefix("CATEGORY_")
    return plain[name.removeprefix("NOT_")](letter) != name.startswith("NOT_")


# --- measuring --------------------------------------------------------------------------------------------------------


def explodes(work: Callable[[str], object], maker: Maker, *steps: tuple[int, float]) -> bool:
    return any(all(_seconds(work, maker(size)) > most for _ in range(3)) for size, most in steps)


def growth(work: Callable[[str], object], maker: Maker, small: int = SMALL, large: int = LARGE) -> float:
    """How much longer the larger text takes; 0 where it is quick, infinite where nobody can wait for it."""
    if explodes(work, maker, *STEPS):
        return float("inf")
    long = _seconds(work, maker(large))
    if long < QUICK:
        return 0.0
    # What else goes on here makes some measurements longer and none shorter.
    ratio = float("inf")
    for _ in range(4):
        short = min(_seconds(work, maker(small)) for _ in range(2))
        long = min(long, _seconds(work, maker(large)))
        ratio = long / max(short, 1e-5)
        if long < QUICK or ratio < STEEP:
            return 0.0 if long < QUICK else ratio
    return ratio


def _seconds(work: Callable[[str], object], text: str) -> float:
    begin = time.thread_time()
    work(text)
    return time.thread_time() - begin


def tried(pattern: re.Pattern[Any]) -> Callable[[str], object]:
    """A pattern looked for, from each place and from the first to the end."""
    if isinstance(pattern.pattern, bytes):
        return lambda text: (all(pattern.finditer(text.encode())), pattern.fullmatch(text.encode()))
    return lambda text: (all(pattern.finditer(text)), pattern.fullmatch(text))


def steep(pattern: re.Pattern[Any]) -> str:
    """A text on which the work of a pattern grows faster than the text; empty where there is none."""
    work, makers = tried(pattern), hostile_texts(pattern)
    if any(most is op.MAXREPEAT for _, _, most in _repetitions(_tree(pattern), "")):
        # Where a pattern begins only here and there, it takes a longer text to see it.
        trials = [
            *((maker, times) for times in (1, 16) for maker in makers),
            *((repeated(unit), 1) for unit in HOSTILE),
        ]
        for maker, times in trials:
            ratio = growth(work, maker, SMALL * times, LARGE * times)
            if ratio >= STEEP:
                return f"{maker.__name__}: × {ratio:.0f}"
        return ""
    few = makers[:: max(1, len(makers) // 6)]
    return next((maker.__name__ for maker in few if explodes(work, maker, *_SENTENCE)), "")
