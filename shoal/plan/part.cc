// Parts, traced backwards. Each wanted piece of an output is a box; walking the nodes from last to
// first, `split` turns the box of an output into the boxes of the inputs, and boxes of one value
// are merged into their bounding box. Halos thus grow by themselves, layer by layer. One pass over
// the nodes suffices because a graph lists every reader of a value after its maker: when the walk
// comes to a node, all demands on its outputs are known.
#include "shoal/plan/part.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "shoal/model/ops/ops.h"
#include "shoal/plan/boxes.h"
#include "shoal/plan/sparse/sparse_pattern.h"

namespace shoal::plan {
namespace {

Region whole(const Graph& graph, ValueId id) { return Region::whole(graph[id].type.shape); }

// Walks the nodes backwards and remembers what is needed of every value.
class Tracer {
 public:
  Tracer(const Graph& graph, NodeRange nodes) : graph_(graph), nodes_(nodes) {}

  Result<Part> run(std::vector<Piece> outputs) {
    for (const Piece& piece : outputs) need(piece.value, piece.region);
    for (size_t i = nodes_.end; i-- > nodes_.begin;) SHOAL_TRY(trace(i));
    std::ranges::reverse(part_.nodes);
    find_weights(outputs);
    for (const auto& [value, region] : needed_) part_.inputs.push_back({ValueId{value}, region});
    part_.outputs = std::move(outputs);
    return std::move(part_);
  }

 private:
  // An empty region is no demand: a tile of a Concat reads nothing of the inputs outside of it.
  void need(ValueId value, const Region& region) {
    if (is_empty(region)) return;
    const auto [it, is_new] = needed_.emplace(static_cast<int32_t>(value), region);
    if (!is_new) it->second = bounding_box(it->second, region);
  }

  // Turns the demand on the node's outputs into demand on its inputs.
  Status trace(size_t index) {
    const Node& node = graph_.nodes()[index];
    std::optional<Region> wanted;
    bool others = false;  // outputs beyond the first
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto it = needed_.find(static_cast<int32_t>(node.outputs[i]));
      if (it == needed_.end()) continue;
      // Operators split along output 0 only. If any other output is needed, the node is computed
      // whole.
      (i == 0 ? wanted.emplace(it->second), false : others = true);
      needed_.erase(it);
    }
    if (!wanted && !others) return {};
    PartNode traced;
    traced.node = index;
    SHOAL_ASSIGN(traced.tile, tile_of(node, others ? std::nullopt : wanted));
    traced.inputs = traced.tile.inputs;
    constexpr size_t kWithoutSteps = 4;  // inputs
    traced.is_copy = node.op == &ops::slice && node.inputs.size() <= kWithoutSteps &&
                     traced.inputs[0].shape() == traced.tile.output.shape();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id != kNoValue && !graph_[id].constant) need(id, traced.inputs[i]);
    }
    part_.nodes.push_back(std::move(traced));
    return {};
  }

  // The tile that gives the box of output 0, or all outputs if there is no box. `split` is asked
  // even for a whole box, because a slice does not read all of its input.
  Result<Tile> tile_of(const Node& node, const std::optional<Region>& wanted) const {
    const Region all = whole(graph_, node.outputs[0]);
    if (wanted && node.op->split != nullptr) {
      if (auto tile = node.op->split(node, graph_.operands(node.inputs), *wanted)) {
        return *std::move(tile);
      }
    }
    if (wanted && *wanted != all) {
      return Status(Code::kUnsupported, place_of(graph_, node) + " cannot be split there");
    }
    Tile tile{{}, all, node.attributes, {}};
    for (ValueId id : node.inputs) {
      tile.inputs.push_back(id == kNoValue ? Region{} : whole(graph_, id));
    }
    return tile;
  }

  // Finds nodes that depend on constants alone. They are computed once, when the part's graph is
  // made. Outputs of the part are exempt: the worker must deliver them with every request.
  void find_weights(const std::vector<Piece>& outputs) {
    std::set<ValueId> made;
    for (PartNode& part : part_.nodes) {
      const Node& node = graph_.nodes()[part.node];
      bool all = !node.inputs.empty() && node.outputs.size() == 1 && !node.op->random;
      for (ValueId id : node.inputs) {
        part.weights.push_back(id != kNoValue && (graph_[id].constant || made.contains(id)));
        all = all && (id == kNoValue || part.weights.back());
      }
      const auto asked = std::ranges::find(outputs, node.outputs[0], &Piece::value);
      part.is_weight = all && asked == outputs.end();
      if (part.is_weight) made.insert(node.outputs[0]);
    }
  }

  const Graph& graph_;
  const NodeRange nodes_;
  std::map<int32_t, Region> needed_;
  Part part_;
};

std::vector<Operand> operands_of(const Graph& whole, const PartNode& part) {
  const Node& node = whole.nodes()[part.node];
  std::vector<Operand> operands = whole.operands(node.inputs);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].given) continue;
    const auto replaced = part.tile.constants.find(i);
    if (replaced != part.tile.constants.end()) {
      operands[i].type = replaced->second.type();
      operands[i].value = &replaced->second;
    } else {
      operands[i].type.shape = part.inputs[i].shape();
    }
  }
  return operands;
}

// The constant that a node before `end` passes on, or that the value is; null if it is computed.
const Tensor* constant_of(const Graph& graph, ValueId id, size_t end) {
  for (size_t i = end; !graph[id].constant && i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (node.outputs[0] != id) continue;
    if (node.op != &ops::identity) break;
    id = node.inputs[0];
  }
  return graph[id].constant ? &*graph[id].constant : nullptr;
}

// A product of one vector and a constant matrix takes time for the elements that are not zero,
// below the density at which sparse and dense kernels are equally fast [Mao 2017a].
double sparse_time(const Graph& graph, const PartNode& part, const Work& work) {
  constexpr double kBreakEven = 0.15;
  const Node& node = graph.nodes()[part.node];
  if (work.macs == 0 || node.inputs.size() < 2 || !part.weights[1]) return 1;
  const Tensor* weight = constant_of(graph, node.inputs[1], part.node);
  const bool is_matrix = weight != nullptr && weight->dtype() == DType::kF32 &&
                         weight->shape().rank() == 2 &&
                         work.macs == static_cast<double>(part.inputs[1].shape().count());
  return is_matrix ? std::min(1.0, sampled_density(weight->data<float>()) / kBreakEven) : 1;
}

}  // namespace

Result<Part> make_part(const Graph& graph, NodeRange nodes, std::vector<Piece> outputs) {
  return Tracer(graph, nodes).run(std::move(outputs));
}

Work work_of(const Graph& whole, const PartNode& part) {
  const Node& node = whole.nodes()[part.node];
  if (part.is_weight || part.is_copy) return {};
  const std::vector<Operand> operands = operands_of(whole, part);
  const TensorType output{whole[node.outputs[0]].type.dtype, part.tile.output.shape()};
  Work work;
  if (node.op->macs != nullptr) {
    const Node tile{node.op, node.inputs, node.outputs, part.tile.attributes, {}};
    work.macs = static_cast<double>(node.op->macs(tile, operands, std::span(&output, 1)));
  }
  work.bytes = static_cast<double>(output.bytes());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].given) continue;
    const auto bytes = static_cast<double>(operands[i].type.bytes());
    work.bytes += bytes;
    if (part.weights[i]) work.weight_bytes += bytes;
  }
  work.sparse = sparse_time(whole, part, work);
  return work;
}

double weight_bytes(const Graph& whole, const Part& part) {
  double bytes = 0;
  for (const PartNode& node : part.nodes) bytes += work_of(whole, node).weight_bytes;
  return bytes;
}

Region intersection(const Region& a, const Region& b) {
  Region both = a;
  for (size_t d = 0; d < a.begin.rank(); ++d) {
    both.begin[d] = std::max(a.begin[d], b.begin[d]);
    both.end[d] = std::min(a.end[d], b.end[d]);
  }
  return both;
}

Region relative(const Region& box, const Region& to) {
  Region moved = box;
  for (size_t d = 0; d < box.begin.rank(); ++d) {
    moved.begin[d] -= to.begin[d];
    moved.end[d] -= to.begin[d];
  }
  return moved;
}

bool is_empty(const Region& region) {
  for (size_t d = 0; d < region.begin.rank(); ++d) {
    if (region.end[d] <= region.begin[d]) return true;
  }
  return false;
}

int64_t bytes_of(const Graph& graph, const Piece& piece) {
  return piece.region.shape().count() *
         static_cast<int64_t>(size_of(graph[piece.value].type.dtype));
}

}  // namespace shoal::plan
