"""How bytes become characters, where nothing says it for sure: UTF-8, else UTF-16, else what reads as a language.

Owns which charsets are read, and how one is told from another. What is no text in any of them is refused.
"""

import codecs
import re
from collections.abc import Iterator

from keepstone.errors import Malformed

_PIECE = 1 << 18

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CHARSET = re.compile(rb"charset\s{0,9}=\s{0,9}[\"']?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
# What a page may say that it is written in, and as what it is read: as browsers do, by the larger set.
_CHARSETS = {
    **{name: name for name in ("utf-8", "koi8-r", "koi8-u", "big5", "euc_jp", "gb18030", "cp932", "cp949")},
    **{f"cp{number}": f"cp{number}" for number in range(1250, 1259)},
    **{f"iso8859-{number}": f"iso8859-{number}" for number in (*range(2, 12), *range(13, 17))},
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}

CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
FOREIGN = re.compile(r"[^\x00-\x7f]")
ACCENTED = re.compile(r"[À-ÿ]{5}")  # of no western language

_NO_TEXT = (
    "This file is not text that Keepstone can read. It reads text as UTF-8, UTF-16, GBK or Big5, and pdf, docx, xlsx, "
    "pptx, epub and eml: save it as one of these under the name that fits, then upload it again."
)

# Characters of which about every second one in a Chinese text is. Read in the wrong charset, next to none is.
_USUAL = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么"
    "去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又"
    "关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海"
    "通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管"
    "期市直德资命山金指许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边"
    "這個們來為國說時會對過發後裡種經麼學現當沒動還進樣開從實與長機關點業將兩間問應戰頭體見產話給門兒東聲員論處義幾條氣題爾變總電"
    "數報結務場計資許統區隊決馬書聽達難權設記類據邊"
)
_CHINESE = ("gb18030", "cp950")
_SURELY, _SURELY_WIDE = 0.2, 0.5  # of the characters
_READ = 4096  # bytes, or characters, of the beginning
# Alphabets and what stands between words.
LETTER = re.compile(r"[\t\n\r -~\u00a0-\u052f\u2010-\u2027\u3000-\u30ff\uff00-\uff65]")


def of_page(data: bytes) -> str:
    """A text that may say what it is written in. That holds only when it is not UTF-8 already."""
    said = CHARSET.search(data, 0, 4096)
    try:
        charset = _CHARSETS.get(codecs.lookup(said[1].decode()).name) if said else None
    except LookupError:
        charset = None
    try:
        text = decoded(data, guess=charset is None)
    except Malformed:
        if charset is None or b"\0" in data:
            raise
        text = data.decode(charset, errors="replace")
        if 100 * text.count("\ufffd") > len(text):
            raise
    return text


def decoded(data: bytes, *, guess: bool = True) -> str:
    """UTF-8, or UTF-16; and else, with `guess`, GBK, Big5 or Windows-1252, where that reads as text."""
    try:
        text = data.decode(_wide(data) or "utf-8-sig")
    except UnicodeDecodeError:
        text = (_chinese(data) or _western(data)) if guess and not data.startswith(_UTF16) else "\0"
    if "\0" in text or 100 * _count(CONTROL, text) > len(text):
        raise Malformed(_NO_TEXT)
    return text


def _wide(data: bytes) -> str | None:
    """UTF-16 that says so at its beginning; or that does not, where what has a NUL reads as text in it."""
    if data.startswith(_UTF16):
        return "utf-16"
    best, most = None, _SURELY_WIDE
    for charset in ("utf-16-le", "utf-16-be") if b"\0" in data[:_READ] and len(data) % 2 == 0 else ():
        try:
            text = data.decode(charset)[:_READ]
        except UnicodeDecodeError:
            continue
        usual = sum(letter in _USUAL or LETTER.match(letter) is not None for letter in text) / len(text)
        if usual > most and "\0" not in text:
            best, most = charset, usual
    return best


def _chinese(data: bytes) -> str | None:
    """In the one of two charsets in which it reads as Chinese, if it does in any."""
    best, most = None, _SURELY
    for charset in _CHINESE:
        try:
            text = data.decode(charset)
        except UnicodeDecodeError:
            continue
        foreign = _count(FOREIGN, text)
        usual = sum(sum(map(_USUAL.__contains__, piece)) for piece in pieces(text))
        if foreign and usual > 1 and usual / foreign > most:
            best, most = text, usual / foreign
    return best


def _western(data: bytes) -> str:
    damaged = data.decode(errors="replace")
    if 2 * damaged.count("\ufffd") < _count(FOREIGN, damaged):
        raise Malformed(_NO_TEXT)  # UTF-8 with a few wrong bytes, which would read as "Ã¼"
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise Malformed(_NO_TEXT) from None
    # Few accents, and not many in a row: else it is another alphabet in an encoding that it does not name.
    if 3 * _count(FOREIGN, text) > len(text) or ACCENTED.search(text):
        raise Malformed(_NO_TEXT)
    return text


def _count(characters: re.Pattern[str], text: str) -> int:
    return sum(len(characters.findall(piece)) for piece in pieces(text))


def pieces(text: str) -> Iterator[str]:
    """Between them the thread lets others run, which it does not within one."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
