"""Workbooks, tables, slides, books and e-mail become text that can be found row by row; what is broken is refused."""

import io
import zipfile
from email.message import EmailMessage

import pytest
from pypdf import PdfReader, PdfWriter

from formats import OFFICE, SHEETS, book, mail, related, slideshow, workbook, zipped
from keepstone.engine.chunks import chunks
from keepstone.errors import Malformed
from keepstone.providers.parsing import Block, Parser
from test_documents import pdf


async def read(data: bytes, name: str) -> list[Block]:
    return (await Parser().parse(data, name, None)).blocks


async def refusal(data: bytes, name: str) -> str:
    with pytest.raises(Malformed) as refused:
        await Parser().parse(data, name, None)
    return refused.value.message


# --- tables -----------------------------------------------------------------------------------------------------------


async def test_a_row_of_a_sheet_says_what_each_of_its_values_is() -> None:
    data = workbook(
        {
            "Sales": [["Region", "Revenue", "Share", "Since"], ["North", 120, (0.25, 2), (45000, 1)], ["South", 80.5]],
            "Empty": [],
            "Staff": [["Report of May"], ["Name", "Here"], ["Ann", True], [], ["a", "b"], ["c", 1, 2, 3, 4]],
        }
    )
    assert await read(data, "figures.xlsx") == [
        Block(
            text="Sales\n\nRegion: North, Revenue: 120, Share: 25%, Since: 2023-03-15\n\nRegion: South, Revenue: 80.5",
            heading="Sales",
        ),
        Block(text="Staff\n\nReport of May\n\nName: Ann, Here: TRUE\n\na | b\n\nc | 1 | 2 | 3 | 4", heading="Staff"),
    ]


async def test_dates_numbers_and_texts_of_a_sheet_are_as_its_reader_sees_them() -> None:
    rows = [["What", "Value"], ["when", (45000.5, 3)], ["time", (0.75, 1)], ["sum", 1.1 + 2.2], ["far", (1e300, 1)]]
    inline = (
        f'<worksheet xmlns="{SHEETS}"><sheetData><row r="1"><c t="inlineStr"><is><t>in</t></is></c>'
        '<c t="str"><v>out</v></c>'
        '<c t="e"><v>#N/A</v></c><c t="s"><v>99</v></c><c r="E1"/></row></sheetData></worksheet>'
    )
    made = workbook({"A": rows, "B": []}, **{"xl/worksheets/sheet2.xml": inline})
    texts = [block.text.split("\n\n") for block in await read(made, "a.xlsx")]
    assert texts[0][1:] == [
        "What: when, Value: 2023-03-15 12:00", "What: time, Value: 18:00", "What: sum, Value: 3.3",
        "What: far, Value: 1e+300",
    ]  # fmt: skip
    assert texts[1][1:] == ["in | out | #N/A"]


async def test_every_part_of_a_long_sheet_knows_the_names_of_its_columns() -> None:
    rows = [["Region", "Revenue"], *([f"Place {number}", number] for number in range(400))]
    found = chunks(await read(workbook({"Sales": rows}), "a.xlsx"))  # type: ignore[arg-type]
    assert len(found) > 5
    assert all(line.startswith("Region: Place") for chunk in found for line in chunk.text.split("\n\n")[1:])
    assert {chunk.heading for chunk in found} == {"Sales"}


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'Region,Revenue\nNorth,120\n"South, old",80\n', "a.csv"),
        ("Region;Revenue\r\nNorth;120\r\nSouth, old;80\r\n".encode("utf-16"), "a.csv"),
        (b"Region\tRevenue\nNorth\t120\nSouth, old\t80\n", "a.tsv"),
    ],
)
async def test_a_table_of_text_is_read_whatever_parts_its_values(data: bytes, name: str) -> None:
    assert await read(data, name) == [Block(text="Region: North, Revenue: 120\n\nRegion: South, old, Revenue: 80")]


async def test_a_table_without_names_is_its_values_and_one_in_chinese_is_read() -> None:
    assert await read(b"1,2\n3,4\n", "a.csv") == [Block(text="1 | 2\n\n3 | 4")]
    assert await read("地区,收入\n这个城市的北部,120\n".encode("gbk"), "a.csv") == [
        Block(text="地区: 这个城市的北部, 收入: 120")
    ]
    assert await read(b"one\ntwo\n", "a.csv") == [Block(text="one\n\ntwo")]
    assert "no text in the file" in await refusal(b",,\n,,\n", "a.csv")


# --- slides, books, mail ----------------------------------------------------------------------------------------------


async def test_slides_come_in_the_order_in_which_they_are_shown() -> None:
    data = slideshow(("Ferries", "They leave at nine.\nAnd at ten."), ("", "Bring bread."), notes="Speak slowly.")
    assert await read(data, "talk.pptx") == [
        Block(text="Ferries\n\nThey leave at nine.\nAnd at ten.\nNotes: Speak slowly.", page=1, heading="Ferries"),
        Block(text="Slide 2\n\nBring bread.", page=2, heading="Slide 2"),
    ]


async def test_a_book_is_read_chapter_by_chapter() -> None:
    data = book("<h1>Ferry</h1><p>It leaves at nine.</p><h2>Back</h2><p>At ten.</p>", "<p>The end.</p>")
    assert await read(data, "island.epub") == [
        Block(text="Ferry\n\nIt leaves at nine.", heading="Ferry"),
        Block(text="Back\n\nAt ten.\n\nThe end.", heading="Ferry > Back"),
    ]


async def test_a_mail_has_who_wrote_it_its_text_and_the_names_of_what_is_attached() -> None:
    data = mail(
        "It leaves at nine.\n\nAnn",
        "<p>It leaves at <b>nine</b>.</p>",
        ("plan.pdf", b"%PDF-secret"),
        Date="Mon, 2 Mar 2026 09:00:00 +0100",
    )
    [block] = await read(data, "ferry.eml")
    assert block == Block(
        text="The ferry\n\nFrom: Ann <ann@example.com>\nTo: bo@example.com\nDate: Mon, 02 Mar 2026 09:00:00 +0100\n\n"
        "It leaves at nine.\n\nAnn\n\nAttachment: plan.pdf",
        heading="The ferry",
    )


async def test_a_mail_of_html_alone_and_one_in_another_charset_are_read() -> None:
    page = "<h1>Ferry</h1><script>evil()</script><p>At nine.</p>"
    [_, block] = await read(mail("", page, Subject="=?utf-8?B?5rih6L2u?="), "a.eml")
    assert (block.text, block.heading) == ("Ferry\n\nAt nine.", "Ferry")
    raw = "Subject: hi\r\nContent-Type: text/plain; charset={}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
    [gbk] = await read(raw.format("gbk").encode() + "渡轮九点开".encode("gbk"), "a.eml")
    assert gbk.text.endswith("渡轮九点开")
    [unknown] = await read(raw.format("x-nobody").encode() + "渡轮九点开".encode(), "a.eml")
    assert unknown.text.endswith("渡轮九点开")


async def test_a_mail_within_a_mail_is_read_and_depth_has_an_end() -> None:
    inner = EmailMessage()
    inner["Subject"] = "Inside"
    inner.set_content("At nine.")
    for number in range(30):
        outer = EmailMessage()
        outer["Subject"] = f"Around {number}"
        outer.set_content("See below.")
        outer.add_attachment(inner)
        inner = outer
    blocks = await read(inner.as_bytes(), "a.eml")
    assert blocks[1].heading == "Around 29 > Around 28"
    assert 3 <= len(blocks) <= 6


# --- pdf --------------------------------------------------------------------------------------------------------------


def outlined(*pages: str, entries: list[tuple[str, int, int]]) -> bytes:
    """Entries: title, page from 0, and the number of the entry above, or -1."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(*pages))))
    made = []
    for title, page, above in entries:
        made.append(writer.add_outline_item(title, page, parent=made[above] if above >= 0 else None))
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


async def test_a_page_stands_under_the_headings_of_the_outline() -> None:
    data = outlined(
        "Before all. 1 Island It is small.", "1.1 Ferry It leaves at nine.", "And at ten.", "Bread.",
        entries=[("1 Island", 0, -1), ("1.1 Ferry", 1, 0), ("2 Bakery", 3, -1)],
    )  # fmt: skip
    assert [(block.page, block.heading, block.text) for block in await read(data, "a.pdf")] == [
        (1, None, "Before all."), (1, "1 Island", "1 Island It is small."),
        (2, "1 Island > 1.1 Ferry", "1.1 Ferry It leaves at nine."), (3, "1 Island > 1.1 Ferry", "And at ten."),
        (4, "2 Bakery", "Bread."),
    ]  # fmt: skip


async def test_an_outline_that_leads_back_to_itself_does_no_harm() -> None:
    data = outlined("Island", entries=[("Island", 0, -1), ("Ferry", 0, -1)])
    looped = data.replace(b"/Next", b"/Prev", 1).replace(b"/Title (Ferry)", b"/Title (Ferry) /First 1 0 R")
    assert [block.page for block in await read(looped, "a.pdf")] == [1]


# --- what is broken ---------------------------------------------------------------------------------------------------

BROKEN = {
    "a.xlsx": workbook({"A": [["a", "b"], ["c", 1]]}),
    "a.pptx": slideshow(("A", "b")),
    "a.epub": book("<p>a</p>"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_file_that_is_cut_off_or_is_another_zip_is_refused(name: str) -> None:
    kind = name.partition(".")[2]
    assert "damaged" in await refusal(BROKEN[name][:-30], name)
    assert f"not a {kind}" in await refusal(zipped({"readme.txt": "hi"}), name)
    assert f"named .{kind} and is no {kind}" in await refusal(b"hi", name)
    assert "old or a protected file" in await refusal(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), name)
    sealed = bytearray(BROKEN[name])
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        at = sealed.find(start)
        while at >= 0:
            sealed[at + (6 if start == b"PK\x03\x04" else 8)] |= 1
            at = sealed.find(start, at + 4)
    assert "password" in await refusal(bytes(sealed), name)


@pytest.mark.parametrize("name", BROKEN)
async def test_entities_and_bombs_are_refused(name: str) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbbbbbb">]>'
    parts: dict[str, str | bytes] = {}
    with zipfile.ZipFile(io.BytesIO(BROKEN[name])) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    main = {"a.xlsx": "xl/sharedStrings.xml", "a.pptx": "ppt/presentation.xml", "a.epub": "OEBPS/book.opf"}[name]
    assert "damaged" in await refusal(zipped({**parts, main: bomb.encode() + bytes(parts[main])}), name)  # type: ignore[arg-type]
    assert "unpacks to far more" in await refusal(zipped({**parts, "media": bytes(5_000_000)}), name)


async def test_a_book_that_only_a_key_opens_is_refused_and_one_with_sealed_letters_is_read() -> None:
    sealed = (
        '<encryption><EncryptedData><CipherData><CipherReference URI="{}"/></CipherData></EncryptedData></encryption>'
    )
    one = {"META-INF/encryption.xml": sealed.format("OEBPS/text/chapter%200.xhtml")}
    assert "password or a key" in await refusal(book("<p>a</p>", **one), "a.epub")
    letters = {"META-INF/encryption.xml": sealed.format("OEBPS/font.otf")}
    assert await read(book("<p>a</p>", **letters), "a.epub") == [Block(text="a")]


async def test_what_is_no_mail_and_one_that_is_encrypted_are_refused() -> None:
    assert "damaged" in await refusal(b"just some text\nof mine", "a.eml")
    sealed = b"Subject: x\r\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\r\n\r\nabc"
    assert "password or a key" in await refusal(sealed, "a.eml")


async def test_a_sheet_is_not_read_from_outside_of_the_file() -> None:
    outside = related(("rId1", "worksheet", "file:///etc/passwd"), ("rId2", "worksheet", "../../../etc/passwd"))
    parts: dict[str, str | bytes] = {
        "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{OFFICE}"><sheets><sheet name="a" r:id="rId1"/>'
        '<sheet name="b" r:id="rId2"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": outside,
    }
    assert "no text in the file" in await refusal(zipped(parts), "a.xlsx")
