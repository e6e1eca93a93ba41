"""The int8 ONNX graphs of the encoder and of the judge, from their weights: what ships, and what the server runs.

input_ids, attention_mask, pooled_mask [n, t] → pooled [n, 384], tokens [n, t, 128], all of unit length.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime import quantization

from keepstone.providers.session import open_session
from training.tensors import Arrays

HEADS, HIDDEN = 12, 384
INPUTS, OUTPUTS = ("input_ids", "attention_mask", "pooled_mask"), ("pooled", "tokens", "logits")
CALM = 0.99  # the share of inputs that is left as it is
PROBED = 50
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

_quantization: Any = quantization  # half of its parameters have no type


class GraphBuilder:
    """Nodes and constants as they are added; each node is called what its output is called."""

    def __init__(self, calm: Mapping[str, NDArray[Any]]) -> None:
        self.nodes: list[Any] = []
        self.constants: Arrays = {}
        self.calm = calm
        self.products: dict[str, str] = {}  # of which input

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        self.constants[name] = np.ascontiguousarray(np.asarray(value, dtype))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def linear(self, at: str, x: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        self.products[at] = x
        if at in self.calm:
            x = self.node("Mul", [x, self.constant(f"{at}.calm", 1 / self.calm[at])], f"{at}.calmed")
            weight = weight * self.calm[at]
        product = self.node("MatMul", [x, self.constant(f"{at}.weight", weight.T)], f"{at}.product")
        return self.node("Add", [product, self.constant(f"{at}.bias", bias)], at)

    def normed(self, at: str, x: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        inputs = [x, self.constant(f"{at}.scale", weight), self.constant(f"{at}.shift", bias)]
        return self.node("LayerNormalization", inputs, at, axis=-1, epsilon=EPSILON)


def float_graph(weights: Arrays, calm: Mapping[str, NDArray[Any]] | None = None, *, taps: bool = False) -> ModelProto:
    """With `taps`, what goes into each product comes out as well. `calm`: see `calming`."""
    graph = GraphBuilder(calm or {})
    x, _ = add_trunk(graph, weights)
    last, middle = graph.constant("last", [-1], np.int64), graph.constant("middle", [1], np.int64)
    chosen = graph.node("Cast", ["pooled_mask"], "chosen", to=TensorProto.FLOAT)
    present = graph.node("Mul", [x, graph.node("Unsqueeze", [chosen, last], "chosen.column")], "present")
    # The sum points where the mean does, and the length is set to one anyway.
    _unit(graph, graph.node("ReduceSum", [present, middle], "total", keepdims=0), "pooled")
    projection = graph.constant("projection", weights["projection"])
    _unit(graph, graph.node("MatMul", [x, projection], "projected"), "tokens")
    outputs = [
        helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["n", HIDDEN]),
        helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["n", "t", weights["projection"].shape[1]]),
    ]
    return _model(graph, "chat encoder", INPUTS, outputs, taps=taps)


def judge_graph(weights: Arrays, calm: Mapping[str, NDArray[Any]] | None = None, *, taps: bool = False) -> ModelProto:
    """input_ids, attention_mask [n, t] → logits [n, judgements], from the first piece and the mean of all."""
    graph = GraphBuilder(calm or {})
    x, mask = add_trunk(graph, weights)
    last, middle = graph.constant("last", [-1], np.int64), graph.constant("middle", [1], np.int64)
    present = graph.node("Mul", [x, graph.node("Unsqueeze", [mask, last], "mask.column")], "present")
    total = graph.node("ReduceSum", [present, middle], "total", keepdims=0)
    mean = graph.node("Div", [total, graph.node("ReduceSum", [mask, middle], "count", keepdims=1)], "mean")
    start = graph.node("Gather", [x, graph.constant("start", [0], np.int64)], "start.piece", axis=1)
    both = graph.node("Concat", [graph.node("Squeeze", [start, middle], "start.vector"), mean], "both", axis=1)
    product = graph.node("MatMul", [both, graph.constant("head.weight", weights["head.weight"].T)], "judged")
    graph.node("Add", [product, graph.constant("head.bias", weights["head.bias"])], "logits")
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", len(weights["head.bias"])])]
    return _model(graph, "judge", INPUTS[:2], outputs, taps=taps)


def add_trunk(graph: GraphBuilder, weights: Arrays) -> tuple[str, str]:
    """All layers; and the mask as floats."""
    mask = graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    x = add_embeddings(graph, weights)
    wide = graph.node("Unsqueeze", [mask, graph.constant("wide.axes", [1, 2], np.int64)], "mask.wide")
    absent = graph.node("Sub", [wide, graph.constant("one", 1)], "mask.absent")
    away = graph.node("Mul", [absent, graph.constant("far", 10_000)], "mask.away")
    for number in range(layers_of(weights)):
        layer = {
            name.removeprefix(f"encoder.layer.{number}."): value
            for name, value in weights.items()
            if name.startswith(f"encoder.layer.{number}.")
        }
        x = add_layer(graph, layer, x, away, f"layer{number}")
    return x, mask


def _model(graph: GraphBuilder, name: str, inputs: Sequence[str], outputs: list[Any], *, taps: bool) -> ModelProto:
    tapped = dict.fromkeys(graph.products.values()) if taps else {}
    made = helper.make_graph(
        graph.nodes,
        name,
        [helper.make_tensor_value_info(given, TensorProto.INT64, ["n", "t"]) for given in inputs],
        [*outputs, *(helper.make_tensor_value_info(x, TensorProto.FLOAT, None) for x in tapped)],
        [numpy_helper.from_array(value, constant) for constant, value in graph.constants.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def _unit(graph: GraphBuilder, x: str, output: str) -> str:
    norm = graph.node("ReduceL2", [x, "last"], f"{output}.norm", keepdims=1)
    return graph.node("Div", [x, graph.node("Max", [norm, graph.constant("least", 1e-9)], f"{output}.length")], output)


def layers_of(weights: Arrays) -> int:
    return len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})


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


def add_layer(graph: GraphBuilder, layer: Arrays, x: str, away: str, at: str) -> str:
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
    return graph.normed(at, graph.node("Add", [back, x], f"{at}.outer.sum"), *_pair(layer, "output.LayerNorm"))


def _pair(layer: Arrays, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    return layer[f"{name}.weight"], layer[f"{name}.bias"]


def cosine(first: Path, second: Path, probes: Sequence[Sequence[int]], output: str = "pooled") -> float:
    """How alike what two graphs give is, in the mean over the probes."""
    outputs: list[NDArray[Any]] = []
    for path in (first, second):
        session = open_session(path)
        vectors = np.concatenate([session.run([output], _feed_to(session, probe))[0] for probe in probes])
        outputs.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return float((outputs[0] * outputs[1]).sum(axis=1).mean())


def feed(probe: Sequence[int]) -> dict[str, NDArray[np.int64]]:
    ones: NDArray[np.int64] = np.ones((1, len(probe)), np.int64)
    return dict.fromkeys(INPUTS[1:], ones) | {"input_ids": np.array([probe], np.int64)}


def _feed_to(session: Any, probe: Sequence[int]) -> dict[str, NDArray[np.int64]]:
    names = {node.name for node in session.get_inputs()}
    return {name: value for name, value in feed(probe).items() if name in names}


def opened(graph: ModelProto) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "graph.onnx")
        path.write_bytes(graph.SerializeToString())
        return open_session(path)


def hidden(weights: Arrays, probes: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """The last layer's vectors, of unit length, of all pieces of these texts: what a projection is fitted on."""
    session = opened(float_graph(weights | {"projection": np.eye(HIDDEN, dtype=np.float32)}))
    return np.concatenate([session.run(["tokens"], feed(probe))[0][0, 1:-1] for probe in probes])


def calming(
    weights: Arrays, probes: Sequence[Sequence[int]], build: Callable[..., ModelProto] = float_graph
) -> dict[str, NDArray[Any]]:
    """By how much to divide each input of a product, and to multiply its weights, so that few are far above the rest.

    int8 takes its scale from the largest of all inputs. One in a hundred is up to five times as large as any other,
    always the same ones, and the others would be left with the few steps below.
    """
    session = opened(build(weights, taps=True))
    names = [output.name for output in session.get_outputs() if output.name not in OUTPUTS]
    largest: dict[str, NDArray[Any]] = {}
    for probe in probes:
        for name, values in zip(names, session.run(names, _feed_to(session, probe)), strict=True):
            largest[name] = np.maximum(largest.get(name, 0.0), np.abs(values).max(axis=(0, 1)))
    calm: dict[str, NDArray[Any]] = {}
    for number in range(layers_of(weights)):
        for product, given in (("inner", "attended"), ("outer", "gelu")):
            values = largest[f"layer{number}.{given}"]
            calm[f"layer{number}.{product}"] = np.maximum(values / np.quantile(values, CALM), 1.0).astype(np.float32)
    return calm


def export(
    weights: Arrays,
    path: Path,
    probes: Sequence[Sequence[int]] = PROBES,
    build: Callable[..., ModelProto] = float_graph,
    output: str = "pooled",
) -> float:
    """Write the int8 graph, whole or not at all; the cosine against fp32. `probes`: texts as ids of word pieces.

    Seven bits: processors without VNNI add pairs of products in 16 bits, which can overflow with eight.
    """
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".graph-") as scratch:
        exact, small = Path(scratch, "fp32.onnx"), Path(scratch, "int8.onnx")
        exact.write_bytes(build(weights, calming(weights, probes, build)).SerializeToString())
        _quantization.quantize_dynamic(
            exact, small, op_types_to_quantize=["MatMul"], per_channel=True, reduce_range=True,
            weight_type=_quantization.QuantType.QInt8, nodes_to_exclude=["projected", "judged"],
        )  # fmt: skip
        likeness = cosine(exact, small, probes[:PROBED], output)
        if likeness < LEAST_COSINE:
            raise ArithmeticError(f"int8 and fp32 agree only to {likeness:.3f}")
        small.replace(path)
        return likeness
