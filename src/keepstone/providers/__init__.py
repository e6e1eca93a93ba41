"""Models behind small Protocols: what turns text into vectors. Knows no database, no account and no surface."""

import os

# onnxruntime tells its makers about each run unless it finds this when it is imported, which only happens below this
# package. Its way to switch that off later comes after it has written down an id of the machine.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
