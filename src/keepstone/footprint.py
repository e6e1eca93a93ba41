"""How much memory the process holds on to.

glibc keeps what was freed, in an arena for each thread; a server that is idle most of the day should not.
"""

import ctypes
import sys

_M_ARENA_MAX = -8


def stay_small() -> None:
    """One arena for all threads. To be called before there are any."""
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:  # not every C library has it
            mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Return what was freed to the system: after loading models, and after a backlog."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
