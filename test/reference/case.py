"""Count checks, and say which failed."""

import math

SHOWN = 40  # failures printed in full

_passed = 0
_failed = 0


def check(good, name, *details):
    """Count a check; print the name and the details of one that failed."""
    global _passed, _failed
    if good:
        _passed += 1
        return True
    _failed += 1
    if _failed <= SHOWN:
        print(f"not ok: {name}" + "".join(f"\n    {d}" for d in details), flush=True)
    return False


def near(got, expected, name, tolerance=1e-9):
    """Check that two numbers agree, relatively where they are large; infinities exactly."""
    if got is None or expected is None:
        return check(got is None and expected is None, name, f"{got!r}, not {expected!r}")
    got = float(got)
    expected = float(expected)
    if math.isinf(expected) or math.isinf(got):
        return check(got == expected, name, f"{got!r}, not {expected!r}")
    good = abs(got - expected) <= tolerance * max(1.0, abs(expected))
    return check(good, name, f"{got!r}, not {expected!r}")


def equal(got, expected, name):
    """Check that two values are the same."""
    return check(got == expected, name, f"{got!r}, not {expected!r}")


def count():
    """Return how many checks there were so far."""
    return _passed + _failed


def finish():
    """Sum up; the result is the program's exit status."""
    print(f"{_passed} passed, {_failed} failed")
    return 1 if _failed else 0
