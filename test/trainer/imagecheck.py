#!/usr/bin/python3
"""Compare what becomes of images with NumPy, PyTorch and, where it is at hand, Pillow.

imagecheck.py BIN FOLDER exif|png|folders|resize|window|boxes|colours|jitter

BIN is the program test-images; files go to FOLDER.  Draws are of fixed seeds, and judged
by p-values.  Below P a distribution is called another one; some fifty are judged.
"""
import os
import struct
import subprocess
import sys
import zlib

import numpy as np
from scipy import stats

P = 1e-4
BIN, FOLDER = sys.argv[1], sys.argv[2]


def path(name):
    return os.path.join(FOLDER, name)


def run(*args):
    return subprocess.run([BIN] + [str(a) for a in args], check=True, stdout=subprocess.PIPE).stdout.decode()


def table(*args):
    return np.array([[float(v) for v in line.split()] for line in run(*args).splitlines()])


def picture(height, width, seed=1):
    """Smooth colours with an edge and some noise: no two directions look the same."""
    rng = np.random.RandomState(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 90 * np.sin(y / 7 + 0.1 * x), 255.0 * x / width, 200.0 * y / height + 50 * (x > width / 3)]
    noisy = np.stack(planes, -1) + rng.normal(0, 6, (height, width, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


# ------------------------------------------------------------------ files

def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))


def png(pixels, *extra):
    height, width = pixels.shape[:2]
    rows = b''.join(b'\0' + row.tobytes() for row in pixels)
    color = 2 if pixels.ndim == 3 else 0
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, color, 0, 0, 0)) + \
        b''.join(extra) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


def save(name, data):
    with open(path(name), 'wb') as f:
        f.write(data)
    return path(name)


def jpeg(pixels):
    height, width = pixels.shape[:2]
    save('in.ppm', b'P6 %d %d 255\n' % (width, height) + pixels.tobytes())
    run('jpeg', path('in.ppm'), path('plain.jpg'))
    with open(path('plain.jpg'), 'rb') as f:
        return f.read()


def tiff(orientation, order='<', kind=3, count=1, before=3, entries=None, offset=None, gap=0):
    """A TIFF header whose first directory has some other entries before that of the orientation."""
    own = struct.pack(order + 'HHI', 0x112, kind, count)
    own += struct.pack(order + 'HH', orientation, 0) if kind == 3 else struct.pack(order + 'I', orientation)
    other = b''.join(struct.pack(order + 'HHII', 0x8000 + i, 4, 1, 77) for i in range(before))
    return (b'II' if order == '<' else b'MM') + struct.pack(order + 'HI', 42, 8 + gap if offset is None else offset) + \
        bytes(gap) + struct.pack(order + 'H', before + 1 if entries is None else entries) + other + own + bytes(4)


def segment(marker, data):
    return b'\xff' + bytes([marker]) + struct.pack('>H', len(data) + 2) + data


def with_exif(plain, block, after=0):
    """A JPEG with an EXIF block, right at its begin or after so many bytes."""
    return plain[:2 + after] + segment(0xe1, b'Exif\0\0' + block) + plain[2 + after:]


def decode(name, channels=3, enough=1 << 20):
    height, width, got = (int(v) for v in run('decode', path(name), channels, enough, path('out')).split())
    assert got == channels
    return np.fromfile(path('out'), np.uint8).reshape(height, width, channels)


# What EXIF's numbers ask for, one by one.
TURNS = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.rot90(a, 2).transpose(1, 0, 2),
    8: lambda a: np.rot90(a, 1),
}


def exif():
    pixels = picture(48, 80)
    plain = jpeg(pixels)
    save('plain.jpg', plain)
    try:
        from PIL import Image, ImageOps
    except ImportError:
        Image = None
    jfif = 18  # bytes of the segment that libjpeg begins with
    for turn, turned in TURNS.items():
        for n, block in enumerate((tiff(turn), tiff(turn, '>'), tiff(turn, '>', before=0, gap=9), tiff(turn, before=40))):
            save('a.png', png(pixels, chunk(b'eXIf', block)))
            assert np.array_equal(decode('a.png'), turned(pixels)), ('png', turn, n)
            data = with_exif(plain, block, after=jfif * (n % 2))
            save('a.jpg', data)
            for channels in 1, 3:
                for enough in 1 << 20, 20, 9:
                    whole = decode('plain.jpg', channels, enough)
                    assert whole.shape[0] == {1 << 20: 48, 20: 24, 9: 12}[enough]
                    assert np.array_equal(decode('a.jpg', channels, enough), turned(whole)), ('jpeg', turn, n, enough)
            if Image is not None:
                for got, name in (decode('a.png'), 'a.png'), (decode('a.jpg'), 'a.jpg'):
                    wanted = np.asarray(ImageOps.exif_transpose(Image.open(path(name))).convert('RGB'))
                    # libjpeg's own enlargement of colours is the same in both; of another one some levels differ
                    assert got.shape == wanted.shape and np.abs(got.astype(int) - wanted).max() <= 3, ('Pillow', turn, name)
        other = segment(0xe1, b'http://ns.adobe.com/xap/1.0/\0<x/>') + segment(0xe1, b'Exif')
        save('b.jpg', plain[:2] + other + b'\xff\xff' + with_exif(plain, tiff(turn))[2:])
        assert np.array_equal(decode('b.jpg'), turned(decode('plain.jpg'))), ('behind others', turn)
        save('b.png', png(pixels)[:-12] + chunk(b'eXIf', tiff(turn)) + chunk(b'IEND', b''))
        assert np.array_equal(decode('b.png'), turned(pixels)), ('behind pixels', turn)
    block = tiff(6)
    bad = {
        '0': tiff(0), '9': tiff(9), '65535': tiff(65535), 'a long': tiff(6, kind=4), 'two': tiff(6, count=2),
        'beyond': tiff(6, offset=5000), 'at the end': tiff(6, offset=len(block)), 'far': tiff(6, offset=0xffffffff),
        'no entry': tiff(6, entries=0), 'cut': block[:-8], 'empty': b'', 'order': b'IM' + block[2:], '43': block[:2] + b'+' + block[3:],
    }
    for what, block in bad.items():
        save('a.png', png(pixels, chunk(b'eXIf', block)))
        save('a.jpg', with_exif(plain, block))
        assert np.array_equal(decode('a.png'), pixels), ('png', what)
        assert np.array_equal(decode('a.jpg'), decode('plain.jpg')), ('jpeg', what)
    # more entries than there are: the one that is there counts
    save('a.jpg', with_exif(plain, tiff(6, entries=65535)))
    assert np.array_equal(decode('a.jpg'), TURNS[6](decode('plain.jpg')))
    damaged = bytearray(png(pixels, chunk(b'eXIf', tiff(6))))
    damaged[8 + 25 + 8 + len(tiff(6))] ^= 1
    save('a.png', damaged)
    assert np.array_equal(decode('a.png'), pixels), 'checksum'
    print('eight orientations%s; %d damaged blocks ignored' % (', as Pillow turns them' if Image else '', len(bad) + 1))


def encoded(values, depth, color, *extra):
    """A PNG of [h, w, channels] of any depth and kind of colour."""
    height, width = values.shape[:2]
    bits = np.unpackbits(values.astype('>u2').view(np.uint8).reshape(height, -1, 2), axis=2)[:, :, 16 - depth:]
    rows = b''.join(b'\0' + np.packbits(row).tobytes() for row in bits)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, depth, color, 0, 0, 0)) + \
        b''.join(extra) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


def over_white(pixels, alpha):
    a = alpha[..., None] / 255
    return np.floor(pixels * a + 255 * (1 - a) + 0.5).astype(np.uint8)


def same_levels(what, data, wanted):
    """What is decoded, grey and in colour, is what is wanted; Pillow, where it is at hand, wants it too."""
    name = save('a.png', data)
    levels = [(3, wanted)] + ([(1, wanted)] if wanted.shape[-1] == 1 else [])
    for channels, each in levels:
        assert np.array_equal(decode('a.png', channels), np.broadcast_to(each, each.shape[:2] + (channels,))), (what, channels)
    try:
        from PIL import Image
    except ImportError:
        return
    if 'of 16 bits' not in what:  # which Pillow cuts off, or cannot read
        seen = Image.open(name).convert('RGBA')
        seen = np.asarray(Image.alpha_composite(Image.new('RGBA', seen.size, (255, 255, 255, 255)), seen).convert('RGB'))
        assert np.abs(seen.astype(int) - wanted).max() <= 1, (what, 'Pillow')


def png_kinds():
    """Levels of 16 bits, and parts that are transparent, as viewers show them."""
    colour, grey = picture(20, 256, 8), picture(20, 256, 9)[:, :, :1]
    alpha = np.repeat(np.arange(256, dtype=np.uint8)[None], 20, 0)
    half = colour.copy(), alpha.copy()
    half[0][:], half[1][:] = 0, 128
    for what, v, plain, clear in ('grey', grey, 0, 4), ('colour', colour, 2, 6):
        same_levels(what, encoded(v, 8, plain), v)
        same_levels(what + ' of 16 bits', encoded(v.astype(int) * 257, 16, plain), v)
        near = v.astype(int) * 257 + np.random.RandomState(3).randint(-128, 129, v.shape)
        same_levels(what + ' of 16 bits between those of 8', encoded(np.clip(near, 0, 65535), 16, plain), v)
        for a in alpha, half[1]:
            both = np.concatenate([v, a[..., None]], 2)
            same_levels(what + ' with alpha', encoded(both, 8, clear), over_white(v, a))
            same_levels(what + ' of 16 bits with alpha', encoded(both.astype(int) * 257, 16, clear), over_white(v, a))
        one = v[3, 5].astype(int)  # a colour that is transparent
        wanted = np.where((v == one).all(-1, keepdims=True), 255, v)
        for depth, scale in (8, 1), (16, 257):
            same_levels('%s of %d bits, but one' % (what, depth) if depth == 16 else what + ', but one', encoded(
                v.astype(int) * scale, depth, plain, chunk(b'tRNS', (one * scale).astype('>u2').tobytes())), wanted)
    save('a.png', encoded(np.concatenate([half[0], half[1][..., None]], 2), 8, 6))
    assert (decode('a.png') == 127).all(), 'black of alpha 128'
    palette = colour.reshape(-1, 3)[:256]
    for depth in 1, 2, 4, 8:
        n = 1 << depth
        index = np.random.RandomState(4).randint(0, n, (20, 31, 1))
        plte = chunk(b'PLTE', palette[:n].tobytes())
        same_levels('palette', encoded(index, depth, 3, plte), palette[index[..., 0]])
        short = (n * 3) // 4  # colours behind are whole
        opacity = np.concatenate([alpha[0, ::256 // n][:short], np.full(n - short, 255, np.uint8)])
        same_levels('palette with tRNS', encoded(index, depth, 3, plte, chunk(b'tRNS', opacity[:short].tobytes())),
                    over_white(palette[index[..., 0]], opacity[index[..., 0]]))
    print('levels of 8 and 16 bits, alpha and tRNS are as viewers show them')


def folders():
    """Pictures of two classes that lie, with notes how to turn them, and the same ones upright."""
    for i in range(16):
        turn = i // 2 + 1
        pixels = picture(24 + i, 40, 7 + i)
        pixels[:, :, i % 2] //= 3
        lying = os.path.join('lying', 'class-%d' % (i % 2))
        standing = os.path.join('standing', 'class-%d' % (i % 2))
        for name in lying, standing:
            os.makedirs(path(name), exist_ok=True)
        save(os.path.join(lying, '%d.png' % i), png(pixels, chunk(b'eXIf', tiff(turn))))
        save(os.path.join(standing, '%d.png' % i), png(np.ascontiguousarray(TURNS[turn](pixels))))


# ------------------------------------------------------------------ sizes

def resized(pixels, height, width):
    """[h, w, c] to [height, width, c] by PyTorch, smooth where it shrinks; not rounded."""
    import torch
    x = torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1)[None].double()
    y = torch.nn.functional.interpolate(x, (height, width), mode='bilinear', antialias=True, align_corners=False)
    return y[0].permute(1, 2, 0).numpy()


def resize():
    pixels = picture(90, 120)
    save('p.png', png(pixels))
    worst = 0
    for y, x, h, w, side in ((0, 0, 90, 120, 32), (10, 20, 64, 48, 32), (88, 118, 2, 2, 16), (30, 7, 21, 28, 40),
                             (3, 100, 87, 20, 56), (5, 6, 24, 24, 24), (0, 119, 90, 1, 8)):
        run('cut', path('p.png'), y, x, h, w, side, path('out'))
        got = np.fromfile(path('out'), np.uint8).reshape(side, side, 3)
        worst = max(worst, np.abs(got - resized(pixels[y:y + h, x:x + w], side, side)).max())
    assert worst <= 0.51, worst
    print('boxes against PyTorch: at most %.3f of 255, rounding included' % worst)


def show(name, channels, side, resize, least, n):
    kept = tuple(int(v) for v in run('show', path(name), channels, side, resize, least, n, path('out')).split())
    out = np.fromfile(path('out'), np.float32).reshape(n + 2, channels, side, side).transpose(0, 2, 3, 1) * 255
    assert np.array_equal(out[n], out[n + 1]), 'an image of a dataset, and one that is in none'
    return kept, out[:n], out[n]


def chi_square(counts):
    p = stats.chisquare(counts.ravel()).pvalue
    assert p > P, (p, counts)
    return p


def window():
    # where windows lie
    draws = table('window', 20, 23, 16, 20000).astype(int)
    counts = np.zeros((5, 8))
    np.add.at(counts, (draws[:, 0], draws[:, 1]), 1)
    p = chi_square(counts)
    assert np.array_equal(table('window', 16, 16, 16, 5), np.zeros((5, 2)))
    # what they show: the larger image by PyTorch, cut anywhere; and its centre
    for name, (height, width), side, resize, kept in (('p', (90, 120), 16, 24, (24, 32)), ('tall', (100, 60), 20, 30, (50, 30)),
                                                      ('small', (12, 18), 16, 24, (24, 36)), ('long', (10, 200), 16, 20, (20, 80))):
        pixels = picture(height, width, 2)
        save(name + '.png', png(pixels))
        got, windows, centre = show(name + '.png', 3, side, resize, 0, 60)
        assert got == kept + (3,), got
        if name == 'long':
            pixels = pixels[:, 80:120]  # the middle, four times as long as wide
        larger = resized(pixels, *kept)
        if name == 'long':
            larger = larger[:, 4:-4]    # PyTorch knows nothing beyond its end
        seen = set()
        for shown in windows if name != 'long' else ():
            errors = {(y, x): np.abs(shown - larger[y:y + side, x:x + side]).max()
                      for y in range(kept[0] - side + 1) for x in range(kept[1] - side + 1)}
            at = min(errors, key=errors.get)
            assert errors[at] <= 0.51, (name, errors[at])
            seen.add(at)
        if name != 'long':
            assert len(seen) > 20 and all(len({at[i] for at in seen}) > (kept[i] - side) / 2 for i in (0, 1)), (name, seen)
        y, x = (larger.shape[0] - side) // 2, (larger.shape[1] - side) // 2
        error = np.abs(centre - larger[y:y + side, x:x + side]).max()
        assert error <= 0.51, (name, error)
    # a file that is turned is kept turned
    pixels = picture(60, 100, 3)
    save('lying.png', png(pixels, chunk(b'eXIf', tiff(6))))
    save('standing.png', png(np.ascontiguousarray(TURNS[6](pixels))))
    for a, b in zip(show('lying.png', 3, 16, 24, 0, 9), show('standing.png', 3, 16, 24, 0, 9)):
        assert np.array_equal(a, b)
    print('windows are even (p = %.3f) and show what PyTorch resizes' % p)


# ------------------------------------------------------------------ boxes

def reference_boxes(height, width, least, n, rng):
    """torchvision's RandomResizedCrop.get_params, told anew."""
    out = []
    for _ in range(n):
        for _ in range(10):
            area = height * width * rng.uniform(least, 1)
            aspect = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
            w, h = round(np.sqrt(area * aspect)), round(np.sqrt(area / aspect))
            if 0 < w <= width and 0 < h <= height:
                out.append((rng.randint(0, height - h + 1), rng.randint(0, width - w + 1), h, w))
                break
        else:
            w, h = width, height
            if width / height < 3 / 4:
                h = round(w / (3 / 4))
            elif width / height > 4 / 3:
                w = round(h * 4 / 3)
            out.append(((height - h) // 2, (width - w) // 2, h, w))
    return np.array(out)


def even(values, what):
    p = stats.kstest(values, 'uniform').pvalue
    assert p > P, (what, p)
    return p


def boxes():
    rng = np.random.RandomState(1)
    lowest = 1
    for height, width, least in ((1000, 1000, 0.08), (900, 1600, 0.08), (1500, 700, 0.35), (3000, 400, 0.08), (800, 800, 1)):
        n = 20000
        got = table('box', height, width, least, n)
        y, x, h, w = got.T
        assert (y >= 0).all() and (x >= 0).all() and (h > 0).all() and (w > 0).all()
        assert (y + h <= height).all() and (x + w <= width).all()
        wanted = reference_boxes(height, width, least, n, rng)
        for i in range(4):
            p = stats.ks_2samp(got[:, i], wanted[:, i]).pvalue
            assert p > P, (height, width, least, i, p)
            lowest = min(lowest, p)
        for a, b in ((h * w, wanted[:, 2] * wanted[:, 3]), (w / h, wanted[:, 3] / wanted[:, 2])):
            p = stats.ks_2samp(a, b).pvalue
            assert p > P, (height, width, least, p)
            lowest = min(lowest, p)
        if height == width and least < 1:
            # boxes that fit in any shape: their area, the logarithm of their shape and their place are even
            area = h * w / (height * width)
            few = area < 0.74
            lowest = min(lowest, even((area[few] - least) / (0.74 - least), 'area'))
            lowest = min(lowest, even((np.log(w / h)[few] / np.log(4 / 3) + 1) / 2, 'aspect'))
            for at, size, whole in (y, h, height), (x, w, width):
                lowest = min(lowest, even(((at + rng.uniform(size=n)) / (whole - size + 1))[few], 'place'))
        print(height, width, least, 'mean area %.4f of %.4f' % ((h * w).mean() / height / width,
                                                               (wanted[:, 2] * wanted[:, 3]).mean() / height / width))
    # where no box fits, the centre
    assert np.array_equal(table('box', 1000, 10, 0.9, 3), np.tile([493, 0, 13, 10], (3, 1)))
    assert np.array_equal(table('box', 12, 500, 0.9, 3), np.tile([0, 242, 12, 16], (3, 1)))
    # what they show, of an image that is kept as it is, or reduced
    pixels = picture(40, 50, 4)
    save('p.png', png(pixels))
    kept, shown, _ = show('p.png', 3, 16, 0, 0.1, 40)
    assert kept == (40, 50, 3), kept
    for (y, x, h, w), got in zip(table('box', 40, 50, 0.1, 40).astype(int), shown):
        assert np.abs(resized(pixels[y:y + h, x:x + w], 16, 16) - got).max() <= 0.51, (y, x, h, w)
    kept, _, _ = show('p.png', 3, 8, 0, 0.25, 1)
    assert kept == (16, 20, 3), kept
    print('boxes are as torchvision draws them, lowest p = %.3f' % lowest)


# ------------------------------------------------------------------ colours

def colours():
    most = (0.4, 1.5, 0.3, 0.1)
    draws = table('colours', *most, 24000)
    orders, factors = draws[:, :4].astype(int), draws[:, 4:]
    _, counts = np.unique(orders @ [64, 16, 4, 1], return_counts=True)
    assert len(counts) == 24 and (np.sort(orders, 1) == [0, 1, 2, 3]).all()
    lowest = chi_square(counts)
    for i, (low, high) in enumerate(((0.6, 1.4), (0, 2.5), (0.7, 1.3), (-0.1, 0.1))):
        lowest = min(lowest, even((factors[:, i] - low) / (high - low), i))
    assert (table('colours', 0, 0, 0, 0, 50)[:, 4:] == [1, 1, 1, 0]).all()
    print('orders and factors are even, lowest p = %.3f' % lowest)


def luma(v):
    return v if v.shape[-1] == 1 else v @ [[0.299], [0.587], [0.114]]


def blend(v, other, by):
    return np.clip(by * v + (1 - by) * other, 0, 1)


def turned_hue(v, by):
    """By the standard library's own formulas."""
    import colorsys
    out = np.empty_like(v)
    for at in np.ndindex(v.shape[:2]):
        h, s, value = colorsys.rgb_to_hsv(*v[at])
        out[at] = colorsys.hsv_to_rgb((h + by) % 1, s, value)
    return out


def reference_jitter(pixels, order, by):
    v = pixels / 255.0
    for what in order:
        if what == 0:
            v = blend(v, 0, by[0])
        elif what == 1:
            v = blend(v, luma(v).mean(), by[1])
        elif v.shape[-1] == 3:
            v = blend(v, luma(v), by[2]) if what == 2 else turned_hue(v, by[3])
    return 255 * v


def jitter():
    pixels = picture(30, 40, 5)
    pixels[:4] = pixels[:4, :, :1]                       # greys
    pixels[4:6] = np.where(pixels[4:6] > 128, 255, 0)    # the corners of the cube
    pixels[6] = 0
    save('c.png', png(pixels))
    save('g.png', png(pixels[:, :, 0]))
    worst = 0
    hues = 0
    for most in ((0.4, 0.4, 0.4, 0.1), (0.8, 0, 0, 0), (0, 0.8, 0, 0), (0, 0, 2, 0), (0, 0, 0, 0.5), (5, 5, 5, 0.5), (0.4, 0.4, 0, 0)):
        for seed in range(6):
            for channels, name in (3, 'c.png'), (1, 'g.png'):
                draw = table('jitter', path(name), channels, *most, seed, path('out'))[0]
                got = np.fromfile(path('out'), np.uint8).reshape(30, 40, channels)
                wanted = reference_jitter(pixels[:, :, :channels], draw[:4].astype(int), draw[4:])
                worst = max(worst, np.abs(got - wanted).max())
                hues += channels == 3 and abs(draw[7]) > 0.05
                if channels == 1 and most[:2] == (0, 0):
                    assert np.array_equal(got, pixels[:, :, :1]), 'grey has neither saturation nor hue'
    assert worst <= 1 and hues > 5, (worst, hues)
    try:
        import torch
        from torchvision.transforms import functional as F
    except ImportError:
        print('colours against NumPy: at most %.3f of 255, rounding included' % worst)
        return
    ops = F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue
    theirs = 0
    for seed in range(6):
        draw = table('jitter', path('c.png'), 3, 0.4, 0.4, 0.4, 0.1, seed, path('out'))[0]
        got = np.fromfile(path('out'), np.uint8).reshape(30, 40, 3)
        v = torch.from_numpy(pixels / 255.0).permute(2, 0, 1)
        for what in draw[:4].astype(int):
            v = ops[what](v, draw[4 + what])
        theirs = max(theirs, np.abs(got - 255 * v.permute(1, 2, 0).numpy()).max())
    assert theirs <= 1, theirs
    print('colours against NumPy: at most %.3f of 255, torchvision: %.3f' % (worst, theirs))


os.makedirs(FOLDER, exist_ok=True)
{'exif': exif, 'png': png_kinds, 'folders': folders, 'resize': resize, 'window': window, 'boxes': boxes, 'colours': colours, 'jitter': jitter}[sys.argv[3]]()
