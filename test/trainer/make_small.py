#!/usr/bin/python3
"""Write small networks, a few nodes over images of any size, that are to be refused or not.

make_small.py FOLDER

NETWORKS has them, as FOLDER/KIND.onnx, each by its nodes after the first ones: `q` are
features [N,4] and `p` images [N,4,h,w]; `r` is the output.
"""
import os
import struct
import sys

from make_backbone import write


def text(field, value):
    return field, 2, value.encode()


def shape(dims):
    return write([(1, 2, write([text(2, d) if isinstance(d, str) else (1, 0, d)])) for d in dims])


def port(name, dims):
    return write([text(1, name), (2, 2, write([(1, 2, write([(1, 0, 1), (2, 2, shape(dims))]))]))])


def attribute(name, value):
    if isinstance(value, list):
        return write([text(1, name)] + [(8, 0, v % (1 << 64)) for v in value] + [(20, 0, 7)])
    return write([text(1, name), (3, 0, value % (1 << 64)), (20, 0, 2)])


def node(op, inputs, outputs, **attributes):
    return write([text(1, i) for i in inputs.split()] + [text(2, o) for o in outputs.split()] +
                 [text(3, op + '_' + outputs.split()[0]), text(4, op)] +
                 [(5, 2, attribute(*a)) for a in attributes.items()])


def tensor(name, dims, values, ints=False):
    raw = struct.pack('<%d%s' % (len(values), 'q' if ints else 'f'), *values)
    return write([(1, 0, d) for d in dims] + [(2, 0, 7 if ints else 1), text(8, name), (9, 2, raw)])


def ints(name, *values):
    return tensor(name, [len(values)], values, True)


FIRST = [node('Conv', 'x w', 'p', kernel_shape=[2, 2], strides=[2, 2]),
         node('ReduceMean', 'p', 'q', axes=[2, 3], keepdims=0)]
WEIGHT = tensor('w', [4, 3, 2, 2], [((7 * i) % 11 - 5) / 10 for i in range(48)])
MATRIX = tensor('v', [4, 4], [((5 * i) % 7 - 3) / 10 for i in range(16)])

# KIND: nodes, and what they read
NETWORKS = {
    # each mixes the images of a batch, or leaves out some
    'mean': ([node('ReduceMean', 'q', 'm', axes=[0], keepdims=1), node('Sub', 'q m', 'r')], []),
    'mean-all': ([node('ReduceMean', 'q', 'm', keepdims=1), node('Sub', 'q m', 'r')], []),
    'sum': ([node('ReduceSum', 'q axes', 'm', keepdims=0), node('Sub', 'q m', 'r')], [ints('axes', -2)]),
    'softmax': ([node('Softmax', 'q', 'r', axis=0)], []),
    'softmax-moved': ([node('Transpose', 'q', 't', perm=[1, 0]), node('Softmax', 't', 's', axis=-1),
                       node('Transpose', 's', 'r', perm=[1, 0])], []),
    'norm-moved': ([node('Transpose', 'q', 't', perm=[1, 0]), node('LayerNormalization', 't g', 's', axis=0),
                    node('Transpose', 's', 'r', perm=[1, 0])], [tensor('g', [1], [2.0])]),
    'concat': ([node('Concat', 'q q', 'c', axis=0), node('ReduceMean', 'c', 'm', axes=[0], keepdims=1),
                node('Sub', 'q m', 'r')], []),
    'slice': ([node('Slice', 'q from to axes', 's'), node('Sub', 'q s', 'r')],
              [ints('from', 0), ints('to', 1), ints('axes', 0)]),
    'split': ([node('Split', 'q sizes', 's t', axis=0), node('Sub', 'q s', 'r')], [ints('sizes', 1, 19)]),
    'pad': ([node('Pad', 'q pads', 's'), node('ReduceSum', 's axes', 'm', keepdims=1), node('Sub', 'q m', 'r')],
            [ints('pads', 1, 0, 0, 0), ints('axes', 0)]),
    'gather': ([node('Gather', 'q first', 's', axis=0), node('Sub', 'q s', 'r')], [ints('first', 0)]),
    'matmul': ([node('Transpose', 'q', 't', perm=[1, 0]), node('MatMul', 'q t', 's'), node('MatMul', 's q', 'r')], []),
    'gemm': ([node('Gemm', 'q q', 's', transA=1), node('MatMul', 'q s', 'r')], []),
    'pairs': ([node('Unsqueeze', 'q zero', 'a'), node('Unsqueeze', 'q one', 'b'), node('Sub', 'a b', 'd'),
               node('ReduceMean', 'd', 'r', axes=[1], keepdims=0)], [ints('zero', 0), ints('one', 1)]),
    'reshape': ([node('Reshape', 'q flat', 's'), node('Softmax', 's', 't', axis=1),
                 node('Reshape', 't back', 'r')], [ints('flat', 1, -1), ints('back', -1, 4)]),
    'reshape-rows': ([node('Transpose', 'q', 't', perm=[1, 0]), node('Reshape', 't rows', 'r')], [ints('rows', -1, 4)]),
    'conv': ([node('Reshape', 'q same', 'u'), node('Conv', 'p u', 'c', kernel_shape=[1, 1]),
              node('ReduceMean', 'c', 'r', axes=[2, 3], keepdims=0)], [ints('same', -1, 4, 1, 1)]),
    'pool': ([node('Transpose', 'p', 's', perm=[1, 2, 0, 3]), node('GlobalAveragePool', 's', 't'),
              node('ReduceMean', 't', 'u', axes=[0, 1, 2, 3], keepdims=0), node('Sub', 'q u', 'r')], []),
    'output': ([node('Gemm', 'u q', 'r', transB=1)], [tensor('u', [20, 4], [i % 9 / 9 for i in range(80)])]),
    # these do not
    'apart': ([node('MatMul', 'q v', 's'), node('ReduceMean', 's', 'm', axes=[1], keepdims=1), node('Sub', 's m', 'r')],
              [MATRIX]),
    'moved': ([node('Transpose', 'q', 't', perm=[1, 0]), node('Gemm', 'v t', 's'), node('Softmax', 's', 'a', axis=0),
               node('Transpose', 'a', 'r', perm=[1, 0])], [MATRIX]),
    # attention as in PyTorch's MultiheadAttention: tokens first, then images and heads along one axis
    'heads': ([node('Reshape', 'p tokens', 'a'), node('Transpose', 'a', 'b', perm=[2, 0, 1]), node('MatMul', 'b v', 'c'),
               node('Shape', 'c', 'size'), node('Gather', 'size zero', 'long', axis=0), node('Concat', 'long rest', 'split', axis=0),
               node('Reshape', 'c split', 'd'), node('Transpose', 'd', 'e', perm=[1, 0, 2]),
               node('Transpose', 'd', 'f', perm=[1, 2, 0]), node('MatMul', 'e f', 'g'), node('Softmax', 'g', 'h', axis=-1),
               node('MatMul', 'h e', 'i'), node('Transpose', 'i', 'j', perm=[1, 0, 2]), node('Reshape', 'j size', 'k'),
               node('ReduceMean', 'k', 'r', axes=[0], keepdims=0)],
              [MATRIX, ints('tokens', 0, 4, -1), ints('zero', 0), ints('rest', -1, 2)]),
    # no model at all
    'twice': ([node('Relu', 'q', 'r'), node('Neg', 'q', 'r')], []),
    'weight-made': ([node('MatMul', 'q v', 'r'), node('Relu', 'r', 'v')], [MATRIX]),
    'input-made': ([node('Relu', 'q', 'r'), node('Relu', 'q', 'x')], []),
    'no-output': ([node('Relu', 'q', 'r')], []),
}


def save(kind):
    nodes, values = NETWORKS[kind]
    graph = [(1, 2, n) for n in FIRST + nodes] + [text(2, 'small')] + [(5, 2, v) for v in [WEIGHT] + values]
    graph.append((11, 2, port('x', ['n', 3, 'h', 'w'])))
    if kind != 'no-output':
        graph.append((12, 2, port('r', ['n', 4])))
    model = [(1, 0, 8), (7, 2, write(graph)), (8, 2, write([text(1, ''), (2, 0, 17)]))]
    open(os.path.join(sys.argv[1], kind + '.onnx'), 'wb').write(write(model))


def main():
    for kind in NETWORKS:
        save(kind)


if __name__ == '__main__':
    main()
