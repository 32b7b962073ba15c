#include "shoal/shrink/prune/decision/tidy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/units/narrowing.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::shrink {
namespace {

using compress::Cell;
using compress::Unit;

template <class T>
bool is_subnormal(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL;
}

// The tensor with zeros for subnormal numbers; nullopt if it has none.
template <class T>
std::optional<Tensor> flushed(const Tensor& tensor) {
  if (std::ranges::none_of(tensor.data<T>(), is_subnormal<T>)) return std::nullopt;
  Tensor copy = tensor.clone();
  std::ranges::replace_if(copy.data<T>(), is_subnormal<T>, T{0});
  return copy;
}

std::optional<Tensor> flushed(const Tensor& tensor) {
  if (tensor.dtype() == DType::kF32) return flushed<float>(tensor);
  if (tensor.dtype() == DType::kF64) return flushed<double>(tensor);
  return std::nullopt;
}

// Whether a slice is nothing but zeros, of floats: indices and settings are no weights.
bool is_zero(const Tensor& tensor, size_t axis, int64_t index) {
  if (!Floats::contains(tensor.dtype())) return false;
  const Shape& shape = tensor.shape();
  const auto inner = static_cast<size_t>(shape.count(axis + 1, shape.rank()));
  const size_t stride = inner * static_cast<size_t>(shape[axis]);
  bool zero = true;
  visit<Floats>(tensor.dtype(), [&]<class T>() {
    const std::span<const T> all = tensor.data<T>();
    for (size_t at = inner * static_cast<size_t>(index); zero && at < all.size(); at += stride) {
      zero = std::ranges::all_of(all.subspan(at, inner),
                                 [](T x) { return static_cast<float>(x) == 0; });
    }
  });
  return zero;
}

// The cells of a unit along an axis of a value.
std::span<const Cell> cells_of(const Unit& unit, ValueId value, size_t axis) {
  const auto place = [](const Cell& cell) { return std::pair(cell.value, cell.axis); };
  const std::pair wanted(value, axis);
  return {std::ranges::lower_bound(unit.cells, wanted, {}, place),
          std::ranges::upper_bound(unit.cells, wanted, {}, place)};
}

// A product that may add up what a unit gives it.
struct Reader {
  const Node& node;
  size_t axis, weight_axis;  // of inputs 0 and 1
};

std::vector<Reader> readers_in(const Graph& graph) {
  std::vector<Reader> all;
  for (const Node& node : graph.nodes()) {
    const std::vector<bool> needed(node.outputs.size(), true);
    const auto output = compress::single_output(node, graph.operands(node.inputs),
                                                graph.types(node.outputs), needed, 0);
    const auto products = output ? compress::product_blocks_of(*output) : std::nullopt;
    if (products) all.push_back({node, products->axis, products->weight_axis});
  }
  return all;
}

// Finds what is dead by its weights, and asks one run about what they cannot tell.
class DeadUnits {
 public:
  DeadUnits(const Graph& graph, const compress::Groups& groups)
      : graph_(graph), groups_(groups), readers_(readers_in(graph)) {}

  Result<std::vector<size_t>> run(Device& device) {
    std::vector<size_t> dead, may_be;
    for (size_t unit = 0; unit < groups_.units.size(); ++unit) {
      const std::vector<const Reader*> readers = readers_of(groups_.units[unit]);
      if (readers.empty()) continue;  // its use is unknown
      if (all_have_zeros(readers, groups_.units[unit])) {
        dead.push_back(unit);
      } else if (is_made_of_zeros(groups_.units[unit])) {
        may_be.push_back(unit);
      }
    }
    if (!may_be.empty()) {
      SHOAL_TRY(evaluate(device));
      std::ranges::copy_if(may_be, std::back_inserter(dead),
                           [&](size_t unit) { return is_zero_where_read(groups_.units[unit]); });
      std::ranges::sort(dead);
    }
    keep_one_of_each_group(dead);
    return dead;
  }

 private:
  // A depthwise convolution passes a unit on: it has no axis of weights to add up along.
  bool reads(const Reader& reader, const Unit& unit) const {
    return !cells_of(unit, reader.node.inputs[0], reader.axis).empty() &&
           !cells_of(unit, reader.node.inputs[1], reader.weight_axis).empty();
  }

  bool has_zeros_for(const Reader& reader, const Unit& unit) const {
    const ValueId weights = reader.node.inputs[1];
    return graph_[weights].constant &&
           std::ranges::all_of(cells_of(unit, weights, reader.weight_axis), [&](const Cell& cell) {
             return is_zero(*graph_[weights].constant, cell.axis, cell.index);
           });
  }

  std::vector<const Reader*> readers_of(const Unit& unit) const {
    std::vector<const Reader*> all;
    for (const Reader& reader : readers_) {
      if (reads(reader, unit)) all.push_back(&reader);
    }
    return all;
  }

  bool all_have_zeros(const std::vector<const Reader*>& readers, const Unit& unit) const {
    return std::ranges::all_of(readers,
                               [&](const Reader* reader) { return has_zeros_for(*reader, unit); });
  }

  // Whether what a unit is depends on no input: all its constants are zero but those that it is
  // multiplied with where it is read, and only products bring in what is not of the unit.
  bool is_made_of_zeros(const Unit& unit) const {
    const auto readers = readers_of(unit);
    const auto is_read_by = [&](const Cell& cell) {
      return std::ranges::any_of(readers, [&](const Reader* reader) {
        return reader->node.inputs[1] == cell.value && reader->weight_axis == cell.axis;
      });
    };
    const bool zeros = std::ranges::all_of(unit.cells, [&](const Cell& cell) {
      const auto& constant = graph_[cell.value].constant;
      return !constant || is_read_by(cell) || is_zero(*constant, cell.axis, cell.index);
    });
    return zeros && std::ranges::none_of(graph_.nodes(),
                                         [&](const Node& node) { return mixes(unit, node); });
  }

  // Whether a node that is no product makes cells of a unit of something else as well.
  bool mixes(const Unit& unit, const Node& node) const {
    const auto has = [&](ValueId id) {
      return std::ranges::binary_search(unit.cells, id, {}, &Cell::value);
    };
    if (std::ranges::none_of(node.outputs, has)) return false;
    if (std::ranges::any_of(readers_, [&](const Reader& r) { return &r.node == &node; })) {
      return false;
    }
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != kNoValue && !graph_[id].constant && !has(id);
    });
  }

  // The values that products read, in one run on noise.
  Status evaluate(Device& device) {
    passes::Rewriter rewriter(graph_);
    for (const Node& node : graph_.nodes()) SHOAL_TRY(rewriter.copy(node));
    Graph watched = std::move(rewriter.to());
    std::vector<ValueId> values;
    for (const Reader& reader : readers_) {
      const ValueId value = reader.node.inputs[0];
      if (graph_[value].constant || std::ranges::count(values, value) > 0) continue;
      values.push_back(value);
      watched.mark_output(rewriter.map(value));
    }
    SHOAL_ASSIGN(const auto executable, device.compile(watched));
    std::mt19937 rng(1);
    std::vector<Tensor> outputs(values.size());
    SHOAL_TRY(executable->run(random_inputs(watched, rng), outputs, {}));
    for (size_t i = 0; i < values.size(); ++i) values_[values[i]] = std::move(outputs[i]);
    return {};
  }

  bool is_zero_where_read(const Unit& unit) const {
    return std::ranges::all_of(readers_of(unit), [&](const Reader* reader) {
      if (has_zeros_for(*reader, unit)) return true;
      const auto seen = values_.find(reader->node.inputs[0]);
      return seen != values_.end() &&
             std::ranges::all_of(cells_of(unit, seen->first, reader->axis), [&](const Cell& cell) {
               return is_zero(seen->second, cell.axis, cell.index);
             });
    });
  }

  void keep_one_of_each_group(std::vector<size_t>& dead) const {
    for (const compress::Group& group : groups_.groups) {
      const auto first = std::ranges::lower_bound(dead, group.begin);
      const auto last = std::ranges::lower_bound(dead, group.end);
      if (static_cast<size_t>(last - first) == group.size()) dead.erase(first);
    }
  }

  const Graph& graph_;
  const compress::Groups& groups_;
  const std::vector<Reader> readers_;
  std::map<ValueId, Tensor> values_;
};

NetworkForBatch without_dead_code(NetworkForBatch network) {
  return fit::changed(std::move(network),
                      [](const Graph& graph) { return passes::remove_dead_code(graph); });
}

}  // namespace

NetworkForBatch without_subnormals(NetworkForBatch network) {
  return [network = std::move(network)](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
    Weights weights;
    for (size_t i = 0; i < loaded.graph.value_count(); ++i) {
      const Value& value = loaded.graph[static_cast<ValueId>(i)];
      if (!value.constant) continue;
      if (auto tensor = flushed(*value.constant)) weights[value.name] = *std::move(tensor);
    }
    if (weights.empty()) return loaded;
    SHOAL_ASSIGN(loaded.graph, train::rebuilt(loaded.graph, weights));
    return loaded;
  };
}

void lower(std::vector<GroupLeft>& groups, const GroupLeft& more) {
  const auto known = std::ranges::find_if(groups, [&](const GroupLeft& group) {
    return group.weights == more.weights && group.axis == more.axis;
  });
  if (known == groups.end()) {
    groups.push_back(more);
  } else {
    known->left = more.left;
  }
}

Result<std::vector<size_t>> dead_units(Device& device, const Graph& graph,
                                       const compress::Groups& groups) {
  return DeadUnits(graph, groups).run(device);
}

// What a unit was all that a filter of the next layer read may make that filter a dead one, too.
Result<Tidied> tidied(Device& device, NetworkForBatch network) {
  Tidied result{without_dead_code(without_subnormals(std::move(network))), {}};
  while (true) {
    SHOAL_ASSIGN(const LoadedGraph loaded, result.network(1));
    SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(loaded.graph));
    SHOAL_ASSIGN(const std::vector<size_t> units, dead_units(device, loaded.graph, groups));
    if (units.empty()) return result;
    const auto smaller = compress::remove(loaded.graph, groups, units);
    if (smaller.status().code() == Code::kUnsupported) return result;
    SHOAL_TRY(smaller.status());
    for (const GroupLeft& group : removed_by(loaded.graph, groups, units)) {
      lower(result.removed, group);
    }
    result.network = without(std::move(result.network), units);
  }
}

}  // namespace shoal::shrink
