"""A QR code of a short text (ISO/IEC 18004), as SVG: bytes, error correction L, versions 1 to 9, one mask."""

# By version: bytes of data in each block, and bytes of error correction for each.
_BLOCKS = {
    1: ([19], 7), 2: ([34], 10), 3: ([55], 15), 4: ([80], 20), 5: ([108], 26), 6: ([68, 68], 18), 7: ([78, 78], 20),
    8: ([97, 97], 24), 9: ([116, 116], 30),
}  # fmt: skip
_ALIGNED = {
    1: [], 2: [6, 18], 3: [6, 22], 4: [6, 26], 5: [6, 30], 6: [6, 34], 7: [6, 22, 38], 8: [6, 24, 42], 9: [6, 26, 46],
}  # fmt: skip
_FORMAT = 0b111011111000100  # of level L with mask 0
_QUIET = 4

Grid = list[list[bool | None]]


def qr_svg(text: str) -> str:
    grid = qr_grid(text)
    size = len(grid) + 2 * _QUIET
    dark = "".join(
        f"M{x + _QUIET},{y + _QUIET}h1v1h-1z" for y, row in enumerate(grid) for x, cell in enumerate(row) if cell
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" shape-rendering="crispEdges">'
        f'<path fill="#fff" d="M0,0h{size}v{size}h-{size}z"/><path d="{dark}"/></svg>'
    )


def qr_grid(text: str) -> Grid:
    """Rows of cells, True where it is dark."""
    data = text.encode()
    version = next((version for version, (blocks, _) in _BLOCKS.items() if len(data) + 2 <= sum(blocks)), None)
    if version is None:
        raise ValueError("the text is too long for a QR code of ours")
    grid = _patterns(version)
    free = [(x, y) for x, y in _snake(len(grid)) if grid[y][x] is None]
    bits = [bool(byte >> shift & 1) for byte in _codewords(data, version) for shift in range(7, -1, -1)]
    for index, (x, y) in enumerate(free):
        bit = bits[index] if index < len(bits) else False
        grid[y][x] = bit ^ ((x + y) % 2 == 0)
    return grid


def _patterns(version: int) -> Grid:
    """What is the same in every code of this version. What is left free is for data."""
    size = 17 + 4 * version
    grid: Grid = [[None] * size for _ in range(size)]
    for left, top in ((0, 0), (size - 7, 0), (0, size - 7)):
        for y in range(max(top - 1, 0), min(top + 8, size)):
            for x in range(max(left - 1, 0), min(left + 8, size)):
                grid[y][x] = max(abs(x - left - 3), abs(y - top - 3)) in {0, 1, 3}
    for at in range(8, size - 8):
        grid[6][at] = grid[at][6] = at % 2 == 0
    for middle in _ALIGNED[version]:
        for centre in _ALIGNED[version]:
            if {middle, centre} <= {6, size - 7} and (middle, centre) != (size - 7, size - 7):
                continue  # there is a corner
            for y in range(middle - 2, middle + 3):
                for x in range(centre - 2, centre + 3):
                    grid[y][x] = max(abs(x - centre), abs(y - middle)) != 1
    _write_format(grid)
    if version >= 7:
        _write_version(grid, version)
    return grid


def _write_format(grid: Grid) -> None:
    size = len(grid)
    for index in range(15):
        bit = bool(_FORMAT >> index & 1)
        down = index if index < 6 else index + 1 if index < 8 else size - 15 + index
        across = size - 1 - index if index < 8 else 15 - index if index < 9 else 14 - index
        grid[down][8] = bit
        grid[8][across] = bit
    grid[size - 8][8] = True


def _write_version(grid: Grid, version: int) -> None:
    rest = version
    for _ in range(12):
        rest = rest << 1 ^ (0x1F25 if rest >> 11 else 0)
    for index in range(18):
        bit = bool((version << 12 | rest) >> index & 1)
        near, far = index // 3, len(grid) - 11 + index % 3
        grid[near][far] = grid[far][near] = bit


def _snake(size: int) -> list[tuple[int, int]]:
    """Two columns at a time from the right, up and down in turn; the column of the timing pattern is left out."""
    order: list[tuple[int, int]] = []
    columns = [*range(size - 1, 6, -2), 5, 3, 1]
    for turn, right in enumerate(columns):
        rows = range(size) if turn % 2 else range(size - 1, -1, -1)
        order += [(x, y) for y in rows for x in (right, right - 1)]
    return order


def _codewords(data: bytes, version: int) -> list[int]:
    blocks, correction = _BLOCKS[version]
    capacity = sum(blocks)
    number = int.from_bytes(bytes([0b0100]) + len(data).to_bytes(1) + data) << 4  # mode, length, text, terminator
    content = list(number.to_bytes(len(data) + 2))
    content += [(0xEC, 0x11)[index % 2] for index in range(capacity - len(content))]
    parts = [content[sum(blocks[:index]) : sum(blocks[: index + 1])] for index in range(len(blocks))]
    checks = [_correction(part, correction) for part in parts]
    return [byte for column in zip(*parts, strict=True) for byte in column] + [
        byte for column in zip(*checks, strict=True) for byte in column
    ]


def _correction(data: list[int], length: int) -> list[int]:
    """Reed-Solomon: what is left of the data, as a polynomial, after division by the generator of this length."""
    generator = [1]
    root = 1
    for _ in range(length):
        longer = [*generator, 0]
        for index, factor in enumerate(generator):
            longer[index + 1] ^= _times(factor, root)
        generator, root = longer, _times(root, 2)
    rest = [*data, *[0] * length]
    for index in range(len(data)):
        factor = rest[index]
        for offset, other in enumerate(generator):
            rest[index + offset] ^= _times(factor, other)
    return rest[len(data) :]


def _times(first: int, other: int) -> int:
    """In the field of 256 elements that QR codes count in."""
    product = 0
    for bit in range(7, -1, -1):
        product = product << 1 ^ (0x11D if product & 0x80 else 0)
        product ^= first if other >> bit & 1 else 0
    return product
