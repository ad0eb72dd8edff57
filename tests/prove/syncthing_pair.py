"""Two real Syncthing daemons on loopback, one vault on both sides, the tool and an editor writing on both.

Run in a network namespace of its own: ``unshare -rn python syncthing_pair.py FOLDER SECONDS``. Prints one JSON object.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as Xml
from collections import Counter
from pathlib import Path

PROGRAM = "import sys; sys.argv[0] = 'tars-memory'; from tars_memory.__main__ import main; main()"
COPY = ".sync-conflict-"
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41


class Device:
    """One side: a daemon, a vault, and the tool's own folders."""

    def __init__(self, base: Path, name: str, port: int) -> None:
        self.name = name
        self.port = port
        self.home = base / name / "syncthing"
        self.vault = base / name / "vault"
        (self.vault / ".stfolder").mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(base / name),
            "TARS_MEMORY_HOME": str(base / name / "tars"),
            "TARS_MEMORY_DIR": str(self.vault),
        }
        make = ["syncthing", "generate", f"--home={self.home}"]
        subprocess.run(make, check=True, capture_output=True, env=self.env)
        self.config = self.home / "config.xml"
        found = Xml.parse(self.config).getroot().find("device")
        assert found is not None
        self.id = str(found.get("id"))
        self.log = base / f"{name}.log"
        self.said: list[str] = []
        self.edited: list[str] = []

    def join(self, other: Device) -> None:
        """Share the vault with another device, and speak to nobody else; all else is as the daemon made it."""
        tree = Xml.parse(self.config)
        root = tree.getroot()
        folder, known, options, gui = (root.find(name) for name in ("folder", "device", "options", "gui"))
        assert folder is not None and known is not None and options is not None and gui is not None
        for name, value in {
            "id": "vault", "label": "", "path": str(self.vault), "rescanIntervalS": "2", "fsWatcherDelayS": "1",
        }.items():  # fmt: skip
            folder.set(name, value)
        _set(folder, "maxConflicts", "-1")  # keeps every copy: what is gone then, nobody kept
        _set(known, "address", f"tcp://127.0.0.1:{self.port}")
        Xml.SubElement(folder, "device", id=other.id)
        Xml.SubElement(Xml.SubElement(root, "device", id=other.id), "address").text = f"tcp://127.0.0.1:{other.port}"
        for name, value in {
            "listenAddress": f"tcp://127.0.0.1:{self.port}", "globalAnnounceEnabled": "false",
            "localAnnounceEnabled": "false", "relaysEnabled": "false", "natEnabled": "false",
            "crashReportingEnabled": "false", "urAccepted": "-1", "autoUpgradeIntervalH": "0",
            "reconnectionIntervalS": "1",
        }.items():  # fmt: skip
            _set(options, name, value)
        gui.set("enabled", "false")
        tree.write(self.config)

    def start(self) -> None:
        """Start the daemon."""
        with open(self.log, "ab") as log:
            self.daemon = subprocess.Popen(
                ["syncthing", "serve", f"--home={self.home}", "--no-browser", "--no-upgrade", "--no-restart"],
                stdout=log,
                stderr=log,
                env=self.env,
            )

    def stop(self) -> None:
        """Stop the daemon: this side is offline."""
        self.daemon.terminate()
        self.daemon.wait(30)

    def tool(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program here."""
        command = [sys.executable, "-c", PROGRAM, *words]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=120, check=False)

    def lost(self) -> list[str]:
        """What doctor lists as lost."""
        found = json.loads(self.tool("doctor", "--json").stdout)["findings"]
        return [each["message"] for each in found if each["kind"] == "lost line"]

    def files(self, *, copies: bool = True) -> dict[str, bytes]:
        """All notes of the vault."""
        return {
            str(path.relative_to(self.vault)): path.read_bytes()
            for path in sorted(self.vault.rglob("*.md"))
            if not path.name.startswith(".") and (copies or COPY not in path.name)
        }

    def text(self, *, copies: bool) -> str:
        """All lines of all notes."""
        return b"\n".join(self.files(copies=copies).values()).decode()

    def taken_by_us(self) -> list[str]:
        """The editor's lines that a write of the tool's took out of a note, as its journal has it."""
        told = json.loads(self.tool("history", "--limit", "100000", "--json").stdout)["entries"]
        both = [(str(each["before"]), str(each["after"])) for each in told]
        return [line for before, after in both for line in re.findall(r"- editor .*", before) if line not in after]


def _set(parent: Xml.Element, name: str, text: str) -> None:
    found = parent.find(name)
    (Xml.SubElement(parent, name) if found is None else found).text = text


def raise_loopback() -> None:
    """A new network namespace's loopback is down, and ``ip`` need not be installed."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP_RUNNING))


def work(device: Device, seconds: float, problems: list[str]) -> None:
    """The tool logs and remembers; an editor saves its own note, one that both sides save, and adds to the log."""
    chance = random.Random(device.name)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        number = len(device.said) + 1
        said = f"{device.name} says {number}"
        done = device.tool(*(("log", said) if number % 3 else ("remember", said)))
        if done.returncode != 0:
            problems.append(done.stderr)
        device.said.append(said)
        own = device.vault / f"{device.name}.md"
        line = f"- editor {device.name} {number}"
        own.write_text((own.read_text() if own.exists() else "") + f"{line}\n")
        device.edited.append(line)
        shared = device.vault / "both.md"
        text = shared.read_text() if shared.exists() else ""
        temporary = shared.with_name(".both.md.swp")
        temporary.write_text(f"{text}- shared {device.name} {number}\n")
        os.replace(temporary, shared)
        note = device.vault / "Memory.md"
        if number % 4 == 0 and note.exists():
            line = f"- editor {device.name} {number} in the memory"
            with open(note, "a") as file:
                file.write(f"{line}\n")
            device.edited.append(line)
        time.sleep(chance.uniform(0.05, 0.4))


def together(devices: list[Device], seconds: float, problems: list[str]) -> None:
    """Both sides write at once."""
    threads = [threading.Thread(target=work, args=(device, seconds, problems)) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def settle(devices: list[Device], seconds: float = 60.0) -> bool:
    """Wait until both sides hold the same for a while."""
    ends, since = time.monotonic() + seconds, None
    while time.monotonic() < ends:
        first, second = (device.files() for device in devices)
        if first == second:
            since = since or time.monotonic()
            if time.monotonic() - since > 5:
                return True
        else:
            since = None
        time.sleep(0.5)
    return False


def main(folder: str, seconds: str) -> None:
    """Let both sides write, apart and together; wait until they agree, ask doctor, have back what is lost."""
    raise_loopback()
    devices = [Device(Path(folder), "one", 22101), Device(Path(folder), "two", 22102)]
    devices[0].join(devices[1])
    devices[1].join(devices[0])
    problems: list[str] = []
    told: dict[str, object] = {}
    try:
        for device in devices:
            device.start()
        time.sleep(3)
        together(devices, float(seconds) / 2, problems)
        devices[1].stop()  # both write to the same notes, and neither knows of the other
        together(devices, float(seconds) / 2, problems)
        devices[1].start()
        told["agreed"] = settle(devices)
        told["conflict copies"] = sum(COPY in name for name in devices[0].files())
        copies = {name: data for name, data in devices[0].files().items() if COPY in name}
        missed, listed, rounds = [], 0, 0
        while rounds < 4:
            rounds += 1
            clean = True
            for device in devices:
                text = device.text(copies=False)
                gone = [said for said in device.said if not re.search(rf"{said}$", text, re.MULTILINE)]
                lost = device.lost()
                missed += [said for said in gone if not any(f"{said}'" in each for each in lost)]
                listed += len(lost)
                if lost:
                    clean = False
                    done = device.tool("doctor", "--restore", "all")
                    if done.returncode != 0:
                        problems.append(done.stderr)
                    settle(devices)
            if clean:
                break
        text = devices[0].text(copies=False)
        everything = "\n".join(device.text(copies=True) for device in devices)
        counts = Counter(re.findall(r"(?:one|two) says \d+$", text, re.MULTILINE))
        told |= {"said": {device.name: len(device.said) for device in devices}, "problems": problems}
        told |= {"listed": listed, "rounds": rounds, "lost and not listed": missed}
        told["not restored"] = [said for device in devices for said in device.said if not counts[said]]
        told["twice"] = [said for said, count in counts.items() if count > 1]
        told["of them in a conflict copy"] = sum(f"{said}\n".encode() in b"".join(copies.values()) for said in counts)
        told["editor said"] = sum(len(device.edited) for device in devices)
        told["editor's lines lost"] = [line for device in devices for line in device.edited if line not in everything]
        told["taken by the tool"] = [line for device in devices for line in device.taken_by_us()]
        told["copies written"] = [name for name, data in copies.items() if devices[0].files().get(name) != data]
        hits = [
            hit["path"]
            for device in devices
            for words in ("says", "editor", "shared")
            for hit in json.loads(device.tool("search", "--mode", "lexical", "--limit", "500", "--json", words).stdout)[
                "hits"
            ]
        ]
        told |= {"hits": len(hits), "hits in copies": [path for path in hits if COPY in path]}
        print(json.dumps(told))
    finally:
        for device in devices:
            device.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
