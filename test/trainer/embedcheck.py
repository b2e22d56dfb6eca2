#!/usr/bin/python3
"""Judge rows that nwhead embed wrote: PyTorch prepares the images and runs the network.

embedcheck.py KIND IMAGES.gz VECTORS SIZE RESIZE MEAN STD

KIND is a network of make_backbone.py, IMAGES grey images in the MNIST format, VECTORS
the table's vectors as text, in the order of the images.  Images are enlarged to
RESIZE, the centre of SIZE is cut, then comes (pixel / 255 - MEAN) / STD for each of
three channels, A,B,C each.
"""
import gzip
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make_backbone import Backbone  # noqa: E402

kind, images, vectors, size, resize, mean, std = sys.argv[1:]
size, resize = int(size), int(resize)
mean, std = (torch.tensor([float(v) for v in text.split(',')]).reshape(1, 3, 1, 1) for text in (mean, std))
with gzip.open(images) as f:
    raw = f.read()
n, height, width = np.frombuffer(raw, '>i4', 4)[1:]
x = torch.from_numpy(np.frombuffer(raw, np.uint8, offset=16).reshape(n, 1, height, width).astype(np.float32))
x = F.interpolate(x, size=(resize, resize), mode='bilinear', align_corners=False)
edge = (resize - size) // 2
x = (x[:, :, edge:edge + size, edge:edge + size] + 0.5).floor()
with torch.no_grad():
    want = Backbone(kind).eval()((x.expand(-1, 3, -1, -1) / 255 - mean) / std)
got = torch.tensor([json.loads(line) for line in open(vectors)])
assert got.shape == want.shape, (got.shape, want.shape)
worst = ((got - want).abs().max() / want.abs().max()).item()
print(f'{len(got)} rows, {worst:.1e}')
sys.exit(not worst < 1e-3)  # where a pixel is rounded the other way
