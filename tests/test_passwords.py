"""Passwords: what guessing them costs, and that nobody can tell whether there is such a user."""

import inspect

from argon2 import PasswordHasher, Type, extract_parameters

from keepstone.access.passwords import (
    _NOBODY as NOBODY,  # pyright: ignore[reportPrivateUsage]
)
from keepstone.access.passwords import hash_password, verify_password
from keepstone.runtime import HASHER, open_services


def test_guessing_costs_what_owasp_asks_for() -> None:
    assert inspect.signature(open_services).parameters["hasher"].default is HASHER
    assert (HASHER.type, HASHER.time_cost, HASHER.memory_cost, HASHER.parallelism) == (Type.ID, 2, 19 * 1024, 1)


def test_without_such_a_user_verifying_costs_the_same() -> None:
    told = extract_parameters(NOBODY)
    assert (told.type, told.time_cost, told.memory_cost, told.parallelism) == (Type.ID, 2, 19 * 1024, 1)


async def test_the_real_hasher_knows_a_password_again_however_it_was_typed() -> None:
    stored = await hash_password(HASHER, "a caf\u00e9 on the corner")
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert await verify_password(HASHER, stored, "a cafe\u0301 on the corner")
    assert not await verify_password(HASHER, stored, "a cafe on the corner")
    assert not await verify_password(HASHER, None, "a cafe on the corner")


async def test_a_hash_of_another_cost_is_still_known() -> None:
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    assert await verify_password(HASHER, await hash_password(cheap, "correct horse"), "correct horse")
