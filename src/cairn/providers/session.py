"""How Cairn runs an ONNX graph: bounded threads, and memory that is given back."""

from pathlib import Path
from typing import Any

import onnxruntime

# The package tells the type checker nothing about most of what it has.
_runtime: Any = onnxruntime


def open_session(path: Path, threads: int, extensions: str | None = None) -> Any:
    """An `InferenceSession`; `extensions` is a library of custom operations that the graph needs."""
    options = _runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # An arena keeps the largest batch that ever was. Without it no slower, as far as was measured.
    options.enable_cpu_mem_arena = False
    # Threads that spin while they wait take the processor from Postgres.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if extensions:
        options.register_custom_ops_library(extensions)
    return _runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
