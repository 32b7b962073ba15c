// Decodes the outputs of heads; head.h has the equations.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "shoal/video/detect/cells.h"
#include "shoal/video/detect/head.h"

namespace shoal::detect {
namespace {

// Pixels of the input.
Box around(float x, float y, float w, float h) {
  return {x - w / 2, y - h / 2, x + w / 2, y + h / 2};
}

float logistic(float v) { return 1 / (1 + std::exp(-v)); }

// Calls f(index, x, y, stride) for all cells of all strides, as heads number them.
template <class F>
void for_cells(const Head& head, const F& f) {
  size_t index = 0;
  for (const int64_t stride : kStrides) {
    for (int64_t y = 0; y < rows_of(head.height, stride); ++y) {
      for (int64_t x = 0; x < rows_of(head.width, stride); ++x, ++index) {
        f(index, static_cast<float>(x), static_cast<float>(y), static_cast<float>(stride));
      }
    }
  }
}

class Decoder {
 public:
  Decoder(const Head& head, std::span<const Tensor> outputs, const Placement& placement,
          float least_score)
      : head_(head), outputs_(outputs), placement_(placement), least_score_(least_score) {}

  std::vector<Detection> take() { return std::move(found_); }

  // The elements of the output whose last dimension is this.
  std::span<const float> output(int64_t last) const {
    for (const Tensor& tensor : outputs_) {
      if (tensor.shape().rank() > 0 && tensor.shape()[tensor.shape().rank() - 1] == last) {
        return tensor.data<float>();
      }
    }
    return {};
  }

  void yolov8() {
    const auto y = outputs_[0].data<float>();
    const auto cells = static_cast<size_t>(outputs_[0].shape()[2]);
    for (size_t i = 0; i < cells; ++i) {
      const auto at = [&](size_t row) { return y[row * cells + i]; };
      const Box box = around(at(0), at(1), at(2), at(3));
      for (size_t c = 0; c < classes(); ++c) add(c, at(4 + c), box);
    }
  }

  void yolov5() {
    const auto y = outputs_[0].data<float>();
    for (size_t i = 0; i < y.size() / (5 + classes()); ++i) {
      const auto row = y.subspan(i * (5 + classes()), 5 + classes());
      add_products(row, around(row[0], row[1], row[2], row[3]));
    }
  }

  void yolox() {
    const auto y = outputs_[0].data<float>();
    for_cells(head_, [&](size_t i, float cx, float cy, float stride) {
      const auto row = y.subspan(i * (5 + classes()), 5 + classes());
      add_products(row, around((row[0] + cx) * stride, (row[1] + cy) * stride,
                               std::exp(row[2]) * stride, std::exp(row[3]) * stride));
    });
  }

  void yolov2() {
    // Of the networks for VOC and COCO that have five anchors, in cells.
    constexpr std::array<std::array<float, 2>, 5> kAnchors = {
        {{1.08F, 1.19F}, {3.42F, 4.41F}, {6.63F, 11.38F}, {9.42F, 5.11F}, {16.62F, 10.52F}}};
    constexpr float kStride = 32;
    const auto y = outputs_[0].data<float>();
    const auto rows = static_cast<size_t>(outputs_[0].shape()[2]),
               columns = static_cast<size_t>(outputs_[0].shape()[3]);
    std::vector<float> scores(classes());
    for (size_t a = 0; a < kAnchors.size(); ++a) {
      for (size_t cell = 0; cell < rows * columns; ++cell) {
        const auto at = [&](size_t k) {
          return y[(a * (5 + classes()) + k) * rows * columns + cell];
        };
        const float object = logistic(at(4));
        if (!(object >= least_score_)) continue;
        const Box box = around((logistic(at(0)) + static_cast<float>(cell % columns)) * kStride,
                               (logistic(at(1)) + static_cast<float>(cell / columns)) * kStride,
                               std::exp(at(2)) * kAnchors[a][0] * kStride,
                               std::exp(at(3)) * kAnchors[a][1] * kStride);
        for (size_t c = 0; c < classes(); ++c) scores[c] = at(5 + c);
        softmax(scores);
        for (size_t c = 0; c < classes(); ++c) add(c, object * scores[c], box);
      }
    }
  }

  void fastestdet() {
    const auto y = outputs_[0].data<float>();
    const auto rows = static_cast<size_t>(outputs_[0].shape()[2]),
               columns = static_cast<size_t>(outputs_[0].shape()[3]);
    const auto width = static_cast<float>(head_.width), height = static_cast<float>(head_.height);
    for (size_t cell = 0; cell < rows * columns; ++cell) {
      const auto at = [&](size_t k) { return y[k * rows * columns + cell]; };
      const auto x = static_cast<float>(cell % columns), line = static_cast<float>(cell / columns);
      const Box box = around((std::tanh(at(1)) + x) / static_cast<float>(columns) * width,
                             (std::tanh(at(2)) + line) / static_cast<float>(rows) * height,
                             logistic(at(3)) * width, logistic(at(4)) * height);
      const float object = std::pow(at(0), 0.6F);
      for (size_t c = 0; c < classes(); ++c) add(c, object * std::pow(at(5 + c), 0.4F), box);
    }
  }

  void nanodet() {
    constexpr auto kBins = static_cast<size_t>(kNanodetBins);
    std::array<float, kBins> bins;
    for (const int64_t stride : kStrides) {
      const int64_t columns = rows_of(head_.width, stride);
      const int64_t cells = rows_of(head_.height, stride) * columns;
      const auto scores = of_stride(cells, head_.classes),
                 distances = of_stride(cells, 4 * kNanodetBins);
      const auto s = static_cast<float>(stride);
      for (size_t cell = 0; cell < static_cast<size_t>(cells); ++cell) {
        const auto row = scores.subspan(cell * classes(), classes());
        if (std::ranges::none_of(row, [&](float v) { return v >= least_score_; })) continue;
        std::array<float, 4> edges;
        for (size_t e = 0; e < 4; ++e) {
          std::ranges::copy(distances.subspan((cell * 4 + e) * kBins, kBins), bins.begin());
          softmax(bins);
          edges[e] = 0;
          for (size_t b = 0; b < kBins; ++b) edges[e] += static_cast<float>(b) * bins[b] * s;
        }
        const auto column = static_cast<size_t>(columns);
        const float x = (static_cast<float>(cell % column) + 0.5F) * s,
                    y = (static_cast<float>(cell / column) + 0.5F) * s;
        const Box box = {x - edges[0], y - edges[1], x + edges[2], y + edges[3]};
        for (size_t c = 0; c < classes(); ++c) add(c, row[c], box);
      }
    }
  }

  void ultraface() {
    const auto scores = output(2), boxes = output(4);
    const auto width = static_cast<float>(head_.width), height = static_cast<float>(head_.height);
    for (size_t i = 0; i < scores.size() / 2; ++i) {
      const auto box = boxes.subspan(4 * i, 4);
      add(0, scores[2 * i + 1], {box[0] * width, box[1] * height, box[2] * width, box[3] * height});
    }
  }

  void retinaface() {
    constexpr float kCentre = 0.1F, kSize = 0.2F;  // variances
    const auto scores = output(2), boxes = output(4), points = output(10);
    for_cells(head_, [&](size_t cell, float column, float row, float stride) {
      for (size_t which = 0; which < 2; ++which) {
        const size_t i = 2 * cell + which;
        // 16 and 32 at stride 8, 64 and 128 at 16, 256 and 512 at 32.
        const float size = stride * stride / 4 * (which == 0 ? 1 : 2);
        const float x = (column + 0.5F) * stride, y = (row + 0.5F) * stride;
        if (!(scores[2 * i + 1] >= least_score_)) continue;
        const auto v = boxes.subspan(4 * i, 4);
        FacePoints face;
        for (size_t p = 0; p < face.size(); ++p) {
          face[p] = placement_.to_image(Point{x + kCentre * points[10 * i + 2 * p] * size,
                                              y + kCentre * points[10 * i + 2 * p + 1] * size});
        }
        add(0, scores[2 * i + 1],
            around(x + kCentre * v[0] * size, y + kCentre * v[1] * size,
                   size * std::exp(kSize * v[2]), size * std::exp(kSize * v[3])),
            face);
      }
    });
  }

  void ssd() {
    const auto scores = output(head_.classes + 1), boxes = output(4);
    const auto width = static_cast<float>(head_.width), height = static_cast<float>(head_.height);
    for (size_t i = 0; i < boxes.size() / 4; ++i) {
      const auto v = boxes.subspan(4 * i, 4);
      const Box box{v[0] * width, v[1] * height, v[2] * width, v[3] * height};
      add_classes(scores.subspan(i * (classes() + 1), classes() + 1), box);
    }
  }

  // Priors as in the paper: for each cell a square of the map's own size, one of the geometric mean
  // of that and the next map's, and the first one with other aspect ratios.
  void ssd300() {
    struct Map {
      size_t cells;                // of a side
      float step, size, next;      // in pixels
      std::vector<float> aspects;  // and their inverses
    };
    const std::array<Map, 6> maps = {{{38, 8, 30, 60, {2}},
                                      {19, 16, 60, 111, {2, 3}},
                                      {10, 32, 111, 162, {2, 3}},
                                      {5, 64, 162, 213, {2, 3}},
                                      {3, 100, 213, 264, {2}},
                                      {1, 300, 264, 315, {2}}}};
    size_t next = 0;
    for (const Map& map : maps) {
      std::vector<Point> sizes = {{map.size, map.size}};
      sizes.push_back({std::sqrt(map.size * map.next), std::sqrt(map.size * map.next)});
      for (const float aspect : map.aspects) {
        const float root = std::sqrt(aspect);
        sizes.push_back({map.size * root, map.size / root});
        sizes.push_back({map.size / root, map.size * root});
      }
      for (size_t cell = 0; cell < map.cells * map.cells; ++cell) {
        const Point centre{(static_cast<float>(cell % map.cells) + 0.5F) * map.step,
                           (static_cast<float>(cell / map.cells) + 0.5F) * map.step};
        for (const Point& size : sizes) add_offset(next++, centre, size);
      }
    }
  }

 private:
  // A box beside a prior, with probabilities or what softmax makes them of.
  void add_offset(size_t i, const Point& centre, const Point& size) {
    constexpr float kCentre = 0.1F, kSize = 0.2F;  // variances
    const auto v = output(4).subspan(4 * i, 4);
    const auto given = output(head_.classes + 1).subspan(i * (classes() + 1), classes() + 1);
    std::vector<float> scores(given.begin(), given.end());
    float sum = 0;
    for (const float one : scores) sum += one;
    const bool are_shares = std::abs(sum - 1) < 1e-3F && *std::ranges::min_element(scores) >= 0;
    if (!are_shares) softmax(scores);
    add_classes(scores,
                around(centre.x + kCentre * v[0] * size.x, centre.y + kCentre * v[1] * size.y,
                       size.x * std::exp(kSize * v[2]), size.y * std::exp(kSize * v[3])));
  }

  // The first of the scores is of no object.
  void add_classes(std::span<const float> scores, const Box& box) {
    for (size_t c = 0; c < classes(); ++c) add(c, scores[c + 1], box);
  }

  size_t classes() const { return static_cast<size_t>(head_.classes); }

  static void softmax(std::span<float> v) {
    const float most = *std::ranges::max_element(v);
    float sum = 0;
    for (float& x : v) sum += x = std::exp(x - most);
    for (float& x : v) x /= sum;
  }

  std::span<const float> of_stride(int64_t cells, int64_t last) const {
    for (const Tensor& one : outputs_) {
      if (one.shape()[0] == cells && one.shape()[1] == last) return one.data<float>();
    }
    return {};
  }

  // A row of centre, size, object and scores.
  void add_products(std::span<const float> row, const Box& box) {
    if (!(row[4] >= least_score_)) return;
    for (size_t c = 0; c < classes(); ++c) add(c, row[4] * row[5 + c], box);
  }

  void add(size_t label, float score, const Box& box, std::optional<FacePoints> points = {}) {
    if (!(score >= least_score_)) return;
    const bool finite = std::isfinite(box.left) && std::isfinite(box.top) &&
                        std::isfinite(box.right) && std::isfinite(box.bottom);
    if (!finite) return;
    found_.push_back({static_cast<int64_t>(label), score, placement_.to_image(box), points});
  }

  const Head& head_;
  std::span<const Tensor> outputs_;
  const Placement& placement_;
  float least_score_;
  std::vector<Detection> found_;
};

}  // namespace

Result<std::vector<Detection>> decode(const Head& head, std::span<const Tensor> outputs,
                                      const Placement& placement, float least_score) {
  std::vector<TensorInfo> given;
  for (const Tensor& output : outputs) {
    if (output.dtype() != DType::kF32) return invalid("a detector's outputs are f32");
    TensorInfo info{.name = "output"};
    info.dims.emplace();
    for (size_t i = 0; i < output.shape().rank(); ++i) info.dims->push_back(output.shape()[i]);
    given.push_back(std::move(info));
  }
  const TensorInfo input{.name = "image",
                         .dtype = DType::kF32,
                         .dims = std::vector<int64_t>{1, 3, head.height, head.width}};
  SHOAL_ASSIGN(const Head same, recognise(std::span(&input, 1), given, head.kind));
  if (same.classes != head.classes) return invalid("the outputs have other classes");
  Decoder decoder(head, outputs, placement, least_score);
  switch (head.kind) {
    case HeadKind::kYolov2:
      decoder.yolov2();
      break;
    case HeadKind::kYolov5:
      decoder.yolov5();
      break;
    case HeadKind::kYolov8:
      decoder.yolov8();
      break;
    case HeadKind::kYolox:
      decoder.yolox();
      break;
    case HeadKind::kFastestdet:
      decoder.fastestdet();
      break;
    case HeadKind::kNanodet:
      decoder.nanodet();
      break;
    case HeadKind::kUltraface:
      decoder.ultraface();
      break;
    case HeadKind::kRetinaface:
      decoder.retinaface();
      break;
    case HeadKind::kSsd:
      decoder.ssd();
      break;
    case HeadKind::kSsd300:
      decoder.ssd300();
      break;
  }
  return decoder.take();
}

}  // namespace shoal::detect
