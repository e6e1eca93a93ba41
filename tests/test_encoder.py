"""Any late-interaction encoder from a folder: how it reads, what it gives, and what is said of one that is no use."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from conftest import World, http
from keepstone.app import make_app
from keepstone.cli.doctor import encoder_findings
from keepstone.errors import Misconfigured
from keepstone.jobs.worker import run_until_empty
from keepstone.providers.embedder import Tokens
from keepstone.providers.embedders import Embedders
from keepstone.providers.encoder import FORMER, Encoder, former
from keepstone.providers.manifest import BUILTIN, read_manifest
from keepstone.providers.reading import Reader
from keepstone.providers.wordpieces import cut, load_tokenizer
from keepstone.services import Services
from keepstone.settings import Settings, read_settings
from tiny_encoder import TOKENIZER, make_graph, write_encoder
from weights import weights

SAID = "Anna: We got a dog last week"
BEFORE = "Ben: What is new?"
TEXT = "Did the puppy bark?"


@given(st.text(st.characters(codec="ascii"), max_size=300))
def test_a_text_is_cut_by_its_pieces_whether_or_not_they_are_counted(text: str) -> None:
    tokenizer = (BUILTIN / "tokenizer.json").absolute()
    number = len(load_tokenizer(tokenizer).encode(text, add_special_tokens=False).ids)
    for window in (16, max(16, number), max(16, number - 1)):
        assert (cut(tokenizer, False, window, 4, text) == [(0, len(text))]) == (number <= window)


def piece(name: str) -> int:
    number = load_tokenizer(TOKENIZER).token_to_id(name)
    assert number is not None
    return number


def pieces(text: str) -> list[int]:
    return load_tokenizer(TOKENIZER).encode(text, add_special_tokens=False).ids


def reader(tmp_path: Path, **stated: Any) -> Reader:
    folder = write_encoder(tmp_path / "encoder", **stated)
    return Reader(folder, read_manifest(folder))


def words(text: str, spans: Any) -> list[str]:
    return [text[start:end] for start, end in spans]


# ------------------------------------------------------------------------------------------------------ what it reads

CLS, SEP = 101, 102  # of the tokenizer that the tests use


def test_a_turn_is_read_after_the_one_before_it_and_only_its_own_pieces_are_kept(tmp_path: Path) -> None:
    own, before = pieces(SAID), pieces(BEFORE)
    (read,) = reader(tmp_path, context=4).passages([SAID], [BEFORE])
    assert read.ids == [CLS, *before[-4:], SEP, *own, SEP]
    assert (read.own, read.attended) == (6, len(read.ids))
    assert words(SAID, read.spans) == ["Anna", "got", "dog", "last", "week"]
    assert [read.ids[row] for row in read.rows] == [piece(word) for word in ("anna", "got", "dog", "last", "week")]


def test_what_stands_after_nothing_is_read_whole_and_so_is_a_question(tmp_path: Path) -> None:
    own = reader(tmp_path, context=4)
    for read in (*own.passages([SAID, SAID], ["", ""]), *own.passages([SAID], None), own.question(SAID)):
        assert read.ids == [CLS, *pieces(SAID), SEP]
        assert (read.own, read.attended) == (0, len(read.ids))


def test_of_a_book_before_it_no_more_than_the_end_is_read(tmp_path: Path) -> None:
    own = reader(tmp_path, context=4)
    seen: list[int] = []
    encode = own._tokenizer.encode  # pyright: ignore[reportPrivateUsage]

    class Counting:
        def encode(self, text: str, **options: Any) -> Any:
            seen.append(len(text))
            return encode(text, **options)

    own._tokenizer = Counting()  # pyright: ignore[reportPrivateUsage]
    (read,) = own.passages([SAID], ["word " * 100_000 + "and the very end"])
    assert read.ids[1:5] == pieces("and the very end")
    assert max(seen) < 1_000


def test_text_that_looks_like_a_special_piece_is_text(tmp_path: Path) -> None:
    (read,) = reader(tmp_path).passages(["one [SEP] two [MASK]"], None)
    assert read.ids.count(SEP) == 1
    assert piece("[MASK]") not in read.ids


def test_prefixes_and_expansion_are_those_of_colbert(tmp_path: Path) -> None:
    stated = {
        "question_prefix": "[unused0]", "passage_prefix": "[unused1]", "keep": "all", "question_length": 16,
        "expansion": "[MASK]",
    }  # fmt: skip
    own = reader(tmp_path, **stated)
    asked = own.question(TEXT)
    told = [CLS, piece("[unused0]"), *pieces(TEXT), SEP]
    assert asked.ids == told + [piece("[MASK]")] * (16 - len(told))
    assert asked.attended == len(told)
    assert asked.rows == list(range(16))
    assert [word for word in words(TEXT, asked.spans) if word] == ["puppy", "bark"]
    (passage,) = own.passages([TEXT], None)
    assert passage.ids == [CLS, piece("[unused1]"), *pieces(TEXT), SEP]
    assert len(passage.rows) == len(passage.ids) - 1  # all but the question mark
    assert own.question("word " * 100).ids[-2:] == [piece("word"), SEP]
    assert len(own.question("word " * 100).ids) == 16
    attending = reader(tmp_path, **stated, attend_expansion=True)
    assert attending.question(TEXT).attended == 16


def test_a_prefix_may_be_words(tmp_path: Path) -> None:
    asked = reader(tmp_path, question_prefix="query: ").question(TEXT)
    assert asked.ids == [CLS, *pieces("query: "), *pieces(TEXT), SEP]


def test_letters_are_made_small_where_the_tokenizer_does_not(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder", lowercase=True)
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "the": 1, "puppy": 2, "i̇stanbul": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    text = "İSTANBUL: The PUPPY"
    (read,) = Reader(folder, read_manifest(folder)).passages([text], None)
    assert read.ids == [3, 0, 1, 2]
    assert words(text, read.spans) == ["İSTANBUL", "PUPPY"]


# ------------------------------------------------------------------------------------------------------ what it gives


async def vectors(folder: Path, *texts: str) -> list[Any]:
    encoder = Encoder(folder)
    try:
        return await encoder.embed(texts)
    finally:
        encoder.close()


def tokens_of(embedding: Any) -> Tokens:
    assert embedding.tokens is not None
    return embedding.tokens


@pytest.mark.parametrize("dimension", [96, 100])
async def test_without_a_pooled_output_the_kept_vectors_are_averaged(tmp_path: Path, dimension: int) -> None:
    made, stop = await vectors(write_encoder(tmp_path / "encoder", dimension), SAID, "who are you?")
    mean = tokens_of(made).vectors.mean(axis=0)
    assert np.allclose(made.pooled, mean / np.linalg.norm(mean), atol=1e-5)
    assert made.pooled.shape == (dimension,)
    assert tokens_of(stop).vectors.shape == (0, dimension)
    assert np.linalg.norm(stop.pooled) == pytest.approx(1, abs=1e-4)


async def test_a_graph_may_have_a_pooled_output_other_names_and_a_projection(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder", projection="to_20.npy", inputs={"input_ids": "words_in"})
    (folder / "encoder.onnx").write_bytes(make_graph(96, inputs=("words_in",), output="contextual", pooled=384))
    np.save(folder / "to_20.npy", np.eye(96, 20, dtype=np.float16))
    (made,) = await vectors(folder, SAID)
    assert made.pooled.shape == (384,)
    assert tokens_of(made).vectors.shape == (5, 20)
    assert np.linalg.norm(tokens_of(made).vectors, axis=1) == pytest.approx(1, abs=1e-4)


async def test_the_one_before_is_loaded_where_its_graph_is_left(tmp_path: Path) -> None:
    assert former(tmp_path) is None
    (tmp_path / FORMER.graph).write_bytes(make_graph(384, pooled=384))
    assert former(tmp_path) is None
    (tmp_path / FORMER.tokenizer).write_bytes(TOKENIZER.read_bytes())
    loaded = former(tmp_path)
    assert loaded is not None
    assert (loaded.name, loaded.dimension, loaded.context) == ("all-MiniLM-L6-v2/int8-1", 384, 0)
    (made,) = await loaded.embed([SAID], [BEFORE])
    assert tokens_of(made).vectors.shape == (5, 128)
    loaded.close()


# ------------------------------------------------------------------------------------------------ what can't be used


def damaged(folder: Path, **stated: Any) -> Path:
    write_encoder(folder)
    manifest = json.loads((folder / "encoder.json").read_text()) | stated
    (folder / "encoder.json").write_text(
        json.dumps({key: value for key, value in manifest.items() if value is not None})
    )
    return folder


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"name": None}, "has no `name`"),
        ({"name": " "}, "`name` has to be"),
        ({"name": 7}, "`name` has to be a text"),
        ({"windw": 3}, "no `windw`"),
        ({"window": "254"}, "`window` has to be a whole number"),
        ({"window": 9_000}, "`window` has to be 16 to"),
        ({"window": 600}, "does not read 602 word pieces.*make `window` smaller"),
        ({"overlap": 64}, "`overlap` has to be 0 to 32"),
        ({"context": -1}, "`context` has to be"),
        ({"keep": "some"}, "`keep` has to be words or all"),
        ({"graph": "../encoder.onnx"}, "`graph` has to be the name of a file"),
        ({"graph": "other.onnx"}, "other.onnx is missing"),
        ({"tokenizer": "encoder.onnx"}, "is no tokenizer that can be read"),
        ({"projection": "tokenizer.json"}, "is no matrix"),
        ({"outputs": {"tokens": "hidden"}}, "has no output hidden, only tokens"),
        ({"inputs": {"input_ids": "words"}}, "wants input_ids"),
        ({"inputs": {"ids": "words"}}, "`inputs` has to give"),
        ({"expansion": "[MASK]"}, "needs `question_length`"),
        ({"expansion": "[NONE]", "question_length": 32}, r"has no piece \[NONE\]"),
        ({"question_length": 4}, "leaves no room"),
        ({"dimension": 128}, "gives 96 dimensions, not 128"),
    ],
)
def test_what_a_manifest_may_not_say_is_told_with_what_to_do(tmp_path: Path, stated: Any, says: str) -> None:
    with pytest.raises(Misconfigured, match=says):
        Encoder(damaged(tmp_path / "encoder", **stated))


def test_what_is_no_manifest_and_no_graph_is_told(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"has no encoder\.json"):
        Encoder(tmp_path)
    for text, says in (("{", "is not JSON"), ("[]", "is not a JSON object")):
        (tmp_path / "encoder.json").write_text(text)
        with pytest.raises(Misconfigured, match=says):
            Encoder(tmp_path)
    folder = damaged(tmp_path / "encoder")
    (folder / "encoder.onnx").write_bytes(b"not a graph")
    with pytest.raises(Misconfigured, match="can't be loaded"):
        Encoder(folder)
    (folder / "encoder.onnx").write_bytes(make_graph(96, inputs=("input_ids", "pixels")))
    with pytest.raises(Misconfigured, match="wants pixels"):
        Encoder(folder)


# --------------------------------------------------------------------------------------- what other exporters write


def test_the_settings_of_pylate_are_read(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder")
    (folder / "encoder.json").unlink()
    (folder / "encoder.onnx").rename(folder / "model_int8.onnx")
    config = {
        "model_type": "ColBERT", "model_name": "someone/colbert", "uses_token_type_ids": False, "query_prefix": "[Q] ",
        "document_prefix": "[D] ", "query_length": 32, "document_length": 300, "do_query_expansion": True,
        "attend_to_expansion_tokens": False, "skiplist_words": ["!", "."], "embedding_dim": 96, "mask_token_id": 103,
        "pad_token_id": 0, "query_prefix_id": 1, "document_prefix_id": 2, "do_lower_case": False,
    }  # fmt: skip
    (folder / "onnx_config.json").write_text(json.dumps(config))
    manifest = read_manifest(folder)
    assert (manifest.name, manifest.graph, manifest.window) == ("someone/colbert/model_int8", "model_int8.onnx", 297)
    assert (manifest.question_prefix, manifest.passage_prefix) == ("[unused0]", "[unused1]")
    assert (manifest.keep, manifest.question_length, manifest.expansion) == ("all", 32, "[MASK]")
    Encoder(folder).close()
    (folder / "onnx_config.json").write_text(json.dumps(config | {"query_length": "long"}))
    with pytest.raises(Misconfigured, match="`question_length` has to be a whole number"):
        Encoder(folder)


def test_the_metadata_of_colbert_are_read(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "answerai-colbert-small-v1")
    (folder / "encoder.json").unlink()
    (folder / "encoder.onnx").unlink()
    config = {
        "query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_token": "[Q]", "doc_token": "[D]",
        "query_maxlen": 32, "doc_maxlen": 300, "attend_to_mask_tokens": False, "dim": 96, "mask_punctuation": True,
    }  # fmt: skip
    (folder / "artifact.metadata").write_text(json.dumps(config))
    with pytest.raises(Misconfigured, match=r"artifact\.metadata and none of .*vespa_colbert\.onnx"):
        read_manifest(folder)
    (folder / "vespa_colbert.onnx").write_bytes(make_graph(96, output="contextual"))
    manifest = read_manifest(folder)
    assert manifest.name == "answerai-colbert-small-v1/vespa_colbert"
    assert (manifest.question_prefix, manifest.passage_prefix, manifest.expansion) == (
        "[unused0]",
        "[unused1]",
        "[MASK]",
    )
    encoder = Encoder(folder)
    assert encoder.dimension == 96
    encoder.close()
    (folder / "vespa_colbert.onnx").write_bytes(make_graph(384, output="last_hidden_state"))
    with pytest.raises(Misconfigured, match="gives 384 dimensions, not 96: export its projection too"):
        Encoder(folder)


# ------------------------------------------------------------------------------------------------------- in its place


@pytest.fixture
def home(settings: Settings) -> Path:
    (settings.home / "models").symlink_to(weights())
    return settings.home


@pytest.mark.parametrize(
    ("dimension", "stated"),
    [
        (96, {"multilingual": True}),
        (
            100,
            {
                "context": 16,
                "keep": "all",
                "question_prefix": "[unused0]",
                "question_length": 24,
                "expansion": "[MASK]",
            },
        ),
    ],
)
async def test_what_is_ingested_is_recalled_by_it(
    services: Services, world: World, home: Path, tmp_path: Path, dimension: int, stated: Any
) -> None:
    folder = write_encoder(tmp_path / "encoder", dimension, **stated)
    chosen = replace(services.settings, encoder=str(folder))
    services.embedders.need()
    await services.embedders.load(chosen)
    names = [embedder.name for embedder in services.embedders.active]
    assert names == [f"tiny/{dimension}", *([] if "multilingual" in stated else ["USE-multilingual-v3/1"])]
    turns = [("Anna", "We got a dog last week"), ("Ben", "My tax return is late"), ("Anna", "The ferry was full")]
    talk = [
        {"id": f"m{n}", "speaker": speaker, "text": text, "ts": f"2026-05-01T12:0{n}:00Z"}
        for n, (speaker, text) in enumerate(turns)
    ]
    async with http(make_app(services), headers={"Authorization": f"Bearer {world.owner.key}"}) as client:
        stored = await client.post("/v1/ingest", json={"scope_id": "team", "transcript": talk})
        assert stored.status_code < 300, stored.text
        await run_until_empty(services)
        question = {"speaker": "Cleo", "text": "puppy", "ts": "2026-05-02T12:00:00Z"}
        body = {"scope_id": "team", "message": question, "limit": 3, "explain": True}
        answer = (await client.post("/v1/recall", json=body)).json()
        ready = (await client.get("/readyz")).json()
    assert answer["evidence"][0]["id"] == "m0"
    late = {item["id"]: item["why"]["maxsim"] for item in answer["evidence"]}
    assert max(late, key=lambda item: late[item]) == "m0"
    assert ready["embedder"]["status"] == "ok"
    assert [finding.found for finding in encoder_findings(chosen)] == [f"tiny/{dimension} in {folder}"]
    assert ready["pending_embeddings"] == 0
    services.embedders.close()


async def test_one_that_cannot_be_used_is_told_and_the_rest_goes_on(
    services: Services, home: Path, tmp_path: Path
) -> None:
    folder = damaged(tmp_path / "encoder", window=600)
    embedders = Embedders()
    embedders.need()
    await embedders.load(replace(services.settings, encoder=str(folder)))
    assert [embedder.name for embedder in embedders.active] == ["USE-multilingual-v3/1"]
    assert embedders.status == (
        "search is by the multilingual model; the encoder is missing: `keepstone models` says why"
    )
    embedders.close()
    for chosen, says in ((folder, "make `window` smaller"), (tmp_path / "nowhere", "nowhere has no encoder.json")):
        (finding,) = encoder_findings(replace(services.settings, encoder=str(chosen)))
        assert not finding.ok
        assert says in finding.advice


def test_the_setting_is_a_folder_or_one_commit_of_a_hub(tmp_path: Path) -> None:
    home = {"KEEPSTONE_HOME": str(tmp_path)}
    commit = "0123456789abcdef0123456789abcdef01234567"
    assert read_settings(home | {"KEEPSTONE_ENCODER": "models/x"}).encoder == str(Path("models/x").absolute())
    hub = f"hub:someone/colbert-small.v1@{commit}"
    assert read_settings(home | {"KEEPSTONE_ENCODER": hub}).encoder == hub
    for wrong in ("hub:someone/colbert", "hub:someone/colbert@main", f"hub:../x@{commit}", f"hub:colbert@{commit}"):
        with pytest.raises(Misconfigured, match="KEEPSTONE_ENCODER must be a folder, or hub:owner/name@"):
            read_settings(home | {"KEEPSTONE_ENCODER": wrong})
    with pytest.raises(Misconfigured, match="unset one"):
        read_settings(home | {"KEEPSTONE_ENCODER": hub, "KEEPSTONE_EMBEDDINGS_PROVIDER": "none"})
