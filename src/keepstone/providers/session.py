"""How Keepstone runs an ONNX graph: bounded threads, and memory that is given back."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import onnxruntime

# The package tells the type checker nothing about most of what it has.
_runtime: Any = onnxruntime

Item = TypeVar("Item")
Made = TypeVar("Made")

_BACKGROUND = 5  # niceness


def open_session(graph: Path | bytes, extensions: str | None = None, *, save_as: Path | None = None) -> Any:
    """An `InferenceSession` of a file or of its bytes; `extensions` is a library of operations that the graph needs. It
    can be saved as it is run, with the weights in a file beside it.
    """
    options = _runtime.SessionOptions()
    # Two that share one run wait for each other at each of its steps: two runs at once take a seventh less.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # An arena keeps the largest batch that ever was. Without it no slower, unless one block for all that a run needs is
    # then asked of the system each time, page by page: a fifth of the time.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    if extensions:
        options.register_custom_ops_library(extensions)
    if save_as is not None:
        options.optimized_model_filepath = str(save_as)
        options.add_session_config_entry(
            "session.optimized_model_external_initializers_file_name", f"{save_as.stem}.weights"
        )
    return _runtime.InferenceSession(
        graph if isinstance(graph, bytes) else str(graph), options, providers=["CPUExecutionProvider"],
        disabled_optimizers=["SkipLayerNormFusion"],  # the fused one is not vectorised: a sixth of the time
    )  # fmt: skip


async def in_batches(
    executor: ThreadPoolExecutor, run: Callable[[Sequence[Item]], Sequence[Made]], items: Sequence[Item],
    chosen: Sequence[Sequence[int]],
) -> list[Made]:  # fmt: skip
    """What `run` makes of the items, batch by batch, in the order of the items. `chosen` are their numbers."""
    loop = asyncio.get_running_loop()
    made = await asyncio.gather(
        *(loop.run_in_executor(executor, run, [items[number] for number in batch]) for batch in chosen)
    )
    by_number = dict(zip(chain(*chosen), chain(*made), strict=True))
    return [by_number[number] for number in range(len(items))]


def by_length(lengths: Sequence[int], most: int, budget: int) -> Iterator[list[int]]:
    """Numbers of texts of like length, so that little is padding: at most so many, of at most so much in all."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        # They come in order of length, so this one is the longest so far.
        if batch and (len(batch) == most or (len(batch) + 1) * lengths[number] > budget):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def in_front(name: str, threads: int = 1) -> ThreadPoolExecutor:
    """For questions: somebody is waiting."""
    return ThreadPoolExecutor(min(threads, os.cpu_count() or 1), thread_name_prefix=name)


def in_background(name: str, threads: int = 1) -> ThreadPoolExecutor:
    """For a backlog, which steps back when somebody is waiting."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"{name}-backlog", initializer=_step_back)


def _step_back() -> None:
    if sys.platform == "linux":  # elsewhere a thread has no priority of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _BACKGROUND)
