"""A small network with shifted windows of attention, for images of any size.

As in the usual Swin Transformer, what windows need is computed from the image's shape:
how far it is padded to whole windows, and which places of a shifted window may see each
other.  Or the latter is a table of the network's, as where the size of images is fixed.
make_backbone.py exports it, gradcheck.py differentiates it.
"""
import torch
import torch.nn.functional as F

C, WINDOW, HEADS = 8, 4, 2


def shapes():
    block = {'n1_w': (C,), 'n1_b': (C,), 'qkv_w': (C, 3 * C), 'qkv_b': (3 * C,), 'out_w': (C, C), 'out_b': (C,),
             'near': ((2 * WINDOW - 1) ** 2, HEADS), 'n2_w': (C,), 'n2_b': (C,), 'up_w': (C, 2 * C),
             'up_b': (2 * C,), 'down_w': (2 * C, C), 'down_b': (C,)}
    return {'stem_w': (C, 3, 2, 2), 'stem_b': (C,), 'merge_w': (4 * C, 2 * C),
            **{f'{k}{i}': s for i in range(2) for k, s in block.items()}}


def offsets():
    """Number how places of a window lie to each other."""
    at = torch.stack(torch.meshgrid(torch.arange(WINDOW), torch.arange(WINDOW), indexing='ij')).flatten(1)
    apart = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + WINDOW - 1
    return (apart[..., 0] * (2 * WINDOW - 1) + apart[..., 1]).flatten()


def mask(x, h, w, shift):
    """Tell apart what a shift has brought together: 0 or -100 for each pair of places."""
    m = x.new_zeros((h, w))
    parts = ((0, -WINDOW), (-WINDOW, -shift), (-shift, None))
    for i, rows in enumerate(parts):
        for j, columns in enumerate(parts):
            m[rows[0]:rows[1], columns[0]:columns[1]] = 3 * i + j
    m = m.view(h // WINDOW, WINDOW, w // WINDOW, WINDOW).permute(0, 2, 1, 3).reshape(-1, WINDOW * WINDOW)
    m = m.unsqueeze(1) - m.unsqueeze(2)
    return m.masked_fill(m != 0, -100.0).masked_fill(m == 0, 0.0)


def attention(x, p, i, shift):
    n, h, w, c = x.shape
    x = F.pad(x, (0, 0, 0, (WINDOW - w % WINDOW) % WINDOW, 0, (WINDOW - h % WINDOW) % WINDOW))
    _, ph, pw, _ = x.shape
    if shift:
        x = torch.roll(x, (-shift, -shift), (1, 2))
    windows, places = (ph // WINDOW) * (pw // WINDOW), WINDOW * WINDOW
    x = x.view(n, ph // WINDOW, WINDOW, pw // WINDOW, WINDOW, c).permute(0, 1, 3, 2, 4, 5)
    x = x.reshape(n * windows, places, c)
    q, k, v = (x @ p[f'qkv_w{i}'] + p[f'qkv_b{i}']).reshape(n * windows, places, 3, HEADS, c // HEADS) \
        .permute(2, 0, 3, 1, 4)
    a = (q * (c // HEADS) ** -0.5) @ k.transpose(-2, -1)
    a = a + p[f'near{i}'][offsets()].view(places, places, HEADS).permute(2, 0, 1).unsqueeze(0)
    if shift:
        m = p['mask'] if 'mask' in p else mask(x, ph, pw, shift)
        a = a.view(n, windows, HEADS, places, places) + m.unsqueeze(1).unsqueeze(0)
        a = a.view(-1, HEADS, places, places)
    x = (a.softmax(-1) @ v).transpose(1, 2).reshape(n * windows, places, c)
    x = x @ p[f'out_w{i}'] + p[f'out_b{i}']
    x = x.view(n, ph // WINDOW, pw // WINDOW, WINDOW, WINDOW, c).permute(0, 1, 3, 2, 4, 5).reshape(n, ph, pw, c)
    if shift:
        x = torch.roll(x, (shift, shift), (1, 2))
    return x[:, :h, :w, :].contiguous()


def forward(x, p):
    x = F.conv2d(x, p['stem_w'], p['stem_b'], 2).permute(0, 2, 3, 1)
    for i in range(2):
        x = x + attention(F.layer_norm(x, (C,), p[f'n1_w{i}'], p[f'n1_b{i}']), p, i, i * WINDOW // 2)
        y = F.layer_norm(x, (C,), p[f'n2_w{i}'], p[f'n2_b{i}']) @ p[f'up_w{i}'] + p[f'up_b{i}']
        x = x + F.gelu(y) @ p[f'down_w{i}'] + p[f'down_b{i}']
    _, h, w, _ = x.shape
    x = F.pad(x, (0, 0, 0, w % 2, 0, h % 2))
    x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
    return torch.tanh(x @ p['merge_w']).mean((1, 2))


class Windows(torch.nn.Module):
    def __init__(self, apart=None):
        """With what keeps places of other windows apart, it is in a table for images of 32 x 32."""
        super().__init__()
        if apart is not None:
            m = mask(torch.zeros(1), 16, 16, WINDOW // 2)
            self.register_buffer('mask', m.masked_fill(m != 0, apart))
        g = torch.Generator().manual_seed(6)
        for name, shape in shapes().items():
            v = torch.randn(shape, generator=g) * 0.3
            self.register_parameter(name, torch.nn.Parameter(v + 1 if name in ('n1_w0', 'n1_w1', 'n2_w0', 'n2_w1') else v))

    def forward(self, x):
        return forward(x, {**dict(self.named_parameters()), **dict(self.named_buffers())})
