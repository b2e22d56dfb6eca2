#!/usr/bin/python3
"""Write a network of many operators as PyTorch exports it, to be fine-tuned.

make_backbone.py FILE.onnx OPSET [KIND]

KIND is "mixed" (convolutions of all kinds, squeeze-and-excitation, attention),
"unsupported" (holds an operator nwhead has no derivative for), "tokens" (has a
class token, so that its batch size is fixed in the file), "open" (takes images of
any size), "nan" (gives no numbers), "flat" (has no weights), "vast" (is made for huge
images), "windows" (windows.py), "masked" (the same for one size of images, with a table
for its mask), "masked-inf" (which has -inf there) or "dense" (dense.py, as PyTorch writes it: equal values are
held once, and read through Identity).  More of these are "dense-merged" (the same
without Identity) and "dense-whole" (every value held apart).  "plain" has convolutions
with batch normalisation, which "plain-folded" has folded into them, as exporters do.
"""
import importlib
import inspect
import sys

import torch
import torch.nn.functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from dense import Dense
from windows import Windows

C = 16


def shapes():
    return {
        'stem_w': (C, 3, 3, 3), 'stem_b': (C,),
        'bn_w': (C,), 'bn_b': (C,),
        'dw_w': (C, 1, 3, 3), 'group_w': (2 * C, C // 2, 3, 3),
        'squeeze_w': (4, 2 * C, 1, 1), 'squeeze_b': (4,),
        'excite_w': (2 * C, 4, 1, 1), 'excite_b': (2 * C,),
        'ln_w': (2 * C,), 'ln_b': (2 * C,), 'position': (16, 2 * C),
        'q_w': (2 * C, 2 * C), 'k_w': (2 * C, 2 * C), 'v_w': (2 * C, 2 * C),
        'mlp_w': (2 * C, 3 * C), 'mlp_b': (3 * C,),
        'out_w': (24, 3 * C), 'out_b': (24,),
    }


def norm(x, w, train):
    if train:
        return F.batch_norm(x, None, None, w['bn_w'], w['bn_b'], True, 0.0, 1e-5)
    return F.batch_norm(x, w['bn_mean'], w['bn_var'], w['bn_w'], w['bn_b'], False, 0.1, 1e-5)


def forward(x, w, train=True):
    x = F.softplus(norm(F.conv2d(x, w['stem_w'], w['stem_b'], 2, 1), w, train))
    x = x * F.hardsigmoid(F.conv2d(x, w['dw_w'], None, 1, 1, 1, C))
    x = F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2)
    x = F.softplus(F.conv2d(x, w['group_w'], None, 1, 1, 1, 2))
    s = F.adaptive_avg_pool2d(x, 1)
    s = torch.tanh(F.conv2d(s, w['squeeze_w'], w['squeeze_b']))
    x = x * torch.sigmoid(F.conv2d(s, w['excite_w'], w['excite_b']))
    x = F.max_pool2d(x, 2, 2)
    t = x.flatten(2).transpose(1, 2) + w['position']
    t = F.layer_norm(t, (2 * C,), w['ln_w'], w['ln_b'])
    n, tokens, d = t.shape
    heads = [(t @ w[k]).reshape(n, tokens, 2, d // 2).permute(0, 2, 1, 3) for k in ('q_w', 'k_w', 'v_w')]
    a = (heads[0] @ heads[1].transpose(2, 3) / (d // 2) ** 0.5).softmax(-1) @ heads[2]
    t = t + a.permute(0, 2, 1, 3).reshape(n, tokens, d)
    t = F.gelu(t @ w['mlp_w'] + w['mlp_b'])
    z = t.mean(1) + t[:, 0] - torch.cat([t[:, 1, :C], t[:, 2, C:]], 1)
    return F.linear(z, w['out_w'], w['out_b'])


class Backbone(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        g = torch.Generator().manual_seed(5)
        for name, shape in shapes().items():
            v = torch.randn(shape, generator=g) * 0.2
            if name in ('bn_w', 'ln_w'):
                v += 1
            self.register_parameter(name, torch.nn.Parameter(v))
        self.register_buffer('bn_mean', torch.zeros(C))
        self.register_buffer('bn_var', torch.ones(C))

    def forward(self, x):
        w = dict(self.named_parameters())
        w.update(dict(self.named_buffers()))
        if self.kind == 'open':
            return F.softplus(norm(F.conv2d(x, w['stem_w'], w['stem_b'], 2, 1), w, False)).mean((2, 3))
        z = forward(x, w, False)
        if self.kind == 'nan':
            z = torch.log(-z * z - 1)
        if self.kind == 'unsupported':
            z = torch.cumsum(z, 1)
        if self.kind == 'tokens':
            cls = w['position'][:1, :24].expand(z.shape[0], 1, 24)
            z = torch.cat([cls, z.unsqueeze(1)], 1).mean(1)
        return z


def plain(folded):
    torch.manual_seed(9)
    layers = []
    for i in range(8):
        conv = torch.nn.Conv2d(C if i else 3, C, 3, 2 if i < 2 else 1, 1, bias=False).eval()
        norm = torch.nn.BatchNorm2d(C).eval()
        layers += [fuse_conv_bn_eval(conv, norm)] if folded else [conv, norm]
        layers.append(torch.nn.ReLU())
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


def older_exporter():
    """Choose the exporter that needs neither onnxscript nor onnx.

    The newer one needs both.  The older one imports onnx for nothing but functions of
    onnxscript, of which there are none here; Ubuntu's onnx and PyTorch cannot be loaded
    together.
    """
    if 'dynamo' not in inspect.signature(torch.onnx.export).parameters:
        return {}
    for package in '', 'torchscript_exporter.':
        try:
            module = importlib.import_module(f'torch.onnx._internal.{package}onnx_proto_utils')
        except ImportError:
            continue
        module._add_onnxscript_fn = lambda model, opsets: model
    return {'dynamo': False}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def number(value):
    out = b''
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def read(data):
    """List the fields of a protobuf message: number, wire type, value."""
    fields, at = [], 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at:at + size], at + size
        fields.append((key >> 3, key & 7, value))
    return fields


def write(fields):
    return b''.join(number(f << 3 | w) + (number(v) if w == 0 else (number(len(v)) if w == 2 else b'') + v)
                    for f, w, v in fields)


def without_identity(path):
    """Let nodes read what Identity gives by its first name, as onnx-simplifier does."""
    model = read(open(path, 'rb').read())
    graph = read(next(v for f, _, v in model if f == 7))
    nodes = [read(v) for f, _, v in graph if f == 1]
    inputs = [[v for f, _, v in n if f == 1] for n in nodes]
    outputs = [[v for f, _, v in n if f == 2] for n in nodes]
    same = {outputs[i][0]: inputs[i][0] for i, n in enumerate(nodes) if (4, 2, b'Identity') in n}
    nodes = [write([(f, w, same.get(v, v) if f == 1 else v) for f, w, v in n])
             for n in nodes if (4, 2, b'Identity') not in n]
    graph = [(1, 2, n) for n in nodes] + [field for field in graph if field[0] != 1]
    open(path, 'wb').write(write([(f, w, write(graph) if f == 7 else v) for f, w, v in model]))


def network(kind):
    if kind == 'flat':
        return torch.nn.Flatten()
    if kind == 'vast':
        return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Conv2d(3, 4, 1), torch.nn.Flatten())
    if kind in ('windows', 'masked', 'masked-inf'):
        return Windows({'windows': None, 'masked': -100.0, 'masked-inf': -torch.inf}[kind])
    if kind.startswith('dense'):
        return Dense()
    return plain(kind == 'plain-folded') if kind.startswith('plain') else Backbone(kind)


def main():
    kind = sys.argv[3] if len(sys.argv) > 3 else 'mixed'
    model = network(kind).eval()
    axes = {0: 'batch', 2: 'height', 3: 'width'} if kind in ('open', 'windows') else {0: 'batch'}
    if kind == 'dense-whole':
        torch._C._jit_pass_onnx_deduplicate_initializers = lambda graph, weights, training: weights
    side = 4097 if kind == 'vast' else 32
    torch.onnx.export(model, torch.zeros(2, 3, side, side), sys.argv[1], opset_version=int(sys.argv[2]),
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=isinstance(model, Backbone), input_names=['x'], output_names=['features'],
                      dynamic_axes={'x': axes, 'features': {0: 'batch'}}, **older_exporter())
    if kind == 'dense-merged':
        without_identity(sys.argv[1])


if __name__ == '__main__':
    main()
