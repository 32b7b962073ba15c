// Nodes are copied in order; those that lose cells get the attributes found by Narrowing, cut
// constants and new types.
#include "shoal/shrink/compress/units/remove.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/units/narrowing.h"

namespace shoal::compress {
namespace {

Status check_units(const Groups& groups, std::span<const size_t> units) {
  std::vector<bool> removed(groups.units.size());
  for (size_t unit : units) {
    if (unit >= removed.size()) return invalid("there is no unit " + std::to_string(unit));
    if (removed[unit]) return invalid("unit " + std::to_string(unit) + " is removed twice");
    removed[unit] = true;
  }
  for (const Group& group : groups.groups) {
    const auto begin = removed.begin() + static_cast<ptrdiff_t>(group.begin);
    if (std::find(begin, begin + static_cast<ptrdiff_t>(group.size()), false) ==
        begin + static_cast<ptrdiff_t>(group.size())) {
      return invalid("nothing would be left of the group of unit " + std::to_string(group.begin));
    }
  }
  return {};
}

Result<Narrowing> narrowing_of(const Graph& graph, const Groups& groups,
                               std::span<const size_t> units) {
  SHOAL_TRY(check_units(groups, units));
  Narrowing narrowing(graph);
  for (size_t unit : units) narrowing.drop(groups.units[unit]);
  return narrowing;
}

class Remover {
 public:
  Remover(const Graph& from, const Narrowing& narrowing)
      : from_(from), narrowing_(narrowing), fresh_(from.value_count(), kNoValue) {}

  Result<Graph> run() {
    for (ValueId id : from_.inputs()) {
      fresh(id) = to_.add_input(from_[id].name, {from_[id].type.dtype, narrowing_.shape(id)});
    }
    for (const Node& node : from_.nodes()) SHOAL_TRY(add(node));
    for (ValueId id : from_.outputs()) to_.mark_output(map(id));
    SHOAL_TRY(verify(to_));
    return std::move(to_);
  }

 private:
  ValueId& fresh(ValueId id) { return fresh_[static_cast<size_t>(id)]; }

  // A constant is added with the first node that reads it.
  ValueId map(ValueId id) {
    if (id == kNoValue || fresh(id) != kNoValue) return id == kNoValue ? id : fresh(id);
    const Tensor& constant = *from_[id].constant;
    return fresh(id) = to_.add_constant(from_[id].name, narrowing_.touches(id)
                                                            ? take(constant, narrowing_.left(id))
                                                            : constant);
  }

  // A list that several nodes share often stays the same for all of them.
  ValueId replacement(const Node& node, size_t input, const Tensor& tensor) {
    const bool had = input < node.inputs.size() && node.inputs[input] != kNoValue;
    const ValueId old = had ? node.inputs[input] : node.outputs[0];
    for (const ValueId id : lists_[old]) {
      const Tensor& list = *to_[id].constant;
      if (list.type() == tensor.type() && std::ranges::equal(list.bytes(), tensor.bytes())) {
        return id;
      }
    }
    const std::string name = from_[old].name + (had ? "" : ".input" + std::to_string(input));
    return lists_[old].emplace_back(to_.add_constant(name, tensor));
  }

  Status add(const Node& node) {
    SHOAL_ASSIGN(const NarrowNode narrow, narrowing_.narrow(node));
    SHOAL_TRY(narrowing_.check_reads(node, narrow));
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < narrow.node.inputs.size(); ++i) {
      const auto constant = narrow.constants.find(i);
      inputs.push_back(constant != narrow.constants.end() ? replacement(node, i, constant->second)
                                                          : map(narrow.node.inputs[i]));
    }
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(from_[id].name);
    SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                 to_.add_node(*node.op, std::move(inputs), narrow.node.attributes, std::move(names),
                              node.name));
    for (size_t i = 0; i < outputs.size(); ++i) fresh(node.outputs[i]) = outputs[i];
    return {};
  }

  const Graph& from_;
  const Narrowing& narrowing_;
  Graph to_;
  std::vector<ValueId> fresh_;                     // per old value; kNoValue: not there yet
  std::map<ValueId, std::vector<ValueId>> lists_;  // per old constant, what took its place
};

// Ones for the indices that are left of an axis, zeros for the others, to multiply a value with.
Tensor mask_of(const Graph& graph, const Narrowing& narrowing, ValueId value, size_t axis) {
  Shape shape = Shape::filled(graph[value].type.shape.rank(), 1);
  shape[axis] = graph[value].type.shape[axis];
  Tensor mask({DType::kF32, shape});
  const Remainder::Axes left = narrowing.left(value);
  for (int64_t i : left[axis]) mask.data<float>()[static_cast<size_t>(i)] = 1;
  return ops::converted(mask, graph[value].type.dtype);
}

}  // namespace

Result<Graph> remove(const Graph& graph, const Groups& groups, std::span<const size_t> units) {
  SHOAL_ASSIGN(const Narrowing narrowing, narrowing_of(graph, groups, units));
  if (units.empty()) return graph;
  return Remover(graph, narrowing).run();
}

Result<Graph> masked(const Graph& graph, const Groups& groups, std::span<const size_t> units) {
  SHOAL_ASSIGN(const Narrowing narrowing, narrowing_of(graph, groups, units));
  passes::Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    const auto products = narrowing.touches(node) ? product_blocks_of(graph, node) : std::nullopt;
    if (!products || !narrowing.touches(node.inputs[0])) {
      SHOAL_TRY(rewriter.copy(node));
      continue;
    }
    std::vector<ValueId> inputs = rewriter.map(node.inputs);
    const ValueId mask = rewriter.add_constant(
        node, "mask", mask_of(graph, narrowing, node.inputs[0], products->axis));
    SHOAL_ASSIGN(inputs[0], rewriter.to().add(ops::mul, {inputs[0], mask}));
    if (!rewriter.substitute(node, *node.op, std::move(inputs), node.attributes)) {
      return Status(Code::kInternal, place_of(graph, node) + " refuses its masked input");
    }
  }
  return rewriter.finish();
}

Result<Size> size_without(const Graph& graph, const Groups& groups, std::span<const size_t> units) {
  SHOAL_ASSIGN(const Narrowing narrowing, narrowing_of(graph, groups, units));
  return narrowing.size();
}

Result<int64_t> macs_without(const Graph& graph, const Groups& groups,
                             std::span<const size_t> units) {
  SHOAL_ASSIGN(const Size size, size_without(graph, groups, units));
  return size.macs;
}

}  // namespace shoal::compress
