#!/usr/bin/python3
"""Judge an exported model: its embeddings against PyTorch in inference mode.

infercheck.py FOLDER ARCH HEAD
"""
import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gradcheck import Net, error, load  # noqa: E402


class Inference(Net):
    def norm(self, name, x):
        p = self.p
        return F.batch_norm(x, p[name + '.running_mean'], p[name + '.running_var'], p[name + '.weight'],
                            p[name + '.bias'], False, 0.0, 1e-5)

    def act(self, x):
        return F.relu(x)


folder, arch, head = sys.argv[1:4]
p = {f[2:-4]: load(folder, f[:-4]) for f in os.listdir(folder) if f.startswith('p.')}
z = getattr(Inference(p), arch.replace('-', '_'))(load(folder, 'images'), 0)
if head == 'fc':
    z = torch.cat([z, torch.ones(z.shape[0], 1)], 1)
else:
    z = z @ p['embedding.weight'].T + p['embedding.bias']
worst = error(load(folder, 'z'), z)
print(f'{arch}: {worst:.1e}')
sys.exit(not worst <= 1e-5)
