"""A small DenseNet as it is before training, whose export holds equal values once.

Scales and variances are 1; shifts, means and all biases are 0.  Two layers are used
twice: what they have is one weight on purpose.  make_backbone.py exports it,
gradcheck.py differentiates it.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

GROWTH = 8


def layer(ins):
    return nn.Sequential(nn.BatchNorm2d(ins), nn.Softplus(), nn.Conv2d(ins, 2 * GROWTH, 1),
                         nn.BatchNorm2d(2 * GROWTH), nn.Softplus(), nn.Conv2d(2 * GROWTH, GROWTH, 3, 1, 1))


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(8)
        self.stem = nn.Conv2d(3, GROWTH, 3, 2, 1)
        self.layers = nn.ModuleList(layer((i + 1) * GROWTH) for i in range(3))
        self.last = nn.BatchNorm2d(4 * GROWTH)
        self.own = nn.Linear(4 * GROWTH, 4 * GROWTH)
        self.twice = nn.Linear(4 * GROWTH, 4 * GROWTH)      # Gemm: two dimensions
        self.tokens = nn.Linear(4 * GROWTH, 4 * GROWTH)     # MatMul and Add: three
        for name, p in self.named_parameters():
            if name.endswith('bias'):
                p.data.zero_()

    def forward(self, x):
        x = self.stem(x)
        for add in self.layers:
            x = torch.cat([x, add(x)], 1)
        x = F.softplus(self.last(x)).flatten(2).transpose(1, 2)
        x = x + torch.tanh(self.tokens(x))
        z = (x + torch.tanh(self.tokens(x))).mean(1)
        z = z + torch.tanh(self.own(z))
        z = z + torch.tanh(self.twice(z))
        return z + torch.tanh(self.twice(z))


def forward(x, w):
    """Apply it with these weights, batch normalisation by the batch."""
    model = Dense().train()
    assert set(w) == {name for name, _ in model.named_parameters()}, set(w)
    if hasattr(torch, 'func'):
        return torch.func.functional_call(model, w, (x,))
    return torch.nn.utils.stateless.functional_call(model, w, (x,))
