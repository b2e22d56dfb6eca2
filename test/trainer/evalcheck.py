#!/usr/bin/python3
"""Judge nw_evaluate over a set of a trained model: PyTorch computes the scores, as gradcheck.py's losses.

evalcheck.py KERNEL TAU ROWS FIGURES

ROWS are "label|vector" of the set's table, FIGURES "error_rate|nll" of the set asked for
its own rows, each left out in turn.
"""
import json
import sys

import numpy as np
import torch

from gradcheck import KERNELS

kernel, tau, rows, figures = sys.argv[1:]
rows = [line.rstrip('\n').split('|') for line in open(rows)]
label = np.array([row[0] for row in rows])
z = torch.tensor([json.loads(row[1]) for row in rows])
score = (KERNELS[kernel][0](z[:, None], z[None]) / float(tau)).fill_diagonal_(-torch.inf)
classes = sorted(set(label))
total = score.logsumexp(1)
log_p = torch.stack([score[:, torch.from_numpy(label == c)].logsumexp(1) for c in classes], 1) - total[:, None]
truth = torch.tensor([classes.index(c) for c in label])
want = [(log_p.argmax(1) != truth).double().mean().item(), -log_p[range(len(truth)), truth].mean().item()]
got = [float(v) for v in figures.split('|')]
print(f'{len(rows)} rows: error {got[0]} and {want[0]}, nll {got[1]} and {want[1]}')
sys.exit(not (abs(got[0] - want[0]) < 1e-9 and abs(got[1] - want[1]) < 1e-5 * want[1] and want[0] < 0.1))
