"""Segments: which messages of a conversation belong together, before anybody judges them.

Owns what a message is (a person's or a machine's, a question, chatter, a program's output) and where a conversation is
cut: at a new question, or where neither a word nor a turn of speech leads on from the messages before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from keepstone.engine.cues import (
    ACKNOWLEDGED,
    CHATTER,
    GREETING,
    LINKED,
    NOISE,
    RECALLED,
    REQUEST,
    SMALL_TALK,
    without_blocks,
)
from keepstone.engine.language.doubt import ASKED
from keepstone.engine.language.scripts import DENSE, tokens
from keepstone.engine.language.sentences import FENCE, lowered
from keepstone.engine.language.stopwords import COMMON, STOP_WORDS, guess, is_stop
from keepstone.engine.terms import terms

# A segment is something to read at once; a longer run is cut.
MOST = 8
READ = 8_000
_EMPTY = frozenset(
    "的了是在我你他她它们这那个一不没有也都就还和与吧吗呢啊么很要会能可以上下来去好到说对为"
)  # tell nothing of a matter
_LONG = 40  # telling words: a text of more has a word in common with nearly anything
_MACHINES = frozenset({"assistant", "ai", "bot", "model", "chatgpt", "claude", "gemini", "助手"})
_PROGRAMS = frozenset({"system", "tool", "function", "developer"})


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """One message. `role` is "user", "assistant", "system" or "tool"; without one the speaker's name is looked at."""

    speaker: str
    text: str
    role: str = ""


class Heard:
    """A message, and what is asked of it more than once."""

    __slots__ = (
        "asks", "chatter", "greets", "index", "low", "machine", "noise", "plain", "program", "said", "speaker", "terms",
        "words",
    )  # fmt: skip

    def __init__(self, index: int, said: SpokenMessage) -> None:
        self.index, self.said = index, said
        self.plain = without_blocks(FENCE.sub("\n", said.text[:READ]), instead="")
        self.low = lowered(self.plain)
        role = (said.role or said.speaker).casefold()
        # Two people may have one role, and are two all the same.
        self.speaker = (said.speaker or said.role).casefold()
        self.machine, self.program = role in _MACHINES, role in _PROGRAMS
        self.words = telling_words(self.low[:1500])
        self.terms = frozenset(_matters(self.low[:1500], self.words))
        self.noise = self.program or self._is_noise()
        self.chatter = len(self.low) < 80 and bool(CHATTER.fullmatch(self.low))
        self.greets = self.chatter or _greets(self.low)
        self.asks = not self.noise and not self.machine and asks(self.low)

    def _is_noise(self) -> bool:
        """Whether it is a program's output, or an old conversation handed in again."""
        if not self.low.strip() and "```" not in self.said.text:
            return True
        return bool(NOISE.match(self.low)) or (len(self.low) < 400 and bool(RECALLED.search(self.low)))


def runs_of(messages: Sequence[SpokenMessage]) -> list[list[Heard]]:
    """The messages with text in segments, by their first message. Noise in between doesn't part a question from its
    answer.
    """
    heard = [Heard(index, said) for index, said in enumerate(messages) if said.text.strip()]
    for message, after in pairwise(heard):
        # What a machine says before it uses a tool is about the tool.
        message.noise = message.noise or (message.machine and after.program)
    runs: list[list[Heard]] = []
    talk: list[Heard] | None = None
    for message in heard:
        noise = runs[-1] if runs and runs[-1][-1].noise and runs[-1][-1].index == message.index - 1 else None
        run = noise if message.noise else talk
        if run is None or len(run) >= MOST or not (message.noise or _joins(run, message)):
            run = list[Heard]()
            runs.append(run)
        run.append(message)
        talk = talk if message.noise else run
    return runs


def asks(low: str) -> bool:
    return bool(ASKED.search(low) or REQUEST.match(low))


def telling_words(low: str) -> list[str]:
    """The words that tell something; of a script without spaces every other pair of letters."""
    words: list[str] = []
    for raw in tokens(low):
        if not raw.isascii() and DENSE.match(raw):
            words += [raw[at : at + 2] for at in range(0, len(raw) - 1, 2)]
        elif raw not in COMMON and raw not in STOP_WORDS["en"]:
            words.append(raw)
    return words


def _matters(low: str, words: Sequence[str]) -> Iterator[str]:
    """What two messages about the same thing have in common: stems; of a script without spaces, pairs of letters."""
    language = guess(low)
    latin = (word for word in words if not DENSE.match(word) and not is_stop(word, language))
    yield from (term for word in latin for term in terms(word, language))
    for raw in tokens(low):
        if not raw.isascii() and DENSE.match(raw):
            pairs = (raw[at : at + 2] for at in range(len(raw) - 1))
            yield from (pair for pair in pairs if not set(pair) & _EMPTY)


def share_a_word(run: Sequence[Heard], message: Heard) -> bool:
    """Whether they speak of the same thing: a telling word in common, or two with a text that is long."""
    for said in run[-3:]:
        common = len(message.terms & said.terms)
        if common > 1 or (common and len(said.words) < _LONG):
            return True
    return False


def _greets(low: str) -> bool:
    """Whether a message is all greeting: how are you, what can I do for you."""
    if len(low) > 400 or not (GREETING.search(low) or SMALL_TALK.search(low)):
        return False
    rest = GREETING.sub(" ", SMALL_TALK.sub(" ", low))
    return len(telling_words(rest)) <= 1 and not any(letter.isdigit() for letter in rest)


def _joins(run: Sequence[Heard], message: Heard) -> bool:
    """Whether a message belongs to the segment before it."""
    last = run[-1]
    if last.greets:
        # What is said after a greeting is another matter, also when the greeting was a question.
        return message.greets
    if message.machine or message.greets:
        return message.machine
    answered = any(said.speaker != run[0].speaker for said in run)
    if message.asks:
        # Asked twice before anybody answers, it is one question.
        return run[0].asks and not answered
    if run[0].asks and not answered:
        return True
    if last.machine and "?" in last.low:
        return True
    return _leads_on(message) or share_a_word(run, message)


def _leads_on(message: Heard) -> bool:
    """Whether it says too little to be a matter of its own, or begins with a reference. "Ok" is none: what comes after
    it may be about anything.
    """
    own = ACKNOWLEDGED.sub("", message.low, count=1) if ACKNOWLEDGED.match(message.low) else message.low
    if LINKED.match(own):
        return True
    return len(own) < 30 and len(telling_words(own)) < 3
