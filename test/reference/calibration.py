"""nw_calibrate: the temperatures of the least loss, of tau alone and of tau and temper."""

import numpy as np

import data
import model
from case import check, equal, near

SEED = 43
CLASSES = ["ant", "bee", "cat", "dog", "eel"]

# style of embeddings, kernel, halfvec, weighted
CASES = (
    ("unit", "euclidean", False, False),
    ("unit", "hypersphere", False, False),
    ("unit", "cosine", True, False),
    ("raw", "euclidean", False, True),
    ("raw", "gaussian", True, False),
    ("raw", "dot", False, False),
    ("trained", "euclidean", False, False),
    ("trained", "gaussian", False, True),
    ("trained", "cosine", False, False),
)


def check_result(server, row, head, before, name):
    """Check what a calibration returned and stored; return its tau."""
    tau = row["tau"]
    temper = row["temper"]
    n = int(head.labelled.sum())
    near(row["nll_before"], head.nll(before), f"{name}: nll_before")
    near(row["nll_after"], head.nll(tau, temper), f"{name}: nll_after")
    near(row["ece_before"], model.ece(*head.confidences(before)), f"{name}: ece_before")
    near(row["ece_after"], model.ece(*head.confidences(tau, temper)), f"{name}: ece_after")
    near(row["error_before"], head.wrong(before) / n, f"{name}: error_before")
    near(row["error_after"], head.wrong(tau) / n, f"{name}: error_after")
    check(row["nll_after"] <= row["nll_before"], f"{name}: no worse than before", row)
    equal(row["tau_before"], before, f"{name}: tau_before")
    equal(row["temper_before"], 1, f"{name}: temper_before")
    equal(row["n"], n, f"{name}: n")
    stored = server.row(f"SELECT tau, temper FROM nw_sets WHERE name = '{row['support_set']}'")
    equal((stored["tau"], stored["temper"]), (tau, temper), f"{name}: what is returned is stored")
    return tau


def find_best(head):
    """Return the minimiser of the loss."""
    spread = np.median(head.raw.max(axis=1) - np.median(head.raw, axis=1))
    return model.minimise(head.nll, spread * 1e-4, spread * 30, points=60, tolerance=1e-5)


def temper_of(head, tau):
    """Return the least loss at a tau over all tempers, by the golden section."""
    mass = head.log_masses(tau)
    seen = head.labelled & (head.truth >= 0)
    seen &= np.isfinite(np.where(seen, mass[np.arange(len(mass)), np.maximum(head.truth, 0)], -np.inf))
    mass = mass[seen] - mass[seen].max(axis=1, keepdims=True)
    truth = mass[np.arange(len(mass)), head.truth[seen]]

    def loss(b):
        return (model.log_sum_exp(b * mass) - b * truth).mean()

    low, high = np.log(1e-3), np.log(1e3)
    for _ in range(60):
        x, y = high - (high - low) * 0.6180339887, low + (high - low) * 0.6180339887
        low, high = (low, y) if loss(np.exp(x)) < loss(np.exp(y)) else (x, high)
    return loss(np.exp((low + high) / 2))


def check_pair(server, call, head, before, name, points=160):
    """Check a calibration of tau and temper against a dense grid of tau."""
    row = server.row(f"SELECT * FROM {call}")
    check_result(server, row, head, before, name)
    check(row["error_after"] <= row["error_before"], f"{name}: no more errors", row)
    finite = np.where(head.left_out, np.nan, head.raw)
    spread = np.nanmedian(np.nanmax(finite, axis=1) - np.nanmedian(finite, axis=1))
    allowed = head.wrong(before)
    least = temper_of(head, before)
    # beyond the mean drop of the scores all rows weigh nearly the same
    ceiling = max(np.nanmean(np.nanmax(finite, axis=1) - np.nanmean(finite, axis=1)), before)
    for tau in np.geomspace(spread * 2e-3, min(spread * 4, ceiling), points):
        if head.wrong(tau) <= allowed:
            least = min(least, temper_of(head, tau))
    check(row["nll_after"] <= least + 2e-3, f"{name}: as small a loss as any with as few errors",
          f"{row['nll_after']!r} at {row['tau']!r} and {row['temper']!r}, not {least!r}")
    return row


def check_best(server, call, head, before, best, name):
    """Check a calibration against the minimiser found here."""
    row = server.row(f"SELECT * FROM {call}")
    tau = check_result(server, row, head, before, name)
    check(abs(tau / best - 1) < 0.01, f"{name}: tau within 1%", f"{tau!r}, not {best!r}")
    check(row["nll_after"] <= head.nll(best) + 1e-6, f"{name}: as small a loss",
          f"{row['nll_after']!r} at {tau!r}, not {head.nll(best)!r} at {best!r}")


def check_grid(server, name, arguments, head, low, high, steps, title):
    """Check the best of an even grid."""
    before = server.row(f"SELECT tau FROM nw_sets WHERE name = '{name}'")["tau"]
    row = server.row(f"SELECT * FROM nw_calibrate('{name}', {arguments}, {low!r}, {high!r}, {steps}, fit => 'tau')")
    grid = [low + (high - low) * i / max(steps - 1, 1) for i in range(steps)]
    nll = [head.nll(t) for t in grid]
    best = grid[int(np.argmin(nll))]
    expected = best if min(nll) < head.nll(before) else before
    equal(row["tau"], expected, f"{title}: the best of {steps} from {low:g} to {high:g}")
    check_result(server, row, head, before, title)


def check_case(server, rng, number):
    """Check one kind of embeddings."""
    style, kernel, half, weighted = CASES[number]
    title = f"{style}, {kernel}{', halfvec' if half else ''}{', weighted' if weighted else ''}"
    noise = 0.9 if style == "trained" else 1.2
    support, queries = data.split(rng, 320, 240, 12, CLASSES, noise, style=style, half=half, flipped=0.1)
    options = {"kernel": kernel, "tau": 1.0}
    if weighted:
        support.weight = np.round(rng.uniform(0.1, 3, 320), 2)
        options["weight"] = "weight"
    support.label[0] = "single"
    queries.label[0] = "unseen"
    name = f"set_{number}"
    server.load(name, support, half)
    server.load(f"queries_{number}", queries, half)
    server.register(name, name, **options)
    server.register(f"queries_{number}", f"queries_{number}")

    own = model.Head(support, support, kernel, leave_one_out=True)
    other = model.Head(support, queries, kernel)
    best = find_best(own)
    check_best(server, f"nw_calibrate('{name}', fit => 'tau')", own, 1.0, best, f"{title}: own rows")
    first = server.row(f"SELECT tau FROM nw_sets WHERE name = '{name}'")["tau"]
    row = server.row(f"SELECT * FROM nw_calibrate('{name}', fit => 'tau')")
    check(abs(row["tau"] / first - 1) < 0.01, f"{title}: again, much the same", row)
    equal((row["support_set"], row["query_set"]), (name, name), f"{title}: names without queries")

    server.run(f"SELECT nw_set_tau('{name}', 1);")
    check_best(server, f"nw_calibrate('{name}', '{name}', fit => 'tau')", own, 1.0, best, f"{title}: itself as queries")
    server.run(f"SELECT nw_set_tau('{name}', 100);")
    check_best(server, f"nw_calibrate('{name}', 'queries_{number}', fit => 'tau')", other, 100.0, find_best(other),
               f"{title}: queries")

    tau = server.row(f"SELECT tau FROM nw_sets WHERE name = '{name}'")["tau"]
    check_grid(server, name, f"'queries_{number}'", other, tau * 3, tau * 5, 9, f"{title}: a grid beside the best")
    server.run(f"SELECT nw_set_tau('{name}', {tau * 7!r});")
    check_grid(server, name, f"'queries_{number}'", other, tau / 4, tau * 4, 31, f"{title}: a grid")
    server.run(f"SELECT nw_set_tau('{name}', {tau * 7!r});")
    check_grid(server, name, "NULL", own, tau, tau, 1, f"{title}: a grid of one")

    for start in (tau, tau * 4, tau / 3):
        server.run(f"SELECT nw_alter_set('{name}', tau => {start!r}, temper => 1);")
        check_pair(server, f"nw_calibrate('{name}')", own, start, f"{title}: both from {start:g}")
    server.run(f"SELECT nw_alter_set('{name}', tau => {tau!r}, temper => 1);")
    check_pair(server, f"nw_calibrate('{name}', 'queries_{number}')", other, tau, f"{title}: both, queries")


def check_part(server, rng):
    """Check a set so large that a part of its rows says where to look."""
    rows = data.draw(rng, 1500, 6, CLASSES, 1.0, flipped=0.05)
    server.load("large", rows)
    server.register("large", "large", tau=2.0)
    head = model.Head(rows, rows, "euclidean", leave_one_out=True)
    row = check_pair(server, "nw_calibrate('large')", head, 2.0, "a part of the rows", points=40)
    equal(row["n"], 1500, "all rows, up to 20,000")
    server.run("SELECT nw_alter_set('large', tau => 2, temper => 1);"
               " CREATE TABLE shuffled AS SELECT * FROM large ORDER BY md5(id);"
               " ALTER TABLE large RENAME TO gone; ALTER TABLE shuffled RENAME TO large;")
    equal(server.row("SELECT * FROM nw_calibrate('large')"), row, "whatever the order of rows")


def check_sample(server, rng):
    """Check that of very many queries a fixed sample is asked about."""
    support, queries = data.split(rng, 60, 20100, 3, CLASSES, 1.0, flipped=0.05)
    server.load("few_rows", support)
    server.load("many", queries)
    server.register("few_rows", "few_rows", tau=1.0)
    server.register("many", "many")
    row = server.row("SELECT * FROM nw_calibrate('few_rows', 'many')")
    equal(row["n"], 20000, "a sample of 20,000")
    head = model.Head(support, queries, "euclidean")
    check(abs(head.nll(row["tau"], row["temper"]) - row["nll_after"]) < 0.01, "which is like all", row)
    check(row["error_after"] <= row["error_before"], "no more errors in the sample", row)


def check_twins(server, rng):
    """Check rows that are there twice, under the same label and under another one."""
    rows = data.draw(rng, 150, 4, CLASSES, 1.0, flipped=0.05)
    label = rows.label + rows.label[:40] + ["zebra"] * 40
    twins = model.Rows([f"t{i}" for i in range(230)], np.vstack([rows.x, rows.x[:40], rows.x[40:80]]), label)
    server.load("twins", twins)
    server.register("twins", "twins", tau=1.0)
    head = model.Head(twins, twins, "euclidean", leave_one_out=True)
    row = server.row("SELECT * FROM nw_calibrate('twins')")
    check(row["error_after"] <= row["error_before"], "twins: no more errors", row)
    near(row["nll_after"], head.nll(row["tau"], row["temper"]), "twins: nll_after")


def check_apart(server, rng):
    """Check classes far apart: the loss over all queries is that of a coin toss."""
    rows = data.draw(rng, 120, 4, CLASSES, 0.02)
    server.load("apart", rows)
    server.register("apart", "apart", tau=0.5)
    head = model.Head(rows, rows, "euclidean", leave_one_out=True)
    equal(head.wrong(0.5), 0, "apart: no query is wrong")
    row = server.row("SELECT * FROM nw_calibrate('apart')")
    equal(row["tau"], 0.5, "apart: labels are right as they are")
    near(row["nll_after"], np.log(2) / 120, "apart: a coin toss")
    near(head.nll(0.5, row["temper"]), np.log(2) / 120, "apart: by the book")


def check_weighted_queries(server, rng):
    """Check that weights of queries do not matter."""
    support, queries = data.split(rng, 100, 80, 4, CLASSES, 1.0, flipped=0.1)
    queries.weight = np.arange(80) % 2.0
    server.load("ws", support)
    server.load("wq", queries)
    server.register("ws", "ws", tau=1.0)
    server.register("wq", "wq", weight="weight")
    equal(server.row("SELECT n FROM nw_evaluate('ws', 'wq')")["n"], 80, "weighted queries are all evaluated")
    equal(server.row("SELECT n FROM nw_calibrate('ws', 'wq')")["n"], 80, "and all calibrated on")


def run(server):
    """Check all kinds of embeddings."""
    rng = np.random.default_rng(SEED)
    for number in range(len(CASES)):
        check_case(server, rng, number)
    check_part(server, rng)
    check_sample(server, rng)
    check_twins(server, rng)
    check_apart(server, rng)
    check_weighted_queries(server, rng)
