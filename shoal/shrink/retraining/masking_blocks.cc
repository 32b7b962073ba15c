// For a group of n units, and Z the value that the first product reads them from:
//
//   u    = mean of Z over all but units
//   q    = W2 relu(W1 u + b1) + b2,   W1: n / 16 x n, W2: n x n / 16
//   mask = 0 for the K lowest q, equal ones by index, else 1
//   Z'   = mask * Z, at every product that reads the units
//
// The source has a mask per image. Such masks become attention: a unit that one class needs is
// masked for other images, more often than a useless unit. Removal is for all images, so there is
// one mask per batch.
//
// The mask is a step; its gradient is that of sigmoid(q), straight through. The source ranks
// softmax(q), the same order, and leaves the gradient open; q itself is unbounded, and LeNet
// diverged with it. Blocks do not train the network: u passes no gradient on. Removed units have
// the lowest scores and are among the K.
#include "shoal/shrink/retraining/masking_blocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "shoal/base/math/random.h"
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/units/narrowing.h"
#include "shoal/train/step/graph/differentiate.h"

namespace shoal::shrink {
namespace {

using ops::Chain;

constexpr int64_t kReduction = 16, kFewestHidden = 4;
constexpr double kSmallWeights = 0.1;     // of W2: scores begin close together
constexpr uint64_t kStream = 0x6d61736b;  // "mask": a stream that nothing else draws from
constexpr float kFarBelow = -1e30F;       // any score

// Along one axis of a value: the unit of each index within a group, -1 for those of others.
struct Place {
  size_t group = 0;
  std::vector<int64_t> units;
};
using Places = std::map<std::pair<ValueId, size_t>, std::vector<Place>>;

Places places_of(const Graph& graph, const compress::Groups& groups) {
  Places places;
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    const compress::Group& group = groups.groups[g];
    for (size_t unit = group.begin; unit < group.end; ++unit) {
      for (const compress::Cell& cell : groups.units[unit].cells) {
        if (graph[cell.value].constant) continue;
        std::vector<Place>& all = places[{cell.value, cell.axis}];
        if (all.empty() || all.back().group != g) {
          const auto length = static_cast<size_t>(graph[cell.value].type.shape[cell.axis]);
          all.push_back({g, std::vector<int64_t>(length, -1)});
        }
        all.back().units[static_cast<size_t>(cell.index)] =
            static_cast<int64_t>(unit - group.begin);
      }
    }
  }
  return places;
}

class Builder {
 public:
  Builder(const Graph& network, const compress::Groups& groups, std::span<const size_t> gone,
          const MaskingOptions& options)
      : network_(network),
        groups_(groups),
        options_(options),
        places_(places_of(network, groups)),
        rewriter_(network),
        chain_(rewriter_.to(), network.inputs()[0]),
        blocks_(groups.groups.size()),
        gone_(groups.units.size()) {
    for (size_t unit : gone) gone_[unit] = true;
  }

  Result<WithBlocks> build() {
    for (const Node& node : network_.nodes()) SHOAL_TRY(add(node));
    SHOAL_TRY(chain_.status());
    WithBlocks result;
    SHOAL_ASSIGN(result.graph, rewriter_.finish());
    for (size_t g = 0; g < blocks_.size(); ++g) {
      if (!blocks_[g].mask) continue;
      result.groups.push_back(g);
      if (!options_.shows_masks) continue;
      result.graph.mark_output(*blocks_[g].mask);
      result.graph.mark_output(blocks_[g].scores);
    }
    return result;
  }

 private:
  struct Block {
    bool was_asked = false;
    std::optional<ValueId> mask;  // nothing: the group has no block
    ValueId learns = kNoValue;    // the mask with its gradient
    ValueId scores = kNoValue;
  };

  Status add(const Node& node) {
    const auto products = compress::product_blocks_of(network_, node);
    const auto read = products ? places_.find({node.inputs[0], products->axis}) : places_.end();
    if (read == places_.end()) return rewriter_.copy(node);
    std::vector<ValueId> inputs = rewriter_.map(node.inputs);
    for (const Place& place : read->second) {
      SHOAL_TRY(ask_block(place, node.inputs[0], products->axis));
      const Block& block = blocks_[place.group];
      if (!block.mask) continue;
      inputs[0] = chain_.add(
          ops::mul, {inputs[0], factor(block.learns, place, node.inputs[0], products->axis)});
    }
    SHOAL_TRY(chain_.status());
    if (rewriter_.substitute(node, *node.op, std::move(inputs), node.attributes)) return {};
    return Status(Code::kInternal, place_of(network_, node) + " refuses its masked input");
  }

  int64_t batch() const { return network_[network_.inputs()[0]].type.shape[0]; }
  int64_t units_of(size_t group) const {
    return static_cast<int64_t>(groups_.groups[group].size());
  }

  // The mask as a factor of a value, 1 for indices of other groups.
  ValueId factor(ValueId mask, const Place& place, ValueId value, size_t axis) {
    const int64_t units = units_of(place.group);
    std::vector<int64_t> from = place.units;
    if (std::ranges::find(from, -1) != from.end()) {
      // As an integer, because floating-point constants are learned.
      const Tensor tensor = Tensor::of<int64_t>({1, 1}, {1});
      mask = chain_.add(ops::concat, {mask, chain_.cast(chain_.constant(tensor))},
                        {{"axis", int64_t{1}}});
      std::ranges::replace(from, int64_t{-1}, units);
    }
    std::vector<int64_t> in_order(static_cast<size_t>(units));
    std::iota(in_order.begin(), in_order.end(), int64_t{0});
    if (from != in_order) {
      mask = chain_.add(ops::gather, {mask, chain_.list(from)}, {{"axis", int64_t{1}}});
    }
    Shape shape = Shape::filled(network_[value].type.shape.rank(), 1);
    shape[axis] = network_[value].type.shape[axis];
    return chain_.reshape(mask, shape);
  }

  // Makes the block of a group from the first value that its units are read from.
  Status ask_block(const Place& place, ValueId value, size_t axis) {
    Block& block = blocks_[place.group];
    if (block.was_asked) return {};
    block.was_asked = true;
    const Shape& shape = network_[value].type.shape;
    const int64_t units = units_of(place.group);
    std::vector<int64_t> first;  // index of each unit
    for (int64_t unit = 0; unit < units; ++unit) {
      const auto position = std::ranges::find(place.units, unit);
      if (position == place.units.end()) return {};
      first.push_back(position - place.units.begin());
    }
    if (axis == 0 || shape[0] != batch() || network_[value].type.dtype != DType::kF32) return {};
    std::vector<int64_t> others;
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (d != axis) others.push_back(static_cast<int64_t>(d));
    }
    ValueId u = chain_.add(ops::reduce_mean, {rewriter_.map(value)},
                           {{"axes", others}, {"keepdims", int64_t{0}}});
    u = chain_.reshape(u, {1, shape[axis]});
    if (units != shape[axis]) {
      u = chain_.add(ops::gather, {u, chain_.list(first)}, {{"axis", int64_t{1}}});
    }
    const ValueId none = chain_.zeros(chain_.shape_of(u));
    SHOAL_TRY(chain_.status());
    SHOAL_ASSIGN(u, train::straight_through(rewriter_.to(), u, none, 1));
    const ValueId q = scores(place.group, u);
    block.scores = chain_.add(ops::softmax, {q}, {{"axis", int64_t{1}}});
    const ValueId mask = kept(place.group, q);
    SHOAL_TRY(chain_.status());
    const ValueId soft = chain_.add(ops::sigmoid, {q});
    SHOAL_TRY(chain_.status());
    SHOAL_ASSIGN(block.learns, train::straight_through(rewriter_.to(), mask, soft, 1));
    block.mask = mask;
    return {};
  }

  ValueId scores(size_t group, ValueId u) {
    const int64_t units = units_of(group);
    const int64_t hidden = std::max(kFewestHidden, units / kReduction);
    const auto layer = [&](ValueId x, const char* number, int64_t from, int64_t to, double size) {
      const std::string name = std::string(kMaskingBlock) + std::to_string(group) + "." + number;
      Tensor weights({DType::kF32, {from, to}});
      const RandomStream random = RandomStream(options_.seed, kStream).child(group);
      fill_normal(weights.data<float>(), random.child(static_cast<uint64_t>(to)),
                  size / std::sqrt(static_cast<double>(from)));
      Graph& graph = rewriter_.to();
      const ValueId w = graph.add_constant(name + ".weight", weights);
      const ValueId b = graph.add_constant(name + ".bias", Tensor({DType::kF32, {to}}));
      return chain_.add(ops::gemm, {x, w, b});
    };
    const ValueId a = chain_.add(ops::relu, {layer(u, "1", units, hidden, 1)});
    return layer(a, "2", hidden, units, kSmallWeights);
  }

  // 1 for the units with the highest scores, else 0. Where a unit is among the positions that TopK
  // gives, integers tell.
  ValueId kept(size_t group, ValueId q) {
    const compress::Group& range = groups_.groups[group];
    Tensor never({DType::kBool, {1, units_of(group)}});
    int64_t left = 0;
    for (size_t unit = range.begin; unit < range.end; ++unit) {
      never.data<bool>()[unit - range.begin] = gone_[unit];
      if (!gone_[unit]) ++left;
    }
    const auto lowest = static_cast<int64_t>(options_.share * static_cast<double>(left));
    const int64_t count = left < 2 ? left : left - std::max<int64_t>(lowest, 1);
    const ValueId ranked =
        chain_.add(ops::where, {chain_.constant(never), chain_.scalar(double{kFarBelow}), q});
    const ValueId best = chain_.add_all(ops::top_k, {ranked, chain_.list(std::array{count})},
                                        {{"axis", int64_t{1}}}, 2)[1];
    std::vector<int64_t> all(range.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    const ValueId units = chain_.reshape(chain_.list(all), {1, 1, units_of(group)});
    const ValueId is_unit = chain_.add(ops::equal, {chain_.reshape(best, {1, count, 1}), units});
    const ValueId found = chain_.cast(is_unit);
    return chain_.add(ops::reduce_sum, {found, chain_.list(std::array{int64_t{1}})},
                      {{"keepdims", int64_t{0}}});
  }

  const Graph& network_;
  const compress::Groups& groups_;
  const MaskingOptions& options_;
  const Places places_;
  passes::Rewriter rewriter_;
  Chain chain_;
  std::vector<Block> blocks_;  // per group
  std::vector<bool> gone_;     // per unit
};

}  // namespace

Result<WithBlocks> with_masking_blocks(const Graph& network, const compress::Groups& groups,
                                       std::span<const size_t> gone,
                                       const MaskingOptions& options) {
  return Builder(network, groups, gone, options).build();
}

}  // namespace shoal::shrink
