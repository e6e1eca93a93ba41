"""Until when something has to be done, in the words of the sentence that says it."""

from keepstone.engine.language import tables

_TABLES = tables.load("takeaways")
_DUE = _TABLES.pattern("due")
_DUE_ZH = _TABLES.pattern("due_zh")


def due_of(sentence: str) -> str | None:
    """The words that say until when: those with "by" before others, since what is to be done may have a day in it."""
    matches = list(_DUE.finditer(sentence.replace("’", "'")))
    if matches:
        match = next((match for match in matches if match["by"] or match["before"]), matches[0])
        return sentence[match.start("before" if match["before"] else "when") : match.end()].strip()
    chinese = _DUE_ZH.search(sentence)
    return chinese.group().strip() if chinese else None


def is_timed(sentence: str) -> bool:
    """Whether it says until when, and not only when."""
    if any(match["by"] or match["before"] for match in _DUE.finditer(sentence)):
        return True
    chinese = _DUE_ZH.search(sentence)
    return chinese is not None and chinese.group().endswith("前")
