"""Terms: what a text is indexed under for BM25, and where in the text each of them stands.

Owns the tokenizer, the stemming and the guess of a text's language. It must stay a function of the text alone: the same
text gives the same terms at every time and place, or stored terms are no longer found. No statistics here; those are
`bm25`'s, and belong to a space.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

# The classes are named instead of asking `snowballstemmer.stemmer`, which takes PyStemmer where it happens to be
# installed: another version of the algorithm would give other stems than those in the database.
from snowballstemmer.arabic_stemmer import ArabicStemmer
from snowballstemmer.danish_stemmer import DanishStemmer
from snowballstemmer.dutch_stemmer import DutchStemmer
from snowballstemmer.english_stemmer import EnglishStemmer
from snowballstemmer.finnish_stemmer import FinnishStemmer
from snowballstemmer.french_stemmer import FrenchStemmer
from snowballstemmer.german_stemmer import GermanStemmer
from snowballstemmer.greek_stemmer import GreekStemmer
from snowballstemmer.hindi_stemmer import HindiStemmer
from snowballstemmer.italian_stemmer import ItalianStemmer
from snowballstemmer.norwegian_stemmer import NorwegianStemmer
from snowballstemmer.portuguese_stemmer import PortugueseStemmer
from snowballstemmer.russian_stemmer import RussianStemmer
from snowballstemmer.spanish_stemmer import SpanishStemmer
from snowballstemmer.swedish_stemmer import SwedishStemmer
from snowballstemmer.turkish_stemmer import TurkishStemmer


class Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802


STEMMERS: dict[str, Callable[[], Stemmer]] = {
    "ar": ArabicStemmer,
    "da": DanishStemmer,
    "de": GermanStemmer,
    "el": GreekStemmer,
    "en": EnglishStemmer,
    "es": SpanishStemmer,
    "fi": FinnishStemmer,
    "fr": FrenchStemmer,
    "hi": HindiStemmer,
    "it": ItalianStemmer,
    "nl": DutchStemmer,
    "no": NorwegianStemmer,
    "pt": PortugueseStemmer,
    "ru": RussianStemmer,
    "sv": SwedishStemmer,
    "tr": TurkishStemmer,
}

# Words that say which language a text is in, and that are no use as terms. "may" is a month, "will" and "mark" are
# people, "us" a country: what can be a name is left out of the English list.
_STOP_WORDS = {
    "en": """
        a about after again all also am an and any are aren't as at be because been before being both but by
        can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from
        further had hadn't has hasn't have haven't having he her here hers herself him himself his how i if
        in into is isn't it its itself just let me more most mustn't my myself no nor not of off on once
        only or other ought our ours ourselves out over own same she should shouldn't so some such than that
        the their theirs them themselves then there these they this those through to too under until up very
        was wasn't we were weren't what when where which while who whom why with won't would wouldn't you
        your yours yourself yourselves
    """,
    "de": """
        aber als am an auch auf aus bei bin bis bist da damit dann das dass dem den der des dich die dir
        doch du durch ein eine einem einen einer eines er es euch für hab habe haben hat hatte hatten hier
        ich ihm ihn ihr ihre ihrem ihren im in ist ja jetzt kann kein keine können man mein meine meinem
        meinen meiner mich mir mit nach nicht noch nur ob oder ohne schon sein seine seinen seiner sich sie
        sind so über um und uns unser vom von vor wann war waren warum was weil wem wen wenn wer werden wie
        wieder wir wird wo worden wurde wurden zu zum zur
    """,
    "fr": """
        ai au aux avec avez avons c ce ces cette comme d dans de des du elle elles en est et étaient était
        été être eu il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne nos notre nous on
        ont ou où par pas plus pour qu quand que quel quelle qui quoi s sa sans se ses si son sont sur ta te
        tes toi ton tu un une vos votre vous y
    """,
    "es": """
        al algo como con cual cuál cuando cuándo de del desde donde dónde el él ella ellas ellos en era eran
        es esa ese eso esta está están este esto estos fue fueron ha había han hasta hay la las le les lo
        los más me mi mis muy no nos o para pero por porque que qué quien quién se ser si sí sin sobre son
        su sus también te tiene tu tus un una unos y ya yo
    """,
    "it": """
        ai al alla alle anche che chi ci come con cosa da dal dalla dei del della delle di dove e è ed era
        erano gli ha hai hanno ho i il in io la le lei li lo loro lui ma mi mia mio nel nella non o per
        perché più qual quale quando quella quello questa questo se si sono su sua sul sulla suo ti tra tu
        un una uno
    """,
    "pt": """
        a ao aos as às com como da das de dela dele do dos e é ela ele eles em era essa esse está estão eu
        foi foram há isso já lhe mais mas me meu minha muito na nas não no nos o onde os ou para pela pelo
        por qual quando que quem se sem ser seu seus sua suas são também tem um uma você
    """,
    "nl": """
        aan al als bij dan dat de der deze die dit door een en er geen haar had heb hebben heeft hem het hij
        hoe hun ik in is je kan maar me meer met mijn na naar niet nog nu of om onder ook op over te tot uit
        van voor waar waren was wat we werd wie wij wordt zal ze zich zij zijn zo zou
    """,
    "sv": """
        alla att av bara blev blir de dem den deras dess det detta dig din du där efter eller en er ett från
        för ha hade han har hennes honom hon hur här i icke inte jag kan man med men mig min mitt mot mycket
        när någon och om oss på sig sin sitt skulle som så till under upp ut utan vad var vara varit vem vi
        vid vilken än är över
    """,
    "da": """
        af at blev bliver da de dem den der deres det dig din dog du efter eller en er et for fra få ham han
        hans har havde hende hendes her hos hun hvad hvem hvor hvornår i ikke ind jeg jer kan man med meget
        men mig min mod mon når nogle noget og om op os over på selv sig sin skulle som til ud under var vi
        vil være været
    """,
    "no": """
        av ble bli blir da de dem den der deres det dette du eller en er et etter for fra ha hadde ham han
        har hennes her hun hva hvem hvor hvordan hvorfor i ikke jeg kan man med meg mellom men min mitt mot
        når noe noen og om opp oss på seg selv sin skal skulle som til ut var vi vil være vært
    """,
    "fi": """
        ei eivät että hän he ja jo joka jos kanssa koska kuin kuka kun me mikä mitä missä milloin minä minun
        mutta myös ne niin nyt oli olivat olla olen on ovat se sekä sen sinä tai tämä vain
    """,
    "tr": """
        ama bana ben bir biz bu çok da daha de değil en gibi hangi hem her için ile ise kadar ki kim mi mu
        nasıl ne neden nerede o olan olarak onu sen şu var ve veya ya yok zaman
    """,
}
STOPS = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}
# Languages of one script that need no guess: the letters say it.
SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ru", re.compile(r"[Ѐ-ӿ]")),
    ("el", re.compile(r"[Ͱ-Ͽἀ-῿]")),
    ("ar", re.compile(r"[؀-ۿݐ-ݿ]")),
    ("hi", re.compile(r"[ऀ-ॿ]")),
)

# Marks that Python's \w leaves out though words are written with them, and whole blocks of scripts full of such marks.
_MARKS = r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_INDIC = r"\u0900-\u0963\u0966-\u0df3\u0f00-\u0fbc"
# Written without spaces: Han, kana, Hangul (whose endings stick to the word), Thai, Lao, Burmese, Khmer.
_HAN = r"々〇\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA = r"\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = r"\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_SOUTHEAST = r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
_DENSE = _HAN + _KANA + _HANGUL + _SOUTHEAST
_LETTER = rf"(?:(?![{_DENSE}])[\w{_MARKS}{_INDIC}])"

# What stays together: an e-mail address, a number with its inner marks (date, time, version, amount), a dotted name.
# Two patterns of one shape: the classes of the second cost three times as much, and most text doesn't need them.
_SHAPE = r"{w}+(?:[.+-]{w}+)*@{w}+(?:[.-]{w}+)+|\d+(?:[.,:/-]\d+)+|{w}+(?:['’.]{w}+)*"
ASCII = re.compile(_SHAPE.format(w=r"[A-Za-z0-9_]"), re.ASCII)
UNICODE = re.compile(rf"[{_DENSE}]+|" + _SHAPE.format(w=_LETTER))
DENSE = re.compile(rf"[{_DENSE}]")
# Anything but Latin letters, marks that go with them, punctuation, symbols and pictures.
BEYOND_LATIN = re.compile(r"[^\x00-\u036f\u1e00-\u1eff\u2000-\u2bff\ufe00-\ufe0f\U0001f000-\U0001faff]")
SINGLE = re.compile(rf"[{_HAN}]")
KANA = re.compile(rf"[{_KANA}]")
HANGUL = re.compile(rf"[{_HANGUL}]")
SOUTHEAST = re.compile(rf"[{_SOUTHEAST}]")

PLAIN = re.compile(r"[a-z]+")
ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
ISO_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
CAMEL = re.compile(r"[a-z0-9]+(?=[A-Z])|[A-Z]+(?=[A-Z][a-z])")
SPLIT = re.compile(r"[_.@+' -]+")
FOLDED = re.compile(r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]")
STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th"})
CONTRACTED = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)

# How many words the language is guessed from: enough to be sure, few enough to cost nothing in a long document.
SAMPLE = 200
LATIN = frozenset(STOPS)


def _speakers_of_each_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, stops in STOPS.items():
        for word in stops:
            found[word] = (*found.get(word, ()), language)
    return found


LANGUAGES_OF = _speakers_of_each_word()


@dataclass(frozen=True, slots=True)
class Word:
    """A term and the characters of the text that it stands for."""

    start: int
    end: int
    term: str


def terms(text: str, language: str | None = None) -> list[str]:
    """The terms of a text in its order, with repeats. Stop words only where there is nothing else."""
    found = (UNICODE if not text.isascii() else ASCII).findall(text)
    language = language or _guess(found)
    kept: list[str] = []
    for raw in found:
        kept += _terms(raw, language)
    if kept:
        return kept
    return [term for raw in found for term in _spoken(raw, language)]


def words(text: str, language: str | None = None) -> list[Word]:
    """Every term with its place, stop words too: they have a place as well, and the caller knows their weight."""
    found = list((UNICODE if not text.isascii() else ASCII).finditer(text))
    language = language or _guess([match.group() for match in found])
    placed: list[Word] = []
    for match in found:
        raw, start = match.group(), match.start()
        if DENSE.match(raw):
            placed += _dense_words(raw, start)
        else:
            placed += [Word(start, match.end(), term) for term in _spoken(raw, language)]
    return placed


def guess(text: str) -> str:
    """The language of a text, two letters. Of the Latin ones English unless another's small words outnumber its."""
    return _guess((UNICODE if not text.isascii() else ASCII).findall(text[: SAMPLE * 20]))


def dense(text: str) -> bool:
    """Whether most letters of the text are of a script without spaces between words."""
    letters = sum(map(str.isalpha, text))
    return letters > 0 and 2 * len(DENSE.findall(text)) > letters


def latin(text: str) -> bool:
    """Whether most letters of the text are Latin: what an English model was trained to read."""
    if not BEYOND_LATIN.search(text):
        return True
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < "\u0250" or "\u1e00" <= letter <= "\u1eff" for letter in letters) >= len(letters)


def is_stop(raw: str, language: str = "en") -> bool:
    """Whether a word is too common to tell one text from another."""
    return raw.replace("’", "'").casefold() in STOPS.get(language, STOPS["en"])


def _guess(found: Iterable[str]) -> str:
    counts: Counter[str] = Counter()
    for _, raw in zip(range(SAMPLE), found, strict=False):
        if not raw.isascii():
            language = _script(raw)
            if language:
                # A run of characters without spaces is many words.
                counts[language] += 2 + len(raw) // 2
                continue
        counts.update(LANGUAGES_OF.get(raw.lower(), ()))
    if not counts:
        return "en"
    best, hits = counts.most_common(1)[0]
    if best in LATIN and (hits < 2 or hits <= counts["en"]):
        return "en"
    if best in {"zh", "ja"}:
        # Japanese is written with Han as well; Chinese never with kana.
        return "ja" if counts["ja"] else "zh"
    return best


@lru_cache(maxsize=4096)
def _script(raw: str) -> str | None:
    if DENSE.match(raw):
        if KANA.search(raw):
            return "ja"
        if HANGUL.search(raw):
            return "ko"
        return "th" if SOUTHEAST.search(raw) else "zh"
    return next((language for language, pattern in SCRIPTS if pattern.search(raw)), None)


@lru_cache(maxsize=1 << 16)
def _terms(raw: str, language: str) -> tuple[str, ...]:
    return () if is_stop(raw, language) else _spoken(raw, language)


@lru_cache(maxsize=1 << 16)
def _spoken(raw: str, language: str) -> tuple[str, ...]:
    """The terms of one match of the pattern."""
    if DENSE.match(raw):
        return tuple(word.term for word in _dense_words(raw, 0))
    folded = unicodedata.normalize("NFKC", raw).casefold().replace("’", "'")
    if PLAIN.fullmatch(folded) and not CAMEL.search(raw):
        return (stem(folded, language),)
    if folded[0].isdigit():
        number = _number(folded)
        if number:
            return number
    if "'" in folded and "@" not in folded:
        return _apostrophe(folded, language)
    if "." in folded and all(len(part) == 1 for part in folded.split(".")):
        return (folded.replace(".", ""),)
    inner = _inner(raw, language)
    # An identifier, an address or a file name is asked for whole or by its parts.
    return (_fold(folded).strip("_"), *inner) if len(inner) > 1 else inner


def _inner(raw: str, language: str) -> tuple[str, ...]:
    """The words inside an identifier: get_userName → get, user, name."""
    apart = CAMEL.sub(lambda match: match.group() + " ", raw)
    return _pieces(SPLIT.split(unicodedata.normalize("NFKC", apart).casefold()), language)


def _pieces(parts: Iterable[str], language: str) -> tuple[str, ...]:
    return tuple(stem(part, language) for part in parts if part)


def _number(folded: str) -> tuple[str, ...]:
    """Nothing when it only begins with a digit."""
    if THOUSANDS.fullmatch(folded):
        return (folded.replace(",", ""),)
    date = ISO_DATE.fullmatch(folded)
    if date and 1 <= int(date[2]) <= 12 and 1 <= int(date[3]) <= 31:
        # Also under the words that people use for it, so that "7 May 2023" finds 2023-05-07.
        month, day = int(date[2]), int(date[3])
        return (f"{date[1]}-{month:02}-{day:02}", date[1], stem(MONTHS[month - 1], "en"), str(day))
    ordinal = ORDINAL.fullmatch(folded)
    if ordinal:
        return (ordinal[1],)
    return () if any(map(str.isalpha, folded)) else (folded,)


def _apostrophe(folded: str, language: str) -> tuple[str, ...]:
    parts = [part for part in folded.split("'") if part]
    if len(parts) > 1 and parts[-1] in CONTRACTED:
        parts = parts[:-1]
    # l'homme, qu'il, O'Brien: what stands before is grammar.
    if len(parts) > 1 and len(parts[0]) <= 2:
        parts = parts[1:]
    return tuple(term for part in parts for term in _inner(part, language))


def _dense_words(run: str, offset: int) -> list[Word]:
    """Bigrams of a run without spaces, and each Han character alone: a name or a word of one must be found as well."""
    placed: list[Word] = []
    letters = [unicodedata.normalize("NFKC", letter).casefold() for letter in run]
    for index, letter in enumerate(letters):
        if len(letters) == 1 or SINGLE.match(letter):
            placed.append(Word(offset + index, offset + index + 1, letter))
        if index + 1 < len(letters):
            placed.append(Word(offset + index, offset + index + 2, letter + letters[index + 1]))
    return placed


@lru_cache(maxsize=1 << 16)
def stem(word: str, language: str) -> str:
    """A folded word without its ending and its diacritics."""
    if word.isascii():
        language = language if language in LATIN else "en"
    else:
        script = _script(word)
        language = script if script in STEMMERS else language if language in LATIN else "en"
    # A stemmer holds the word that it works on, so a shared one would mix up the threads; a new one costs nothing.
    return _fold(STEMMERS[language]().stemWord(word)) or word


def _fold(word: str) -> str:
    if word.isascii():
        return word
    bare = FOLDED.sub("", unicodedata.normalize("NFD", word)).translate(STROKES)
    return unicodedata.normalize("NFC", bare) or word
