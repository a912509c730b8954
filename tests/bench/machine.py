"""The machine of a measurement, and how busy it was."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import subprocess
import time
from typing import Any

from harness import ROOT


def _field(path: str, name: str) -> str:
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
    for line in text.splitlines():
        key, _, value = line.partition(":" if ":" in line else "=")
        if key.strip() == name:
            return value.strip().strip('"')
    return ""


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.partition("\n")[0]


def _busy_seconds() -> float | None:
    """Seconds that all cores together have worked since boot."""
    try:
        line = pathlib.Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, line.split()[1:9])
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _commit() -> str:
    """The commit of the sources. A plus means that files were changed since."""
    git = ["git", "-C", str(ROOT)]
    commit = _first_line([*git, "rev-parse", "--short=12", "HEAD"])
    changed = _first_line([*git, "status", "--porcelain", "--untracked-files=no"])
    return f"{commit}+" if commit and changed else commit


class Watch:
    """Records how busy the machine is while the bench runs."""

    def __init__(self) -> None:
        self.load_before = os.getloadavg()[0]
        self.start = time.monotonic()
        self.busy = _busy_seconds()
        self.own = _own_seconds()

    def record(self) -> dict[str, Any]:
        """The machine, and what else it did since the watch began."""
        seconds = time.monotonic() - self.start
        busy = _busy_seconds()
        others = None
        if busy is not None and self.busy is not None:
            used = busy - self.busy - (_own_seconds() - self.own)
            others = round(max(0.0, used / seconds), 2)
        memory_kib = _field("/proc/meminfo", "MemTotal").partition(" ")[0]
        return {
            "commit": _commit(),
            "date": datetime.date.today().isoformat(),
            "cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "memory_bytes": int(memory_kib or 0) * 1024,
            "kernel": platform.release(),
            "system": _field("/etc/os-release", "PRETTY_NAME") or platform.system(),
            "compiler": _first_line([os.environ.get("CC", "cc"), "--version"]),
            "seconds": round(seconds, 1),
            "load_before": round(self.load_before, 2),
            "load_after": round(os.getloadavg()[0], 2),
            "cores_used_by_others": others,
        }
