#include "shoal/shrink/branches/branch_networks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "shoal/shrink/retraining/norms.h"

namespace shoal::branch {
namespace {

// The units of a group, ordered so that the share of each branch is contiguous.
std::vector<size_t> in_order(const compress::Group& group, const BranchOptions& options) {
  std::vector<size_t> units(group.size());
  std::iota(units.begin(), units.end(), group.begin);
  if (options.worth.empty()) return units;
  std::ranges::stable_sort(units, std::greater(), [&](size_t unit) { return options.worth[unit]; });
  std::vector<size_t> dealt;
  const size_t branches = options.widths.size();
  for (size_t first = 0; first < branches; ++first) {
    for (size_t i = first; i < units.size(); i += branches) dealt.push_back(units[i]);
  }
  return dealt;
}

// Branch i is the network without the units it lacks, so it is refitted as after removal. The
// shared classifying layer has a part for each branch: its answer is the mean of theirs.

using shrink::NetworkForBatch;
using shrink::Weights;

Weights weights_of(const Graph& graph) {
  Weights weights;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (value.constant && value.type.dtype == DType::kF32) weights[value.name] = *value.constant;
  }
  return weights;
}

// The axis along which these parts concatenate to this shape, if any.
std::optional<size_t> axis_of(const Shape& whole, const std::vector<Tensor>& parts) {
  for (size_t axis = 0; axis < whole.rank(); ++axis) {
    Shape together = parts[0].shape();
    if (together.rank() != whole.rank()) return std::nullopt;
    together[axis] = 0;
    for (const Tensor& part : parts) together[axis] += part.shape()[axis];
    if (together == whole) return axis;
  }
  return std::nullopt;
}

// Copies a part to its place along an axis, each element times `factor`.
void put(const Tensor& part, float factor, size_t axis, int64_t begin, Tensor& whole) {
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < axis; ++d) outer *= part.shape()[d];
  for (size_t d = axis + 1; d < part.shape().rank(); ++d) inner *= part.shape()[d];
  const int64_t row = part.shape()[axis] * inner, stride = whole.shape()[axis] * inner;
  const auto from = part.data<float>();
  const auto to = whole.data<float>();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < row; ++i) {
      to[static_cast<size_t>(o * stride + begin * inner + i)] =
          factor * from[static_cast<size_t>(o * row + i)];
    }
  }
}

// The shared weights: parts concatenated, or the mean of equal shapes.
Tensor merged(const Tensor& whole, const std::vector<Tensor>& parts) {
  Tensor tensor = whole.clone();
  const float share = 1 / static_cast<float>(parts.size());
  if (const auto axis = axis_of(whole.shape(), parts)) {
    int64_t begin = 0;
    for (const Tensor& part : parts) {
      put(part, share, *axis, begin, tensor);
      begin += part.shape()[*axis];
    }
    return tensor;
  }
  for (const Tensor& part : parts) {
    if (part.shape() != whole.shape()) return tensor;
  }
  const auto to = tensor.data<float>();
  for (size_t i = 0; i < to.size(); ++i) {
    float sum = 0;
    for (const Tensor& part : parts) sum += part.data<float>()[i];
    to[i] = share * sum;
  }
  return tensor;
}

}  // namespace

std::vector<size_t> units_without(const compress::Groups& groups, const BranchOptions& options,
                                  size_t branch) {
  const auto first = options.widths.begin();
  const double all = std::accumulate(first, options.widths.end(), 0.0);
  const double before = std::accumulate(first, first + static_cast<ptrdiff_t>(branch), 0.0);
  std::vector<size_t> units;
  for (const compress::Group& group : groups.groups) {
    const std::vector<size_t> order = in_order(group, options);
    const auto count = static_cast<double>(group.size());
    const double narrow = std::max(1.0, std::floor(count * options.widths[branch] / all));
    const double factor = options.factors.empty() ? 1 : options.factors[branch];
    const double fat = factor * narrow * (100 + options.fatten) / 100;
    const double rounded = options.round_down ? std::floor(fat) : std::round(fat);
    const size_t width = std::min(group.size(), static_cast<size_t>(std::max(1.0, rounded)));
    const auto begin = static_cast<size_t>(std::floor(count * before / all));
    for (size_t i = width; i < group.size(); ++i) {
      units.push_back(order[(begin + i) % group.size()]);
    }
  }
  return units;
}

Result<Weights> weights_of_branches(Device& device, const NetworkForBatch& network,
                                    const BranchOptions& options, const Dataset& examples,
                                    const fit::TrainingOptions& recipe) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(loaded.graph));
  SHOAL_ASSIGN(const Branched branched, make_branches(loaded.graph, options));
  Weights weights = weights_of(branched.graph);
  std::vector<Weights> refits;
  for (size_t i = 0; i < options.widths.size(); ++i) {
    const std::vector<size_t> units = units_without(groups, options, i);
    SHOAL_ASSIGN(
        const shrink::RefittedLearner refitted,
        shrink::refitted(device, {network}, units, examples, recipe, {.keeps_variance = true}));
    SHOAL_ASSIGN(const LoadedGraph narrow, refitted.learner.network(1));
    refits.push_back(weights_of(narrow.graph));
    for (const auto& [name, tensor] : refits.back()) {
      const auto own = weights.find("branch" + std::to_string(i + 1) + "." + name);
      if (own != weights.end()) own->second = tensor;
    }
  }
  for (auto& [name, tensor] : weights) {
    std::vector<Tensor> parts;
    for (const Weights& refit : refits) {
      if (const auto part = refit.find(name); part != refit.end()) parts.push_back(part->second);
    }
    if (parts.size() == refits.size()) tensor = merged(tensor, parts);
  }
  return weights;
}

}  // namespace shoal::branch
