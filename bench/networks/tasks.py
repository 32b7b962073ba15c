"""The shared networks from others: what they read, what their answers mean, and what judges them.

Each task has `inputs()` and `labels()` that judge, `examples(count)` to calibrate with, which are
of another data set, and `score(outputs)` in percent.
"""

import csv

import numpy as np
from judges import ap50, detections, top1, verification
from PIL import Image

MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def image_of(path):
    return Image.open(path).convert("RGB")


def planes(pixels):
    """[h, w, c] as the [1, c, h, w] that networks read."""
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], dtype=np.float32)


class Task:
    def __init__(self, shared):
        self.data = shared / "data"
        self.model = shared / "models" / self.file

    def photos(self):
        """Images that judge classifiers."""
        return sorted((self.data / "imagenet").glob("*.jpg"))

    def scenes(self):
        """Images that judge detectors."""
        return sorted((self.data / "coco-val128" / "images").glob("*.jpg"))


class Classifier(Task):
    """Judged on photos, calibrated on scenes."""

    def prepare(self, path):
        image = image_of(path)
        scale = 256 / min(image.size)
        if scale != 1:
            image = image.resize([round(side * scale) for side in image.size], Image.BILINEAR)
        left, top = ((side - 224) // 2 for side in image.size)
        pixels = np.asarray(image.crop((left, top, left + 224, top + 224)), dtype=np.float64)
        return planes(self.normalise(pixels))

    def inputs(self):
        return [self.prepare(path) for path in self.photos()]

    def examples(self, count):
        return [self.prepare(path) for path in self.scenes()[:count]]

    def score(self, outputs):
        lines = (self.data / "imagenet" / "labels.txt").read_text().split("\n")
        labels = [int(line.split()[1]) for line in lines if line]
        return top1(np.array([y[0].ravel() for y in outputs]), np.array(labels))


class SqueezeNet(Classifier):
    file, most_loss = "squeezenet1.1-imagenet.onnx", 1.0

    def normalise(self, pixels):
        return (pixels / 255 - MEAN) / STD


class EtinyNet(Classifier):
    file, most_loss = "etinynet-imagenet.onnx", 1.0

    def normalise(self, pixels):
        return pixels - 128


class Detector(Task):
    """Judged on scenes, calibrated on photos."""

    most_loss = 1.5

    def inputs(self):
        return [self.prepare(path) for path in self.scenes()]

    def examples(self, count):
        return [self.prepare(path) for path in self.photos()[:: max(1, 200 // count)][:count]]

    def score(self, outputs):
        found, truth = [], []
        for path, y in zip(self.scenes(), outputs):
            width, height = Image.open(path).size
            boxes, scores = self.decode(y[0], width, height)
            found.append(detections(boxes, scores))
            text = (path.parents[1] / "labels" / (path.stem + ".txt"))
            rows = [line.split() for line in text.read_text().splitlines()] if text.exists() else []
            truth.append([(int(row[0]), corners(np.array(row[1:5], dtype=float))) for row in rows])
        return ap50(found, truth)


def corners(box):
    """Centre and size as left, top, right, bottom."""
    centre, size = box[..., :2], box[..., 2:4]
    return np.concatenate([centre - size / 2, centre + size / 2], axis=-1)


class YoloxNano(Detector):
    file, side = "yolox-nano-coco-416.onnx", 416

    def prepare(self, path):
        image = image_of(path)
        ratio = self.side / max(image.size)
        small = image.resize([int(side * ratio) for side in image.size], Image.BILINEAR)
        pixels = np.full((self.side, self.side, 3), 114.0)
        pixels[: small.size[1], : small.size[0]] = np.asarray(small)[:, :, ::-1]
        return planes(pixels)

    def decode(self, y, width, height):
        """Boxes as shares of the image."""
        grid, stride = [], []
        for step in (8, 16, 32):
            cells = self.side // step
            rows, columns = np.mgrid[:cells, :cells]
            grid.append(np.stack([columns.ravel(), rows.ravel()], 1))
            stride.append(np.full((cells * cells, 1), step))
        grid, stride = np.concatenate(grid), np.concatenate(stride)
        y = y.reshape(-1, 85).astype(np.float64)
        box = np.concatenate([(y[:, :2] + grid) * stride, np.exp(y[:, 2:4]) * stride], 1)
        shown = self.side * np.array([width, height]) / max(width, height)
        return corners(box) / np.tile(shown, 2), y[:, 4:5] * y[:, 5:]


class FastestDet(Detector):
    file, side, cells = "fastestdet-coco-352.onnx", 352, 22

    def prepare(self, path):
        image = image_of(path).resize((self.side, self.side), Image.BILINEAR)
        return planes(np.asarray(image, dtype=np.float64)[:, :, ::-1] / 255)

    def decode(self, y, width, height):
        y = y.reshape(85, self.cells, self.cells).astype(np.float64)
        rows, columns = np.mgrid[: self.cells, : self.cells]
        centre = (np.tanh(y[1:3]) + np.stack([columns, rows])) / self.cells
        size = 1 / (1 + np.exp(-y[3:5]))
        box = np.concatenate([centre, size]).reshape(4, -1).T
        scores = y[0].reshape(-1, 1) ** 0.6 * y[5:].reshape(80, -1).T ** 0.4
        return corners(box), scores


# The eyes, nose and corners of the mouth of an aligned face of 112 x 112 pixels.
ALIGNED = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)


def similarity(points, to):
    """The rotation, scale and shift that bring points nearest to others, [2, 3]: x' = a x - b y + c,
    y' = b x + a y + d."""
    rows, wanted = [], []
    for (x, y), (u, v) in zip(points, to):
        rows += [[x, -y, 1, 0], [y, x, 0, 1]]
        wanted += [u, v]
    a, b, c, d = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    return np.array([[a, -b, c], [b, a, d]])


class MobileFaceNet(Task):
    """Judged on LFW fold 1, calibrated on ORL. Another network finds the five points of a face."""

    file, most_loss, threshold = "mobilefacenet.onnx", 0.3, 0.30
    side, finder = 640, "face-retina-mnet025.onnx"

    def __init__(self, shared):
        super().__init__(shared)
        self.finder = shared / "models" / self.finder
        self.find = None  # a function of inputs, set by who runs networks

    def priors(self):
        boxes = []
        for step, sizes in ((8, (16, 32)), (16, (64, 128)), (32, (256, 512))):
            cells = -(-self.side // step)
            for row in range(cells):
                for column in range(cells):
                    for size in sizes:
                        boxes.append([(column + 0.5) * step, (row + 0.5) * step, size, size])
        return np.array(boxes) / self.side

    def prepare(self, path):
        image = image_of(path)
        shown = np.asarray(image.resize((self.side, self.side), Image.BILINEAR), dtype=np.float64)
        y = self.find(planes(shown[:, :, ::-1] - [104, 117, 123]))
        priors = self.priors()
        scores = y["572"].reshape(-1, 2)[:, 1]
        # The person shown is in the middle.
        away = np.abs(priors[:, :2] - 0.5).max(1)
        best = int(np.argmax(np.where(away < 0.25, scores, 0)))
        offsets = y["571"].reshape(-1, 5, 2)[best]
        points = (priors[best, :2] + offsets * 0.1 * priors[best, 2:]) * image.size
        onto = similarity(ALIGNED, points)  # from the aligned image back
        aligned = image.transform((112, 112), Image.AFFINE, onto.ravel().tolist(), Image.BILINEAR)
        return planes((np.asarray(aligned, dtype=np.float64) - 127) / 128)

    def pairs(self):
        with open(self.data / "lfw-fold1" / "pairs.csv") as file:
            return [(row["a"], row["b"], row["same"] == "1") for row in csv.DictReader(file)]

    def names(self):
        return sorted({name for a, b, _ in self.pairs() for name in (a, b)})

    def inputs(self):
        return [self.prepare(self.data / "lfw-fold1" / "images" / name) for name in self.names()]

    def examples(self, count):
        faces = sorted((self.data / "orl").glob("s*/*.pgm"))
        return [self.prepare(path) for path in faces[:: max(1, len(faces) // count)][:count]]

    def score(self, outputs):
        of = {name: y[0].ravel().astype(np.float64) for name, y in zip(self.names(), outputs)}
        pairs = self.pairs()
        return verification(
            np.array([of[a] for a, _, _ in pairs]),
            np.array([of[b] for _, b, _ in pairs]),
            np.array([same for _, _, same in pairs]),
            self.threshold,
        )


TASKS = {
    "squeezenet1.1": SqueezeNet,
    "etinynet": EtinyNet,
    "yolox-nano": YoloxNano,
    "fastestdet": FastestDet,
    "mobilefacenet": MobileFaceNet,
}
