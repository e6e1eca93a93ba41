"""A real encoder that takes a millisecond: each word piece has a vector of its own, whatever stands beside it. `puppy`
and `dog` have the same, so that what is found by it could not have been found by words.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from keepstone.providers.manifest import BUILTIN
from keepstone.providers.wordpieces import load_tokenizer

PIECES = 1_021  # ids that differ by this have the same vector, too
ALIKE = ("puppy", "dog")
TOKENIZER = BUILTIN / "tokenizer.json"


def write_encoder(folder: Path, dimension: int = 96, **stated: Any) -> Path:
    """A folder with an encoder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    (folder / "encoder.onnx").write_bytes(make_graph(dimension))
    manifest = {"name": f"tiny/{dimension}", "window": 64, "overlap": 16, **stated}
    (folder / "encoder.json").write_text(json.dumps(manifest))
    return folder


def make_graph(
    dimension: int, *, inputs: tuple[str, ...] = ("input_ids", "attention_mask"), output: str = "tokens",
    pooled: int = 0, longest: int = 512,
) -> bytes:  # fmt: skip
    """With `pooled`, also a pooled output of so many dimensions. As in a real one, there are so many places for the
    pieces of a text and no more.
    """
    table = np.random.default_rng(7).normal(size=(PIECES, dimension)).astype(np.float32)
    first, second = (load_tokenizer(TOKENIZER).token_to_id(word) or 0 for word in ALIKE)
    table[first % PIECES] = table[second % PIECES]
    constants: dict[str, Any] = {
        "table": table,
        "pieces": np.array(PIECES, np.int64),
        "places": np.zeros((longest, dimension), np.float32),
        "axis": np.array(1, np.int64),
        "one": np.array(1, np.int64),
        "middle": np.array([1], np.int64),
        "wide": np.ones((dimension, pooled or 1), np.float32),
    }
    nodes = [
        helper.make_node("Mod", [inputs[0], "pieces"], ["known"]),
        helper.make_node("Gather", ["table", "known"], ["words"]),
        helper.make_node("Sub", ["known", "known"], ["zeros"]),
        helper.make_node("Add", ["zeros", "one"], ["ones"]),
        helper.make_node("CumSum", ["ones", "axis"], ["place"], exclusive=1),
        helper.make_node("Gather", ["places", "place"], ["placed"]),
        helper.make_node("Add", ["words", "placed"], [output]),
        helper.make_node("ReduceSum", [output, "middle"], ["total"], keepdims=0),
        helper.make_node("MatMul", ["total", "wide"], ["pooled"]),
    ]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", "t", dimension])]
    if pooled:
        outputs.append(helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["n", pooled]))
    graph = helper.make_graph(
        nodes, "tiny", [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in inputs], outputs,
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString()
