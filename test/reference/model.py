"""The Nadaraya-Watson head in NumPy's float64, written from its definition."""

import numpy as np

KERNELS = ("euclidean", "gaussian", "hypersphere", "cosine", "dot")


class Rows:
    """Rows of a set: ids, vectors, labels (None where there is none), weights."""

    def __init__(self, ids, x, label, weight=None):
        self.id = [str(i) for i in ids]
        self.x = np.asarray(x, dtype=np.float64)
        self.label = [None if c is None else str(c) for c in label]
        self.weight = np.ones(len(self.id)) if weight is None else np.asarray(weight, float)

    def take(self, which):
        """Return some of the rows."""
        which = list(which)
        return Rows([self.id[i] for i in which], self.x[which], [self.label[i] for i in which],
                    self.weight[which])

    def supports(self):
        """Return the rows that can support a prediction."""
        return self.take(i for i in range(len(self.id)) if self.label[i] is not None and
                         not np.isnan(self.x[i, 0]) and self.weight[i] > 0)

    def queries(self):
        """Return the rows that can be asked about."""
        return self.take(i for i in range(len(self.id)) if not np.isnan(self.x[i, 0]))


def unit(x):
    """Scale vectors to length 1; zero stays zero."""
    norm = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.divide(x, norm, out=np.zeros_like(x), where=norm > 0)


def scores(kernel, q, x):
    """Return the scores at temperature 1, [queries][supports]."""
    if kernel in ("hypersphere", "cosine"):
        q, x = unit(q), unit(x)
    if kernel in ("cosine", "dot"):
        return q @ x.T
    # differences, not the difference of squares: nothing cancels
    square = np.stack([((x - v) ** 2).sum(axis=1) for v in q]) if len(q) else np.zeros((0, len(x)))
    return -square if kernel == "gaussian" else -np.sqrt(square)


def log_sum_exp(a, axis=-1):
    """Return log(sum(exp(a))); -inf for nothing."""
    if a.shape[axis] == 0:
        return np.full(np.delete(a.shape, axis), -np.inf)
    top = a.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(a - top).sum(axis=axis)) + np.squeeze(top, axis)


class Head:
    """A support and what it says of queries."""

    def __init__(self, support, queries, kernel, leave_one_out=False):
        self.support = support.supports()
        self.queries = queries.queries()
        self.raw = scores(kernel, self.queries.x, self.support.x)
        ids = np.array(self.support.id, dtype=object)
        self.left_out = np.zeros_like(self.raw, dtype=bool)
        if leave_one_out:
            for i, own in enumerate(self.queries.id):
                self.left_out[i] = ids == own
        self.log_weight = np.log(self.support.weight)
        # labels in the order of their bytes
        self.classes = sorted(set(self.support.label), key=lambda c: c.encode("utf-8"))
        label = np.array(self.support.label, dtype=object)
        self.members = [np.flatnonzero(label == c) for c in self.classes]
        self.truth = np.array([self.classes.index(c) if c in self.classes else -1
                               for c in self.queries.label])
        self.labelled = np.array([c is not None for c in self.queries.label], dtype=bool)

    def terms(self, tau):
        """Return the logarithms of all terms."""
        return np.where(self.left_out, -np.inf, self.raw / tau + self.log_weight)

    def log_masses(self, tau):
        """Return the logarithms of the classes' masses, [queries][classes]."""
        terms = self.terms(tau)
        return np.stack([log_sum_exp(terms[:, m]) for m in self.members], axis=1)

    def log_probabilities(self, tau, temper=1):
        """Return the logarithms of the classes' probabilities, [queries][classes]."""
        mass = self.log_masses(tau) / temper
        return mass - log_sum_exp(mass)[:, None]

    def losses(self, tau, temper=1):
        """Return the cross-entropy of each query; infinite where its class has no support."""
        log_p = self.log_probabilities(tau, temper)
        safe = np.maximum(self.truth, 0)
        return np.where(self.truth < 0, np.inf, -log_p[np.arange(len(log_p)), safe])

    def nll(self, tau, temper=1):
        """Return the mean loss of the labelled queries whose class has support."""
        loss = self.losses(tau, temper)[self.labelled]
        return loss[np.isfinite(loss)].mean()

    def wrong(self, tau):
        """Return how many labelled queries are predicted wrongly."""
        return int((~self.confidences(tau)[1]).sum())

    def confidences(self, tau, temper=1):
        """Return the largest probability of each labelled query, and whether it is right."""
        log_p = self.log_probabilities(tau, temper)[self.labelled]
        best = log_p.argmax(axis=1)
        return np.exp(log_p.max(axis=1)), best == self.truth[self.labelled]

    def influences(self, tau):
        """Return what the loss of each query would gain without each support.

        The row is really removed: [queries][supports], NaN where it is left
        out anyway.
        """
        loss = self.losses(tau)
        result = np.full_like(self.raw, np.nan)
        terms = self.terms(tau)
        for s in range(len(self.support.id)):
            without = terms.copy()
            without[:, s] = -np.inf
            mass = np.stack([log_sum_exp(without[:, m]) for m in self.members], axis=1)
            log_p = mass - log_sum_exp(mass)[:, None]
            with np.errstate(invalid="ignore"):
                result[:, s] = -log_p[np.arange(len(log_p)), np.maximum(self.truth, 0)] - loss
        result[self.left_out] = np.nan
        return result


def bin_of(confidence, bins):
    """Return the bin of each confidence: (i/n, (i+1)/n], 0 in the first, above 1 in the last."""
    upper = np.array([(i + 1) / bins for i in range(bins)])
    return np.minimum(np.searchsorted(upper, confidence, side="left"), bins - 1)


def reliability(confidence, correct, bins=15):
    """Return for each bin: how many, mean confidence, accuracy."""
    which = bin_of(confidence, bins)
    confidence = np.minimum(confidence, 1)
    result = []
    for b in range(bins):
        inside = which == b
        n = int(inside.sum())
        result.append((n, confidence[inside].mean() if n else None,
                       correct[inside].mean() if n else None))
    return result


def ece(confidence, correct, bins=15):
    """Return the expected calibration error."""
    n = len(confidence)
    return sum(b[0] / n * abs(b[1] - b[2]) for b in reliability(confidence, correct, bins) if b[0])


def mce(confidence, correct, bins=15):
    """Return the maximum calibration error."""
    return max(abs(b[1] - b[2]) for b in reliability(confidence, correct, bins) if b[0])


def minimise(function, low, high, points=400, tolerance=1e-7):
    """Find the minimum over the logarithm of the argument: a grid, then golden section."""
    grid = np.exp(np.linspace(np.log(low), np.log(high), points))
    values = [function(t) for t in grid]
    i = int(np.argmin(values))
    a, b = np.log(grid[max(i - 1, 0)]), np.log(grid[min(i + 1, points - 1)])
    ratio = (5 ** 0.5 - 1) / 2
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    fc, fd = function(np.exp(c)), function(np.exp(d))
    while b - a > tolerance:
        if fc < fd:
            b, d, fd = d, c, fc
            c = b - ratio * (b - a)
            fc = function(np.exp(c))
        else:
            a, c, fc = c, d, fd
            d = a + ratio * (b - a)
            fd = function(np.exp(d))
    return float(np.exp((a + b) / 2))
