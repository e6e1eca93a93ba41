"""What every embedder holds to, on the real weights; and what is particular to each."""

import asyncio
import json
import logging
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keepstone.errors import Misconfigured, UpstreamError
from keepstone.providers import embedders as loading
from keepstone.providers.embedder import Embedder, Embedding
from keepstone.providers.embedders import Embedders
from keepstone.providers.encoder import Encoder
from keepstone.providers.manifest import BUILTIN
from keepstone.providers.openai_embedder import OpenAIEmbedder
from keepstone.providers.use import BATCH_CHARACTERS, Use
from keepstone.providers.windows import well_formed
from keepstone.providers.wordpieces import load_tokenizer
from keepstone.settings import Settings
from weights import weights

MOVING = "Caroline: I moved to Lisbon last spring because of my new job."
CITY = "Which city did Caroline move to?"
CAKE = "Sourdough needs a starter that was fed the evening before."
LONG = " ".join(f"Turn {n}: we talked about the invoice of customer {n * 37} and its due date." for n in range(200))


@pytest.fixture(scope="module")
def english() -> Generator[Encoder]:
    embedder = Encoder(BUILTIN)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module")
def many_languages() -> Generator[Use]:
    embedder = Use(weights())
    yield embedder
    embedder.close()


@pytest.fixture(params=["english", "many_languages"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return request.getfixturevalue(request.param)


def cosine(one: Embedding, other: Embedding) -> float:
    return float(one.pooled @ other.pooled)


async def test_vectors_are_of_unit_length_and_of_the_dimension_that_is_said(embedder: Embedder) -> None:
    for each in await embedder.embed([MOVING, CITY, "", " ", "?", "\ud83d", "🙂", "x" * 5000, LONG]):
        assert each.pooled.shape == (embedder.dimension,)
        assert each.pooled.dtype == np.float32
        assert np.linalg.norm(each.pooled) == pytest.approx(1, abs=1e-4)


async def test_a_word_as_long_as_a_book_takes_no_more_than_its_beginning(many_languages: Use) -> None:
    begun, whole = await many_languages.embed(["x" * BATCH_CHARACTERS, "x" * 20 * BATCH_CHARACTERS])
    assert np.array_equal(begun.pooled, whole.pooled)


async def test_nothing_gives_nothing(embedder: Embedder) -> None:
    assert await embedder.embed([]) == []


async def test_equal_texts_have_equal_vectors_whatever_stands_beside_them(embedder: Embedder) -> None:
    # int8 takes its scale from the whole batch, so what stands beside a text moves it a little.
    alone = (await embedder.embed([MOVING]))[0]
    among = await embedder.embed([CAKE, LONG[:900], MOVING, "Hi", *[CITY] * 70, MOVING])
    assert cosine(alone, among[2]) > 0.97
    assert cosine(alone, among[-1]) > 0.97


async def test_order_is_kept_across_batches(embedder: Embedder) -> None:
    texts = [f"{word} " * length for word, length in zip(["apple", "engine", "violin"] * 30, range(1, 91), strict=True)]
    together = await embedder.embed(texts)
    for number in (0, 17, 45, 89):
        assert cosine(together[number], (await embedder.embed([texts[number]]))[0]) > 0.97


async def test_what_is_alike_is_nearer_than_what_is_not(embedder: Embedder) -> None:
    question, answer, other = await embedder.embed([CITY, MOVING, CAKE])
    assert cosine(question, answer) > cosine(question, other) + 0.2


async def test_a_question_in_chinese_finds_the_english_note(many_languages: Use) -> None:
    question, answer, other = await many_languages.embed(["卡罗琳搬到了哪个城市?", MOVING, CAKE])
    assert many_languages.multilingual
    assert cosine(question, answer) > cosine(question, other) + 0.2
    assert question.tokens is None


@pytest.mark.parametrize("text", [LONG, "", "one", "words\n\n  and  spaces  " * 300, "文" * 3000, "a" * 5000])
def test_windows_cover_the_whole_text_and_overlap(embedder: Embedder, text: str) -> None:
    spans = embedder.cut(text)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (start, end), (following, _) in pairwise(spans):
        assert start < following <= end
    if text == LONG:
        for (_, end), (following, _) in pairwise(spans):
            assert following < end
            assert text[following - 1] == " " != text[following]
            assert text[end - 1] == " "


def test_a_window_is_what_the_model_reads_whole(english: Encoder) -> None:
    tokenizer = load_tokenizer(BUILTIN / "tokenizer.json")

    def length(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    lengths = [length(LONG[start:end]) for start, end in english.cut(LONG)]
    assert len(lengths) > 10
    assert max(lengths) <= 254
    assert min(lengths[:-1]) > 240
    fits = LONG[: english.cut(LONG)[0][1]]
    assert english.cut(fits) == [(0, len(fits))]
    overlaps = [length(LONG[b:end]) for (_, end), (b, _) in pairwise(english.cut(LONG))]
    assert 20 < min(overlaps) <= max(overlaps) <= 32


async def test_a_span_is_the_whole_word_and_stop_words_have_none(english: Encoder) -> None:
    text = "Où est… Señor Schmetterling didn't (really) bring the 3 tamagotchis, 你好!"
    tokens = (await english.embed([text]))[0].tokens
    assert tokens is not None
    words = [text[start:end] for start, end in tokens.spans]
    assert list(dict.fromkeys(words)) == [
        *("Où", "est", "Señor", "Schmetterling", "really", "bring", "3", "tamagotchis", "你", "好")
    ]
    assert words.count("Schmetterling") > 1
    assert tokens.vectors.shape == (len(words), 128)
    assert tokens.vectors.dtype == np.float32
    assert np.linalg.norm(tokens.vectors, axis=1) == pytest.approx(1, abs=1e-4)


async def test_only_stop_words_leave_no_token(english: Encoder) -> None:
    tokens = (await english.embed(["Who are you? …"]))[0].tokens
    assert tokens is not None
    assert tokens.vectors.shape == (0, 128)
    assert tokens.spans == ()


async def test_late_interaction_tells_what_answers_from_what_does_not(english: Encoder) -> None:
    question, *passages = [
        each.tokens for each in (await english.embed_question(CITY), *await english.embed([MOVING, CAKE]))
    ]
    assert question is not None
    answer, other = (
        (question.vectors @ tokens.vectors.T).max(axis=1).mean() for tokens in passages if tokens is not None
    )
    assert answer > other + 0.2


async def test_what_was_said_before_changes_the_vectors_and_not_the_words(english: Encoder) -> None:
    said = "Ben: Did you find a flat near the river?"
    texts = ["Caroline: Yes, it is small but lovely."] * 2
    alone, after = await english.embed(texts, ["", said])
    assert english.context > 0
    assert 0.3 < cosine(alone, after) < 0.99
    assert alone.tokens is not None
    assert after.tokens is not None
    assert alone.tokens.spans == after.tokens.spans
    assert cosine(alone, (await english.embed(texts[:1]))[0]) > 0.97


async def test_a_question_is_read_as_short_as_it_is(embedder: Embedder) -> None:
    assert cosine(await embedder.embed_question(CITY), (await embedder.embed([CITY]))[0]) > 0.97


async def test_the_event_loop_goes_on_while_a_backlog_is_embedded(embedder: Embedder) -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    gaps: list[float] = []

    async def tick() -> None:
        last = loop.time()
        while not done.is_set():
            await asyncio.sleep(0.005)
            now = loop.time()
            gaps.append(now - last)
            last = now

    ticking = asyncio.create_task(tick())
    begun = loop.time()
    await embedder.embed([LONG[start : start + 600] for start in range(0, 12_000, 100)])
    took = loop.time() - begun
    done.set()
    await ticking
    # On a busy machine one tick may be late; that most are in time shows that nothing waits for the model.
    assert len(gaps) > 5
    assert sorted(gaps)[len(gaps) // 2] < 0.05
    assert max(gaps) < max(took / 2, 0.2)


async def test_a_question_does_not_wait_for_the_backlog(embedder: Embedder) -> None:
    backlog = asyncio.create_task(embedder.embed([LONG[start : start + 900] for start in range(0, 12_000, 200)]))
    await asyncio.sleep(0)
    await embedder.embed([CITY])
    assert not backlog.done()
    await backlog


def test_missing_weights_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="keepstone models"):
        Use(tmp_path)


async def test_english_works_at_once_and_without_what_has_to_be_fetched(tmp_path: Path) -> None:
    embedders = Embedders()
    await embedders.load(Settings(home=tmp_path, models_from=tmp_path / "nothing here"))
    assert [embedder.name for embedder in embedders.active] == [
        json.loads((BUILTIN / "encoder.json").read_text())["name"]
    ]
    assert embedders.status == "ok; the multilingual model is missing: `keepstone models` says why"
    embedders.close()


async def test_the_multilingual_model_waits_for_the_first_message_and_english_does_not(tmp_path: Path) -> None:
    (tmp_path / "models").symlink_to(weights())
    embedders = Embedders()
    load = asyncio.create_task(embedders.load(Settings(home=tmp_path)))
    await embedders.opened.wait()
    while "first message" not in embedders.status:
        await asyncio.sleep(0.01)
    assert embedders.status == "ok; the multilingual model loads with the first message"
    assert [embedder.multilingual for embedder in embedders.active] == [False]
    embedders.need()
    await load
    assert [embedder.multilingual for embedder in embedders.active] == [False, True]
    embedders.close()


async def is_closed(encoder: Encoder) -> bool:
    try:
        await encoder.embed(["something"])
    except RuntimeError:
        return True
    return False


async def test_what_was_begun_before_the_database_is_used_unless_the_operator_has_set_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Encoder] = []

    def open_encoder(folder: Path, _mapped: Path | None) -> Encoder:
        made.append(Encoder(folder))
        return made[-1]

    monkeypatch.setattr(loading, "open_encoder", open_encoder)
    builtin = Settings(home=tmp_path, models_from=tmp_path / "nothing here")
    embedders = Embedders()
    embedders.begin(builtin)
    await embedders.load(builtin)
    assert [*embedders.active] == made
    other = Embedders()
    other.begin(builtin)
    await other.load(replace(builtin, embeddings_provider="none"))
    async with asyncio.timeout(60):
        while len(made) < 2 or not await is_closed(made[1]):
            await asyncio.sleep(0.01)
    assert other.active == ()
    embedders.close()


async def test_the_multilingual_model_joins_when_it_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    come, states = threading.Event(), list[tuple[int, str]]()

    def fetch(folder: Path, *_: Any) -> None:
        come.wait(60)
        folder.symlink_to(weights())

    async def joined() -> None:
        states.append((len(embedders.active), embedders.status))
        come.set()

    monkeypatch.setattr(loading, "fetch", fetch)
    embedders = Embedders()
    embedders.need()
    await embedders.load(Settings(home=tmp_path), (), joined)
    assert states == [(1, "ok; the multilingual model is being fetched"), (2, "ok")]
    assert [embedder.multilingual for embedder in embedders.active] == [False, True]
    embedders.close()


def test_half_a_character_is_replaced_and_the_length_stays() -> None:
    assert well_formed("a\ud800b") == "a?b"
    assert well_formed("a😀b") == "a😀b"


class Endpoint:
    """A server that speaks the protocol: the vector of a text is a function of its length."""

    def __init__(self) -> None:
        self.key = "sk-a-key-that-nobody-may-see"
        self.dimension = 8
        self.sizes: list[int] = []
        self.refuse: list[int] = []  # statuses to answer with first
        self.body: bytes | None = None

    def vector(self, text: str) -> list[float]:
        return [float(len(text)), *[1.0] * (self.dimension - 1)]

    def answer(self, key: str, asked: dict[str, Any]) -> tuple[int, Any]:
        if key != f"Bearer {self.key}":
            return 401, {"error": {"message": f"Incorrect API key provided: {key}", "code": "invalid_api_key"}}
        if self.refuse:
            return self.refuse.pop(0), {"error": {"message": "slow down"}}
        self.sizes.append(len(asked["input"]))
        data = [
            {"object": "embedding", "index": index, "embedding": self.vector(text)}
            for index, text in enumerate(asked["input"])
        ]
        return 200, {"object": "list", "model": asked["model"], "data": data[::-1], "usage": {}}


@contextmanager
def serving(endpoint: Endpoint) -> Generator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = endpoint.answer(self.headers["Authorization"], asked)
            body = endpoint.body or json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("retry-after-ms", "10")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
def url(endpoint: Endpoint) -> Generator[str]:
    with serving(endpoint) as address:
        yield address


async def closed(embedder: OpenAIEmbedder) -> None:
    embedder.close()
    await asyncio.sleep(0)


async def test_an_endpoint_is_asked_in_batches_and_tells_its_dimension(endpoint: Endpoint, url: str) -> None:
    remote: Embedder
    remote = made = OpenAIEmbedder(url, endpoint.key, "some-model")
    assert remote.dimension == 0
    await made.embed(["dimension"])
    assert made.dimension == 8
    found = await remote.embed(["x" * n for n in range(300)])
    assert endpoint.sizes == [1, 128, 128, 44]
    assert remote.name == "openai/some-model"
    for n in (1, 128, 299):
        assert found[n].pooled[0] / found[n].pooled[1] == pytest.approx(n, rel=1e-3)
        assert np.linalg.norm(found[n].pooled) == pytest.approx(1, abs=1e-5)
        assert found[n].tokens is None
    await closed(made)


async def test_an_endpoint_that_is_busy_is_asked_again(endpoint: Endpoint, url: str) -> None:
    endpoint.refuse = [429, 429]
    remote = OpenAIEmbedder(url, endpoint.key, "some-model")
    assert len(await remote.embed(["once more"])) == 1
    assert endpoint.refuse == []
    await closed(remote)


async def test_a_wrong_key_is_the_upstreams_error_and_no_key_or_text_is_told(
    endpoint: Endpoint, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    good, bad = (OpenAIEmbedder(url, key, "some-model") for key in (endpoint.key, "sk-a-wrong-key"))
    await good.embed(["a text that is nobody's business"])
    with pytest.raises(UpstreamError) as caught:
        await bad.embed(["a text that is nobody's business"])
    told = caplog.text + str(caught.value) + repr(caught.value) + repr(good) + repr(caught.value.__cause__)
    assert "401" in caught.value.message
    assert not re.search("sk-a-|nobody's business", told)
    await closed(good)
    await closed(bad)


async def test_an_endpoint_that_is_down_or_nonsense_is_the_upstreams_error(endpoint: Endpoint, url: str) -> None:
    away = OpenAIEmbedder("http://127.0.0.1:9/v1", "key", "some-model", retries=0)
    with pytest.raises(UpstreamError, match="could not be reached"):
        await away.embed(["text"])
    remote = OpenAIEmbedder(url, endpoint.key, "some-model", retries=0)
    endpoint.refuse = [500]
    with pytest.raises(UpstreamError, match="500"):
        await remote.embed(["text"])
    for body in (b"<html>a proxy</html>", b"{}", b"[]", b'{"data": []}', b'{"data": [{"index": 0}]}'):
        endpoint.body = body
        with pytest.raises(UpstreamError):
            await remote.embed(["text"])
    assert remote.dimension == 0
    await closed(away)
    await closed(remote)


async def test_an_endpoint_that_changes_its_model_is_refused(endpoint: Endpoint, url: str) -> None:
    remote = OpenAIEmbedder(url, endpoint.key, "some-model")
    await remote.embed(["text"])
    endpoint.dimension = 16
    with pytest.raises(UpstreamError, match="another model"):
        await remote.embed(["text"])
    await closed(remote)
