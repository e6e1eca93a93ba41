"""How many processes fit this machine: the processors and the memory that we may really use, also in a container."""

import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_MB = 1024**2
_FIRST, _FURTHER = 512 * _MB, 256 * _MB  # for the first process with models and database, and for each further one
MOST = 8  # unless the operator says so: each has connections to the database of its own


def fitting_processes() -> int:
    """One for each processor, as far as memory allows."""
    further = max(0, usable_memory() - _FIRST) // _FURTHER
    return max(1, min(usable_processors(), 1 + further, MOST))


def usable_processors(cgroups: Path = _CGROUPS, membership: Path = _MEMBERSHIP) -> int:
    """Those that we may run on; of a quota what it comes to, at least one."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas: list[int] = []
    for folder in _own_cgroups(cgroups, membership):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if quota.isdecimal() and period.isdecimal():
            quotas.append(max(1, int(quota) // int(period)))
    quota, period = (_read(cgroups / "cpu" / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    if quota.isdecimal() and period.isdecimal():
        quotas.append(max(1, int(quota) // int(period)))
    return min([allowed, *quotas])


def usable_memory(cgroups: Path = _CGROUPS, membership: Path = _MEMBERSHIP) -> int:
    """In bytes: what the machine has, or what we are allowed of it."""
    limits = [_read(folder / "memory.max") for folder in _own_cgroups(cgroups, membership)]
    limits.append(_read(cgroups / "memory" / "memory.limit_in_bytes"))  # where there is the first version of them
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *(int(limit) for limit in limits if limit.isdecimal())])


def _own_cgroups(cgroups: Path, membership: Path) -> Iterator[Path]:
    """Ours and all above it: each may have a limit."""
    own = next((line[3:] for line in _read(membership).splitlines() if line.startswith("0::")), "/")
    folder = cgroups / own.strip().lstrip("/")
    while folder.is_relative_to(cgroups):
        yield folder
        folder = folder.parent


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
