"""Bars and lines as SVG, by hand: greys that can be read on light and on dark ground, and one accent for Keepstone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

GREY, FAINT, ACCENT = "#7d8590", "#7d859055", "#2f81f7"
OTHERS = (GREY, "#b08800", "#8957e5")
WIDTH, LEFT, RIGHT, ROW = 720, 240, 80, 26


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    own: bool = False


@dataclass(frozen=True)
class Line:
    """`points` are x and y, both above zero: the axes are logarithmic, but that of a course."""

    label: str
    points: Sequence[tuple[float, float]]
    own: bool = False


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _svg(height: float, title: str, body: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
            f' font-family="system-ui, sans-serif" font-size="13" fill="{GREY}">',
            f"<title>{escape(title)}</title>",
            f'<text x="0" y="16" font-weight="600">{escape(title)}</text>',
            *body,
            "</svg>\n",
        ]
    )


def _text(x: float, y: float, text: str, anchor: str = "start", fill: str = GREY) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'


def bars(title: str, rows: Sequence[Bar], unit: str) -> str:
    """Horizontal, from zero; values below zero go to the left."""
    low, high = min(0.0, *(row.value for row in rows)), max(0.0, *(row.value for row in rows))
    span = (high - low) or 1.0
    width = WIDTH - LEFT - RIGHT
    # Room for the numbers of bars that go to the left.
    start = LEFT + (60 if low < 0 else 0)
    zero = start + (width - (start - LEFT)) * -low / span
    body = [f'<line x1="{zero:.1f}" y1="28" x2="{zero:.1f}" y2="{34 + ROW * len(rows)}" stroke="{FAINT}"/>']
    for place, row in enumerate(rows):
        top = 32 + ROW * place
        length = (width - (start - LEFT)) * abs(row.value) / span
        left = zero if row.value >= 0 else zero - length
        colour = ACCENT if row.own else GREY
        body += [
            _text(LEFT - 8, top + 14, row.label, "end"),
            f'<rect x="{left:.1f}" y="{top}" width="{max(length, 1):.1f}" height="18" rx="2" fill="{colour}"/>',
            _text(left + length + 6, top + 14, f"{number(row.value)} {unit}")
            if row.value >= 0
            else _text(left - 6, top + 14, f"{number(row.value)} {unit}", "end"),
        ]
    return _svg(44 + ROW * len(rows), title, body)


def lines(title: str, series: Sequence[Line], x_name: str, y_name: str, *, course: bool = False) -> str:
    """Both axes logarithmic; a tick at every power of ten of y and at every x that occurs. A course has an even x,
    which may begin with 0, and a few ticks.
    """
    xs = sorted({x for line in series for x, _ in line.points})
    ys = [y for line in series for _, y in line.points]
    bottom, top = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)) + 1e-9)
    height, left, right = 260, 60, 190
    wide = ((xs[-1] - xs[0]) if course else math.log10(xs[-1] / xs[0])) or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        along = x - xs[0] if course else math.log10(x / xs[0])
        return left + (WIDTH - left - right) * along / wide, 40 + height * (
            1 - (math.log10(y) - bottom) / max(top - bottom, 1)
        )

    body: list[str] = []
    for power in range(bottom, top + 1):
        _, y = at(xs[0], 10.0**power)
        body.append(f'<line x1="{left}" y1="{y:.1f}" x2="{WIDTH - right}" y2="{y:.1f}" stroke="{FAINT}"/>')
        body.append(_text(left - 8, y + 4, number(10.0**power), "end"))
    ticks = xs[:: -(-len(xs) // 8)] if course else xs
    body += [_text(at(x, ys[0])[0], 40 + height + 18, number(x), "middle") for x in ticks]
    others = iter(OTHERS * len(series))
    ends: list[float] = []
    for line in series:
        colour = ACCENT if line.own else next(others)
        placed = [at(x, y) for x, y in sorted(line.points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if not course:
            body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in placed]
        end = placed[-1][1]
        while any(abs(end - other) < 15 for other in ends):
            end += 15
        ends.append(end)
        body.append(_text(placed[-1][0] + 8, end + 4, line.label, fill=colour))
    body.append(_text(left, 40 + height + 36, f"{x_name}; {y_name}"))
    return _svg(height + 84, title, body)
