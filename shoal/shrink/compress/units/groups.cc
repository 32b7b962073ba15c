// Groups by union-find. Every index of every axis of every value is a cell. For each node and each
// axis of its output, `split` says what each index of the axis reads:
//
//   an input is read along one of its axes where the index says   -> these cells go together
//   two inputs are multiplied and added up along an axis of each  -> index by index they go
//   together the tile computes more indices than asked                     -> these go together all
//   of an axis is read whatever the index                     -> its cells must stay `split`
//   refuses                                               -> the cells must stay
//
// A set of cells that may all go is a unit. Depthwise convolutions, concatenations, heads,
// flattened images, grouped and broadcast constants all follow from this. A flattened channel, or a
// head, is a unit of many cells of one axis.
//
// If output indices read blocks of a multiplied axis, as in a grouped convolution, the blocks must
// stay equally long: the j-th indices of all blocks go together, and so do the j-th outputs.
#include "shoal/shrink/compress/units/groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "shoal/model/graph/parameter.h"
#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/units/narrowing.h"

namespace shoal::compress {
namespace {

// Disjoint sets of cells. A set may have a reason why it must stay.
class Sets {
 public:
  explicit Sets(size_t count) : parents_(count), reasons_(count) {
    std::iota(parents_.begin(), parents_.end(), size_t{0});
  }

  size_t find(size_t cell) {
    while (parents_[cell] != cell) cell = parents_[cell] = parents_[parents_[cell]];
    return cell;
  }

  // The smaller cell stands for the set. The reason that was found first stays.
  void unite(size_t a, size_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);
    parents_[b] = a;
    if (reasons_[a] == 0 || (reasons_[b] != 0 && reasons_[b] < reasons_[a])) {
      reasons_[a] = reasons_[b];
    }
  }

  void keep(size_t cell, uint32_t reason) {
    uint32_t& had = reasons_[find(cell)];
    if (had == 0) had = reason;
  }
  uint32_t reason(size_t cell) { return reasons_[find(cell)]; }  // 0: the set may go

 private:
  std::vector<size_t> parents_;
  std::vector<uint32_t> reasons_;  // of the cells that stand for a set
};

// The numbers of the cells of a graph: those of a value's first axis, then of its second, and so
// on.
class Numbering {
 public:
  explicit Numbering(const Graph& graph) {
    for (size_t v = 0; v < graph.value_count(); ++v) {
      firsts_.push_back(count_);
      const Shape& shape = graph[ValueId(static_cast<int32_t>(v))].type.shape;
      for (int64_t dim : shape) count_ += static_cast<size_t>(dim);
      if (count_ > kMostCells) return;
    }
  }
  size_t count() const { return count_; }
  size_t first(const Graph& graph, ValueId value, size_t axis) const {
    size_t first = firsts_[static_cast<size_t>(value)];
    const Shape& shape = graph[value].type.shape;
    for (size_t d = 0; d < axis; ++d) first += static_cast<size_t>(shape[d]);
    return first;
  }

 private:
  std::vector<size_t> firsts_;  // per value
  size_t count_ = 0;
};

// Whether two tiles read the same run of an axis of an input.
bool same_run(const Tile& a, const Tile& b, size_t input, size_t axis) {
  return a.inputs[input].begin[axis] == b.inputs[input].begin[axis] &&
         a.inputs[input].end[axis] == b.inputs[input].end[axis];
}

class Learner {
 public:
  explicit Learner(const Graph& graph)
      : graph_(graph), numbering_(graph), sets_(numbering_.count()), reasons_(1) {}

  void learn(Ends ends) {
    if (ends == Ends::kFixed) {
      for (ValueId id : graph_.inputs()) keep(id, name(id) + " is an input of the network");
      for (ValueId id : graph_.outputs()) keep(id, name(id) + " is an output of the network");
    }
    const std::vector<bool> needed = values_needed(graph_);
    for (const Node& node : graph_.nodes()) learn(node, needed);
  }

  size_t cells() const { return numbering_.count(); }
  size_t cell(ValueId value, size_t axis, int64_t index) const {
    return numbering_.first(graph_, value, axis) + static_cast<size_t>(index);
  }
  size_t set_of(size_t cell) { return sets_.find(cell); }
  // Why the cell must stay; null if it may go.
  const std::string* reason(size_t cell) {
    const uint32_t reason = sets_.reason(cell);
    return reason == 0 ? nullptr : &reasons_[reason];
  }

 private:
  using Axes = std::vector<std::vector<bool>>;  // some axes of the inputs
  // What was learnt of the axes of a node's inputs. Those with neither mark are read whole.
  struct Marks {
    Axes multiplied;  // summed up in products
    Axes followed;    // read where the index of an axis of the output says
  };

  struct Run {
    int64_t begin = 0, end = 0;
  };

  const std::string& name(ValueId id) const { return graph_[id].name; }
  bool is_data(const Node& node, size_t input) const {
    return node.inputs[input] != kNoValue && !node.op->reads_value(input);
  }

  void keep(ValueId value, size_t axis, Run run, std::string reason) {
    reasons_.push_back(std::move(reason));
    for (int64_t i = run.begin; i < run.end; ++i) {
      sets_.keep(cell(value, axis, i), static_cast<uint32_t>(reasons_.size() - 1));
    }
  }
  void keep(ValueId value, const std::string& reason) {
    const Shape& shape = graph_[value].type.shape;
    for (size_t d = 0; d < shape.rank(); ++d) keep(value, d, {0, shape[d]}, reason);
  }

  // Joins a run of indices of an axis to a cell. `joined` is what earlier runs have joined without
  // a gap: repeating it would take quadratic time if every index reads all.
  void join(size_t with, ValueId value, size_t axis, Run run, Run& joined) {
    if (run.begin >= run.end) return;
    const bool overlaps = run.begin >= joined.begin && run.begin < joined.end;
    sets_.unite(with, cell(value, axis, run.begin));
    for (int64_t i = overlaps ? joined.end : run.begin + 1; i < run.end; ++i) {
      sets_.unite(cell(value, axis, i - 1), cell(value, axis, i));
    }
    joined = overlaps ? Run{joined.begin, std::max(joined.end, run.end)} : run;
  }

  void learn(const Node& node, const std::vector<bool>& needed);
  void learn(const Node& node, const SingleOutput& output);
  void learn_products(const SingleOutput& output, Marks& marks);
  void learn_axis(const Node& node, const SingleOutput& output, size_t axis, Marks& marks);
  bool find_followers(const SingleOutput& output, size_t axis, Axes& followers);

  const Graph& graph_;
  Numbering numbering_;
  Sets sets_;
  std::vector<std::string> reasons_;  // 0 is none
};

void Learner::learn(const Node& node, const std::vector<bool>& needed) {
  const std::vector<Operand> operands = graph_.operands(node.inputs);
  const std::vector<TensorType> types = graph_.types(node.outputs);
  std::vector<bool> outputs_needed;
  for (ValueId id : node.outputs) outputs_needed.push_back(needed[static_cast<size_t>(id)]);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!outputs_needed[i]) continue;
    if (const auto output = single_output(node, operands, types, outputs_needed, i)) {
      learn(node, *output);
      continue;
    }
    const std::string reason = place_of(graph_, node) + " " + reason_not_asked(node);
    std::vector<ValueId> values = {node.outputs[i]};
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (is_data(node, k)) values.push_back(node.inputs[k]);
    }
    for (ValueId id : values) keep(id, reason);
  }
}

void Learner::learn(const Node& node, const SingleOutput& output) {
  Marks marks;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    marks.multiplied.emplace_back(is_data(node, i) ? output.operands[i].type.shape.rank() : 0);
  }
  marks.followed = marks.multiplied;
  learn_products(output, marks);
  for (size_t axis = 0; axis < output.type.shape.rank(); ++axis) {
    if (output.type.shape[axis] > 1) learn_axis(node, output, axis, marks);
  }
  // An axis of one index is broadcast, if anything. Of the others, what is read must stay.
  const auto whole = whole_of(output);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_data(node, i)) continue;
    const Shape& shape = graph_[node.inputs[i]].type.shape;
    const Region read = whole ? whole->inputs[i] : Region::whole(shape);
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (marks.multiplied[i][d] || marks.followed[i][d] || shape[d] == 1) continue;
      keep(node.inputs[i], d, {read.begin[d], read.end[d]},
           place_of(graph_, node) + " reads all of axis " + std::to_string(d) + " at once");
    }
  }
}

void Learner::learn_products(const SingleOutput& output, Marks& marks) {
  const auto products = product_blocks_of(output);
  if (!products) return;
  const ValueId x = output.node.inputs[0], w = output.node.inputs[1], y = output.node.outputs[0];
  marks.multiplied[0][products->axis] = marks.multiplied[1][products->weight_axis] = true;
  const Block& first = products->blocks.front();
  for (const Block& block : products->blocks) {
    for (int64_t j = 0; j < block.length; ++j) {
      const size_t read = cell(x, products->axis, block.begin + j);
      sets_.unite(read, cell(w, products->weight_axis, block.weight_begin + j));
      sets_.unite(read, cell(x, products->axis, first.begin + j));
    }
    for (size_t j = 0; j < block.outputs.size(); ++j) {
      sets_.unite(cell(y, products->output_axis, block.outputs[j]),
                  cell(y, products->output_axis, first.outputs[j]));
    }
  }
}

// Finds the axes of the inputs where different indices of an axis of the output read different
// runs. Returns false if the node cannot be split along the axis.
bool Learner::find_followers(const SingleOutput& output, size_t axis, Axes& followers) {
  const auto first = slab_of(output, axis, 0);
  if (!first) return false;
  for (int64_t index = 1; index < output.type.shape[axis]; ++index) {
    const auto tile = slab_of(output, axis, index);
    if (!tile) return false;
    for (size_t i = 0; i < followers.size(); ++i) {
      for (size_t d = 0; d < followers[i].size(); ++d) {
        if (!same_run(*first, *tile, i, d)) followers[i][d] = true;
      }
    }
  }
  return true;
}

void Learner::learn_axis(const Node& node, const SingleOutput& output, size_t axis, Marks& marks) {
  const ValueId y = output.node.outputs[0];
  const int64_t length = output.type.shape[axis];
  const std::string place = place_of(graph_, node), where = " axis " + std::to_string(axis);
  Axes followers;
  for (const auto& axes : marks.followed) followers.emplace_back(axes.size());
  if (!find_followers(output, axis, followers)) {
    return keep(y, axis, {0, length}, place + " cannot be split along" + where);
  }
  bool made_here = true, at_once = false;
  Run written;
  std::vector<std::vector<Run>> read;
  for (const auto& axes : followers) read.emplace_back(axes.size());
  for (int64_t index = 0; index < length; ++index) {
    const Tile tile = *slab_of(output, axis, index);
    const size_t here = cell(y, axis, index);
    join(here, y, axis, {tile.output.begin[axis], tile.output.end[axis]}, written);
    at_once = at_once || tile.output.end[axis] - tile.output.begin[axis] == length;
    for (size_t i = 0; i < followers.size(); ++i) {
      for (size_t d = 0; d < followers[i].size(); ++d) {
        if (!followers[i][d]) continue;
        made_here = false;
        marks.followed[i][d] = true;
        if (marks.multiplied[i][d]) continue;
        join(here, node.inputs[i], d, {tile.inputs[i].begin[d], tile.inputs[i].end[d]}, read[i][d]);
      }
    }
  }
  if (at_once) return keep(y, axis, {0, length}, place + " computes all of" + where + " at once");
  // Settings may tell the node to make fewer of them; whether they do is tried later.
  if (made_here && node.op->shrink == nullptr) {
    keep(y, axis, {0, length}, place + " makes" + where + " by itself");
  }
}

// Calls f(cell, its number) for every cell of a graph, in order.
template <class F>
void for_each_cell(const Graph& graph, F f) {
  size_t cell = 0;
  for (size_t v = 0; v < graph.value_count(); ++v) {
    const ValueId value{static_cast<int32_t>(v)};
    const Shape& shape = graph[value].type.shape;
    for (size_t axis = 0; axis < shape.rank(); ++axis) {
      for (int64_t index = 0; index < shape[axis]; ++index) f(Cell{value, axis, index}, cell++);
    }
  }
}

// Which values change from run to run, and are read.
std::vector<bool> flowing_values(const Graph& graph) {
  std::vector<bool> flowing = values_needed(graph);
  for (size_t v = 0; v < flowing.size(); ++v) {
    if (graph[ValueId(static_cast<int32_t>(v))].constant) flowing[v] = false;
  }
  return flowing;
}

class Collector {
 public:
  Collector(const Graph& graph, Learner& learner)
      : graph_(graph), learner_(learner), flows_(learner.cells()) {
    const std::vector<bool> flowing = flowing_values(graph);
    for_each_cell(graph, [&](const Cell& cell, size_t number) {
      if (flowing[static_cast<size_t>(cell.value)]) flows_[learner_.set_of(number)] = true;
    });
  }

  Groups collect() {
    // A set of slices of constants alone is nothing that a network computes.
    std::map<size_t, Unit> units;
    for_each_cell(graph_, [&](const Cell& cell, size_t number) {
      const size_t set = learner_.set_of(number);
      if (!flows_[set] || learner_.reason(number) != nullptr) return;
      units[set].cells.push_back(cell);
    });
    std::map<Kind, std::vector<const Unit*>> alike;
    std::vector<const std::vector<const Unit*>*> in_order;
    for (const auto& [set, unit] : units) {
      auto& group = alike[kind_of(unit)];
      if (group.empty()) in_order.push_back(&group);
      group.push_back(&unit);
    }
    for (const auto* group : in_order) add(*group);
    refuse();
    return std::move(groups_);
  }

 private:
  // The axes of a unit, and its number of indices on each.
  using Kind = std::map<std::pair<ValueId, size_t>, size_t>;
  static Kind kind_of(const Unit& unit) {
    Kind kind;
    for (const Cell& cell : unit.cells) ++kind[{cell.value, cell.axis}];
    return kind;
  }

  // Tries the removal of one unit; its neighbours on both sides must not change.
  Status attempt(const Unit& unit) const {
    Narrowing narrowing(graph_);
    narrowing.drop(unit);
    for (const Node& node : graph_.nodes()) {
      if (!narrowing.touches(node)) continue;
      SHOAL_ASSIGN(const NarrowNode narrow, narrowing.narrow(node));
      SHOAL_TRY(narrowing.check_reads(node, narrow));
    }
    return {};
  }

  void add(const std::vector<const Unit*>& alike) {
    Status fine = alike.size() > 1
                      ? attempt(*alike[alike.size() / 2])
                      : Status(Code::kUnsupported, "nothing would be left of one of its axes");
    if (!fine.ok()) {
      for (const Unit* unit : alike) failed_.emplace_back(unit, fine.message());
      return;
    }
    groups_.groups.push_back({groups_.units.size(), groups_.units.size() + alike.size()});
    for (const Unit* unit : alike) groups_.units.push_back(*unit);
  }

  // One refusal per axis of weights that has something to do with what the network computes.
  void refuse() {
    std::map<size_t, const std::string*> failed;  // by the first cell of the set
    for (const auto& [unit, reason] : failed_) {
      const Cell& first = unit->cells.front();
      failed[learner_.set_of(learner_.cell(first.value, first.axis, first.index))] = &reason;
    }
    std::vector<bool> is_weight(graph_.value_count());
    for (const Node& node : graph_.nodes()) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!is_parameter(graph_, node, i)) continue;
        is_weight[static_cast<size_t>(node.inputs[i])] = true;
      }
    }
    for_each_cell(graph_, [&](const Cell& cell, size_t number) {
      const size_t set = learner_.set_of(number);
      if (!is_weight[static_cast<size_t>(cell.value)] || !flows_[set]) return;
      if (graph_[cell.value].type.shape[cell.axis] == 1) return;
      const std::string* reason = learner_.reason(number);
      const auto position = failed.find(set);
      if (reason == nullptr && position != failed.end()) reason = position->second;
      if (reason == nullptr) return;
      std::vector<Refusal>& refused = groups_.refused;
      if (refused.empty() || refused.back().weights != cell.value ||
          refused.back().axis != cell.axis) {
        refused.push_back({cell.value, cell.axis, 0, *reason});
      }
      ++refused.back().indices;
    });
  }

  const Graph& graph_;
  Learner& learner_;
  std::vector<bool> flows_;  // whether a set has a cell of a value that flows
  std::vector<std::pair<const Unit*, std::string>> failed_;
  Groups groups_;
};

}  // namespace

Result<Groups> find_groups(const Graph& graph, Ends ends) {
  if (const Node* node = quantised_node(graph)) {
    return Status(Code::kUnsupported, place_of(graph, *node) +
                                          " is quantised; remove units of the float model, and "
                                          "quantise what is left");
  }
  if (Numbering(graph).count() > kMostCells) {
    return Status(Code::kExhausted, "the values of the graph have too many indices");
  }
  Learner learner(graph);
  learner.learn(ends);
  return Collector(graph, learner).collect();
}

}  // namespace shoal::compress
