"""The heavy libraries that run a model, imported on first use and kept from what they do unasked.

numpy's linear algebra starts a thread for each processor. Official builds of onnxruntime (1.31 and later) send
telemetry to their maker unless told not to: at import they write an identifier of this machine below the person's cache
folder and a session file into the temporary folder. Both are told by a variable that is read at import only.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def load_numpy() -> Any:
    """Import numpy with one thread; the variable that says so is taken back: the process may be somebody else's."""
    if "numpy" in sys.modules or "OPENBLAS_NUM_THREADS" in os.environ:
        import numpy as np
    else:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        try:
            import numpy as np
        finally:
            del os.environ["OPENBLAS_NUM_THREADS"]
    return np


def load_onnxruntime() -> Any:
    """Import onnxruntime without its telemetry; processes started from this one inherit that."""
    load_numpy()
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def load_fastembed() -> Any:
    """Import fastembed: without telemetry of its own or of what it stands on, and quiet. The only place that does."""
    load_onnxruntime()
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import fastembed
    from loguru import logger

    logger.disable("fastembed")
    return fastembed
