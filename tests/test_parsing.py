"""A file becomes its text, with the places where it stands, or is refused with what to do. No file can do harm: what
parses it is a process of its own, which has little time, little memory, no files and no network, and is always gone
afterwards.
"""

import asyncio
import codecs
import io
import json
import logging
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import docx
import psutil
import pytest
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml.parser import parse_xml
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from keepstone.errors import KeepstoneError, Malformed, TooLarge, Unavailable
from keepstone.providers import parsing
from keepstone.providers.charsets import decoded
from keepstone.providers.parsing import Block, Parsed, Parser, cleaned, kind_of, markdown

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
# A word of a file, to see that no error and no log repeats it.
SECRET = "Zyzzyva"


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test leaves a process behind, not even one that ended and was not waited for."""
    before = processes()
    yield
    assert processes() <= before


def processes() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def children() -> int:
    """How many of our processes parse."""
    found = 0
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            found += "keepstone.providers.parsers" in child.cmdline()
    return found


async def read(data: bytes, name: str, media_type: str | None = None) -> Parsed:
    """Parsed, while other tasks went on; and when it is done, so is the process."""
    before, turns = processes(), 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.001)
            turns += 1

    beside = asyncio.create_task(others())
    try:
        return await Parser().parse(data, name, media_type)
    finally:
        beside.cancel()
        assert processes() <= before
        assert turns > 1 or name.endswith((".txt", ".md"))


async def refusal(data: bytes, name: str, media_type: str | None = None) -> str:
    with pytest.raises(Malformed) as caught:
        await read(data, name, media_type)
    assert caught.value.message.endswith(".")
    assert SECRET not in caught.value.message
    return caught.value.message


def places(parsed: Parsed) -> list[tuple[str | None, str]]:
    return [(block.heading, block.text) for block in parsed.blocks]


# --- files ------------------------------------------------------------------------------------------------------------


def pdf(pages: Sequence[bytes], font: bytes = HELVETICA, extra: Sequence[bytes] = ()) -> bytes:
    """A PDF by hand: content streams as pages. Object 1 is the catalogue, 2 the page tree, 3 the font."""
    first = 4 + len(extra)
    kids = b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), kids),
        font,
        *extra,
    ]
    for number, content in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % (first + 2 * number + 1)
        )
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))
    return pdf_of(objects)


def pdf_of(objects: Sequence[bytes]) -> bytes:
    made = bytearray(b"%PDF-1.7\n")
    offsets: list[int] = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    made += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, table)
    return bytes(made)


def shown(*lines: str) -> bytes:
    """A page's content stream that shows these lines."""
    said = b" ".join(b"(%s) Tj T*" % line.encode("cp1252") for line in lines)
    return b"BT /F1 12 Tf 14 TL 72 720 Td %s ET" % said


def word(document: Document | None = None, parts: Mapping[str, bytes] | None = None) -> bytes:
    """A docx as python-docx writes it, with `parts` put in place of its own."""
    made = io.BytesIO()
    (document or docx.Document()).save(made)
    if parts is None:
        return made.getvalue()
    changed = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for name in {*old.namelist(), *parts}:
            new.writestr(name, parts[name] if name in parts else old.read(name))
    return changed.getvalue()


def body(xml: str) -> bytes:
    return word(parts={"word/document.xml": document_xml(xml)})


def document_xml(xml: str, before: str = "") -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return f'<?xml version="1.0"?>{before}<w:document xmlns:w="{space}"><w:body>{xml}</w:body></w:document>'.encode()


# --- what a file is ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "name", "media_type", "kind"),
    [
        (b"x", "a.txt", None, "txt"),
        (b"x", "a.TXT ", "application/pdf", "txt"),
        (b"x", "a.b.md", "text/plain", "md"),
        (b"x", "a.markdown", None, "md"),
        (b"x", "a.htm", None, "html"),
        (b"%PDF-1.4", "a.pdf", "text/plain", "pdf"),
        (b"\r\n%PDF-1.4", "a.pdf", None, "pdf"),
        (b"PK\x03\x04", "a.docx", None, "docx"),
        (b"%PDF-1.4", "scan", None, "pdf"),
        (b"PK\x03\x04", "letter", "text/plain", "docx"),
        (b"x", "README", None, "txt"),
        (b"x", "version 1.2", "application/octet-stream", "txt"),
        (b"x", "notes", "text/markdown; charset=utf-8", "md"),
        (b"x", "page", "text/html", "html"),
        (b"x", "page", "application/pdf", "txt"),
    ],
)
def test_a_file_is_what_its_name_and_its_first_bytes_say(
    data: bytes, name: str, media_type: str | None, kind: str
) -> None:
    assert kind_of(data, name, media_type) == kind


@pytest.mark.parametrize("name", ["a.xls", "a.doc", "a.png", "a.rtf", "a.mp3", "archive.zip", "a.7z"])
def test_an_unknown_kind_is_refused_whatever_is_claimed(name: str) -> None:
    with pytest.raises(Malformed, match=r"Keepstone reads txt, .* and eml: convert it first"):
        kind_of(b"x", name, "text/plain")


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"", "a.txt", "The file is empty"),
        (b"x", "a.pdf", "named .pdf and is no pdf"),
        (b"x", "a.docx", "named .docx and is no docx"),
        (b"%PDF-1.4", "a.txt", "named .txt and is a PDF"),
        (b"PK\x03\x04", "a.md", "named .md and is a docx or another zip archive"),
        (b"PK\x03\x04", "a.pdf", "named .pdf and is a docx or another zip archive"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "a.docx", "an old or a protected file: save it as docx"),
    ],
)
def test_a_file_that_does_not_fit_its_name_is_refused(data: bytes, name: str, expected: str) -> None:
    with pytest.raises(Malformed, match=expected):
        kind_of(data, name, None)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (PNG, "a.txt"),
        (PNG, "a.html"),
        (PNG, "picture"),
        (bytes(range(1, 256)) * 4, "a.md"),
        (b"\x00a\x00", "a.txt"),
        ("Привет, как дела? Всё хорошо.".encode("koi8-r"), "a.txt"),
        ("一緒に山に登りましょう。".encode("euc_jp"), "a.txt"),
        ("Grüße aus München, schöne Größe".encode() + b"\xfc", "a.txt"),
        (codecs.BOM_UTF16_LE + "odd".encode("utf-16-le") + b"x", "a.txt"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8a\x00", "a.txt"),
        (codecs.BOM_UTF32_LE + "abc".encode("utf-32-le"), "a.txt"),
    ],
)
async def test_what_is_no_text_is_refused_under_a_name_of_text(data: bytes, name: str) -> None:
    with pytest.raises(Malformed, match="not text that Keepstone can read"):
        await Parser().parse(data, name, "text/plain")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
async def test_a_file_of_nothing_but_space_is_refused(name: str) -> None:
    with pytest.raises(Malformed, match="There is no text in the file"):
        await Parser().parse(b" \r\n\t ", name, None)


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain", "plain"),
        ("Größe 中文 😀".encode(), "Größe 中文 😀"),
        ("Größe".encode("utf-8-sig"), "Größe"),
        ("Größe 中文 😀".encode("utf-16"), "Größe 中文 😀"),
        (codecs.BOM_UTF16_BE + "Größe".encode("utf-16-be"), "Größe"),
        ("Größe der Häuser – “schön”, 12 €".encode("cp1252"), "Größe der Häuser – “schön”, 12 €"),
        ("C'était déjà l'été".encode("latin-1"), "C'était déjà l'été"),
        ("我们决定在山上建一座新的天文台".encode("gbk"), "我们决定在山上建一座新的天文台"),
        ("# 註解：這個島的渡輪在九點開\nx = 1".encode("big5"), "# 註解：這個島的渡輪在九點開\nx = 1"),
        ("渡轮九点开，我们在这里等你。".encode("gb18030"), "渡轮九点开，我们在这里等你。"),
        ("The ferry leaves at nine.".encode("utf-16-le"), "The ferry leaves at nine."),
        ("Größe\nund Farbe".encode("utf-16-be"), "Größe\nund Farbe"),
        ("一个人在山上。\n他说这是我们的。".encode("utf-16-le"), "一个人在山上。\n他说这是我们的。"),
        ("Fähre, Zürich, Öl: à bientôt, señor".encode("cp1252"), "Fähre, Zürich, Öl: à bientôt, señor"),
    ],
)
def test_text_is_read_in_the_encoding_it_has(data: bytes, expected: str) -> None:
    assert decoded(data) == expected


@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    try:
        text = cleaned(decoded(data))
    except Malformed:
        return
    assert "\0" not in text
    text.encode()


@given(st.text(alphabet=st.characters(), max_size=100))
def test_cleaned_text_has_no_nul_and_no_half_of_a_character(text: str) -> None:
    assert "\0" not in cleaned(text)
    cleaned(text).encode()


def test_halves_of_a_character_are_joined_or_replaced() -> None:
    assert cleaned("\ud83d\ude00 \ud83d x\r\ny\rz\x0c\x00") == "😀 \ufffd x\ny\nz\n"


async def test_a_text_is_one_block_as_it_is() -> None:
    parsed = await read(b"One.\r\n\r\n# Two\r\n", "a.txt")
    assert parsed == Parsed(media_type="text/plain", blocks=[Block(text="One.\n\n# Two")])


async def test_more_text_than_twenty_megabytes_is_too_large() -> None:
    with pytest.raises(TooLarge, match="more than 20 MB"):
        await Parser().parse(b"word " * 4_000_001, "a.md", None)


async def test_markdown_is_cut_at_its_headings_and_kept_as_it_is() -> None:
    text = """---
title: Front
---
Before.

# Moving to **Postgres** #
We had `MySQL`.

## Why [it](https://x.example) broke
- a
```
# no heading
```
Plans
---
Soon.

Other
=====
End.
"""
    parsed = await read(text.encode(), "a.md")
    assert parsed.media_type == "text/markdown"
    assert places(parsed) == [
        (None, "---\ntitle: Front\n---\nBefore."),
        ("Moving to Postgres", "# Moving to **Postgres** #\nWe had `MySQL`."),
        (
            "Moving to Postgres > Why it broke",
            "## Why [it](https://x.example) broke\n- a\n```\n# no heading\n```\nPlans\n---\nSoon.",
        ),
        ("Other", "Other\n=====\nEnd."),
    ]


def test_a_line_below_a_list_or_a_paragraph_of_two_lines_is_no_heading() -> None:
    for text in ("- a\n---\nb", "one\ntwo\n---\nb", "| a |\n---\nb", "\n---\nb", "#hashtag\n", "    # code\n"):
        assert len(markdown(text)) == 1
    assert len(markdown("~~~\n# a\n```\n# b\n~~~\n# c")) == 2
    assert len(markdown("```inline``` code\n# a")) == 2


def test_markdown_of_nothing_but_headings_has_a_bounded_number_of_sections() -> None:
    found = markdown("# x\n" * 100_000)
    assert len(found) == parsing.MOST_SECTIONS + 1
    assert sum(text.count("# x") for *_, text in found) == 100_000


async def test_a_heading_of_great_length_is_told_in_short() -> None:
    parsed = await read(b"# " + b"[" * 50_000 + b"\n\n## " + b"word " * 50_000, "a.md")
    assert [len(block.heading or "") for block in parsed.blocks] == [120, 242]
    assert all(len(block.text) > 50_000 for block in parsed.blocks)


# --- html -------------------------------------------------------------------------------------------------------------


async def test_a_page_keeps_its_text_headings_rows_and_items() -> None:
    page = """<!doctype html><html><head><title>Rents</title><style>p { color: red }</style></head><body>
      <nav><a href="/">Home</a></nav><script>if (a < b) alert("no")</script><template><p>no</p></template>
      <p>In <b>Lis</b>bon &amp; Porto,
         2024.</p><h2>By <i>size</i></h2>
      <ul><li>small</li><li>large<br>ones</li></ul>
      <table><caption>In euros</caption><tr><th>City</th><th>Rent</th></tr>
      <tr><td>Porto</td><td><p>900</p>cold</td></tr>
      </table><pre>  a
    b</pre><h3>Notes</h3>End<!-- no --></body></html>"""
    parsed = await read(page.encode(), "a.html")
    assert parsed.media_type == "text/html"
    assert places(parsed) == [
        ("Rents", "Rents\n\nHome\n\nIn Lisbon & Porto, 2024."),
        (
            "Rents > By size",
            "By size\n\n- small\n- large\nones\n\nIn euros\nCity | Rent\nPorto | 900 cold\n\n  a\n    b",
        ),
        ("Rents > By size > Notes", "Notes\n\nEnd"),
    ]


async def test_a_table_that_is_there_for_the_layout_has_no_rows() -> None:
    page = b"<table><tr><td>Menu<td><h1>News</h1><p>One.<p>Two.<table><tr><td>a<td>b</table>Three.</table>After."
    assert places(await read(page, "a.html")) == [
        (None, "Menu"),
        ("News", "News\n\nOne.\n\nTwo.\n\na | b\n\nThree.\n\nAfter."),
    ]


async def test_a_title_that_is_the_first_heading_too_is_said_once() -> None:
    assert places(await read(b"<title>News</title><h1>News</h1><p>One.", "a.html")) == [("News", "News\n\nOne.")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('<meta charset="gb2312"><p>我们决定在山上建一座新的天文台'.encode("gbk"), "我们决定在山上建一座新的天文台"),
        ("<meta charset=koi8-r><p>Привет".encode("koi8-r"), "Привет"),
        ("<meta charset=iso-8859-1><p>12 €".encode("cp1252"), "12 €"),
        ("<meta charset=iso-8859-1><p>Größe 中文".encode(), "Größe 中文"),
        ("<p>Größe".encode("utf-16"), "Größe"),
        ("<p>Größe der Häuser".encode("cp1252"), "Größe der Häuser"),
        ('<?xml version="1.0" encoding="latin-1"?><html><p>Größe'.encode(), "Größe"),
        (b"<meta charset=zlib><p>plain", "plain"),
        (b"<p>&#0;&#xD800;x&#x1F600;", "\ufffd\ufffdx😀"),
    ],
)
async def test_a_page_is_read_in_its_encoding(data: bytes, expected: str) -> None:
    assert [block.text for block in (await Parser().parse(data, "a.html", None)).blocks] == [expected]


async def test_a_page_that_is_nested_very_deep_is_read() -> None:
    deep = b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000 + b"<p>after"
    assert places(await read(deep, "a.html")) == [(None, "deep\n\nafter")]


async def test_a_page_with_more_text_than_is_taken_is_too_large() -> None:
    page = b"<p>" + (b"word " * 10_000 + b"<br>") * 600
    assert len(page) > 30_000_000
    with pytest.raises(TooLarge, match="more than 20 MB"):
        await read(page, "a.html")


# --- docx -------------------------------------------------------------------------------------------------------------


async def test_a_docx_keeps_its_paragraphs_headings_rows_and_items_in_order() -> None:
    made = docx.Document()
    made.add_heading("Moving to Postgres", level=0)
    made.add_paragraph("We had MySQL.\tIt broke.")
    made.add_heading("Why 搬家", level=1)
    made.add_paragraph("Small", style="List Bullet")
    made.add_paragraph("Large", style="List Bullet")
    table = made.add_table(rows=2, cols=2)
    for row, cells in zip(table.rows, (("City", "Rent"), ("Porto", "900 €")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    made.add_heading("Costs", level=2)
    made.add_paragraph("End. 😀")
    parsed = await read(word(made), "a.docx", "application/octet-stream")
    assert parsed.media_type == parsing.MEDIA_TYPES["docx"]
    assert places(parsed) == [
        ("Moving to Postgres", "Moving to Postgres\n\nWe had MySQL.\tIt broke."),
        ("Why 搬家", "Why 搬家\n\n- Small\n- Large\n\nCity | Rent\nPorto | 900 €"),
        ("Why 搬家 > Costs", "Costs\n\nEnd. 😀"),
    ]


async def test_a_docx_shows_what_its_reader_sees_of_changes_links_and_controls() -> None:
    made = body(
        "<w:p><w:r><w:t>We </w:t></w:r><w:ins><w:r><w:t>now </w:t></w:r></w:ins><w:del><w:r><w:delText>never"
        "</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:hyperlink><w:r><w:t>pay"
        "</w:t></w:r></w:hyperlink><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>In a control.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>One.</w:t></w:r></w:p><w:p><w:r><w:t>Two.</w:t></w:r></w:p></w:tc></w:tr>"
        "</w:tbl>"
    )
    assert places(await read(made, "a.docx")) == [(None, "We now pay\n\nIn a control.\n\nOne.\nTwo.")]


async def test_a_heading_is_known_by_its_style_its_base_or_its_outline() -> None:
    made = docx.Document()
    own: Any = made.styles.add_style("Chapter", WD_STYLE_TYPE.PARAGRAPH)
    own.base_style = made.styles["Heading 1"]
    made.add_paragraph("By its base", style="Chapter")
    made.add_paragraph("Text.")
    outlined = made.add_paragraph("By its outline")
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    outlined._p.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {space} w:val="1"/>'))
    made.add_paragraph("More.")
    assert [heading for heading, _ in places(await read(word(made), "a.docx"))] == [
        "By its base",
        "By its base > By its outline",
    ]


async def test_a_docx_without_text_is_refused() -> None:
    assert "no text in the file" in await refusal(word(), "a.docx")


async def test_a_zip_that_is_no_docx_is_refused() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("xl/workbook.xml", SECRET)
    assert "zip archive and not a docx" in await refusal(made.getvalue(), "a.docx")


@pytest.mark.parametrize("cut", [30, 1000, -30])
async def test_a_docx_that_is_cut_off_is_refused(cut: int) -> None:
    assert "damaged" in await refusal(word()[:cut], "a.docx")


async def test_a_docx_that_unpacks_to_a_hundred_megabytes_is_refused() -> None:
    parts = {f"word/media/image{number}.png": bytes(990_000) for number in range(102)}
    assert "unpacks to far more" in await refusal(word(parts=parts), "a.docx")


@pytest.mark.parametrize("name", ["word/document.xml", "word/media/image1.png"])
async def test_a_docx_of_which_a_part_unpacks_like_no_text_does_is_refused(name: str) -> None:
    assert "unpacks to far more" in await refusal(word(parts={name: bytes(20_000_000)}), "a.docx")


async def test_a_docx_that_lies_about_its_sizes_is_refused() -> None:
    made = bytearray(word(parts={"word/document.xml": document_xml("<w:p/>" * 500_000)}))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        size = struct.pack("<I", archive.getinfo("word/document.xml").file_size)
    at = made.rindex(size)  # in the directory at the end, which is what is believed
    made[at : at + 4] = struct.pack("<I", 5000)
    assert "damaged" in await refusal(bytes(made), "a.docx")


async def test_a_docx_with_very_many_parts_is_refused() -> None:
    parts = {f"word/{number}.xml": b"" for number in range(5_001)}
    assert "unpacks to far more" in await refusal(word(parts=parts), "a.docx")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "Zyzzyva"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY x "&b;&b;&b;&b;&b;&b;&b;&b;">',
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;',
    ],
)
async def test_entities_in_a_docx_are_refused(entities: str, encoding: str) -> None:
    made = document_xml("<w:p><w:r><w:t>&x;</w:t></w:r></w:p>", f"<!DOCTYPE w:document [{entities}]>").decode()
    made = made.replace('version="1.0"', f'version="1.0" encoding="{encoding}"')
    for part in ("word/document.xml", "word/styles.xml"):
        assert "damaged" in await refusal(word(parts={part: made.encode(encoding)}), "a.docx")


async def test_a_docx_that_is_nested_very_deep_is_read() -> None:
    deep = "<w:sdt>" * 20_000 + "<w:p><w:r><w:t>deep</w:t></w:r></w:p>" + "</w:sdt>" * 20_000
    assert places(await read(body(deep), "a.docx")) == [(None, "deep")]


# --- pdf --------------------------------------------------------------------------------------------------------------


async def test_a_pdf_is_read_page_by_page() -> None:
    parsed = await read(pdf([shown("First page.", "Größe 12 €"), b"", shown("Third page.")]), "a.pdf")
    assert parsed.media_type == "application/pdf"
    assert parsed.blocks == [
        Block(text="First page.\nGröße 12 €", page=1),
        Block(text="Third page.", page=3),
    ]


@pytest.mark.parametrize(
    ("encoding", "codec"),
    [("UniGB-UTF16-H", "utf-16-be"), ("GBK-EUC-H", "gbk"), ("GBK2K-H", "gb18030"), ("GBpc-EUC-H", "gb2312")],
)
async def test_a_pdf_in_chinese_is_read(encoding: str, codec: str) -> None:
    font = (
        f"<</Type/Font/Subtype/Type0/BaseFont/SimSun/Encoding/{encoding}/DescendantFonts[<</Type/Font/Subtype"
        "/CIDFontType0/BaseFont/SimSun/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 2>>/DW 1000>>]>>"
    ).encode()
    content = b"BT /F1 12 Tf 72 720 Td <%s> Tj ET" % "我们决定建天文台".encode(codec).hex().encode()
    assert (await Parser().parse(pdf([content], font), "a.pdf", None)).blocks == [
        Block(text="我们决定建天文台", page=1)
    ]


async def test_halves_of_characters_in_a_pdf_do_not_come_out() -> None:
    cmap = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <FF> "
        b"endcodespacerange 3 beginbfchar <41> <D83D> <42> <0000> <43> <D83DDE00> endbfchar endcmap"
    )
    stream = b"<</Length %d>>stream\n%s\nendstream" % (len(cmap), cmap)
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 4 0 R>>"
    (block,) = (await read(pdf([shown("xABC")], font, [stream]), "a.pdf")).blocks
    block.text.encode()
    assert "\0" not in block.text
    assert block.text.startswith("x")
    assert block.text.endswith("😀")


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
async def test_a_pdf_that_asks_for_a_password_is_refused_and_one_that_opens_for_everybody_is_read(
    algorithm: str,
) -> None:
    for password, opens in (("secret", False), ("", True)):
        writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf([shown("Locked.")]))))
        writer.encrypt(password, owner_password="owner", algorithm=algorithm)
        made = io.BytesIO()
        writer.write(made)
        if opens:
            assert (await read(made.getvalue(), "a.pdf")).blocks == [Block(text="Locked.", page=1)]
        else:
            assert "protected with a password" in await refusal(made.getvalue(), "a.pdf")


async def test_a_pdf_of_pictures_is_refused() -> None:
    picture = b"q 100 0 0 100 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI Q"
    assert "run text recognition (OCR)" in await refusal(pdf([picture, picture]), "a.pdf")


@pytest.mark.parametrize("cut", [8, 60, 300])
async def test_a_pdf_that_is_cut_off_is_refused(cut: int) -> None:
    assert "damaged" in await refusal(pdf([shown(SECRET)])[:cut], "a.pdf")


async def test_a_pdf_whose_table_is_not_where_it_says_is_read_all_the_same() -> None:
    broken = pdf([shown("Rescued.")]).replace(b"startxref\n", b"startxref\n9")
    assert (await read(broken, "a.pdf")).blocks == [Block(text="Rescued.", page=1)]


TWICE = zlib.compress(zlib.compress(bytes(80_000_000), 1))
PAGES = b"<</Type/Pages/Count 1/Kids[%s]>>"


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([b"<</Type/Catalog/Pages 2 0 R>>", PAGES % b"2 0 R"], id="a page tree in itself"),
        pytest.param(
            [b"<</Type/Catalog/Pages 2 0 R>>", PAGES % b"3 0 R", PAGES % b"2 0 R 2 0 R"], id="a page tree in a circle"
        ),
        pytest.param([b"1 0 R"], id="an object that is itself"),
        pytest.param(
            [b"<</Type/Catalog/Pages 2 0 R>>", PAGES % b"3 0 R", b"[" * 200_000 + b"]" * 200_000],
            id="arrays nested very deep",
        ),
        pytest.param(
            [b"<</Type/Catalog/Pages 2 0 R>>", PAGES % b"3 0 R", b"<</A" * 200_000 + b"1" + b">>" * 200_000],
            id="dictionaries nested very deep",
        ),
        pytest.param(
            [
                b"<</Type/Catalog/Pages 2 0 R>>",
                PAGES % b"3 0 R",
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
                b"<</Length 99999999999>>stream\nBT ET\nendstream",
            ],
            id="a stream of a hundred gigabytes",
        ),
        pytest.param(
            [
                b"<</Type/Catalog/Pages 2 0 R>>",
                PAGES % b"3 0 R",
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
                b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>stream\n%s\nendstream" % (len(TWICE), TWICE),
            ],
            id="a stream that inflates twice",
        ),
    ],
)
async def test_a_pdf_made_to_do_harm_is_refused(objects: list[bytes]) -> None:
    message = await refusal(pdf_of(objects), "a.pdf")
    assert any(word in message for word in ("damaged", "only pictures", "more time or memory"))


# --- the process ------------------------------------------------------------------------------------------------------


async def test_a_parser_that_takes_too_long_is_ended() -> None:
    with pytest.raises(Malformed, match="more time or memory"):
        await Parser(seconds=0.01).parse(pdf([shown("x")]), "a.pdf", None)
    assert children() == 0


async def test_a_parser_that_takes_too_long_is_ended_while_it_is_still_fed() -> None:
    with pytest.raises(Malformed, match="more time or memory"):
        await Parser(seconds=0.01).parse(b"<p>" + b"word " * 6_000_000, "a.html", None)
    assert children() == 0


async def test_a_parser_ends_with_the_request_that_wanted_it() -> None:
    request = asyncio.create_task(Parser().parse(b"<p>word" * 4_000_000, "a.html", None))
    while not children():
        await asyncio.sleep(0.005)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert children() == 0


async def test_only_so_many_parse_at_once_and_the_others_wait_their_turn() -> None:
    parser, most = Parser(at_once=2), 0
    tasks = [asyncio.create_task(parser.parse(b"<p>%d" % number, "a.html", None)) for number in range(4)]
    while not all(task.done() for task in tasks):
        most = max(most, children())
        await asyncio.sleep(0.005)
    assert [task.result().blocks[0].text for task in tasks] == list("0123")
    assert 0 < most <= 2


async def test_who_would_wait_too_long_is_told_to_come_back() -> None:
    parser = Parser(at_once=1, patience=0.01)
    first = asyncio.create_task(parser.parse(b"<p>word" * 1_000_000, "a.html", None))
    while not children():
        await asyncio.sleep(0.005)
    with pytest.raises(Unavailable, match="try again in a minute"):
        await parser.parse(b"<p>x", "a.html", None)
    first.cancel()
    await asyncio.wait([first])


async def test_a_cancelled_request_gives_its_place_back() -> None:
    parser = Parser(at_once=1)
    for _ in range(3):
        request = asyncio.create_task(parser.parse(b"<p>word" * 1_000_000, "a.html", None))
        while not children():
            await asyncio.sleep(0.005)
        request.cancel()
        await asyncio.wait([request])
    assert (await parser.parse(b"<p>x", "a.html", None)).blocks == [Block(text="x")]


@pytest.mark.parametrize(
    ("code", "seconds", "error", "expected"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 30, Malformed, "more time or memory"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 30, Malformed, "damaged"),
        ("sys.exit(1)", 30, Unavailable, "file reader does not start"),
        ("sys.stdin.buffer.read(); print('x' * 70_000_000)", 30, TooLarge, "more than 20 MB"),
        ("time.sleep(600)", 0.3, Malformed, "more time or memory"),
        ("os.close(0); os.close(1); time.sleep(600)", 0.3, Malformed, "more time or memory"),
        ("print('x' * 70_000_000)", 0.3, Malformed, "more time or memory"),
    ],
)
async def test_whatever_becomes_of_the_process_the_caller_is_told_and_it_is_gone(
    code: str,
    seconds: float,
    error: type[KeepstoneError],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{code}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    before = processes()
    with pytest.raises(error, match=expected):
        await Parser(seconds=seconds).parse(pdf([shown("x")]) + bytes(1_000_000), "a.pdf", None)
    assert processes() <= before


PROBE = """
import json, os, resource, socket
from keepstone.providers.parsers import process
process.limit("pdf")
tried = {}
def attempt(name, what):
    try:
        what()
        tried[name] = "done"
    except BaseException as fault:
        tried[name] = type(fault).__name__
attempt("read", lambda: open("/etc/passwd").read())
attempt("write", lambda: open("/tmp/x", "w"))
attempt("connect", lambda: socket.socket())
attempt("start", lambda: os.popen("true").read())
attempt("memory", lambda: bytearray(1 << 30))
tried["cpu"] = resource.getrlimit(resource.RLIMIT_CPU)
tried["core"] = resource.getrlimit(resource.RLIMIT_CORE)
tried["environment"] = sorted(name for name in os.environ if name.startswith(("KEEPSTONE", "SECRET")))
print(json.dumps(tried))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is not limited")
async def test_a_parser_can_open_nothing_and_take_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPSTONE_DATABASE_URL", "postgres://secret")
    monkeypatch.setenv("SECRET_KEY", "secret")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", PROBE, stdout=asyncio.subprocess.PIPE, env=parsing._environment()
    )
    said, _ = await process.communicate()
    assert json.loads(said) == {
        "read": "OSError",
        "write": "OSError",
        "connect": "OSError",
        "start": "OSError",
        "memory": "MemoryError",
        "cpu": [20, 20],
        "core": [0, 0],
        "environment": [],
    }


async def test_no_word_of_a_file_is_logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG)
    await refusal(pdf([shown(SECRET)])[:200], f"{SECRET}.pdf")
    await read(f"<p>{SECRET}".encode(), "a.html")
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capfd.readouterr())
