"""Detects moments in which something outside this system slows the processor down.

A virtual machine shares processors with other machines. While another machine uses the second
thread of the same core, every program here takes 1.5 to 2 times as long, for seconds or minutes,
and the load of this system does not show it. A loop of plain arithmetic shows it. A measurement
counts as calm if the loop was nearly as fast as its best time right before and right after.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

# In a calm moment the loop takes at most this factor times its fastest time.
CALM_FACTOR = 1.12
# The maximum number of attempts for one measurement.
ATTEMPTS_MOST = 4
# At the beginning, the best of this many loops is the fastest time.
FIRST_LOOKS = 20
PAUSE_SECONDS = 0.2


class Calm:
    """Waits for calm moments and repeats disturbed measurements, for a bounded time."""

    def __init__(
        self,
        loop: Callable[[], float],
        patience_s: float,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """loop returns its time. patience_s limits all pauses of the run together."""
        self._loop = loop
        self._pause = pause
        self._patience_s = patience_s
        self.measured = self.repeated = self.disturbed = 0
        self._fastest = min(loop() for _ in range(FIRST_LOOKS)) if patience_s > 0 else 0.0

    def _is_calm(self) -> bool:
        taken = self._loop()
        self._fastest = min(self._fastest, taken)
        return taken <= self._fastest * CALM_FACTOR

    def _wait(self) -> bool:
        while not self._is_calm():
            if self._patience_s <= 0:
                return False
            self._patience_s -= PAUSE_SECONDS
            self._pause(PAUSE_SECONDS)
        return True

    def measure(self, measurement: Callable[[], Answer]) -> Answer:
        """Makes a measurement, and repeats it while it was disturbed."""
        self.measured += 1
        if self._fastest == 0:
            return measurement()
        for attempt in range(ATTEMPTS_MOST):
            was_calm = self._wait()
            answer = measurement()
            if was_calm and self._is_calm():
                return answer
            if attempt == ATTEMPTS_MOST - 1 or self._patience_s <= 0:
                break
            self.repeated += 1
        self.disturbed += 1
        return answer
