"""Weights as NumPy arrays, and safetensors files of them: a length, a JSON header, and the raw numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
_TYPES = {"F32": np.float32, "F16": np.float16}


def load(path: Path) -> Arrays:
    """The float tensors of a file, as float32, without the prefix that some have for the whole model."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    header: dict[str, dict[str, Any]] = json.loads(raw[8:start].tobytes())
    return {
        name.removeprefix("bert."): raw[start + spot["data_offsets"][0] : start + spot["data_offsets"][1]]
        .view(_TYPES[spot["dtype"]])
        .reshape(spot["shape"])
        .astype(np.float32)
        for name, spot in header.items()
        if spot.get("dtype") in _TYPES
    }


def mixed(start: Arrays, trained: Arrays, share: float) -> Arrays:
    """So much of the trained weights. Trained alone, an encoder forgets what made it good in the fusion with words."""
    return {name: share * trained[name] + (1 - share) * value for name, value in start.items()}


def save(weights: Arrays, path: Path, dtype: Any = np.float16) -> None:
    header: dict[str, dict[str, Any]] = {}
    blocks: list[bytes] = []
    size = 0
    for name, value in weights.items():
        block = np.ascontiguousarray(value.astype(dtype)).tobytes()
        header[name] = {
            "dtype": next(key for key, kind in _TYPES.items() if kind == dtype),
            "shape": list(value.shape),
            "data_offsets": [size, size + len(block)],
        }
        blocks.append(block)
        size += len(block)
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(blocks))
