"""Tells when the processor is slowed down by something that this system does not see.

A virtual machine shares processors with others. While another machine uses the second thread of
the same core, every program here takes 1.5 to 2 times its time, for seconds or minutes, and the
load of this system shows nothing. A loop of plain arithmetic shows it: a measurement counts as
calm if the loop was about as fast as ever right before it and right after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

# The loop may take so many times its fastest time.
CALM_FACTOR = 1.12
# So often a measurement is made again.
ATTEMPTS_MOST = 4
# The fastest time is the best of so many at the beginning.
FIRST_LOOKS = 20
PAUSE_SECONDS = 0.2


class Calm:
    """Waits for calm moments and makes disturbed measurements again, for a bounded time."""

    def __init__(
        self,
        loop: Callable[[], float],
        patience_s: float,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """loop gives its time; patience_s bounds all pauses of the run together."""
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
        """Makes a measurement, and makes it again while it was disturbed."""
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
