"""nw_distill: prototypes of all modes, and the temperature they get."""

import numpy as np
from sklearn.cluster import KMeans

import data
import model
from case import check, equal, near

SEED = 45


def prototypes(server, name):
    """Read the prototypes of a set, by label."""
    result = {}
    for r in server.rows("SELECT label, ordinal, embedding::text AS x, members, source_id, weight"
                         f" FROM nw_prototypes WHERE set = '{name}' ORDER BY label COLLATE \"C\", ordinal"):
        r["x"] = data.rounded(np.array([float(v) for v in r["x"].strip("[]").split(",")]))
        result.setdefault(r["label"], []).append(r)
    return result


def by_label(rows):
    """Split the rows that support predictions by label."""
    rows = rows.supports()
    return {c: rows.take(i for i in range(len(rows.id)) if rows.label[i] == c) for c in set(rows.label)}


def distances(x, centres):
    """Return all squared distances, [rows][centres]."""
    return np.stack([((x - c) ** 2).sum(axis=1) for c in centres], axis=1)


def distill(server, name, options):
    """Distil, and return the prototypes."""
    server.run(f"SELECT nw_distill('{name}', 'few', {options});")
    return prototypes(server, "few")


def check_counts(got, parts, k, name):
    """Check ordinals and members."""
    equal(sorted(got), sorted(parts), f"{name}: every class")
    for c, part in parts.items():
        equal([r["ordinal"] for r in got[c]], list(range(1, min(k, len(part.id)) + 1)), f"{name}: ordinals of {c}")
        equal(sum(r["members"] for r in got[c]), len(part.id), f"{name}: members of {c}")


def check_inertia(server, name, rows, k, title):
    """Check centroids against scikit-learn's, and that rows belong to the nearest."""
    got = distill(server, name, f"k => {k}, calibrate => false")
    parts = by_label(rows)
    check_counts(got, parts, k, title)
    ours = theirs = 0.0
    for c, part in parts.items():
        square = distances(part.x, [r["x"] for r in got[c]])
        ours += square.min(axis=1).sum()
        theirs += KMeans(n_clusters=k, n_init=10, random_state=0).fit(part.x).inertia_
        nearest = np.bincount(square.argmin(axis=1), minlength=len(got[c]))
        equal([r["members"] for r in got[c]], list(nearest), f"{title}: members of {c} are the nearest")
    check(ours <= 1.01 * theirs, f"{title}: inertia within 1% of scikit-learn's", f"{ours:g} against {theirs:g}")
    print(f"# {title}: inertia / scikit-learn's = {ours / theirs:.4f}")


def check_mean(server, name, rows, title):
    """Check that one centroid is the mean."""
    got = distill(server, name, "k => 1, calibrate => false")
    for c, part in by_label(rows).items():
        mean = part.x.mean(axis=0)
        error = (np.abs(got[c][0]["x"] - mean) / np.maximum(1, np.abs(mean))).max()
        check(error < 1e-6, f"{title}: the mean of {c}", f"an error of {error:g}")
        equal((got[c][0]["members"], got[c][0]["source_id"], got[c][0]["weight"]), (len(part.id), None, 1),
              f"{title}: members, source and weight of {c}")


def check_closest(server, name, rows, k, title, direction=False):
    """Check that each prototype is the nearest row left to its centroid."""
    centroids = distill(server, name, f"k => {k}, seed => 5, calibrate => false")
    got = distill(server, name, f"'closest', k => {k}, seed => 5, calibrate => false")
    parts = by_label(rows)
    check_counts(got, parts, k, title)
    for c, part in parts.items():
        place = {own: i for i, own in enumerate(part.id)}
        compared = model.unit(part.x) if direction else part.x
        taken = set()
        for centroid, r in zip(centroids[c], got[c]):
            own = r["source_id"]
            if not check(own in place and own not in taken, f"{title}: {own!r} is a row of {c}, once"):
                continue
            check(np.array_equal(r["x"], part.x[place[own]]), f"{title}: {own} has its row's vector")
            square = distances(compared, [centroid["x"]])[:, 0]
            free = min(s for i, s in enumerate(square) if part.id[i] not in taken)
            check(square[place[own]] <= free * (1 + 1e-9) + 1e-12, f"{title}: {own} is the nearest row left",
                  f"{square[place[own]]!r} against {free!r}")
            equal(r["members"], centroid["members"], f"{title}: as many members as the cluster of {own}")
            taken.add(own)


def check_random(server, name, rows, k, title):
    """Check a random choice of rows."""
    choices = set()
    for seed in range(3):
        got = distill(server, name, f"'random', k => {k}, seed => {seed}, calibrate => false")
        parts = by_label(rows)
        check_counts(got, parts, k, title)
        for c, part in parts.items():
            place = {own: i for i, own in enumerate(part.id)}
            chosen = [r["source_id"] for r in got[c]]
            check(len(set(chosen)) == len(chosen) and set(chosen) <= set(place), f"{title}: rows of {c}, each once")
            check(all(np.array_equal(r["x"], part.x[place[r["source_id"]]]) for r in got[c]),
                  f"{title}: with their vectors")
            choices.add((c, tuple(sorted(chosen))))
    check(len(choices) > len(parts), f"{title}: other seeds choose other rows")


def check_spherical(server, kernel, rng):
    """Check centroids of kernels that compare directions."""
    rows = data.draw(rng, 300, 8, ["a", "b", "c"], 0.7)
    rows.x = data.rounded(rows.x * rng.uniform(0.1, 10, (300, 1)))
    name = f"directions_{kernel}"
    server.load(name, rows)
    server.register(name, name, kernel=kernel, tau=0.1)
    got = distill(server, name, "k => 4, calibrate => false")
    ours = theirs = 0.0
    for c, part in by_label(rows).items():
        x = model.unit(part.x)
        centres = np.array([r["x"] for r in got[c]])
        length = np.linalg.norm(centres, axis=1)
        check(np.abs(length - 1).max() < 1e-6, f"{kernel}: centroids of length 1", length)
        ours += (1 - (x @ centres.T).max(axis=1)).sum()
        label = KMeans(n_clusters=4, n_init=10, random_state=0).fit(x).labels_
        means = model.unit(np.stack([x[label == i].mean(axis=0) for i in range(4)]))
        theirs += (1 - (x @ means.T).max(axis=1)).sum()
    check(ours <= 1.01 * theirs, f"{kernel}: as near in direction as scikit-learn's clusters",
          f"{ours:g} against {theirs:g}")
    check_closest(server, name, rows, 3, f"closest, {kernel}", direction=True)
    mean = distill(server, name, "k => 1, calibrate => false")
    for c, part in by_label(rows).items():
        expected = model.unit(model.unit(part.x).mean(axis=0))
        check(np.abs(mean[c][0]["x"] - expected).max() < 1e-6, f"{kernel}: the mean direction of {c}")


def check_small(server, rng):
    """Check classes with fewer rows, or fewer distinct rows, than prototypes."""
    x = np.array([[0, 0]] * 9 + [[1, 0]] * 3 + [[5, 5], [6, 6]], dtype=float)
    rows = model.Rows(range(14), x, ["dup"] * 12 + ["few"] * 2)
    server.load("small", rows)
    server.register("small", "small", tau=1.0)
    for mode in ("cluster", "closest"):
        got = distill(server, "small", f"'{mode}', k => 4, calibrate => true")
        equal([(list(r["x"]), r["members"]) for r in sorted(got["dup"], key=lambda r: r["x"][0])],
              [([0, 0], 9), ([1, 0], 3)], f"{mode}: two distinct rows, two prototypes")
        equal(sorted(tuple(r["x"]) for r in got["few"]), [(5, 5), (6, 6)], f"{mode}: all rows of a small class")
    got = distill(server, "small", "'random', k => 4")
    equal(sum(r["members"] for r in got["dup"]), 12, "random: members add up among equal rows")
    equal({r["weight"] for r in got["dup"]}, {1}, "random: equal weights")
    equal(len({r["source_id"] for r in got["dup"]}), 4, "random: four rows, be they equal")
    for mode in ("random", "cluster", "closest"):
        got = distill(server, "small", f"'{mode}', k => 2147483647, calibrate => false")
        equal(len(got["few"]), 2, f"{mode}: the largest k there is")


def check_weights(server, rng):
    """Check what a prototype weighs, and that predictions know."""
    rows, queries = data.split(rng, 240, 60, 5, ["a", "b", "c"], 0.8)
    rows.weight = np.round(rng.uniform(0.5, 4, 240) * 4) / 4
    server.load("weighed", rows)
    server.load("asked", queries)
    server.register("asked", "asked")
    for weight in (None, "weight"):
        server.register("weighed", "weighed", tau=0.5, weight=weight, replace="true")
        for mode in ("cluster", "closest", "random"):
            for kind in ("equal", "members"):
                name = f"{mode}, {kind}{', weighted' if weight else ''}"
                got = distill(server, "weighed", f"'{mode}', k => 3, weights => '{kind}', calibrate => false")
                flat = [r for c in sorted(got) for r in got[c]]
                if kind == "equal":
                    check(all(r["weight"] == 1 for r in flat), f"{name}: all weigh 1")
                elif weight is None:
                    check(all(abs(r["weight"] - r["members"]) < 1e-9 for r in flat), f"{name}: as many as members")
                else:
                    for c, part in by_label(rows).items():
                        near(sum(r["weight"] for r in got[c]), part.weight.sum(), f"{name}: the class's weight")
                few = model.Rows(range(len(flat)), [r["x"] for r in flat], [c for c in sorted(got) for _ in got[c]],
                                 [r["weight"] for r in flat])
                head = model.Head(few, queries, "euclidean")
                p = server.rows("SELECT query_id, confidence, loss FROM nw_predict_set('few', 'asked')")
                loss = dict(zip(head.queries.id, head.losses(0.5)))
                check(all(abs(r["loss"] - loss[r["query_id"]]) < 1e-9 for r in p), f"{name}: predictions")


def check_calibrated(server, rng):
    """Check that a distilled set's own tau is no worse than its parent's, on rows held out.

    The margin is for the difference between the rows fitted on and those held
    out: 600 of each.
    """
    for style, kernel in (("raw", "euclidean"), ("unit", "cosine"), ("trained", "gaussian")):
        rows, held = data.split(rng, 600, 600, 8, ["a", "b", "c", "d"], 0.9, style=style, flipped=0.05)
        name = f"cal_{style}_{kernel}"
        server.load(name, rows)
        server.load(f"{name}_held", held)
        server.register(name, name, kernel=kernel, tau=1.0)
        server.register(f"{name}_held", f"{name}_held")
        server.run(f"SELECT nw_calibrate('{name}');")
        tau = server.row(f"SELECT tau FROM nw_sets WHERE name = '{name}'")["tau"]
        for mode, k in (("cluster", 1), ("closest", 3), ("random", 10)):
            title = f"{style}, {kernel}, {mode}, k = {k}"
            nll = {}
            for calibrate in ("false", "true"):
                server.run(f"SELECT nw_distill('{name}', 'few', '{mode}', {k}, calibrate => {calibrate});")
                row = server.row(f"SELECT nll, tau FROM nw_evaluate('few', '{name}_held')")
                nll[calibrate] = row["nll"]
                if calibrate == "false":
                    equal(row["tau"], tau, f"{title}: the parent's tau")
            check(nll["true"] <= nll["false"] + 0.01, f"{title}: held-out loss with its own tau", nll)


def check_nested(server, rng):
    """Check a distilled set as the parent of another."""
    rows = data.draw(rng, 400, 6, ["a", "b"], 0.8)
    server.load("nest", rows)
    server.register("nest", "nest", tau=0.5)
    server.run("SELECT nw_distill('nest', 'nest 2', 'closest', k => 40, calibrate => false);"
               " SELECT nw_distill('nest 2', 'nest 3', 'closest', k => 5, seed => 5, calibrate => false);"
               " SELECT nw_distill('nest', 'nest 4', k => 30, calibrate => false);")
    second = [r for part in prototypes(server, "nest 2").values() for r in part]
    label = [c for c, part in prototypes(server, "nest 2").items() for _ in part]
    inner = model.Rows([r["source_id"] for r in second], [r["x"] for r in second], label)
    check_closest(server, "nest 2", inner, 5, "nested")
    fourth = prototypes(server, "nest 4")
    flat = model.Rows(range(60), [r["x"] for c in fourth for r in fourth[c]], [c for c in fourth for _ in fourth[c]])
    check_mean(server, "nest 4", flat, "the mean of centroids")
    head = model.Head(inner, rows, "euclidean", leave_one_out=True)
    row = server.row("SELECT * FROM nw_evaluate('nest 2', 'nest')")
    near(row["nll"], head.nll(0.5), "leaving out through a parent")
    third = {r["source_id"] for part in prototypes(server, "nest 3").values() for r in part}
    few = inner.take(i for i, own in enumerate(inner.id) if own in third)
    row = server.row("SELECT * FROM nw_evaluate('nest 3', 'nest')")
    near(row["nll"], model.Head(few, rows, "euclidean", leave_one_out=True).nll(0.5), "and through its parent")


def run(server):
    """Check distillation on blobs, uniform noise and images."""
    rng = np.random.default_rng(SEED)
    blobs = data.draw(rng, 900, 10, ["a", "b", "c"], 0.15)
    blobs.x = data.rounded(blobs.x + rng.normal(size=(5, 10))[rng.integers(0, 5, 900)])
    sets = {"blobs": blobs, "uniform": model.Rows(range(800), data.rounded(rng.random((800, 6))), ["a", "b"] * 400)}
    images = data.fashion(1500)
    if images is None:
        print("# no Fashion-MNIST here: skipped its inertia")
    else:
        sets["fashion"] = images
    for name, rows in sets.items():
        server.load(name, rows)
        server.register(name, name, tau=0.5)
        check_mean(server, name, rows, name)
        for k in (5,) if name == "fashion" else (2, 5, 12):
            check_inertia(server, name, rows, k, f"{name}, k = {k}")
        check_closest(server, name, rows, 4, f"closest, {name}")
        check_random(server, name, rows, 6, f"random, {name}")
    for kernel in ("cosine", "hypersphere"):
        check_spherical(server, kernel, rng)
    check_small(server, rng)
    check_weights(server, rng)
    check_calibrated(server, rng)
    check_nested(server, rng)
