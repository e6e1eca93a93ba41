"""An encoder from a hub: the files of one commit of a repository, fetched once into the folder of models, whole or not
at all. The protocol is that of Hugging Face, which mirrors speak too.
"""

import hashlib
import http.client
import json
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from keepstone.errors import Misconfigured, UpstreamError
from keepstone.providers.manifest import COLBERT, GRAPHS, MANIFEST, PYLATE, Manifest, read_manifest
from keepstone.providers.models import Progress, Report, locked, private, sweep

MOST_BYTES = 4 << 30  # of all files together
_SMALL = 1 << 20  # of a manifest
_CHUNK = 1 << 18
_SECONDS = 30  # without a byte
_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Hub:
    """`token` goes to the hub itself and to nobody whom it names."""

    url: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """One commit of a repository, so that nothing can change underfoot."""

    repository: str
    commit: str

    @property
    def name(self) -> str:
        return f"{self.repository}@{self.commit[:12]}"


def revision_of(reference: str) -> Revision | None:
    """Of `hub:owner/name@commit`; None for a folder."""
    if not reference.startswith("hub:"):
        return None
    repository, _, commit = reference.removeprefix("hub:").partition("@")
    return Revision(repository, commit)


def folder_of(models: Path, revision: Revision) -> Path:
    return models / f"hub--{revision.repository.replace('/', '--')}--{revision.commit}"


def fetch_revision(models: Path, revision: Revision, hub: Hub, report: Report) -> Path:
    """The folder with the encoder, fetched if need be. Blocks for as long as it takes; of several processes one works,
    the others wait for it.
    """
    final = folder_of(models, revision)
    if (final / MANIFEST).is_file():
        return final
    with locked(models):
        sweep(models)
        if (final / MANIFEST).is_file():
            return final
        with tempfile.TemporaryDirectory(dir=models, prefix=".fetch-", ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch, "encoder")
            folder.mkdir()
            _fetch_files(_Fetch(hub, revision, folder, report))
            manifest = replace(read_manifest(folder), name=revision.name)
            (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1))
            for path in (*sorted(folder.rglob("*")), folder):
                private(path, like=models)
            folder.rename(final)
    return final


def _fetch_files(fetch: "_Fetch") -> None:
    described = next((file for file in (MANIFEST, PYLATE, COLBERT) if fetch.file(file, most=_SMALL)), None)
    if described is None:
        raise Misconfigured(
            f"{fetch.revision.name} has no {MANIFEST}, {PYLATE} or {COLBERT}: it is no encoder that can be read. "
            "docs/encoders.md says what it needs."
        )
    if described == MANIFEST:
        manifest = read_manifest(fetch.folder)
        wanted = [manifest.graph, manifest.tokenizer, *([manifest.projection] if manifest.projection else [])]
        missing = [file for file in wanted if not fetch.file(file)]
        graph = manifest.graph
    else:
        graph = next((file for file in GRAPHS if fetch.file(file)), "")
        missing = [] if fetch.file(Manifest(name="").tokenizer) else ["tokenizer.json"]
        missing += [] if graph else [" or ".join(GRAPHS)]
    if missing:
        raise Misconfigured(f"{fetch.revision.name} has no {missing[0]}: choose a repository or commit that has it.")
    for beside in (f"{graph}_data", f"{graph}.data"):  # where the weights of a large graph are
        fetch.file(beside)


class _Fetch:
    """Brings single files, and counts what has come."""

    def __init__(self, hub: Hub, revision: Revision, folder: Path, report: Report) -> None:
        self.revision, self.folder = revision, folder
        self._hub, self._report, self._left = hub, report, MOST_BYTES
        self._opener = _opener()

    def file(self, name: str, most: int = MOST_BYTES) -> bool:
        """Whether there is such a file, which is then in the folder and what the hub says it is."""
        try:
            return self._file(name, min(most, self._left))
        except urllib.error.HTTPError as fault:
            fault.close()
            if fault.code == 404:
                return False
            raise UpstreamError(
                f"The hub answered {fault.code} for {name} of {self.revision.name}: {_advice(fault.code)}."
            ) from None
        except (OSError, http.client.HTTPException) as fault:
            reason = getattr(fault, "reason", None) or getattr(fault, "strerror", None) or type(fault).__name__
            raise UpstreamError(
                f"{name} of {self.revision.name} could not be fetched from {self._hub.url} ({reason}): look whether it "
                "can be reached from here, or fetch the files elsewhere and set KEEPSTONE_ENCODER to their folder."
            ) from None

    def _file(self, name: str, most: int) -> bool:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        answer, stated = self._open(name)
        with answer, path.open("wb") as out:
            total = int(answer.headers.get("Content-Length") or 0)
            if total > most:
                raise Misconfigured(f"{name} of {self.revision.name} has {total} bytes, more than an encoder may have.")
            if total > shutil.disk_usage(self.folder).free:
                raise Misconfigured(
                    f"{name} of {self.revision.name} has {total} bytes, and the disk has no room for it."
                )
            done = 0
            while chunk := answer.read(_CHUNK):
                done += len(chunk)
                if done > most:
                    raise Misconfigured(f"{name} of {self.revision.name} has more bytes than an encoder may have.")
                out.write(chunk)
                self._report(Progress(f"{self.revision.name} {name}", done, max(total, done)))
        if total and done < total:
            raise http.client.IncompleteRead(b"", total - done)
        self._left -= done
        if not _is(path, stated):
            raise Misconfigured(
                f"{name} of {self.revision.name} is not the file that the hub says it is. Nothing was kept; look what "
                "stands between here and the hub."
            )
        return True

    def _open(self, name: str) -> tuple[Any, str]:
        """The answer with the bytes, and the tag that the hub gave the file: its hash, if the hub has one."""
        hub = urlsplit(self._hub.url)
        url = f"{self._hub.url}/{self.revision.repository}/resolve/{self.revision.commit}/{quote(name)}"
        stated = ""
        for _ in range(_REDIRECTS):
            request = urllib.request.Request(url, headers={"User-Agent": "keepstone"})  # noqa: S310 - see below
            if self._hub.token and urlsplit(url)[:2] == hub[:2]:
                request.add_header("Authorization", f"Bearer {self._hub.token}")
            try:
                answer = self._opener.open(request, timeout=_SECONDS)
            except urllib.error.HTTPError as moved:
                with moved:
                    place = moved.headers.get("Location")
                    if moved.code not in {301, 302, 303, 307, 308} or not place:
                        raise
                    stated = stated or _tag(moved.headers.get("X-Linked-ETag"))
                    url = urljoin(url, place)
                # Whoever asks over TLS gets no answer without it.
                if urlsplit(url).scheme not in {hub.scheme, "https"}:
                    raise OSError(f"sent on to {urlsplit(url).scheme}:") from None
                continue
            return answer, stated or _tag(answer.headers.get("X-Linked-ETag") or answer.headers.get("ETag"))
        raise OSError("sent on too often")


def _opener() -> urllib.request.OpenerDirector:
    """One that follows nobody by itself: where a token goes, and what the hub said of the file, are for `_open`."""
    opener, handlers = urllib.request.OpenerDirector(), urllib.request
    for handler in (handlers.ProxyHandler, handlers.HTTPHandler, handlers.HTTPSHandler,
                    handlers.HTTPDefaultErrorHandler, handlers.HTTPErrorProcessor):  # fmt: skip
        opener.add_handler(handler())
    return opener


def _tag(header: str | None) -> str:
    return (header or "").removeprefix("W/").strip('"')


def _is(path: Path, stated: str) -> bool:
    """By sha256 for what is large, by git's hash for what is small; another tag tells nothing of what is in it."""
    if re.fullmatch(r"[0-9a-f]{64}", stated):
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == stated
    if re.fullmatch(r"[0-9a-f]{40}", stated):
        content = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == stated
    return True


def _advice(status: int) -> str:
    if status in {401, 403}:
        return "it is private or gated, or not there: set KEEPSTONE_HUB_TOKEN to a token that may read it"
    return "try again later"
