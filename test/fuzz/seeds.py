#!/usr/bin/python3
"""Write the seeds of the fuzzers: small inputs that are well formed.

seeds.py FOLDER

Each goes to FOLDER/TARGET/NAME.  JPEG images are not made here.  Names that begin
with "crash" are of inputs that once did harm, with "bad" of others to be refused.
"""
import gzip
import os
import struct
import sys
import zlib


def save(target, name, data):
    folder = os.path.join(sys.argv[1], target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), 'wb') as f:
        f.write(data)


# ------------------------------------------------------------------ the server

def vote(*labels):
    out = struct.pack('>I', len(labels))
    for label, top, bins in labels:
        out += struct.pack('>I', len(label)) + label + struct.pack('>d', top)
        for b in bins:
            out += b.to_bytes(16, 'big')
    return out


def bins(*rows):
    out = b'\0' + struct.pack('<q', len(rows))
    for count, correct, confidence in rows:
        out += struct.pack('<qq', count, correct) + int(confidence * 2 ** 80).to_bytes(16, 'little')
    return out


def score(counts, loss, brier, state_of_bins, *labels):
    out = struct.pack('>5q', *counts)
    for top, sums in (loss, brier):
        out += struct.pack('>d', top) + b''.join(b.to_bytes(16, 'big') for b in sums)
    out += struct.pack('>I', len(state_of_bins)) + state_of_bins + struct.pack('>I', len(labels))
    for label, n, correct in labels:
        out += struct.pack('>I', len(label)) + label + struct.pack('>qq', n, correct)
    return out


def server():
    save('vote', 'empty', vote())
    save('vote', 'one', vote((b'robin', 0.0, (1 << 80, 0, 0))))
    save('vote', 'two', vote((b'robin', -3.0, (1 << 83, 1 << 60, 5)), (b'', -5.0, (1 << 63, 0, 1))))
    save('vote', 'far', vote((b'wren', -4e240, (77, 1, 1)), (b'heron', 4e240, (1 << 127, 1, 1 << 127))))
    save('bins', 'one', bins((3, 2, 2.5)))
    save('bins', 'four', bins((0, 0, 0), (5, 1, 1.75), (1000000, 700000, 600000.5), (1 << 40, 0, 1 << 40)))
    nothing = (float('-inf'), (0, 0, 0))
    save('score', 'empty', score((0, 0, 0, 0, 0), nothing, nothing, bins((0, 0, 0))[1:]))
    save('score', 'two', score((1, 2, 1, 3, 4), (0.0, (1 << 60, 5, 0)), (-1.0, (1 << 83, 0, 1)),
                               bins((4, 3, 2.5), (0, 0, 0))[1:], (b'robin', 3, 2), (b'', 1, 0)))
    save('array_text', 'plain', b'{a,NULL,3}')
    save('array_text', 'quoted', b'{"a,b","{c}","\\"","\\\\",""}')
    save('array_text', 'matrix', b'[0:1][-1:0]={{1,2},{3,4}}')
    save('vector_text', 'plain', b'[1,-2.5,3e-7]')
    save('vector_text', 'zeros', b'[0,-0,0.0,.5,5.,1e+3,1.17549435e-38,3.4028235e+38]')
    save('vector_text', 'open', b'[1,2')


def label_page(size, *labels):
    page = bytearray(size)
    at = size
    for i, label in enumerate(labels):
        item = struct.pack('<IIIII', 0, 7 + i, i, 1, len(label)) + label
        item += bytes(-len(item) % 4)
        at -= len(item)
        page[at:at + len(item)] = item
        struct.pack_into('<H', page, 8 + 2 * i, at)
    struct.pack_into('<IHH', page, 0, 7, len(labels), at)
    return bytes(page)


def tree_page(size, level, *keys):
    page = bytearray(size)
    struct.pack_into('<HHI', page, 0, level, len(keys), 0)
    struct.pack_into('<%dQ' % len(keys), page, 8, *keys)
    if level > 0:
        capacity = (size - 8) // 12
        struct.pack_into('<%dI' % len(keys), page, 8 + 8 * capacity, *range(1, len(keys) + 1))
    return bytes(page)


def index_page(kind, nlists, values, codes, following=0xffffffff):
    """A list and a page whose frame and checksums the target makes right."""
    how = kind - 1 | 8 | 16 | 32
    body = bytes(24) + struct.pack('<IIHH6II', *codes) + bytes(i % 256 for i in range(512 - 24 - 40 - 8))
    return bytes([how, 7]) + struct.pack('<HB', 99, nlists) + struct.pack('<IfffffIIIII', *values) + body + \
        struct.pack('<IHH', following, kind, 0x4e57)


def pages():
    none = 0xffffffff
    full = (1, 2.5, 0.5, 0.1, 0.25, 4.0, 40, 3, 9, 1, 0)
    empty = (1, 0.0, 0.0, 0.0, 0.0, 0.0, 0, none, none, 0, 0)
    codes = (2, 1, 5, 1, 4, 5, none, none, none, none, 0)
    save('index_page', 'codes', index_page(5, 3, full, codes))
    save('index_page', 'chain', index_page(5, 3, full, (2, 1, 12) + codes[3:], 17))
    for kind in (1, 2, 3, 4, 6):
        save('index_page', 'kind-%d' % kind, index_page(kind, 1, empty, codes))
    save('label_page', 'empty', struct.pack('<H', 5) + label_page(64))
    save('label_page', 'three', struct.pack('<H', 9) + label_page(160, b'robin', b'', b'a wren'))
    save('tree_page', 'leaf', struct.pack('<HB', 40, 0) + tree_page(64, 0, 50, 3, 1 << 60, 40))
    save('tree_page', 'full', struct.pack('<HB', 40, 0) + tree_page(40, 0, 50, 3, 1 << 60, 40))
    save('tree_page', 'inner', struct.pack('<HB', 40, 1) + tree_page(96, 1, 5, 17, 40, 1 << 50))


# ------------------------------------------------------------------ images

def png(width, height, depth, color, interlace, size=None, block=None):
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]

    def rows(w, h):
        line = (w * channels * depth + 7) // 8
        return b''.join(bytes([y % 5]) + bytes((7 * x + 3 * y) % 251 for x in range(line)) for y in range(h)) if w else b''

    if interlace:
        raw = b''
        for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
            raw += rows((width - x0 + dx - 1) // dx, (height - y0 + dy - 1) // dy)
    else:
        raw = rows(width, height)
    out = b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', *(size or (width, height)), depth, color, 0, 0, interlace))
    if block:
        out += chunk(b'eXIf', block)
    if color == 3:
        out += chunk(b'PLTE', bytes(i * 5 % 256 for i in range(3 * 2 ** depth))) + chunk(b'tRNS', b'\x00\x80')
    return out + chunk(b'IDAT', zlib.compress(raw, 9)) + chunk(b'IEND', b'')


def exif(orientation, order, others=0, gap=0):
    """A TIFF header and a directory whose last entry is the orientation."""
    return (b'II' if order == '<' else b'MM') + struct.pack(order + 'HI', 42, 8 + gap) + bytes(gap) + \
        struct.pack(order + 'H', others + 1) + b''.join(struct.pack(order + 'HHII', 256 + i, 4, 1, 9) for i in range(others)) + \
        struct.pack(order + 'HHIHHI', 0x112, 3, 1, orientation, 0, 0)


def idx(*dims, data=None, kind=8):
    size = 1
    for d in dims:
        size *= d
    return struct.pack('>HBB', 0, kind, len(dims)) + struct.pack('>%dI' % len(dims), *dims) + \
        (bytes(i % 3 for i in range(size)) if data is None else data)


def piece(data):
    return struct.pack('<H', len(data)) + data


def images():
    for i, (depth, color) in enumerate(((8, 2), (8, 0), (1, 0), (4, 3), (16, 6), (8, 4))):
        save('image', 'png-%d-%d' % (depth, color), bytes([37 * i % 256]) + png(9, 6, depth, color, i % 2))
    save('image', 'png-turned', b'\x05' + png(9, 6, 8, 2, 0, block=exif(6, '>')))
    for orientation in range(1, 9):
        order = '<>'[orientation % 2]
        save('exif', 'block-%d' % orientation, b'\0' + exif(orientation, order, orientation % 3, orientation // 2))
    segment = b'Exif\0\0' + exif(8, '<', 2)
    save('exif', 'jpeg', b'\1\xff\xd8\xff\xe0\0\x04ab\xff\xff\xe1' + struct.pack('>H', len(segment) + 2) + segment + b'\xff\xda')
    save('exif', 'png', b'\1' + png(2, 2, 1, 0, 0, block=exif(3, '>', 1)))
    labels, pixels = idx(4), idx(4, 3, 2)
    save('idx', 'plain', piece(labels) + piece(b'') + pixels)
    save('idx', 'named', piece(labels) + piece(b'robin\nwren\r\nheron\n') + pixels)
    save('idx', 'gzip', piece(gzip.compress(labels, mtime=0)) + piece(b'') + gzip.compress(pixels, mtime=0))
    save('idx', 'short', piece(labels) + piece(b'') + pixels[:-3])


# ------------------------------------------------------------------ ONNX

def varint(n):
    n &= (1 << 64) - 1
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A field of a message: text, bytes and messages by their length, numbers by their bits."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack('<f', value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, values, floats=True, raw=True):
    out = b''.join(field(1, d) for d in dims) + field(2, 1 if floats else 7) + field(8, name)
    if raw:
        return out + field(9, struct.pack('<%d%s' % (len(values), 'f' if floats else 'q'), *values))
    if floats:
        return out + field(4, struct.pack('<%df' % len(values), *values))
    return out + b''.join(field(7, v) for v in values)


def weight(name, *dims):
    n = 1
    for d in dims:
        n *= d
    return tensor(name, dims, [(i * 7 % 11 - 5) / 8 for i in range(n)])


def ints(name, *values):
    return tensor(name, (len(values),), values, floats=False)


def attribute(name, value):
    out = field(1, name)
    if isinstance(value, float):
        return out + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return out + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return out + field(4, value) + field(20, 3)
    return out + b''.join(field(8, v) for v in value) + field(20, 7)


def node(op, inputs, outputs, **attributes):
    return b''.join(field(1, i) for i in inputs) + b''.join(field(2, o) for o in outputs) + field(4, op) + \
        b''.join(field(5, attribute(k, v)) for k, v in attributes.items())


def value(name, dims):
    shape = b''.join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def model(nodes, weights, metas=(), inputs=(('x', ('N', 3, 8, 8)),), output='y', opset=17):
    graph = b''.join(field(1, n) for n in nodes) + field(2, 'g') + b''.join(field(5, w) for w in weights) + \
        b''.join(field(11, value(*i)) for i in inputs) + field(12, value(output, ('N', 4)))
    return field(1, 8) + field(2, 'seed') + field(7, graph) + field(8, field(1, '') + field(2, opset)) + \
        b''.join(field(14, field(1, k) + field(2, v)) for k, v in metas)


def backbone(name, body, weights=(), how=0, **kind):
    """A network of one convolution, then nodes from t to u, then the average over the image."""
    nodes = [node('Conv', ['x', 'w', 'b'], ['t'], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], group=1)]
    save('import', name, bytes([how]) +
         model(nodes + body, [weight('w', 4, 3, 3, 3), weight('b', 4)] + list(weights), **kind))


def backbones():
    mean = node('GlobalAveragePool', ['u'], ['v'])
    flat = node('Flatten', ['v'], ['y'], axis=1)
    for i, op in enumerate(('Relu', 'Sigmoid', 'Tanh', 'Softplus', 'Erf', 'Exp', 'Log', 'Sqrt', 'Reciprocal', 'Neg', 'Abs',
                            'HardSwish', 'Identity', 'Dropout', 'Gelu')):
        backbone(op.lower(), [node(op, ['t'], ['u']), mean, flat], how=i % 4)
    for op in ('Add', 'Sub', 'Mul', 'Div'):
        backbone(op.lower(), [node(op, ['t', 'c'], ['u']), mean, flat], [weight('c', 4, 1, 1)])
    backbone('sum', [node('Sum', ['t', 't', 'c'], ['u']), mean, flat], [weight('c', 1, 4, 1, 1)])
    backbone('gelu-tanh', [node('Gelu', ['t'], ['u'], approximate='tanh'), mean, flat])
    backbone('leakyrelu', [node('LeakyRelu', ['t'], ['u'], alpha=0.2), mean, flat])
    backbone('hardsigmoid', [node('HardSigmoid', ['t'], ['u'], alpha=0.2, beta=0.4), mean, flat])
    backbone('clip', [node('Clip', ['t', 'low', 'high'], ['u']), mean, flat],
             [tensor('low', (), [0.0]), tensor('high', (), [6.0], raw=False)])
    backbone('clip-6', [node('Clip', ['t'], ['u'], min=0.0, max=6.0), mean, flat], opset=6)
    backbone('pow', [node('Pow', ['t', 'e'], ['u']), mean, flat], [tensor('e', (), [2.0])])
    backbone('cast', [node('Cast', ['t'], ['u'], to=1), mean, flat])
    for how in range(4):
        backbone('batchnorm-%d' % how, [node('BatchNormalization', ['t', 's', 'o', 'm', 'a'], ['u'], epsilon=1e-5), mean, flat],
                 [weight(n, 4) for n in 'soma'], how=how)
    for how in range(4):
        backbone('merged-%d' % how, [node('Identity', ['z'], ['r']), node('Conv', ['t', 'k', 'r'], ['p']),
                                     node('BatchNormalization', ['p', 'o', 'z', 'r', 'o'], ['q']), node('Conv', ['q', 'k', 'r'], ['s']),
                                     node('Conv', ['s', 'l', 'z'], ['c']), node('Add', ['c', 'c'], ['u']), mean, flat],
                 [weight('k', 4, 4, 1, 1), weight('l', 4, 4, 1, 1), tensor('z', (4,), [0.0] * 4), tensor('o', (4,), [1.0] * 4)], how=how)
    backbone('maxpool', [node('MaxPool', ['t'], ['u'], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), mean, flat])
    backbone('maxpool-gpu', [node('MaxPool', ['t'], ['u'], kernel_shape=[2, 2], strides=[1, 1], dilations=[1, 1]), mean, flat], how=1)
    backbone('averagepool', [node('AveragePool', ['t'], ['u'], kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1],
                                  count_include_pad=1), mean, flat])
    backbone('averagepool-gpu', [node('AveragePool', ['t'], ['u'], kernel_shape=[2, 2], strides=[2, 2]), mean, flat], how=1)
    for how in range(2):
        backbone('conv-group-%d' % how, [node('Conv', ['t', 'k'], ['u'], group=2, auto_pad='SAME_UPPER', dilations=[1, 1]), mean, flat],
                 [weight('k', 4, 2, 3, 3)], how=how)
        backbone('conv-same-%d' % how, [node('Conv', ['t', 'k'], ['u'], auto_pad='SAME_LOWER', strides=[2, 1]), mean, flat],
                 [weight('k', 2, 4, 3, 2)], how=how)
    backbone('map', [node('Relu', ['t'], ['y'])], how=4)
    backbone('reshape', [node('Reshape', ['t', 's'], ['u']), node('ReduceMean', ['u'], ['y'], axes=[-1], keepdims=0)],
             [ints('s', 0, 4, -1)])
    backbone('reducesum', [node('ReduceSum', ['t', 'a'], ['u'], keepdims=1), node('Squeeze', ['u', 'a'], ['y'])], [ints('a', 2, 3)])
    backbone('squeeze-11', [node('ReduceSum', ['t'], ['u'], axes=[2, 3], keepdims=1), node('Squeeze', ['u'], ['y'], axes=[2, 3])], opset=11)
    backbone('unsqueeze', [node('GlobalAveragePool', ['t'], ['u']), node('Unsqueeze', ['u', 'a'], ['v']), node('Reshape', ['v', 's'], ['y'])],
             [ints('a', 1), ints('s', 2, 4)])
    backbone('transpose', [node('Transpose', ['t'], ['u'], perm=[0, 2, 3, 1]), node('ReduceMean', ['u'], ['y'], axes=[1, 2], keepdims=0)])
    backbone('slice', [node('Slice', ['t', 's', 'e', 'a', 'p'], ['u']), mean, flat],
             [ints('s', 0, 1), ints('e', -1, 9223372036854775807), ints('a', 2, 3), ints('p', 1, 2)])
    backbone('pad', [node('Pad', ['t', 'p', 'v'], ['u'], mode='constant'), mean.replace(b'\x0a\x01v', b'\x0a\x01u'), flat],
             [ints('p', 0, 0, 1, 1, 0, 0, 1, 0), tensor('v', (), [0.5])])
    backbone('concat', [node('Concat', ['t', 't'], ['u'], axis=1), mean, flat])
    backbone('split', [node('Split', ['t', 's'], ['p', 'q'], axis=1), node('Concat', ['q', 'p'], ['u'], axis=1), mean, flat], [ints('s', 1, 3)])
    backbone('gather', [node('Gather', ['t', 'i'], ['u'], axis=1), mean, flat], [ints('i', 3, -4, 1)])
    backbone('gather-one', [node('Gather', ['t', 'i'], ['u'], axis=3), node('ReduceMean', ['u'], ['y'], axes=[2], keepdims=0)],
             [tensor('i', (), [1], floats=False)])
    backbone('expand', [node('GlobalAveragePool', ['t'], ['p']), node('Expand', ['p', 's'], ['u']), mean, flat], [ints('s', 2, 4, 3, 3)])
    for name, low in (('mask', -100.0), ('mask-inf', -float('inf'))):      # constants, which nothing folds here
        backbone(name, [node('Unsqueeze', ['k', 'a'], ['r']), node('Add', ['t', 'r'], ['u']), mean, flat],
                 [tensor('k', (4, 4), [0.0, 0.0, low, 0.0] * 4), ints('a', 0)])
    backbone('gemm', [node('GlobalAveragePool', ['t'], ['u']), node('Flatten', ['u'], ['v']),
                      node('Gemm', ['v', 'g', 'h'], ['y'], transB=1, alpha=0.5, beta=2.0)], [weight('g', 5, 4), weight('h', 5)])
    backbone('attention', [node('Reshape', ['t', 's'], ['r']), node('Transpose', ['r'], ['q'], perm=[0, 2, 1]),
                           node('LayerNormalization', ['q', 'ls', 'lb'], ['n'], axis=-1, epsilon=1e-5),
                           node('MatMul', ['n', 'm'], ['k']), node('MatMul', ['k', 'r'], ['a']), node('Softmax', ['a'], ['p'], axis=-1),
                           node('MatMul', ['p', 'n'], ['o']), node('ReduceMean', ['o'], ['y'], axes=[1], keepdims=0)],
             [ints('s', 0, 4, -1), weight('m', 4, 4), weight('ls', 4), weight('lb', 4)])
    save('import', 'grey', b'\0' + model([node('Flatten', ['x'], ['f']), node('MatMul', ['f', 'w'], ['y'])], [weight('w', 64, 2)],
                                         inputs=(('x', ('N', 1, 8, 8)), ('w', (64, 2)))))


def ports(how, inputs, outputs, result):
    def side(items):
        out = bytes([len(items)])
        for kind, dims in items:
            out += bytes([kind, len(dims)]) + bytes(dims)
        return out
    return bytes([how]) + side(inputs) + side(outputs) + bytes([len(result)]) + bytes(result)


def models():
    metas = [('nwhead.format', '1'), ('nwhead.head', 'fc'), ('nwhead.kernel', 'dot'), ('nwhead.tau', '1'), ('nwhead.dim', '3'),
             ('nwhead.channels', '3'), ('nwhead.height', '8'), ('nwhead.width', '8'), ('nwhead.zoom', '1.15'),
             ('nwhead.mean', '0.5,0.4,0.3'), ('nwhead.std', '0.2,0.3,0.4'), ('nwhead.classes', '["a\\"b","\\u0007c"]')]
    head = [weight('head.weight', 2, 2), weight('head.bias', 2)]
    image = (0, (0xff, 3, 8, 8))
    save('model', 'fc', ports(0, [image], [(1, (0xff, 3))], (2, 3)) + model([], head, metas))
    save('model', 'nw', ports(0, [image], [(1, (0xff, 3))], (2, 3)) + model([], [], [('nwhead.head', 'nw')] + metas[2:-1]))
    save('model', 'plain', ports(7, [(0, (0xff, 3, 0xff, 0xff))], [(2, (0xff, 0xff, 0xff, 0xff))], (2, 3, 2, 2)) +
         model([node('Relu', ['x'], ['y'])], [], output='z'))
    save('model', 'fixed', ports(1, [(0, (4, 1, 5, 6))], [(2, (4, 7))], (4, 7)) + model([], [], metas[7:9]))
    save('model', 'checkpoint', ports(0, [], [], ()) + model([], head, [('nwhead.step', '1200'), ('seed', '7')]))


def lists():
    for i, text in enumerate(('0.5,0.4,0.3', '12', '-3', '1e-3', '1,2,3,4', 'cpu', ',,1', '0x10', 'nan', '1e999', '99999999999999999999')):
        save('lists', '%02d' % i, text.encode())


def nested(depth):
    """A type of sequences of sequences of sequences, in an input of a graph."""
    out = b''
    for _ in range(depth):
        out = field(4, field(1, out))
    return field(7, field(11, field(2, out)))


def crashes():
    mean = node('GlobalAveragePool', ['u'], ['v'])
    flat = node('Flatten', ['v'], ['y'], axis=1)
    one = (3, 2, 2.5)
    save('bins', 'crash-count-of-64-bits', bins(one)[:1] + struct.pack('<q', (1 << 32) + 1) + bins(one)[9:])
    save('vote', 'crash-far-beyond-double', vote((b'a', -4e240, (77, 0, 2)), (b'b', -4e240, (77, 1 << 56, 0))))
    save('idx', 'crash-terabyte', piece(idx(4)) + piece(b'') + struct.pack('>IIII', 0x803, 4, 50000, 5000000))
    save('idx', 'bad-many-labels', piece(struct.pack('>II', 0x801, 99999999)) + piece(b'') + idx(4, 3, 2))
    save('image', 'crash-png-gigabyte', b'\0' + png(9, 6, 8, 2, 0, size=(30000, 30000)))
    save('import', 'bad-nested', b'\0' + nested(1200))
    save('import', 'crash-no-names', b'\0' + field(7, field(1, b'') + field(5, b'') + field(11, b'') + field(12, b'')))
    save('import', 'crash-no-operator', b'\0' + model([field(1, 'x') + field(2, 'y')], []))
    save('import', 'crash-no-attribute-name', b'\0' + model([field(1, 'x') + field(2, 'y') + field(4, 'Flatten') + field(5, field(3, 1))], []))
    save('import', 'crash-no-output', b'\0' + model([node('Relu', ['x'], [])], []))
    save('import', 'crash-not-computed', b'\0' + model([], []))
    backbone('crash-no-inputs', [node('Add', ['t'], ['u']), mean, flat])
    backbone('crash-stride-0', [node('MaxPool', ['t'], ['u'], kernel_shape=[2, 2], strides=[0, 1], ceil_mode=1), mean, flat])
    backbone('bad-kernel-of-one', [node('MaxPool', ['t'], ['u'], kernel_shape=[2]), mean, flat])
    backbone('crash-kernel-millions', [node('AveragePool', ['t'], ['u'], kernel_shape=[50000, 50000], pads=[49999] * 4), mean, flat])
    backbone('bad-weight-rank', [node('Conv', ['t', 'b'], ['u']), mean, flat])
    backbone('crash-group-0', [node('Conv', ['t', 'k'], ['u'], group=0), mean, flat], [weight('k', 4, 0, 3, 3)], how=1)
    backbone('bad-group-3', [node('Conv', ['t', 'k'], ['u'], group=2), mean, flat], [weight('k', 3, 2, 3, 3)], how=1)
    backbone('bad-norm-channels', [node('BatchNormalization', ['t', 's', 'o', 'm', 'a'], ['u']), mean, flat],
             [weight('s', 5), weight('o', 4), weight('m', 4), weight('a', 4)], how=1)
    backbone('crash-norm-inputs', [node('BatchNormalization', ['t'], ['u']), mean, flat])
    backbone('crash-perm', [node('Transpose', ['t'], ['u'], perm=[0, 7, -90000000, 1]), mean, flat])
    backbone('crash-perm-short', [node('Transpose', ['t'], ['u'], perm=[1]), mean, flat])
    backbone('crash-gather-index', [node('Gather', ['t', 'i'], ['u'], axis=1), mean, flat], [ints('i', 1 << 40)])
    backbone('crash-pads', [node('Pad', ['t', 'p'], ['u']), mean, flat], [ints('p', 1)])
    backbone('crash-no-pads', [node('Pad', ['t'], ['u']), mean, flat])
    backbone('bad-slice-ends', [node('Slice', ['t', 's', 'e'], ['u']), mean, flat], [ints('s', 0, 0, 0), ints('e', 1)])
    backbone('bad-no-shape', [node('Reshape', ['t'], ['y'])])
    backbone('crash-shape-overflow', [node('Reshape', ['t', 's'], ['y'])], [ints('s', 1 << 62, 1 << 62, -1)])
    backbone('crash-expand', [node('Expand', ['t', 's'], ['u']), mean, flat], [ints('s', 1 << 60, 1 << 60, 1, 1, 1, 1)])
    backbone('bad-flatten', [node('Flatten', ['t'], ['y'], axis=-9)])
    backbone('crash-split', [node('Split', ['t', 's'], ['u', 'q'], axis=1), mean, flat], [ints('s', -5, 1 << 62)])
    backbone('bad-concat', [node('Concat', ['t', 'b'], ['u'], axis=3), mean, flat])
    backbone('crash-dims-overflow', [node('Add', ['t', 'c'], ['u']), mean, flat],
             [tensor('c', (1 << 31, 1 << 31, 1 << 31), [1.0])])
    image = (0, (0xff, 3, 8, 8))
    sizes = [('nwhead.channels', '3'), ('nwhead.height', '8'), ('nwhead.width', '8')]
    fc = sizes + [('nwhead.head', 'fc'), ('nwhead.classes', '["a","b"]')]
    head = [weight('head.weight', 2, 2), weight('head.bias', 2)]
    save('model', 'crash-head-dim', ports(0, [image], [(1, (0xff, 30))], (2, 30)) + model([], head, fc))
    save('model', 'crash-no-meta', ports(0, [image], [(1, (0xff, 3))], (2, 3)) + model([], [], sizes) + field(14, b''))
    save('model', 'crash-zoom', ports(0, [image], [(1, (0xff, 3))], (2, 3)) + model([], [], sizes + [('nwhead.zoom', 'inf')]))
    save('model', 'crash-std', ports(0, [image], [(1, (0xff, 3))], (2, 3)) + model([], [], sizes + [('nwhead.std', '1e-320')]))
    save('model', 'crash-height', ports(0, [(0, (0xff, 3, 0xff, 0xff))], [(1, (0xff, 3))], (2, 3)) +
         model([], [], [('nwhead.height', '2000000000'), ('nwhead.width', '2000000000')]))
    save('model', 'crash-no-dim', ports(0, [image], [(1, (0xff, 0))], (2, 0)) + model([], [], sizes))
    save('model', 'crash-step', ports(0, [], [], ()) + model([], head, [('nwhead.step', '-1')]))


server()
crashes()
pages()
images()
backbones()
models()
lists()
