"""Disturbed measurements are made again, and the time for that is bounded."""

from collections.abc import Callable

from calm import ATTEMPTS_MOST, FIRST_LOOKS, PAUSE_SECONDS, Calm


def times(*later: float) -> Callable[[], float]:
    """A loop that takes 100 at first, then the given times, and then 100 again."""
    left = [100.0] * FIRST_LOOKS + list(later)
    return lambda: left.pop(0) if left else 100.0


def test_a_calm_measurement_is_made_once() -> None:
    calm = Calm(times(111, 100), 10, lambda _: None)
    assert calm.measure(lambda: "answer") == "answer"
    assert (calm.measured, calm.repeated, calm.disturbed) == (1, 0, 0)


def test_a_measurement_waits_for_a_calm_moment() -> None:
    pauses: list[float] = []
    calm = Calm(times(180, 190, 100, 100), 10, pauses.append)
    calm.measure(lambda: None)
    assert pauses == [PAUSE_SECONDS] * 2
    assert (calm.repeated, calm.disturbed) == (0, 0)


def test_a_measurement_that_ends_disturbed_is_made_again() -> None:
    answers = iter(["first", "second"])
    calm = Calm(times(100, 170, 100, 100), 10, lambda _: None)
    assert calm.measure(lambda: next(answers)) == "second"
    assert (calm.repeated, calm.disturbed) == (1, 0)


def test_attempts_and_patience_are_bounded() -> None:
    made: list[int] = []
    endless = Calm(times(*[100, 170] * 100), 10, lambda _: None)
    endless.measure(lambda: made.append(1))
    assert len(made) == ATTEMPTS_MOST
    assert (endless.repeated, endless.disturbed) == (ATTEMPTS_MOST - 1, 1)
    busy = Calm(times(*[170] * 1000), 3 * PAUSE_SECONDS, lambda _: None)
    busy.measure(lambda: None)
    busy.measure(lambda: None)
    assert (busy.measured, busy.disturbed) == (2, 2)


def test_a_quick_run_does_not_look() -> None:
    def never() -> float:
        raise AssertionError("the loop ran")

    calm = Calm(never, 0)
    assert calm.measure(lambda: 1) == 1


def test_the_fastest_time_is_learned() -> None:
    calm = Calm(times(80, 80, 100), 0.1, lambda _: None)
    calm.measure(lambda: None)
    calm.measure(lambda: None)
    assert calm.disturbed == 1
