#!/usr/bin/python3
"""Draws 28x28 grey digits by code: white ink on black, sloppy pen, poor camera.

A digit is a pen path in the unit box (x right, y down). Each image bends, slants, scales and shifts
the path, inks it, then blurs it and adds noise. The same seed always gives the same images, and
image i does not depend on how many are drawn. Only numpy is needed.
"""
import argparse
import gzip
import pathlib
import struct
import zlib

import numpy as np

SIDE = 28
# Training must never use this seed: the accuracy test and the sample images come from it.
HELD_OUT_SEED = 20
# Images are drawn in blocks small enough that the distance field stays in the second-level cache.
BLOCK = 64


def line(*points):
    return np.array(points, float)


def arc(cx, cy, rx, ry, start, stop, steps=14):
    """Part of an ellipse; degrees clockwise from three o'clock, because y points down."""
    angle = np.radians(np.linspace(start, stop, steps))
    return np.stack([cx + rx * np.cos(angle), cy + ry * np.sin(angle)], axis=1)


def curve(a, b, c, d, steps=8):
    """A cubic Bezier from a to d."""
    t = np.linspace(0, 1, steps)[:, None]
    a, b, c, d = np.array([a, b, c, d], float)
    return (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d


def path(*pieces):
    """One stroke: the pen stays down between the pieces."""
    return np.concatenate(pieces)


# For each digit its styles; a style is a list of strokes, a stroke a polyline [points, 2].
STYLES = {
    0: [
        [arc(.5, .5, .31, .5, -90, 270, 22)],
        [arc(.5, .5, .36, .48, -60, 315, 22)],
    ],
    1: [
        [line((.5, 0), (.5, 1))],
        [line((.28, .24), (.52, 0), (.52, 1))],
        [line((.3, .22), (.52, 0), (.52, 1)), line((.26, 1), (.78, 1))],
    ],
    2: [
        [path(arc(.5, .28, .3, .28, 190, 390),
              curve((.76, .42), (.62, .66), (.4, .8), (.17, 1)), line((.84, 1)))],
        [path(arc(.48, .27, .29, .27, 200, 390),
              curve((.73, .4), (.66, .62), (.5, .86), (.32, .95)),
              arc(.27, .87, .11, .09, 60, 300, 7),
              curve((.33, .79), (.48, .88), (.62, 1.08), (.86, .9)))],
    ],
    3: [
        [path(arc(.46, .25, .29, .25, 205, 435), arc(.46, .74, .34, .26, 275, 510))],
        [path(line((.18, 0), (.78, 0), (.46, .4)), arc(.46, .7, .34, .3, 270, 505))],
    ],
    4: [
        [line((.3, 0), (.16, .56), (.86, .56)), line((.66, .22), (.62, 1))],
        [line((.64, 1), (.64, 0), (.12, .66), (.88, .66))],
    ],
    5: [
        [path(line((.8, 0), (.27, 0), (.22, .45)), arc(.46, .68, .34, .32, 228, 500))],
        [path(line((.28, .06), (.24, .46)), arc(.45, .7, .34, .3, 230, 495)),
         line((.27, .03), (.82, 0))],
    ],
    6: [
        [path(curve((.72, 0), (.4, .12), (.18, .4), (.18, .7)),
              arc(.49, .7, .31, .29, 180, 545, 18))],
        [path(curve((.56, 0), (.34, .24), (.22, .5), (.2, .72)),
              arc(.48, .75, .28, .24, 180, 500, 18))],
    ],
    7: [
        [line((.16, 0), (.84, 0), (.42, 1))],
        [line((.16, .02), (.84, 0), (.4, 1)), line((.34, .5), (.82, .5))],
        [path(line((.16, .14), (.18, .02)), curve((.82, 0), (.66, .3), (.46, .6), (.44, 1)))],
    ],
    8: [
        [arc(.5, .25, .25, .25, 90, 450, 16), arc(.5, .74, .31, .26, -90, 270, 16)],
        [path(curve((.76, .14), (.55, -.12), (.14, .02), (.26, .28)),
              curve((.34, .46), (.78, .52), (.84, .66), (.74, .84)),
              curve((.62, 1.08), (.14, 1.04), (.22, .72), (.4, .54)),
              curve((.5, .45), (.72, .4), (.82, .2), (.72, .1)))],
    ],
    9: [
        [path(arc(.48, .28, .29, .28, 0, 360, 18), line((.74, 1)))],
        [path(arc(.48, .3, .3, .3, -30, 330, 18),
              curve((.78, .3), (.8, .7), (.7, 1), (.28, .96)))],
    ],
}


def segments_of(strokes):
    """[segments, 2 ends, 2 coordinates] and, for each segment, the number of its stroke."""
    ends = np.concatenate([np.stack([s[:-1], s[1:]], axis=1) for s in strokes])
    owner = np.repeat(np.arange(len(strokes)), [len(s) - 1 for s in strokes])
    return ends, owner


def build_glyphs():
    """All styles in one table; short ones repeat their last segment, which draws nothing new."""
    styles = [segments_of(strokes) for digit in range(10) for strokes in STYLES[digit]]
    longest = max(len(owner) for _, owner in styles)
    ends = np.stack([np.pad(e, ((0, longest - len(e)), (0, 0), (0, 0)), "edge") for e, _ in styles])
    owner = np.stack([np.pad(o, (0, longest - len(o)), "edge") for _, o in styles])
    return ends, owner


GLYPH_ENDS, GLYPH_OWNER = build_glyphs()
STYLE_COUNT = np.array([len(STYLES[digit]) for digit in range(10)])
FIRST_STYLE = np.cumsum(STYLE_COUNT) - STYLE_COUNT


def bend(points, rng):
    """Adds three slow random waves to points [n, segments, 2, 2]; equal points stay together."""
    n = len(points)
    for _ in range(3):
        frequency = rng.uniform(-6, 6, (n, 1, 1, 2))
        phase = rng.uniform(0, 2 * np.pi, (n, 1, 1, 1))
        height = rng.normal(0, .05, (n, 1, 1, 2))
        points = points + height * np.sin((points * frequency).sum(-1, keepdims=True) + phase)
    return points


def place(points, rng):
    """Slants, turns, scales and shifts unit-box points [n, segments, 2, 2] into pixels."""
    n = len(points)
    turn = rng.normal(0, .16, n).clip(-.4, .4)
    slant = rng.normal(.1, .2, n).clip(-.4, .55)
    height = rng.uniform(14, 22, n)
    width = height * rng.uniform(.55, .95, n)
    cos, sin = np.cos(turn), np.sin(turn)
    matrix = np.array([[cos * width, -(cos * slant + sin) * height],
                       [sin * width, (cos - sin * slant) * height]])  # [2, 2, n]
    shift = rng.normal(0, 1.3, (n, 1, 1, 2)).clip(-3, 3)
    return np.einsum("ijn,nsej->nsei", matrix, points - .5) + SIDE / 2 + shift


def distance_field(ends):
    """Distance in pixels from each pixel centre to the nearest of ends [n, segments, 2, 2]."""
    centre = np.arange(SIDE, dtype=np.float32) + .5
    nearest = np.full((len(ends), SIDE, SIDE), np.inf, np.float32)
    for start, stop in ends.astype(np.float32).transpose(1, 2, 0, 3):
        along = stop - start  # [n, 2]
        unit = along / np.maximum((along**2).sum(1, keepdims=True), 1e-6)
        ux, uy = along.T[:, :, None, None]
        dx = centre[None, None, :] - start[:, 0, None, None]  # [n, 1, x]
        dy = centre[None, :, None] - start[:, 1, None, None]  # [n, y, 1]
        t = dx * unit[:, 0, None, None] + dy * unit[:, 1, None, None]
        np.clip(t, 0, 1, out=t)
        np.minimum(nearest, (dx - t * ux) ** 2 + (dy - t * uy) ** 2, out=nearest)
    return np.sqrt(nearest)


def blur(images, side_weight):
    """Three taps down and across; side_weight [n, 1, 1] is the weight of each outer tap."""
    for axis in (1, 2):
        outer = np.roll(images, 1, axis) + np.roll(images, -1, axis)
        images = images + side_weight * (outer - 2 * images)
    return images


def draw_block(rng):
    """BLOCK images, uint8 [n, 28, 28], and their labels, uint8 [n]."""
    def per_image(low, high):
        return rng.uniform(low, high, (BLOCK, 1, 1)).astype(np.float32)

    labels = rng.integers(0, 10, BLOCK)
    style = FIRST_STYLE[labels] + rng.integers(0, STYLE_COUNT[labels])
    # Strokes drift apart a little, so loops stay open and bars miss their stems.
    drift = rng.normal(0, .03, (BLOCK, GLYPH_OWNER.max() + 1, 2))
    ends = GLYPH_ENDS[style] + drift[np.arange(BLOCK)[:, None], GLYPH_OWNER[style]][:, :, None]
    ends = place(bend(ends, rng), rng)

    radius = per_image(.55, 1.9)
    ink = np.clip(radius + .5 - distance_field(ends), 0, 1)
    ink = blur(ink, per_image(0, .25))
    background = per_image(0, .18)
    image = background + (per_image(.5, 1) - background) * ink
    image += per_image(0, .11) * rng.standard_normal(image.shape, np.float32)
    return (image.clip(0, 1) * 255).round().astype(np.uint8), labels.astype(np.uint8)


def draw(seed, count):
    """The first `count` images of a seed, uint8 [count, 28, 28], and labels, uint8 [count]."""
    blocks = [draw_block(np.random.default_rng([seed, i])) for i in range(-(-count // BLOCK))]
    images, labels = (np.concatenate(part)[:count] for part in zip(*blocks))
    return images, labels


def write_idx(file, array):
    """The MNIST container: two zero bytes, type 8 (uint8), rank, big-endian sizes, data."""
    header = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    # No time stamp, so that the same images give the same bytes.
    file.write_bytes(gzip.compress(header + array.tobytes(), mtime=0))


def write_png(file, image):
    """An 8-bit grey PNG."""
    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    height, width = image.shape
    rows = np.pad(image, ((0, 0), (1, 0)))  # each row starts with its filter type, 0: none
    file.write_bytes(b"\x89PNG\r\n\x1a\n"
                     + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
                     + chunk(b"IEND", b""))


def write_set(folder, seed, count):
    """A test set as `shoal eval --format idx` reads it."""
    images, labels = draw(seed, count)
    folder.mkdir(parents=True, exist_ok=True)
    write_idx(folder / "t10k-images-idx3-ubyte.gz", images)
    write_idx(folder / "t10k-labels-idx1-ubyte.gz", labels)


def write_samples(folder, seed):
    """The first image of each digit, as sample_0.png to sample_9.png."""
    images, labels = draw(seed, 4 * BLOCK)
    folder.mkdir(parents=True, exist_ok=True)
    for digit in range(10):
        write_png(folder / f"sample_{digit}.png", images[np.argmax(labels == digit)])


def main():
    parser = argparse.ArgumentParser(description="Draw digit images by code.")
    parser.add_argument("--seed", type=int, default=HELD_OUT_SEED)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--out", type=pathlib.Path, help="write --count images here as idx files")
    parser.add_argument("--samples", type=pathlib.Path, help="write one PNG for each digit here")
    args = parser.parse_args()
    if not args.out and not args.samples:
        parser.error("nothing to write: give --out DIR or --samples DIR")
    if args.count < 1 or args.seed < 0:
        parser.error("--count must be at least 1 and --seed at least 0")
    if args.out:
        write_set(args.out, args.seed, args.count)
    if args.samples:
        write_samples(args.samples, args.seed)


if __name__ == "__main__":
    main()
