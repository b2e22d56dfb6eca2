#!/usr/bin/env python3
"""The peers that bench/run compares with.

    peers.py torch N DIM CLASSES     ms a query, best batch size, 2 threads
    peers.py kmeans ROWS DIM K       seconds and inertia of scikit-learn
    peers.py inertia ROWS DIM PROTO  inertia of prototypes made by nw_distill

ROWS is a file that bench/rows wrote; PROTO has lines "label<TAB>[x,y,...]".
PEERS_BLAS=shipped in the environment leaves OpenBLAS as it comes.
"""
import os
import sys
import time


def choose_blas():
    """Tell OpenBLAS which CPU this is: an old one takes new CPUs for old."""
    with open('/proc/cpuinfo') as info:
        flags = set(info.read().split())
    core = ('SkylakeX' if 'avx512f' in flags else
            'Haswell' if 'avx2' in flags else None)
    if core and os.environ.get('PEERS_BLAS') != 'shipped':
        os.environ.setdefault('OPENBLAS_CORETYPE', core)
    os.environ.setdefault('OMP_NUM_THREADS', '2')


choose_blas()
import numpy as np  # noqa: E402: after the choice


def read_rows(path, dim):
    """Read the labels and vectors of a binary COPY file of bench/rows."""
    record = np.dtype([('fields', '>i2'), ('id_len', '>i4'), ('id', '>i4'),
                       ('label_len', '>i4'), ('label', 'S7'),
                       ('vector_len', '>i4'), ('dim', '>i2'),
                       ('unused', '>i2'), ('x', '>f4', dim)])
    data = np.fromfile(path, dtype=np.uint8)
    rows = data[19:-2].view(record)
    return rows['label'], rows['x'].astype(np.float32)


def bench_torch(n, dim, classes):
    """Time cdist, softmax and matmul over queries, in the best batch size."""
    import torch
    torch.set_num_threads(2)
    torch.manual_seed(1)
    supports = torch.randn(n, dim)
    onehot = torch.zeros(n, classes)
    onehot[torch.arange(n), torch.arange(n) % classes] = 1
    best = None
    for batch in (16, 32, 64, 128, 256):
        queries = torch.randn(batch, dim)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            weights = torch.softmax(-torch.cdist(queries, supports), dim=1)
            probabilities = weights @ onehot
            probabilities.argmax(dim=1)
            times.append((time.perf_counter() - start) * 1e3 / batch)
            del weights, probabilities
        best = min(times) if best is None else min(best, min(times))
    print(f'{best:.4f}')


def bench_kmeans(path, dim, k):
    """Time KMeans(n_init=10) for each class, and add up the inertia."""
    from sklearn.cluster import KMeans
    labels, x = read_rows(path, dim)
    start = time.perf_counter()
    inertia = 0
    for label in np.unique(labels):
        inertia += KMeans(n_clusters=k, n_init=10,
                          random_state=0).fit(x[labels == label]).inertia_
    print(f'{time.perf_counter() - start:.4f} {inertia:.6f}')


def inertia(path, dim, prototypes):
    """Add up the squared distances of rows to their class's prototypes."""
    labels, x = read_rows(path, dim)
    centres = {}
    with open(prototypes) as lines:
        for line in lines:
            label, vector = line.rstrip('\n').split('\t')
            centres.setdefault(label, []).append(
                [float(v) for v in vector.strip('[]').split(',')])
    total = 0
    for label in np.unique(labels):
        rows = x[labels == label].astype(np.float64)
        points = np.array(centres[label.decode()])
        squares = ((rows ** 2).sum(1)[:, None] + (points ** 2).sum(1)[None]
                   - 2 * rows @ points.T)
        total += squares.min(1).sum()
    print(f'{total:.6f}')


def main():
    command, *args = sys.argv[1:]
    if command == 'torch':
        bench_torch(*map(int, args))
    elif command == 'kmeans':
        bench_kmeans(args[0], int(args[1]), int(args[2]))
    elif command == 'inertia':
        inertia(args[0], int(args[1]), args[2])
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
