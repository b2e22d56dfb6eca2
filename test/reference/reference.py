"""Compare whole-set functions with independent computations.

Each part draws its own data from a fixed seed, asks the server, and computes
the same in NumPy's float64 (or with scikit-learn).  The last line is
"N passed, N failed".
"""

import sys
import time

import calibration
import case
import conformal
import diagnosis
import distillation
import ece
import evaluation
import influence
import mislabels
import mixture
import shapley
import tags
import typicality
from server import Server

PARTS = {
    "ece": ece.run,
    "evaluation": evaluation.run,
    "calibration": calibration.run,
    "conformal": conformal.run,
    "distillation": distillation.run,
    "influence": influence.run,
    "diagnosis": diagnosis.run,
    "mislabels": mislabels.run,
    "mixture": mixture.run,
    "shapley": shapley.run,
    "tags": tags.run,
    "typicality": typicality.run,
}


def main():
    """Run the parts named, or all, and count."""
    names = sys.argv[1:] or list(PARTS)
    for name in names:
        if name not in PARTS:
            sys.exit(f"no part {name} (there are: {' '.join(PARTS)})")
    for name in names:
        start = time.monotonic()
        before = case.count()
        with Server(f"reference_{name}") as server:
            PARTS[name](server)
        print(f"{name}: {case.count() - before} checks ({time.monotonic() - start:.0f} s)",
              flush=True)
    return case.finish()


if __name__ == "__main__":
    sys.exit(main())
