"""Another model takes the place of the one that came before, account by account, while that one serves.

Its vectors are made in slices beside those that serve; new passages get both. When nothing lacks that the old ones
know, one transaction makes the new ones serve and retires the old, which are then deleted. How far it has come is kept
with the sets, so all of it goes on after a crash, and can run twice.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from keepstone.access.readscope import account_scope, job_scope
from keepstone.engine.embed import LARGE, SLICE, await_vectors, embed_lacking, has_passages, index_space
from keepstone.errors import Unavailable
from keepstone.footprint import give_back
from keepstone.providers.openai_embedder import OpenAIEmbedder
from keepstone.services import Services
from keepstone.store import vectors
from keepstone.store.db import take_time

_AT_ONCE = 5_000  # vectors in one statement
_LOOK_AGAIN = 60  # seconds


async def start_embedders(services: Services) -> None:
    """Beside the start: until one is there, everything works by terms."""
    if await has_passages(services):
        services.embedders.need()
    await load_embedders(services, partial(_joined, services))


async def change_embedders(services: Services) -> None:
    """The settings ask for others, while the server runs."""
    await services.embedders.change(services.settings, await _serving(services), partial(_joined, services))


async def _joined(services: Services) -> None:
    """Another embedder can be asked."""
    await await_vectors(services)
    await services.queue.add_anywhere("embed_pending", timestamp=0)


async def load_embedders(services: Services, joined: Callable[[], Awaitable[None]] | None = None) -> None:
    """Those of the settings, and the ones whose vectors still serve somebody; `joined` is told when one is ready."""
    await services.embedders.load(services.settings, await _serving(services), joined)


async def _serving(services: Services) -> set[str]:
    """The models whose vectors serve; none where the endpoint of the settings serves everybody who has any."""
    settings = services.settings
    async with services.db.of_server() as conn:
        serving = await vectors.serving_models(conn)
        if settings.embeddings_provider == "openai" and settings.embeddings_model:
            name = OpenAIEmbedder.name_of(settings.embeddings_model)
            if not await vectors.accounts_served_by(conn, list(serving), but_not=name):
                return set()
    return serving


async def changing_accounts(services: Services) -> list[int]:
    """Those that a former model still serves."""
    leading = services.embedders.leading
    if leading is None or not services.embedders.former:
        return []
    async with services.db.of_server() as conn:
        return await vectors.accounts_served_by(conn, services.embedders.instead_of(leading), but_not=leading.name)


async def renew_slice(services: Services, account: int) -> bool:
    """Vectors of the present model for some of what has none, from where it was left. Whether others may be left."""
    leading, made = services.embedders.leading, 0
    while leading is not None and services.embedders.former and made < SLICE:
        if not leading.dimension:  # an endpoint says so with its first answer
            await leading.embed_question("dimension")
        async with services.db.transaction(account_scope(account)) as conn:
            former = services.embedders.instead_of(leading)
            await vectors.vector_set(conn, leading.name, leading.dimension, instead_of=former)
            here = (await vectors.vector_sets(conn))[leading.name]
            space = await vectors.next_space(conn, here.reached_space)
        if here.state != "filling" or space is None:
            return False
        scope, last = job_scope(account, space), here.reached_passage if space == here.reached_space else 0
        embedded, last = await embed_lacking(services, scope, space, leading, here.vector_set, last)
        reached = (space + 1, 0) if last is None else (space, last)
        async with services.db.transaction(account_scope(account)) as conn:
            await vectors.note_reached(conn, here.vector_set, *reached, made=embedded)
        made += embedded
    return made >= SLICE


async def finish(services: Services, account: int) -> bool:
    """Give large spaces their index, and let the new vectors serve; a job deletes the old ones, when whoever began
    before has their answer. False if there is something yet to be made.
    """
    leading = services.embedders.leading
    if leading is None or not services.embedders.former:
        return False
    async with services.db.transaction(account_scope(account)) as conn:
        large = await vectors.large_spaces(conn, at_least=LARGE)
    for space in large:
        await index_space(services, job_scope(account, space), space, state="filling")
    async with services.db.transaction(account_scope(account)) as conn:
        await take_time(conn)
        taken = await vectors.take_over(conn, leading.name, services.embedders.instead_of(leading), large=LARGE)
        if taken:
            await services.queue.add(conn, "finish_renewal", account=account, in_seconds=_LOOK_AGAIN + 1)
    return taken


async def delete_retired(services: Services, account: int | None = None) -> None:
    """The vectors that nobody is served by for a minute, and before them the indexes that would have to be kept right:
    of this account, or of all.
    """
    async with services.db.of_server() as conn:
        names = await vectors.unused_indexes(conn)
    async with services.db.as_owner() as owner:
        await vectors.drop_indexes(owner, names)
    left = 1
    while left:
        async with services.db.of_server() as conn:
            left = await vectors.delete_retired(conn, account, most=_AT_ONCE)


async def let_go_of_former(services: Services) -> None:
    """Until every former model that was loaded serves nobody any more, in whatever process that was done."""
    while services.embedders.former:
        await asyncio.sleep(_LOOK_AGAIN)
        with suppress(Unavailable):
            async with services.db.of_server() as conn:
                gone = services.embedders.let_go(await vectors.serving_models(conn))
            await asyncio.sleep(_LOOK_AGAIN if gone else 0)  # whoever asked it a moment ago has their answer by then
            for embedder in gone:
                embedder.close()
            give_back()
