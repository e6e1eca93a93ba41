"""What a folder with an encoder says of itself: `encoder.json`, or what the exporters of other late-interaction models
write in its place. docs/encoders.md describes it for people.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast

from keepstone.errors import Misconfigured
from keepstone.providers.wordpieces import load_tokenizer

BUILTIN = Path(__file__).with_name("chat_encoder")
MANIFEST = "encoder.json"
PYLATE = "onnx_config.json"  # of PyLate's exporter
COLBERT = "artifact.metadata"  # of ColBERT's own training
GRAPHS = ("model_int8.onnx", "vespa_colbert.onnx", "model.onnx")  # what they call the graph; the quicker one first
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "pooled_mask")
OUTPUTS = ("tokens", "pooled")

_MOST_WINDOW, _MOST_CONTEXT, _MOST_QUESTION = 2_048, 512, 512  # word pieces
_LONGEST_FOREIGN = 512  # some state more than is good for one passage
_FILE = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,100}(/(?!\.)[A-Za-z0-9._-]{1,100}){0,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`name` identifies the vector space. Lengths are counted in word pieces, and 0 is none."""

    name: str
    graph: str = "encoder.onnx"
    tokenizer: str = "tokenizer.json"
    projection: str = ""
    multilingual: bool = False
    window: int = 254
    overlap: int = 32
    context: int = 0
    question_prefix: str = ""
    passage_prefix: str = ""
    keep: Literal["words", "all"] = "words"
    lowercase: bool = False
    question_length: int = 0  # with the special pieces
    expansion: str = ""  # the piece that a question is filled up with to this length
    attend_expansion: bool = False
    dimension: int = 0  # of the token vectors, to be checked against the graph
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])  # our name to the graph's
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])


def read_manifest(folder: Path) -> Manifest:
    """Of the encoder in this folder."""
    if (folder / MANIFEST).is_file():
        return manifest_of(_json(folder / MANIFEST), str(folder / MANIFEST))
    for file, translate in ((PYLATE, _from_pylate), (COLBERT, _from_colbert)):
        if (folder / file).is_file():
            return manifest_of(_translated(folder, file, translate), str(folder / file))
    raise Misconfigured(
        f"{folder} has no {MANIFEST}, {PYLATE} or {COLBERT}: docs/encoders.md says what a folder with an encoder has."
    )


def check_folder(folder: Path) -> Manifest:
    """The manifest of a folder that has all the files it names."""
    manifest = read_manifest(folder)
    for file in (manifest.graph, manifest.tokenizer, manifest.projection):
        if file and not (folder / file).is_file():
            raise Misconfigured(f"{folder / file} is missing: the encoder {manifest.name} needs it.")
    return manifest


def _translated(folder: Path, file: str, translate: "_Translate") -> dict[str, Any]:
    graph = next((graph for graph in GRAPHS if (folder / graph).is_file()), None)
    if graph is None:
        raise Misconfigured(f"{folder} has {file} and none of {', '.join(GRAPHS)}: export the model to ONNX.")
    try:
        stated = translate(_json(folder / file), load_tokenizer(folder / "tokenizer.json").id_to_token)
    except (TypeError, ValueError):
        raise Misconfigured(f"{folder / file} is not what exporters write: put an {MANIFEST} beside it.") from None
    name = stated.pop("name", None) or folder.name
    return {"name": f"{name}/{graph.removesuffix('.onnx')}", "graph": graph, **stated}


def manifest_of(stated: Mapping[str, Any], place: str) -> Manifest:
    """What stands in a manifest, looked through: each fault says what would be right."""
    example, known = Manifest(name=""), [item.name for item in fields(Manifest)]
    unknown = sorted(set(stated).difference(known))
    if unknown:
        raise Misconfigured(f"{place}: there is no `{unknown[0]}`. It may have {', '.join(known)}.")
    if "name" not in stated:
        raise Misconfigured(f"{place} has no `name`: give it one that no other encoder or version has.")
    for key, value in stated.items():
        kind: type[Any] = getattr(example, key).__class__
        if type(value) is not kind:
            raise Misconfigured(f"{place}: `{key}` has to be {_KINDS[kind]}.")
    manifest = Manifest(**stated)
    _check_texts(manifest, place)
    _check_lengths(manifest, place)
    return manifest


def _check_texts(manifest: Manifest, place: str) -> None:
    if not 1 <= len(manifest.name) <= 150 or not manifest.name.isprintable() or manifest.name != manifest.name.strip():
        raise Misconfigured(f"{place}: `name` has to be 1 to 150 characters on one line.")
    if manifest.keep not in {"words", "all"}:
        raise Misconfigured(f"{place}: `keep` has to be words or all.")
    for key in ("graph", "tokenizer", "projection"):
        file = getattr(manifest, key)
        if not _FILE.fullmatch(file) and (file or key != "projection"):
            raise Misconfigured(f"{place}: `{key}` has to be the name of a file in the same folder.")
    for key, known in (("inputs", INPUTS), ("outputs", OUTPUTS)):
        names = cast("Mapping[Any, Any]", getattr(manifest, key))
        if not set(names) <= set(known) or not all(isinstance(name, str) for name in names.values()):
            raise Misconfigured(f"{place}: `{key}` has to give {', '.join(known)} the names that the graph has.")


def _check_lengths(manifest: Manifest, place: str) -> None:
    bounds = {
        "window": (16, _MOST_WINDOW),
        "overlap": (0, manifest.window // 2),
        "context": (0, _MOST_CONTEXT),
        "question_length": (0, _MOST_QUESTION),
        "dimension": (0, 4_000),
    }
    for key, (least, most) in bounds.items():
        if not least <= getattr(manifest, key) <= most:
            raise Misconfigured(f"{place}: `{key}` has to be {least} to {most}.")
    if manifest.expansion and not manifest.question_length:
        raise Misconfigured(f"{place}: `expansion` needs `question_length`, to which a question is filled up.")


_KINDS = {str: "a text", bool: "true or false", int: "a whole number", dict: "an object"}


_Translate = Callable[[dict[str, Any], Callable[[int], str | None]], dict[str, Any]]


def _from_pylate(config: dict[str, Any], piece: Callable[[int], str | None]) -> dict[str, Any]:
    return {
        "name": config.get("model_name"),
        "window": _window(config.get("document_length", 300)),
        "question_prefix": _piece(config, "query_prefix_id", piece) or config.get("query_prefix", "[Q] "),
        "passage_prefix": _piece(config, "document_prefix_id", piece) or config.get("document_prefix", "[D] "),
        "keep": "all",
        "lowercase": config.get("do_lower_case", False),
        "question_length": config.get("query_length", 48),
        "expansion": (_piece(config, "mask_token_id", piece) or "[MASK]") if config.get("do_query_expansion") else "",
        "attend_expansion": config.get("attend_to_expansion_tokens", False),
        "dimension": config.get("embedding_dim", 0),
    }


def _from_colbert(config: dict[str, Any], _piece: Callable[[int], str | None]) -> dict[str, Any]:
    return {
        "window": _window(config.get("doc_maxlen", 220)),
        "question_prefix": config.get("query_token_id", "[unused0]"),
        "passage_prefix": config.get("doc_token_id", "[unused1]"),
        "keep": "all",
        "question_length": config.get("query_maxlen", 32),
        "expansion": "[MASK]",
        "attend_expansion": config.get("attend_to_mask_tokens", False),
        "dimension": config.get("dim", 0),
    }


def _piece(config: dict[str, Any], key: str, piece: Callable[[int], str | None]) -> str | None:
    number = config.get(key)
    return piece(number) if isinstance(number, int) and number >= 0 else None


def _window(length: int) -> int:
    """Of a length with two special pieces and a prefix."""
    return max(16, min(length, _LONGEST_FOREIGN) - 3)


def _json(path: Path) -> dict[str, Any]:
    try:
        stated = json.loads(path.read_bytes())
    except OSError as fault:
        raise Misconfigured(f"{path} can't be read ({fault.strerror}).") from None
    except ValueError:
        raise Misconfigured(f"{path} is not JSON.") from None
    if not isinstance(stated, dict):
        raise Misconfigured(f"{path} is not a JSON object.")
    return cast("dict[str, Any]", stated)
