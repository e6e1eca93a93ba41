"""Titles, tags and topics: what a text is called, from the words of the text itself.

Owns which sentence stands for a text, which phrases stand for it, and which phrases set one group of texts apart from
the others. It must not invent: a title and a tag stand in the text as they were written, but for markdown. The same
text gives the same title at every time; the only thing known of other texts is the list of common words below. A
language model gives a better title, and is never needed for one.

Phrases are runs of words between stop words and punctuation (as in RAKE), weighed by how often they stand in the text,
how early, whether they are written as a name, and what stands before them (as in YAKE); groups are told apart by
c-TF-IDF. Chinese has no spaces: its phrases are what lies between function words, and the substrings that come again.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from keepstone.engine.ask_model import DATA_ONLY, quoted, refuses
from keepstone.engine.language.scripts import DENSE, placed_tokens, tokens, unspaced
from keepstone.engine.language.sentences import CLAUSE, lines, sentences, shortened
from keepstone.engine.language.stopwords import STOP_WORDS, guess
from keepstone.engine.terms import stem
from keepstone.providers.llm import LanguageModel

LIMIT = 80
LIMIT_UNSPACED = 30
# What comes later is not looked at: the beginning of a document names what it is about.
READ = 12_000
MOST_SENTENCES = 60
LONGEST_PHRASE = 3

# Common in any conversation, and so telling little of one; stop words are not repeated here.
_COMMON = """
    able actually add additionally advice almost already alright always another answer anyway around ask asked back
    based become begin best better big bit bring called came case certain change check choose come comes common
    consider could course create day days decided definitely depending different done easy either else end enough
    ensure especially etc even ever every everyone everything example experience explain extra fact fairly far feel
    fine first following found friend full further general generally get gets getting give given gives go goes going
    gone good got great guess happen happy hard hear help helpful helps here's hey hi hello hope however i'd i'll i'm
    i've idea important include includes including information instead interesting it's keep kind know known large
    last later least less let's like likely little long look looking looks lot lots love made main make makes making
    many matter maybe mean means might mind much must need needed needs never new next nice nothing now offer often ok
    okay old one ones option options part particular people perhaps place please possible pretty probably problem
    provide provides put question quick quite rather read really recommend reason regarding remember right said say
    says second see seem seems several share since slightly small someone something sometimes soon sorry sort start
    started still stuff such suggest sure take takes talk tell than thank thanks that's there's thing things think
    thought three time times tips today together told tried try trying turn two type understand use used useful uses
    using usually various want wanted wants way ways week well went what's whether without wonder word work works
    world would year years yes yet you'd you'll you're you've able chose went mostly mainly simply basically per via
    will shall between otherwise happens care collect whatever four five six seven eight nine ten minutes enjoy stay
    let lets both within among although though thus hence whose upon don't doesn't isn't won't can't didn't
    auch bitte dabei danke dein deine einfach etwas ganz gerade gern gibt gut immer kannst machen mal mehr muss möchte
    sehr sollte viel weiter wirklich wurde also diese dieser dieses alle beim sowie während zwischen
"""
COMMON = frozenset(_COMMON.split())
_STOP_WORDS = STOP_WORDS["en"] | STOP_WORDS["de"]
# What never begins or ends a Chinese phrase, the longer ones first.
FUNCTION = re.compile(
    """
    最终|最近|最好|终于|因为|所以|但是|如果|我们|你们|他们|可以|需要|应该|已经|还是|或者|以及|并且|而且|然后|这个|那个|这些|那些|一个|一些|
    什么|怎么|怎样|如何|为什么|哪里|多少|没有|不是|不用|就是|都是|也是|只是|觉得|知道|希望|想要|建议|非常|比较|可能|通常|
    主要|其他|其中|之前|之后|以后|以前|时候|现在|今天|大家|自己|帮我|谢谢|你好|请问|好的|当然|由于|通过|根据|关于|对于|
    例如|比如|包括|使用|进行|成为|作为|认为|同时|此外|另外|最后|首先|其次|总之|虽然|不过|只有|只要|一样|一下|一起|得到|
    [的了是在我你他她它们和与及或就都也还不没把被让给从向这那哪吗呢吧啊呀嗯很太更最再又才已将其而但若则着么请]
""".replace("\n", "").replace(" ", "")
)
# Chinese words that any text could have.
_COMMON_ZH = """
    问题 原因 东西 下来 告诉 注意 需求 信息 提醒 答应 同意 情况 方面 内容 部分 方式 时间 事情 一定 之间 开始 结果
    选择 提供 方法 具体 重要 不同 相关 容易 回来 起来 出来 看看 记得 决定 确定 喜欢 有些 有点 继续 完成 增加 影响
    一直 一般 各种 许多 很多
"""
COMMON_ZH = frozenset(_COMMON_ZH.split())
# A line that only introduces what comes, or a heading that any text could have.
EMPTY = re.compile(
    r"\W*(?:great (?:question|choice|idea)|hi|hello|hey|thanks?|no problem|you're welcome|i hope|let me know|feel free|"
    r"i(?:'d| would) be happy|i'm (?:glad|happy)|i'm sorry|hallo|danke|没问题|你好|谢谢|不客气|希望|抱歉)"
    r"(?:\b|(?<=[^\x00-\x7f]))",
    re.IGNORECASE,
)
GENERIC = re.compile(
    r"\W*(?:(?:executive )?summary|overview|introduction|conclusion|background|notes?|answer|question|example|tl;?dr|"
    r"steps?(?: \d+)?|option \d+|part \d+|final thoughts|key (?:points|takeaways)|decision|why|pros|cons|details|"
    r"zusammenfassung|einleitung|fazit|überblick|总结|概述|简介|结论|背景|说明|示例|步骤.{0,2}|注意事项?|要点)\W*",
    re.IGNORECASE,
)
# Says how a sentence hangs together with the one before, and nothing else.
OPENING = re.compile(
    r"(?:(?:also gut|so|well|and|but|also|ok|okay|anyway|actually|in short|in summary|to sum up|overall|however|yes|"
    r"yeah|no|hi|hey|hello|please|btw|sure|of course|certainly|absolutely|can you|could you|here(?:'s| is|"
    r" are)(?: an?| some| the| your| few| more)*|kurz gesagt|insgesamt|allerdings|übrigens|natürlich|gerne?|"
    r"klar)\b[,:!.]?\s+)+|(?:(?:所以|那么|然后|总之|总的来说|另外|不过|但是|好的|当然可以|当然|嗯|其实|"
    r"以下是)[，：,:！!\s]*)+",
    re.IGNORECASE,
)
# Speaks of what was named before, and so doesn't name it.
POINTING = re.compile(
    r"(?:it|he|she|they|this|that|these|those|you|now|then|es|er|das|dies\w*|它|他|她|这|那)\b", re.IGNORECASE
)
_NOUN = "the a an of for with my our your in on from about der die das den dem ein eine einen"
_VERB = "to i we you they he she it can will should would could must who don't didn't"
BEFORE_NOUN, BEFORE_VERB = frozenset(_NOUN.split()), frozenset(_VERB.split())
_SYSTEM = (
    f"You name notes. {DATA_ONLY} Reply with a title for the note in its language, at most 60 characters, specific, "
    "with names and numbers where they matter. Only the title, on one line."
)
_QUOTES = "\"'“”‘’«»„「」『』《》*_` "
_LABEL = re.compile(r"^\W*(?:title|titel|标题|题目)\s*[:：]\s*", re.IGNORECASE)
_PREAMBLE = re.compile(r"^\W*(?:here(?:'s| is)|sure\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase at one place of a text: `key` is the same for all its forms."""

    key: tuple[str, ...]
    form: str
    weight: float


def title(text: str) -> str:
    """What a text is called: its heading, or its most telling sentence, in one short line. Empty only for nothing."""
    read = lines(text[:READ])
    for place, line in enumerate(read[:2]):
        # Below a line such as "Sure, here it is:" only a heading proper names the whole.
        named = line.heading == "marked" or (line.heading == "bold" and place == 0)
        if named and not GENERIC.fullmatch(line.text) and any(map(str.isalnum, line.text)):
            return _short(line.text)
    told = [(each, line.item) for line in read if not line.heading for each in sentences(line.text)][:MOST_SENTENCES]
    counts = Counter(term for each, _ in told for term in _telling(each))
    best = max(_candidates(told, counts), key=lambda pair: pair[0], default=(0.0, ""))[1]
    return best or _short(next((line.text for line in read), "")) or _short(text)


def tags(text: str, limit: int = 5) -> list[str]:
    """The phrases that stand for one text, as written, best first."""
    return topics([text], limit)


def topics(texts: Sequence[str], limit: int) -> list[str]:
    """The phrases that stand for all of the texts; one that several texts share counts for more."""
    scores, forms = _scores(texts)
    return _apart(scores, forms, limit)


def labels(groups: Sequence[Sequence[str]], limit: int) -> list[list[str]]:
    """For each group of texts the phrases that set it apart from the other groups (c-TF-IDF)."""
    scored = [_scores(texts) for texts in groups]
    everywhere: Counter[tuple[str, ...]] = Counter()
    for scores, _ in scored:
        everywhere.update(scores)
    average = sum(everywhere.values()) / max(len(groups), 1)
    found: list[list[str]] = []
    for scores, forms in scored:
        weighed = {key: score * math.log1p(average / everywhere[key]) for key, score in scores.items()}
        found.append(_apart(weighed, forms, limit))
    return found


async def title_by_model(model: LanguageModel, text: str) -> str:
    """A title from the language model; the text's own where the model's is none."""
    said = (await model.complete(system=_SYSTEM, prompt=quoted("note", text[:READ]), max_tokens=60)).text
    first = next((line for line in said.splitlines() if line.strip(_QUOTES)), "")
    made = " ".join(_LABEL.sub("", first).split()).lstrip(_QUOTES + "#").rstrip(_QUOTES + ".。")
    if not any(map(str.isalnum, made)) or len(made) > 2 * LIMIT or refuses(made) or _PREAMBLE.match(made):
        return title(text)
    return shortened(made, LIMIT_UNSPACED if unspaced(made) else LIMIT)


# --- a sentence that stands for the text ------------------------------------------------------------------------------


def _short(text: str) -> str:
    short = shortened(text, LIMIT_UNSPACED if unspaced(text) else LIMIT)
    return short.rstrip(" .。:：,，;；、") or short


def _candidates(told: Sequence[tuple[str, bool]], counts: Mapping[str, int]) -> Iterator[tuple[float, str]]:
    """Every sentence as a title, and the clauses of one that is too long; with how much it tells."""
    for place, (sentence, item) in enumerate(told):
        opening = OPENING.match(sentence)
        begin = opening.end() if opening and opening.end() < len(sentence) else 0
        starts = [begin]
        if len(sentence) - begin > LIMIT_UNSPACED:
            starts += [match.end() for match in CLAUSE.finditer(sentence, begin) if match.end() < len(sentence) - 10]
        for start in starts[:6]:
            short = _short(sentence[start:])
            if any(map(str.isalnum, short)) and _balanced(short):
                early = 1 / (1 + 0.2 * place) if place else 1.3
                worse = (0.4 if EMPTY.match(sentence) else 1) * (0.75 if start > begin else 1)
                worse *= (0.5 if item else 1) * (0.6 if POINTING.match(short) else 1)
                yield _tells(short, counts) * early * worse * (0.9 if short.endswith("…") else 1), short


def _balanced(phrase: str) -> bool:
    return all(phrase.count(left) == phrase.count(right) for left, right in ("()", "（）", "“”", "《》", "「」"))


def _tells(phrase: str, counts: Mapping[str, int]) -> float:
    telling = _telling(phrase)
    return sum(weight * counts.get(term, 1) for term, weight in telling.items())


def _telling(phrase: str) -> dict[str, float]:
    """The terms of a phrase, each with how much it tells by itself."""
    found: dict[str, float] = {}
    for index, raw in enumerate(tokens(phrase)):
        if DENSE.match(raw):
            for inner in FUNCTION.split(raw):
                found |= {inner[at : at + 2]: 0.6 for at in range(len(inner) - 1)}
        else:
            weight = _weight(raw) * (1.3 if index and raw[0].isupper() else 1.0)
            if weight:
                found[raw.casefold()] = weight
    return found


@lru_cache(maxsize=1 << 14)
def _weight(raw: str) -> float:
    """What a word tells: nothing for a stop word, little for a common one, more for a number or a name."""
    low = raw.replace("’", "'").casefold()
    if low in _STOP_WORDS:
        return 0.0
    if low in COMMON or len(low) < 2:
        return 0.25
    return 1.2 if any(map(str.isdigit, raw)) else 1.0


# --- phrases ----------------------------------------------------------------------------------------------------------


def _scores(texts: Iterable[str]) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], str]]:
    """How much each phrase says of the texts, and the form in which it is written most often."""
    scores: defaultdict[tuple[str, ...], float] = defaultdict(float)
    forms: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for text in texts:
        counts: Counter[tuple[str, ...]] = Counter()
        best: dict[tuple[str, ...], float] = {}
        for phrase in _phrases(text[:READ]):
            counts[phrase.key] += 1
            best[phrase.key] = max(best.get(phrase.key, 0.0), phrase.weight)
            forms[phrase.key][phrase.form] += 1
        for key, count in counts.items():
            scores[key] += best[key] * math.log1p(count)
    return dict(scores), {key: written.most_common(1)[0][0] for key, written in forms.items()}


def _phrases(text: str) -> Iterator[Phrase]:
    read = [line.text for line in lines(text)]
    again = _recurring(read)
    language = guess(text[:2000])
    for place, line in enumerate(read):
        early = 1 / (1 + 0.03 * place)
        for phrase in (*_spaced(line, language), *_dense(line, again)):
            yield Phrase(phrase.key, phrase.form, phrase.weight * early)


def _spaced(line: str, language: str) -> Iterator[Phrase]:
    """Runs of telling words with nothing but a space or a hyphen between."""
    run: list[re.Match[str]] = []
    before, previous = "", ""
    for match in placed_tokens(line):
        raw = match.group()
        if run and line[run[-1].end() : match.start()] not in {" ", "-", " & "}:
            yield from _run(run, before, language)
            run = []
        if DENSE.match(raw) or _weight(raw) < 1:
            yield from _run(run, before, language)
            run = []
        else:
            before = before if run else previous
            run.append(match)
        previous = raw.casefold()
    yield from _run(run, before, language)


def _run(run: Sequence[re.Match[str]], before: str, language: str) -> Iterator[Phrase]:
    if not run:
        return
    usage = 1.3 if before in BEFORE_NOUN else 0.6 if before in BEFORE_VERB else 1.0
    for size in range(1, min(len(run), LONGEST_PHRASE) + 1):
        for at in range(len(run) - size + 1):
            raw = [match.group() for match in run[at : at + size]]
            named = sum(word[0].isupper() for word in raw) if run[at].start() > 0 else sum(map(str.isupper, raw))
            if _is_phrase(raw, named, language):
                form = run[at].string[run[at].start() : run[at + size - 1].end()]
                weight = size**0.4 * (1 + 0.5 * named / size) * (1.0 if at else usage)
                weight *= 0.7 if raw[-1].endswith(("ing", "ly", "ed")) else 1.0
                yield Phrase(tuple(stem(word.casefold(), language) for word in raw), form, weight)


def _is_phrase(raw: Sequence[str], named: int, language: str) -> bool:
    """Whether words in a row can be one thing's name: three only as a proper name, and no number alone."""
    first, last = raw[0], raw[-1]
    if first[0].isdigit() and first[-1].isdigit():
        return False
    if last[0].isdigit() and last[-1].isdigit() and not first[0].isupper():
        return False
    if language == "de" and last[0].islower():
        return False  # nouns are written with a capital
    return len(first) > 2 if len(raw) == 1 else named == len(raw) or len(raw) < LONGEST_PHRASE


def _dense(line: str, again: frozenset[str]) -> Iterator[Phrase]:
    for raw in tokens(line) if not line.isascii() else ():
        if DENSE.match(raw):
            for inner in FUNCTION.split(raw):
                known = [part for part in _parts(inner) if part in again]
                for whole in known or ([inner] if 2 <= len(inner) <= 5 else []):
                    part = whole[:-1] if len(whole) > 2 and whole[-1] in "中里上下后前时等" else whole
                    if part not in COMMON_ZH:
                        yield Phrase((part,), part, 0.8 + 0.1 * min(len(part), 5))


def _parts(run: str) -> Iterator[str]:
    return (run[at : at + size] for size in range(2, 7) for at in range(len(run) - size + 1))


def _recurring(read: Iterable[str]) -> frozenset[str]:
    """Substrings that come again, other than as a part of a longer one that does."""
    counts: Counter[str] = Counter()
    for line in read:
        for raw in tokens(line) if not line.isascii() else ():
            if DENSE.match(raw):
                counts.update(part for inner in FUNCTION.split(raw) for part in _parts(inner))
    covered: Counter[str] = Counter()
    found: set[str] = set()
    for part in sorted((part for part, count in counts.items() if count > 1), key=lambda part: (-len(part), part)):
        alone = counts[part] - covered[part]
        if alone > 1:
            found.add(part)
            covered.update({inner: alone * part.count(inner) for inner in set(_parts(part)) if inner != part})
    return frozenset(found)


def _apart(scores: Mapping[tuple[str, ...], float], forms: Mapping[tuple[str, ...], str], limit: int) -> list[str]:
    """The best phrases of which none repeats a word of another."""
    chosen: list[tuple[str, ...]] = []
    for key in sorted(scores, key=lambda each: (-scores[each], each)):
        if len(chosen) >= limit:
            break
        if not any(_overlap(key, other) for other in chosen):
            chosen.append(key)
    return [forms[key] for key in chosen]


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    return any(a == b or (not a.isascii() and (a in b or b in a)) for a in one for b in other)
