"""Two devices on one vault with a real sync between them. Needs Debian's syncthing; only at full scale."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.prove
def test_two_devices_and_a_real_sync(tmp_path: Path) -> None:
    script = Path(__file__).with_name("syncthing_pair.py")
    command = ["unshare", "-rn", sys.executable, str(script), str(tmp_path), "30"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    print(told)
    assert told["agreed"] and told["problems"] == []
    assert min(told["said"].values()) >= 10 and told["conflict copies"] and told["listed"]
    assert told["lost and not listed"] == [] and told["not restored"] == [] and told["twice"] == []
    assert told["editor's lines lost"] == [] and told["taken by the tool"] == []
    assert told["hits"] >= 20 and told["hits in copies"] == [] and told["copies written"] == []
