"""Makes the ONNX graph of all-MiniLM-L6-v2 from its weights: `python -m keepstone.providers.minilm_graph FOLDER`.

Once for each home, in a process of its own: what this imports and holds is several times the model that comes out,
and a server has no use for it. `minilm` runs it and reads the result.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime import quantization

from keepstone.providers.minilm import GRAPH
from keepstone.providers.models import MINILM_WEIGHTS, keep
from keepstone.providers.session import open_session

LAYERS, HEADS, HIDDEN = 6, 12, 384
QKV = ("query", "key", "value")
EPSILON = 1e-12
LEAST_COSINE = 0.98  # of int8 against fp32, in the mean over PROBES

# Word pieces of a few sentences, without the tokenizer: enough to see whether this processor adds int8 right.
PROBES = (
    (101, 2073, 2106, 2984, 2444, 2077, 2016, 2333, 2000, 4068, 1029, 102),
    (101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 1012, 102),
    (101, 2026, 2905, 2003, 27395, 2000, 24500, 1998, 2016, 4033, 1005, 1056, 2409, 2033, 102),
    (101, 2057, 3530, 2006, 9857, 2000, 3693, 1996, 5246, 2279, 2733, 102),
)

Arrays = dict[str, NDArray[Any]]
_quantization: Any = quantization  # half of its parameters have no type


def read_safetensors(path: Path) -> Arrays:
    """The float tensors of a safetensors file: a length, a JSON header, and the raw numbers."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    header: dict[str, dict[str, Any]] = json.loads(raw[8:start].tobytes())
    return {
        name: raw[start + spot["data_offsets"][0] : start + spot["data_offsets"][1]]
        .view(np.float32)
        .reshape(spot["shape"])
        for name, spot in header.items()
        if spot.get("dtype") == "F32"
    }


class GraphBuilder:
    """Nodes and constants as they are added; each node is called what its output is called."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: Arrays = {}

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        self.constants[name] = np.ascontiguousarray(np.asarray(value, dtype))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def linear(self, at: str, x: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        product = self.node("MatMul", [x, self.constant(f"{at}.weight", weight.T)], f"{at}.product")
        return self.node("Add", [product, self.constant(f"{at}.bias", bias)], at)

    def normed(self, at: str, x: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        inputs = [x, self.constant(f"{at}.scale", weight), self.constant(f"{at}.shift", bias)]
        return self.node("LayerNormalization", inputs, at, axis=-1, epsilon=EPSILON)


def float_graph(weights: Arrays) -> ModelProto:
    """input_ids, attention_mask [batch, length] → pooled [batch, 384] of unit length, tokens [batch, length, 384]."""
    graph = GraphBuilder()
    mask = graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    x = add_embeddings(graph, weights)
    wide = graph.node("Unsqueeze", [mask, graph.constant("wide.axes", [1, 2], np.int64)], "mask.wide")
    absent = graph.node("Sub", [wide, graph.constant("one", 1)], "mask.absent")
    away = graph.node("Mul", [absent, graph.constant("far", 10_000)], "mask.away")
    for number in range(LAYERS):
        layer = {
            name.removeprefix(f"encoder.layer.{number}."): value
            for name, value in weights.items()
            if name.startswith(f"encoder.layer.{number}.")
        }
        x = add_layer(graph, layer, x, away, f"layer{number}", "tokens" if number == LAYERS - 1 else f"layer{number}")

    last, middle = graph.constant("last", [-1], np.int64), graph.constant("middle", [1], np.int64)
    present = graph.node("Mul", [x, graph.node("Unsqueeze", [mask, last], "mask.column")], "present")
    # The sum points where the mean does, and the length is set to one anyway.
    total = graph.node("ReduceSum", [present, middle], "total", keepdims=0)
    graph.node("Div", [total, graph.node("ReduceL2", [total, last], "norm", keepdims=1)], "pooled")
    made = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "t"]) for n in ("input_ids", "attention_mask")],
        [
            helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["n", HIDDEN]),
            helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["n", "t", HIDDEN]),
        ],
        [numpy_helper.from_array(value, name) for name, value in graph.constants.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def add_embeddings(graph: GraphBuilder, weights: Arrays) -> str:
    # The word table is half of the weights. A byte each, with a scale for each row, loses nothing that is seen later.
    words = weights["embeddings.word_embeddings.weight"]
    scales = np.maximum(np.abs(words).max(axis=1, keepdims=True), 1e-9) / 127
    row = graph.node("Gather", [graph.constant("words", np.rint(words / scales), np.int8), "input_ids"], "row")
    row = graph.node("Cast", [row], "row.float", to=TensorProto.FLOAT)
    scale = graph.node("Gather", [graph.constant("scales", scales), "input_ids"], "row.scale")
    word = graph.node("Mul", [row, scale], "word")
    # All tokens are of type 0, so its vector is part of the position's.
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.node("Shape", ["input_ids"], "length", start=1, end=2)
    first = graph.constant("first", [0], np.int64)
    position = graph.node("Slice", [graph.constant("positions", positions), first, length, first], "position")
    norm = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
    return graph.normed("embedded", graph.node("Add", [word, position], "summed"), *norm)


def add_layer(graph: GraphBuilder, layer: Arrays, x: str, away: str, at: str, output: str) -> str:
    """Attention, then the inner network, each added to what came in."""
    own = {part: layer[f"attention.self.{part}"] for part in (f"{n}.{k}" for n in QKV for k in ("weight", "bias"))}
    scale = np.float32((HIDDEN // HEADS) ** -0.5)  # of the scores; folded into the queries
    own |= {name: own[name] * scale for name in ("query.weight", "query.bias")}
    # One product for the three: a third of the quantising.
    weight, bias = (np.concatenate([own[f"{n}.{k}"] for n in QKV]) for k in ("weight", "bias"))
    merged = graph.linear(f"{at}.qkv", x, weight, bias)
    parts = [f"{at}.{name}" for name in QKV]
    graph.nodes.append(helper.make_node("Split", [merged], parts, name=f"{at}.split", axis=-1, num_outputs=3))
    heads = graph.constant("heads", [0, 0, HEADS, HIDDEN // HEADS], np.int64)
    query, key, value = (
        graph.node("Transpose", [graph.node("Reshape", [part, heads], f"{part}.heads")], f"{part}.turned", perm=perm)
        for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
    )
    scores = graph.node("Add", [graph.node("MatMul", [query, key], f"{at}.scores"), away], f"{at}.masked")
    seen = graph.node("MatMul", [graph.node("Softmax", [scores], f"{at}.softmax", axis=-1), value], f"{at}.seen")
    turned = graph.node("Transpose", [seen], f"{at}.seen.turned", perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", [turned, graph.constant("joined", [0, 0, HIDDEN], np.int64)], f"{at}.seen.joined")
    told = graph.linear(f"{at}.told", joined, *_pair(layer, "attention.output.dense"))
    summed = graph.node("Add", [told, x], f"{at}.told.sum")
    x = graph.normed(f"{at}.attended", summed, *_pair(layer, "attention.output.LayerNorm"))
    wider = graph.linear(f"{at}.inner", x, *_pair(layer, "intermediate.dense"))
    active = graph.node("Gelu", [wider], f"{at}.gelu", approximate="none")
    back = graph.linear(f"{at}.outer", active, *_pair(layer, "output.dense"))
    return graph.normed(output, graph.node("Add", [back, x], f"{at}.outer.sum"), *_pair(layer, "output.LayerNorm"))


def _pair(layer: Arrays, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    return layer[f"{name}.weight"], layer[f"{name}.bias"]


def cosine(first: Path, second: Path) -> float:
    """How alike the pooled vectors of two graphs are, in the mean over the probes."""
    outputs: list[NDArray[Any]] = []
    for path in (first, second):
        session = open_session(path)
        inputs = [np.array([probe], np.int64) for probe in PROBES]
        outputs.append(
            np.concatenate(
                [session.run(["pooled"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0] for ids in inputs]
            )
        )
    return float((outputs[0] * outputs[1]).sum(axis=1).mean())


def build(folder: Path) -> float:
    """Write the int8 graph beside the weights, whole or not at all; the cosine against fp32."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".graph-") as scratch:
        exact, small = Path(scratch, "fp32.onnx"), Path(scratch, GRAPH)
        exact.write_bytes(float_graph(read_safetensors(folder / MINILM_WEIGHTS)).SerializeToString())
        likeness = 0.0
        # Processors without VNNI add pairs of products in 16 bits, which can overflow: for them 7 bits.
        for reduced in (False, True):
            _quantization.quantize_dynamic(
                exact, small, op_types_to_quantize=["MatMul"], per_channel=True, reduce_range=reduced,
                weight_type=_quantization.QuantType.QInt8,
            )  # fmt: skip
            likeness = cosine(exact, small)
            if likeness >= LEAST_COSINE:
                break
        else:
            raise ArithmeticError(f"int8 and fp32 agree only to {likeness:.3f}")
        keep(small, folder / GRAPH)
        return likeness


if __name__ == "__main__":
    build(Path(sys.argv[1]))
