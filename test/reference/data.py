"""Random sets."""

import gzip
import os

import numpy as np

from model import Rows, unit

LABELS = ("a", "B", "cc", "ä", "z z", "", "A", "b")


def rounded(x, half=False):
    """Round vectors to what the server's type holds."""
    return x.astype(np.float16 if half else np.float32).astype(np.float64)


def draw(rng, n, dim, classes, noise, style="raw", half=False, prefix="", centres=None, flipped=0.0):
    """Draw rows around a centre for each class.

    Styles: raw (any length), unit (length 1), trained (tight clusters of a
    large norm, as a trained network makes them).
    """
    if centres is None:
        centres = rng.normal(size=(len(classes), dim))
    which = rng.integers(0, len(classes), n)
    x = centres[which] + noise * rng.normal(size=(n, dim))
    if style == "unit":
        x = unit(x)
    elif style == "trained":
        x = 20 * np.maximum(x, 0)
    label = [classes[c] for c in which]
    for i in np.flatnonzero(rng.random(n) < flipped):
        label[i] = classes[rng.integers(0, len(classes))]
    ids = [f"{prefix}{i}" for i in rng.permutation(3 * n)[:n]]
    return Rows(ids, rounded(x, half), label)


def split(rng, n, m, dim, classes, noise, **options):
    """Draw a support of n rows, and m queries from the same centres."""
    centres = rng.normal(size=(len(classes), dim))
    return (draw(rng, n, dim, classes, noise, centres=centres, **options),
            draw(rng, m, dim, classes, noise, centres=centres, prefix="q", **options))


def fashion(rows, first=0):
    """Read Fashion-MNIST images, halved in both directions; None where it is not there."""
    folder = os.environ.get("NW_FASHION", "")
    images = os.path.join(folder, "train-images-idx3-ubyte.gz")
    labels = os.path.join(folder, "train-labels-idx1-ubyte.gz")
    if not os.path.exists(images):
        return None
    with gzip.open(images) as file:
        file.read(16 + 784 * first)
        pixels = np.frombuffer(file.read(784 * rows), dtype=np.uint8).reshape(rows, 14, 2, 14, 2)
    with gzip.open(labels) as file:
        file.read(8 + first)
        names = [str(c) for c in file.read(rows)]
    x = pixels.mean(axis=(2, 4)).reshape(rows, 196)
    return Rows(range(first, first + rows), x, names)
