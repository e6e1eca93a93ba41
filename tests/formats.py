"""Files of other formats, made by hand: workbooks, slides, books and e-mail."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from email.message import EmailMessage

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"

Cell = str | int | float | bool | tuple[float, int] | None  # a number with its style


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def related(*targets: tuple[str, str, str]) -> str:
    inside = "".join(f'<Relationship Id="{one}" Type="{OFFICE}/{kind}" Target="{to}"/>' for one, kind, to in targets)
    return f'<Relationships xmlns="{RELATIONS}">{inside}</Relationships>'


def _letter(column: int) -> str:
    return chr(ord("A") + column)


def _cell(cell: Cell, place: str, shared: list[str]) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, str):
        shared.append(cell)
        return f'<c r="{place}" t="s"><v>{len(shared) - 1}</v></c>'
    number, style = cell if isinstance(cell, tuple) else (cell, 0)
    return f'<c r="{place}" s="{style}"><v>{number}</v></c>'


def workbook(sheets: Mapping[str, Sequence[Sequence[Cell]]], **more: str | bytes) -> bytes:
    """Style 1 is a date, 2 a percentage, 3 a date by a format of its own."""
    shared: list[str] = []
    parts: dict[str, str | bytes] = {}
    for number, rows in enumerate(sheets.values(), 1):
        lines = [
            "".join(
                [f'<row r="{at}">', *(_cell(cell, f"{_letter(n)}{at}", shared) for n, cell in enumerate(row)), "</row>"]
            )
            for at, row in enumerate(rows, 1)
        ]
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{SHEETS}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
        )
    named = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>' for number, name in enumerate(sheets, 1)
    )
    texts = "".join(f"<si><t>{text}</t></si>" for text in shared)
    return zipped(
        {
            "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{OFFICE}"><sheets>{named}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": related(
                *((f"rId{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)),
                ("rId90", "sharedStrings", "sharedStrings.xml"), ("rId91", "styles", "styles.xml"),
            ),
            "xl/sharedStrings.xml": f'<sst xmlns="{SHEETS}">{texts}</sst>',
            "xl/styles.xml": f'<styleSheet xmlns="{SHEETS}"><numFmts><numFmt numFmtId="170" formatCode="d. mmm yyyy"/>'
            '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="170"/></cellXfs>'
            "</styleSheet>",
            **parts,
            **more,
        }
    )  # fmt: skip


def _shape(text: str, placeholder: str = "") -> str:
    kind = f'<p:nvSpPr><p:nvPr><p:ph type="{placeholder}"/></p:nvPr></p:nvSpPr>' if placeholder else ""
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp>{kind}<p:txBody>{lines}</p:txBody></p:sp>"


def slideshow(*slides: tuple[str, str], notes: str = "") -> bytes:
    """Titles and texts, kept in the other order than they are shown in; notes are the first one's."""
    parts: dict[str, str | bytes] = {}
    namespaces = f'xmlns:p="{SLIDES}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}"'
    last = len(slides)
    for number, (title, text) in enumerate(slides):
        name = f"slide{last - number}"
        inside = _shape(text, "body") + (_shape(title, "title") if title else "") + _shape("7", "sldNum")
        parts[f"ppt/slides/{name}.xml"] = f"<p:sld {namespaces}><p:cSld><p:spTree>{inside}</p:spTree></p:cSld></p:sld>"
        if notes and number == 0:
            parts[f"ppt/slides/_rels/{name}.xml.rels"] = related(("rId1", "notesSlide", "../notesSlides/notes.xml"))
            parts["ppt/notesSlides/notes.xml"] = (
                f"<p:notes {namespaces}><p:cSld><p:spTree>{_shape(notes, 'body')}</p:spTree></p:cSld></p:notes>"
            )
    ids = "".join(f'<p:sldId id="{256 + number}" r:id="rId{number}"/>' for number in range(last))
    return zipped(
        {
            "ppt/presentation.xml": f"<p:presentation {namespaces}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": related(
                *((f"rId{number}", "slide", f"slides/slide{last - number}.xml") for number in range(last))
            ),
            **parts,
        }
    )


def book(*chapters: str, **more: str) -> bytes:
    items = "".join(
        f'<item id="c{number}" href="text/chapter%20{number}.xhtml" media-type="application/xhtml+xml"/>'
        for number in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest>'
            f"<spine>{spine}</spine></package>",
            **{
                f"OEBPS/text/chapter {n}.xhtml": f"<html><head><title>Book</title></head><body>{text}</body></html>"
                for n, text in enumerate(chapters)
            },
            **more,
        }
    )


def mail(text: str = "", html: str = "", *attached: tuple[str, bytes], **headers: str) -> bytes:
    made = EmailMessage()
    for name, value in {
        "From": "Ann <ann@example.com>",
        "To": "bo@example.com",
        "Subject": "The ferry",
        **headers,
    }.items():
        made[name] = value
    if text:
        made.set_content(text)
        if html:
            made.add_alternative(html, subtype="html")
    elif html:
        made.set_content(html, subtype="html")
    for name, data in attached:
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()
