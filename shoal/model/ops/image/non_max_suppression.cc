// NonMaxSuppression: per batch and class, takes boxes in descending order of their scores, except
// those whose intersection over union with a box taken before exceeds a threshold. The number of
// boxes depends on the elements, so all inputs must be constants.
#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The most pairs of boxes that one node compares, which takes a few seconds. A detector needs a
// thousandth of it; a hostile file could ask for hours.
constexpr int64_t kMaxComparisons = int64_t{1} << 33;

struct Options {
  bool center = false;  // boxes are [x, y, width, height] around (x, y), not two corners
  int64_t max_boxes = 0;
  float overlap = 0;
  std::optional<float> least_score;
};

Result<Options> options_of(const Node& node, std::span<const Operand> inputs) {
  Options options;
  const int64_t center = node.integer("center_point_box", 0);
  if (center != 0 && center != 1) return invalid("center_point_box is neither 0 nor 1");
  options.center = center == 1;
  for (size_t i = 2; i < inputs.size(); ++i) {
    if (inputs[i].given) SHOAL_TRY(require_single(inputs[i]));
  }
  if (inputs.size() > 2 && inputs[2].given) {
    SHOAL_ASSIGN(std::vector<int64_t> most, require_list(inputs[2]));
    options.max_boxes = std::max<int64_t>(most[0], 0);
  }
  if (inputs.size() > 3 && inputs[3].given) {
    SHOAL_TRY(require<Types<float>>(inputs[3]));
    options.overlap = inputs[3].value->data<float>()[0];
    if (!(options.overlap >= 0 && options.overlap <= 1)) {
      return invalid("the threshold of overlap is not in [0, 1]");
    }
  }
  if (inputs.size() > 4 && inputs[4].given) {
    SHOAL_TRY(require<Types<float>>(inputs[4]));
    options.least_score = inputs[4].value->data<float>()[0];
  }
  return options;
}

struct Box {
  float left, top, right, bottom;
  float area() const { return (right - left) * (bottom - top); }
};

Box box_at(const float* p, bool center) {
  if (center) return {p[0] - p[2] / 2, p[1] - p[3] / 2, p[0] + p[2] / 2, p[1] + p[3] / 2};
  return {std::min(p[1], p[3]), std::min(p[0], p[2]), std::max(p[1], p[3]), std::max(p[0], p[2])};
}

// Compares the intersection over union. Boxes without area overlap nothing, and neither do NaNs.
bool overlap_more(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0 && a.area() > 0 && b.area() > 0)) return false;
  const float common = width * height;
  return common / (a.area() + b.area() - common) > threshold;
}

// The boxes of one class above the least score, in descending order; the sort is stable, so of
// equal scores the first box comes first.
std::vector<int64_t> candidates(std::span<const float> scores, const Options& options) {
  std::vector<int64_t> order;
  for (int64_t k = 0; k < std::ssize(scores); ++k) {
    const float score = scores[static_cast<size_t>(k)];
    const bool wanted = !options.least_score || score > *options.least_score;
    if (wanted && !std::isnan(score)) order.push_back(k);
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](int64_t k) { return scores[static_cast<size_t>(k)]; });
  return order;
}

// The rows [batch, class, box] of the output.
Result<std::vector<std::array<int64_t, 3>>> select(const Node& node,
                                                   std::span<const Operand> inputs) {
  SHOAL_ASSIGN(Options options, options_of(node, inputs));
  const Shape& shape = inputs[1].type.shape;  // [batches, classes, boxes]
  const int64_t classes = shape[1], n = shape[2];
  const std::span<const float> boxes = inputs[0].value->data<float>();
  const std::span<const float> scores = inputs[1].value->data<float>();
  std::vector<std::array<int64_t, 3>> selected;
  if (scores.empty()) return selected;  // the number of classes may still be large
  int64_t comparisons = 0;
  for (int64_t batch_class = 0; batch_class < shape[0] * classes; ++batch_class) {
    const int64_t batch = batch_class / classes;
    const float* own = boxes.data() + batch * n * 4;
    const size_t begin = static_cast<size_t>(batch_class * n);
    std::vector<Box> chosen;
    for (int64_t k : candidates(scores.subspan(begin, static_cast<size_t>(n)), options)) {
      if (std::ssize(chosen) >= options.max_boxes) break;
      comparisons += std::ssize(chosen);
      if (comparisons > kMaxComparisons) {
        return Status(Code::kExhausted, "too many boxes; limit them by score or by number");
      }
      const Box box = box_at(own + k * 4, options.center);
      const bool covered = std::ranges::any_of(
          chosen, [&](const Box& other) { return overlap_more(box, other, options.overlap); });
      if (covered) continue;
      chosen.push_back(box);
      selected.push_back({batch, batch_class % classes, k});
    }
  }
  return selected;
}

Result<std::vector<TensorType>> infer_non_max_suppression(const Node& node,
                                                          std::span<const Operand> inputs) {
  const Shape &boxes = inputs[0].type.shape, &scores = inputs[1].type.shape;
  for (const Operand& input : inputs.first(2)) {
    SHOAL_TRY(require<Types<float>>(input));
    SHOAL_TRY(require_rank(input, 3));
  }
  if (boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2]) {
    return invalid("boxes " + to_string(boxes) + " and scores " + to_string(scores) +
                   " are not [n, k, 4] and [n, classes, k]");
  }
  SHOAL_ASSIGN(auto selected, select(node, inputs));
  return std::vector{TensorType{DType::kI64, {std::ssize(selected), 3}}};
}

void reference_non_max_suppression(const Node& node, std::span<const Tensor> inputs,
                                   std::span<Tensor> outputs) {
  int64_t* y = outputs[0].data<int64_t>().data();  // [selected, 3]
  const auto selected = *select(node, operands_of(inputs));
  for (const auto& row : selected) y = std::ranges::copy(row, y).out;
}

}  // namespace

SHOAL_RECORD(non_max_suppression) = {.name = "NonMaxSuppression",
                                     .min_inputs = 2,
                                     .max_inputs = 5,
                                     .value_inputs = 0b11111,
                                     .infer = infer_non_max_suppression,
                                     .reference = reference_non_max_suppression};

}  // namespace shoal::ops
