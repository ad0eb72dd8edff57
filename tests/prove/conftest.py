"""What is proved only at full scale, and where its programs are."""

from __future__ import annotations

import os
import shutil

collect_ignore: list[str] = []

if float(os.environ.get("TARS_PROVE_SCALE", "1")) < 1 or shutil.which("syncthing") is None:
    collect_ignore.append("test_prove_syncthing.py")
