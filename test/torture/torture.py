"""Run the scenarios named, each with its amount, and add up."""

import importlib
import os
import sys
import time
import traceback

# Name: amount of a long run, amount of a short one, what is counted.
SCENARIOS = {
    "kill": (300, 3, "rounds"),
    "concurrency": (1200, 20, "seconds"),
    "cancel": (5000, 60, "cancels"),
    "memory": (2000, 30, "statements"),
    "flips": (10000, 80, "flips"),
    "arguments": (100000, 1500, "calls"),
    "engines": (400, 4, "workloads"),
    "sqlsmith": (75000, 300, "queries"),
}


def run(name, amount, seed):
    """Run a scenario; return how much it did and how much failed."""
    from server import Hang, Lost, Report
    start = time.time()
    report = Report(name, "")
    try:
        importlib.import_module(name).run(report, amount, seed)
    except (Hang, Lost) as error:
        report.fail("a session was lost or did not end", error)
    except Exception:
        report.fail("the scenario broke", traceback.format_exc())
    report.finish()
    print(f"  {name}: {time.time() - start:.0f} s", flush=True)
    return max(report.done, report.failed), report.failed


def main():
    """Read the arguments: [--short] [--seed=N] [SCENARIO[:AMOUNT]...]."""
    short = "--short" in sys.argv
    seed = os.getpid()
    wanted = []
    for word in sys.argv[1:]:
        name, _, amount = word.partition(":")
        if word.startswith("--seed="):
            seed = int(word.partition("=")[2])
        elif name in SCENARIOS:
            wanted.append((name, int(amount) if amount else SCENARIOS[name][short]))
        elif word != "--short":
            sys.exit(f"no scenario {word} (there are: {' '.join(SCENARIOS)})")
    if not wanted:
        wanted = [(name, amounts[short]) for name, amounts in SCENARIOS.items()]
    print(f"seed {seed}", flush=True)
    done = failed = 0
    for name, amount in wanted:
        d, f = run(name, amount, seed)
        done += d
        failed += f
    print(f"{done - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
