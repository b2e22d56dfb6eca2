"""Train linear heads on features, for bench/pretrained.

    pretrained.py OUTDIR SEED...

FC is one linear layer to the classes, trained with cross-entropy; NW is one linear layer
to 128 dimensions, trained with the NW loss: 128 queries, and two supports of each class,
which no query is among.  Either is trained by AdamW for 2,000 steps of 128 queries, with
the rate and the decay of least NLL on the validation rows, chosen with a seed of its own.
Writes OUTDIR/pretrained.heads/HEAD_SEED_PART.csv.
"""
import csv
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

STEPS, QUERIES, A_CLASS, DIM = 2000, 128, 2, 128


def load(out, part):
    with open(f"{out}/pretrained_{part}.csv", newline="") as f:
        rows = list(csv.reader(f))
    z = np.array([np.fromstring(r[2][1:-1], sep=",") for r in rows], dtype=np.float32)
    return [r[0] for r in rows], [r[1] for r in rows], torch.from_numpy(z)


def draw(of_class, y, rng):
    """Queries, and for each class as many supports that are none of them."""
    queries = rng.choice(len(y), QUERIES, replace=False)
    asked = set(queries.tolist())
    supports = []
    for rows in of_class:
        free = [r for r in rows if r not in asked]
        supports += rng.choice(free if len(free) >= A_CLASS else rows, A_CLASS, replace=False).tolist()
    return torch.as_tensor(queries), torch.as_tensor(supports)


def nw_log_p(query, support, of, classes):
    """In doubles, where exponentials of such distances do not vanish."""
    query, support = query.double(), support.double()
    square = query.square().sum(1)[:, None] + support.square().sum(1)[None, :] - 2 * query @ support.T
    score = -(square.clamp_min(0) + 1e-12).sqrt()
    weight = (score - score.max(1, keepdim=True).values).exp()
    mass = weight @ F.one_hot(of, classes).double()
    return (mass.clamp_min(1e-300) / weight.sum(1, keepdim=True)).log()


def train(head, z, y, classes, rate, decay, seed):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    layer = torch.nn.Linear(z.shape[1], classes if head == "fc" else DIM)
    with torch.no_grad():
        # features have length 1: let what comes out have a scale that softmax can use
        layer.weight.mul_(math.sqrt(z.shape[1]))
    optimizer = torch.optim.AdamW(layer.parameters(), lr=rate, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    of_class = [np.flatnonzero(y.numpy() == c).tolist() for c in range(classes)]
    for _ in range(STEPS):
        if head == "fc":
            rows = torch.as_tensor(rng.choice(len(y), QUERIES, replace=False))
            loss = F.cross_entropy(layer(z[rows]), y[rows])
        else:
            queries, supports = draw(of_class, y, rng)
            log_p = nw_log_p(layer(z[queries]), layer(z[supports]), y[supports], classes)
            loss = F.nll_loss(log_p, y[queries])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return layer


def loss_on(head, layer, train_set, judged, classes):
    (z, y), (zq, yq) = train_set, judged
    with torch.no_grad():
        if head == "fc":
            return F.cross_entropy(layer(zq), yq).item()
        support = layer(z)
        return F.nll_loss(nw_log_p(layer(zq), support, y, classes), yq).item()


def write(path, ids, labels, z):
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        for i, label, row in zip(ids, labels, z.tolist()):
            out.writerow([i, label, "[" + ",".join(f"{v:.9g}" for v in row) + "]"])


def main():
    torch.set_num_threads(1)
    out, seeds = sys.argv[1], [int(s) for s in sys.argv[2:]]
    parts = {part: load(out, part) for part in ("train", "val", "test")}
    names = sorted(set(parts["train"][1]))
    number = {name: i for i, name in enumerate(names)}
    of = {part: torch.tensor([number[l] for l in labels]) for part, (_, labels, _) in parts.items()}
    z, y = parts["train"][2], of["train"]
    chosen = open(f"{out}/pretrained.heads/chosen.txt", "w")
    for head in ("fc", "nw"):
        tried = {}
        for rate in (3e-2, 1e-1, 3e-1, 1.0):
            for decay in (0, 0.01):
                layer = train(head, z, y, len(names), rate, decay, 100)
                tried[rate, decay] = loss_on(head, layer, (z, y), (parts["val"][2], of["val"]), len(names))
        rate, decay = min(tried, key=tried.get)
        chosen.write(f"\n{head}: rate {rate:g}, decay {decay:g}; NLL of the validation rows: "
                     + ", ".join(f"{r:g}/{d:g} {v:.3f}" for (r, d), v in tried.items()) + "\n")
        for seed in seeds:
            layer = train(head, z, y, len(names), rate, decay, seed)
            for part, (ids, labels, features) in parts.items():
                with torch.no_grad():
                    rows = layer(features) if head == "nw" else torch.cat(
                        [features, torch.ones(len(features), 1)], 1)
                write(f"{out}/pretrained.heads/{head}_{seed}_{part}.csv", ids, labels, rows)
            if head == "fc":
                with torch.no_grad():
                    rows = torch.cat([layer.weight, layer.bias[:, None]], 1)
                write(f"{out}/pretrained.heads/fc_{seed}_head.csv", names, names, rows)


main()
