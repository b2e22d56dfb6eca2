#!/usr/bin/python3
"""Judge the gradients that gradcheck.c computed: float64 PyTorch is the reference.

Reads what to judge from stdin, a line each, its words with tabs between them, and answers
each with what it found and a line "passed" or "failed".  (To load PyTorch takes longer than
most of them.)

ops FOLDER TOLERANCE
net FOLDER TOLERANCE ARCH WIDTH KERNEL
edges FOLDER TOLERANCE KERNEL odd LARGE      (odd embeddings; tolerance inf: gradients are finite)
edges FOLDER TOLERANCE KERNEL|fc tied LARGE  (equal embeddings, whose gradients are all rounding)
edges FOLDER TOLERANCE KERNEL far LARGE      (embeddings so much farther apart for tau)
backbone FOLDER TOLERANCE MODULE     (forward() of make_backbone.py or another)
steps FOLDER TOLERANCE RECIPE        (several steps of cnn)
"""
import importlib
import os
import sys
import traceback

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.set_num_threads(2)


def load(folder, name):
    return torch.from_numpy(np.load(os.path.join(folder, name + '.npy')).astype(np.float64))


def error(got, want):
    worst = ((got - want).abs().max() / max(want.abs().max().item(), 1e-30)).item()
    return np.inf if np.isnan(worst) else worst


def batch_norm(x, w, b):
    return F.batch_norm(x, None, None, w, b, True, 0.0, 1e-5)


OPS = {
    'abs': torch.abs, 'add': torch.add, 'sub': torch.sub, 'mul': torch.mul, 'div': torch.div,
    'average_pool': lambda x: F.avg_pool2d(x, 2, 2),
    'average_pool_edge': lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
    'average_pool_pad': lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=True),
    'batch_norm': batch_norm,
    'batch_norm_frozen': lambda x, w, b: F.batch_norm(x, torch.zeros(4), torch.ones(4), w, b, False, 0.0, 1e-5),
    'cast': lambda x: x, 'identity': lambda x: x,
    'clip': lambda x: x.clamp(-0.5, 1.0),
    'concat': lambda *x: torch.cat(x, 1),
    'conv': lambda x, w, b: F.conv2d(x, w, b, 1, 1),
    'conv_1s2': lambda x, w: F.conv2d(x, w, None, 2, 0),
    'conv_7s2': lambda x, w: F.conv2d(x, w, None, 2, 3),
    'conv_depthwise': lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 4),
    'conv_dilated': lambda x, w: F.conv2d(x, w, None, 1, 2, 2),
    'conv_groups': lambda x, w: F.conv2d(x, w, None, 2, 1, 1, 2),
    'conv_s2': lambda x, w: F.conv2d(x, w, None, 2, 1),
    'conv_uneven': lambda x, w: F.conv2d(F.pad(x, (0, 1, 1, 0)), w),
    'conv_wide': lambda x, w: F.conv2d(x, w, None, 1, 1),
    'erf': torch.erf, 'exp': torch.exp, 'log': torch.log, 'neg': torch.neg,
    'expand': lambda x: x.expand(4, 3, 5),
    'gather0': lambda x: x[[2, 0, 2]],
    'gather2': lambda x: x[:, :, [3, 1]],
    'gemm': lambda a, b, c: 0.7 * a @ b.T + 1.5 * c,
    'gemm_ta': lambda a, b: a.T @ b,
    'gemm_tab': lambda a, b: 2 * a.T @ b.T,
    'hard_sigmoid': lambda x: (0.3 * x + 0.5).clamp(0, 1),
    'layer_norm': lambda x, w, b: F.layer_norm(x, (8,), w, b),
    'leaky_relu': lambda x: F.leaky_relu(x, 0.1),
    'matmul': torch.matmul, 'matmul_shared': torch.matmul,
    'max_pool': lambda x: F.max_pool2d(x, 3, 2, 1),
    'max_pool_ties': lambda x: F.max_pool2d(F.relu(x), 3, 2, 1),
    'pad': lambda x: F.pad(x, (2, 1, 0, 3, 1, 0), value=2.0),
    'pow': lambda x: x ** 2.5,
    'reciprocal': torch.reciprocal, 'relu': torch.relu,
    'reduce_mean': lambda x: x.mean((1, 2), keepdim=True),
    'reduce_sum': lambda x: x.sum((0, 2)),
    'reshape': lambda x: x.reshape(6, 20),
    'sigmoid': torch.sigmoid, 'softplus': F.softplus, 'sqrt': torch.sqrt, 'tanh': torch.tanh,
    'slice': lambda x: x[:, 1:6:2, 0:5],
    'softmax': lambda x: x.softmax(1),
    'transpose': lambda x: x.permute(2, 0, 3, 1),
}


def check_ops(folder, tolerance):
    failed = 0
    seen = sorted({f.split('.')[0] for f in os.listdir(folder)})
    for name in sorted(set(seen) | set(OPS)):
        if name not in OPS or name not in seen:
            print(f'not ok {name}: no counterpart')
            failed += 1
            continue
        xs = []
        while os.path.exists(os.path.join(folder, f'{name}.x{len(xs)}.npy')):
            xs.append(load(folder, f'{name}.x{len(xs)}').requires_grad_())
        y = OPS[name](*xs)
        y.backward(load(folder, f'{name}.dy'))
        worst = error(load(folder, f'{name}.y'), y.detach())
        for i, x in enumerate(xs):
            worst = max(worst, error(load(folder, f'{name}.g{i}'), x.grad))
        ok = worst < tolerance
        failed += not ok
        print(f'{"ok" if ok else "not ok"} {name}: {worst:.1e}')
    return failed


class Net:
    """The built-in networks over a dictionary of weights, Softplus for ReLU."""

    def __init__(self, p):
        self.p = p

    def conv(self, name, x, stride, pad):
        return F.conv2d(x, self.p[name + '.weight'], None, stride, pad)

    def norm(self, name, x):
        return batch_norm(x, self.p[name + '.weight'], self.p[name + '.bias'])

    def act(self, x):
        return F.softplus(x)

    def cnn(self, x, width):
        x = F.max_pool2d(self.act(self.norm('norm1', self.conv('conv1', x, 1, 1))), 2)
        x = F.max_pool2d(self.act(self.norm('norm2', self.conv('conv2', x, 1, 1))), 2)
        return self.act(self.norm('norm3', self.conv('conv3', x, 2, 1))).flatten(1)

    def basic_block(self, n, x, stride):
        y = self.act(self.norm(n + '.bn1', self.conv(n + '.conv1', x, stride, 1)))
        y = self.norm(n + '.bn2', self.conv(n + '.conv2', y, 1, 1))
        if n + '.downsample.0.weight' in self.p:
            x = self.norm(n + '.downsample.1', self.conv(n + '.downsample.0', x, stride, 0))
        return self.act(y + x)

    def bottleneck(self, n, x, stride):
        y = self.act(self.norm(n + '.bn1', self.conv(n + '.conv1', x, 1, 0)))
        y = self.act(self.norm(n + '.bn2', self.conv(n + '.conv2', y, stride, 1)))
        y = self.norm(n + '.bn3', self.conv(n + '.conv3', y, 1, 0))
        if n + '.downsample.0.weight' in self.p:
            x = self.norm(n + '.downsample.1', self.conv(n + '.downsample.0', x, stride, 0))
        return self.act(y + x)

    def preact_block(self, n, x, stride):
        a = self.act(self.norm(n + '.bn1', x))
        y = self.conv(n + '.conv1', a, stride, 1)
        y = self.conv(n + '.conv2', self.act(self.norm(n + '.bn2', y)), 1, 1)
        return y + (self.conv(n + '.shortcut.0', a, stride, 0) if n + '.shortcut.0.weight' in self.p else x)

    def layers(self, block, x, blocks=(2, 2, 2, 2)):
        for layer in range(4):
            for i in range(blocks[layer]):
                x = block(f'layer{layer + 1}.{i}', x, 2 if layer > 0 and i == 0 else 1)
        return x

    def large_stem(self, x):
        return F.max_pool2d(self.act(self.norm('bn1', self.conv('conv1', x, 2, 3))), 3, 2, 1)

    def resnet18(self, x, width):
        return self.layers(self.basic_block, self.large_stem(x)).mean((2, 3))

    def resnet18_small(self, x, width):
        x = self.act(self.norm('bn1', self.conv('conv1', x, 1, 1)))
        return self.layers(self.basic_block, x).mean((2, 3))

    def resnet18_preact(self, x, width):
        x = self.layers(self.preact_block, self.conv('conv1', x, 1, 1))
        return self.act(self.norm('bn', x)).mean((2, 3))

    def resnet50(self, x, width):
        return self.layers(self.bottleneck, self.large_stem(x), (3, 4, 6, 3)).mean((2, 3))

    def dense_blocks(self, x, layers):
        for block in range(len(layers)):
            for layer in range(layers[block]):
                n = f'features.denseblock{block + 1}.denselayer{layer + 1}'
                y = self.conv(n + '.conv1', self.act(self.norm(n + '.norm1', x)), 1, 0)
                y = self.conv(n + '.conv2', self.act(self.norm(n + '.norm2', y)), 1, 1)
                x = torch.cat([x, y], 1)
            if block < len(layers) - 1:
                n = f'features.transition{block + 1}'
                x = self.conv(n + '.conv', self.act(self.norm(n + '.norm', x)), 1, 0)
                x = F.avg_pool2d(x, 2, 2)
        return self.act(self.norm('features.norm5', x)).mean((2, 3))

    def densenet121(self, x, width):
        x = self.act(self.norm('features.norm0', self.conv('features.conv0', x, 2, 3)))
        return self.dense_blocks(F.max_pool2d(x, 3, 2, 1), (6, 12, 24, 16))

    def densenet100_small(self, x, width):
        return self.dense_blocks(self.conv('features.conv0', x, 1, 1), (16, 16, 16))

    def backbone(self, x, module):
        w = {k[len('backbone.'):]: v for k, v in self.p.items() if k.startswith('backbone.')}
        return importlib.import_module(module).forward(x, w)


def length(x):
    """Distances of vectors, with a derivative also at 0."""
    return (x ** 2).sum(-1).add(1e-12).sqrt()


def direction(x):
    """Vectors scaled to length 1; a zero vector stays zero."""
    n = (x ** 2).sum(-1, keepdim=True)
    return torch.where(n > 0, x / torch.where(n > 0, n, torch.ones_like(n)).sqrt(), torch.zeros_like(x))


# the scores of docs/sql-reference.md, times tau; and the usual tau
KERNELS = {
    'euclidean': (lambda q, s: -length(q - s), 1.0),
    'gaussian': (lambda q, s: -((q - s) ** 2).sum(-1), 1.0),
    'hypersphere': (lambda q, s: -length(direction(q) - direction(s)), 0.1),
    'cosine': (lambda q, s: (direction(q) * direction(s)).sum(-1), 0.1),
    'dot': (lambda q, s: (q * s).sum(-1), 1.0),
}


def loss_of(z, folder, p, kernel='euclidean', farther=1.0, numbers=torch.float64):
    targets = load(folder, 'targets')
    if os.path.exists(os.path.join(folder, 'member.npy')):
        member = load(folder, 'member')
        nb = targets.shape[0]
        sets, ns, _ = member.shape
        q = z[:nb].reshape(nb, 1, -1)
        s = z[nb:].reshape(sets, ns, -1)
        measure, tau = KERNELS[kernel]
        score = measure(q.to(numbers), s.to(numbers)).double() / (tau / farther)
        score = score - score.detach().max(1, keepdim=True).values      # logarithms are lost beside huge ones
        # whatever the scores, one that is not of the slot must not count
        by_slot = score[:, :, None].masked_fill(member < 0, -torch.inf)
        log_p = by_slot.logsumexp(1) - score.logsumexp(1, keepdim=True)
    else:
        log_p = F.log_softmax(z @ p['head.weight'].T + p['head.bias'], 1)
    return -(targets * log_p).sum() / targets.shape[0]


def check_edges(folder, tolerance, kernel, how, large):
    p = {f[2:-4]: load(folder, f[:-4]) for f in os.listdir(folder) if f.startswith('p.')}
    z = p['z']
    if kernel in ('gaussian', 'dot'):
        z = z.clamp(-1e13, 1e13)        # as the program takes what is beyond
    # beside huge embeddings all others are the same place, to floats
    numbers = torch.float32 if tolerance == np.inf and kernel in ('euclidean', 'gaussian') else torch.float64
    loss = loss_of(z.requires_grad_(), folder, p, kernel, float(large) if how == 'far' else 1.0, numbers)
    loss.backward()
    got, want = load(folder, 'gradient'), z.grad.clone()
    ok = all(torch.isfinite(load(folder, name)).all() for name in ('gradient', 'log_p', 'loss'))
    worst = error(load(folder, 'loss'), loss.detach())
    ok = ok and worst < min(tolerance, 2e-5)
    if tolerance < np.inf and how != 'tied':
        if how == 'odd' and kernel in ('hypersphere', 'cosine'):
            want[[1, 3, 4, 7, 9, 10]] = 0       # neither nothing nor next to nothing is turned
        # row by row: those of huge embeddings are of another size
        worst = max(worst, *(error(g, w) if w.abs().max() > 0 else g.abs().max().item() for g, w in zip(got, want)))
        ok = ok and worst < tolerance
    print(f'{"ok" if ok else "not ok"} {kernel}, {how}, {large}: {worst:.1e}, '
          f'loss {load(folder, "loss").item():g} and {loss.item():g}')
    return not ok


def check_net(folder, tolerance, arch, width, kernel='euclidean'):
    p = {f[2:-4]: load(folder, f[:-4]).requires_grad_()
         for f in sorted(os.listdir(folder)) if f.startswith('p.')}
    z = getattr(Net(p), arch.replace('-', '_'))(load(folder, 'images'), width)
    z = z @ p['embedding.weight'].T + p['embedding.bias']
    loss = loss_of(z, folder, p, kernel)
    loss.backward()
    worst, where = error(load(folder, 'loss'), loss.detach()), 'loss'
    scale = max(w.grad.abs().max().item() for w in p.values())
    for name, w in p.items():
        got = load(folder, 'g.' + name)
        if w.grad.abs().max().item() < 1e-10 * scale:
            # an exactly zero gradient (the NW loss does not change when all embeddings
            # move together, nor batch normalisation with the bias before it): its
            # rounding error has nothing to be relative to but the other gradients
            e = (got.abs().max() / scale).item()
        else:
            e = error(got, w.grad)
        if not e <= worst:
            worst, where = e, name
    ok = worst < tolerance
    print(f'{"ok" if ok else "not ok"} {arch}: {len(p)} weights, max relative error {worst:.1e} ({where})')
    return not ok


class Tracking(Net):
    """A network that keeps running statistics as it is trained."""

    def norm(self, name, x):
        p = self.p
        return F.batch_norm(x, p[name + '.running_mean'], p[name + '.running_var'], p[name + '.weight'],
                            p[name + '.bias'], True, 0.1, 1e-5)


def rising(optimizer, steps):
    return torch.optim.lr_scheduler.LinearLR(optimizer, 1 / steps, 1, steps - 1)


def then(optimizer, steps, schedule):
    """Warm up for so many steps, then follow the schedule."""
    return torch.optim.lr_scheduler.SequentialLR(optimizer, [rising(optimizer, steps), schedule], [steps])


SGD, ADAMW = torch.optim.SGD, torch.optim.AdamW
CHAIN, DROPS = torch.optim.lr_scheduler.ChainedScheduler, torch.optim.lr_scheduler.MultiStepLR
COSINE = torch.optim.lr_scheduler.CosineAnnealingLR

# as in gradcheck.c: the optimiser, the schedule, the longest gradient, the kernel
RECIPES = {
    'momentum': (lambda w: SGD(w, 0.05, 0.9, weight_decay=0.01), lambda o: DROPS(o, [5]), None, 'euclidean'),
    'nesterov': (lambda w: SGD(w, 0.05, 0.8, weight_decay=0.01, nesterov=True),
                 lambda o: then(o, 4, COSINE(o, 6)), None, 'euclidean'),
    'clipped': (lambda w: SGD(w, 0.05, 0.8, weight_decay=0.01, nesterov=True),
                lambda o: CHAIN([rising(o, 3), DROPS(o, [6])]), 1.4, 'euclidean'),
    'adamw': (lambda w: ADAMW(w, 0.003, (0.8, 0.95), weight_decay=0.1), lambda o: COSINE(o, 10), None, 'cosine'),
    'adamw-clipped': (lambda w: ADAMW(w, 0.003, weight_decay=0.1), lambda o: rising(o, 5), 2.5, 'cosine'),
}


def check_steps(folder, tolerance, recipe):
    make, schedule, clip, kernel = RECIPES[recipe]
    norms = []
    names = [f[2:-4] for f in sorted(os.listdir(folder)) if f.startswith('p.')]
    p = {name: load(folder, 'p.' + name) for name in names if name[:2] not in ('m.', 'v.')}
    weights = [p[name].requires_grad_() for name in p if '.running_' not in name]
    optimizer = make(weights)
    schedule = schedule(optimizer)
    losses = load(folder, 'loss')
    worst, where = 0, ''
    for step, got in enumerate(losses):
        z = Tracking(p).cnn(load(folder, 'images'), 0) @ p['embedding.weight'].T + p['embedding.bias']
        loss = loss_of(z, folder, p, kernel)
        optimizer.zero_grad()
        loss.backward()
        if clip:
            norms.append(torch.nn.utils.clip_grad_norm_(weights, clip).item())
        optimizer.step()
        schedule.step()
        worst, where = max((worst, where), (error(got, loss.detach()), f'loss {step}'))
    for name in names:
        w = p[name[2:] if name[:2] in ('m.', 'v.') else name]
        state = optimizer.state[w]
        want = (state['exp_avg_sq'] if name.startswith('v.') else w.detach() if not name.startswith('m.')
                else state['momentum_buffer'] if 'momentum_buffer' in state else state['exp_avg'])
        got = load(folder, 'o.' + name)
        if want.abs().max() > 1e-9:
            e = error(got, want)
        else:                           # a momentum of an exactly zero gradient has no scale
            e = 0 if got.abs().max() < 1e-6 else np.inf
        worst, where = max((worst, where), (e, name))
    moved = min((p[n].detach() - load(folder, 'p.' + n)).abs().max() for n in p if n != 'embedding.bias')
    ok = worst < tolerance and moved > 1e-4 and losses[-1] < losses[0]
    if clip:    # the test is of both: gradients that are clipped, and ones that are not
        ok = ok and min(norms) < clip < max(norms)
        print(f'norms from {min(norms):.3f} to {max(norms):.3f}')
    print(f'{"ok" if ok else "not ok"} {recipe}: {len(losses)} steps, {len(names)} states: {worst:.1e} ({where}); '
          f'moved {moved:.1e}')
    return not ok


def check(what, folder, tolerance, *more):
    tolerance = float(tolerance)
    if what == 'ops':
        return check_ops(folder, tolerance) > 0
    if what == 'steps':
        return check_steps(folder, tolerance, *more)
    if what == 'edges':
        return check_edges(folder, tolerance, *more)
    if what == 'backbone':
        return check_net(folder, tolerance, 'backbone', more[0])
    return check_net(folder, tolerance, more[0], int(more[1]), *more[2:])


def main():
    for line in sys.stdin:
        try:
            failed = check(*line.rstrip('\n').split('\t'))
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed = True
        print('failed' if failed else 'passed', flush=True)


if __name__ == '__main__':
    main()
