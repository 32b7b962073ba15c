// Branches are made by removal: branch i is the network without the channels it lacks. Its nodes
// before the classifying layer are copied; the rest is copied once, with the classifying layer's
// weights cut to the branches' outputs.
#include "shoal/shrink/branches/make_branches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/branches/branch_networks.h"
#include "shoal/shrink/compress/units/narrowing.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::branch {
namespace {

constexpr size_t kHiddenLayersOfStack = 2;  // fully connected, before the classifying one
constexpr double kLeastFatten = -90, kMostFatten = 10'000;  // percent

Status check(const BranchOptions& options, const BranchForm& form) {
  const size_t branches = options.widths.size();
  if (branches < 2 || branches > kMostBranches) {
    return invalid("a network has 2 to " + std::to_string(kMostBranches) + " branches");
  }
  for (double width : options.widths) {
    if (!(width > 0) || !std::isfinite(width)) return invalid("a branch has a positive width");
  }
  if (!(options.fatten >= kLeastFatten && options.fatten <= kMostFatten)) {
    return invalid("branches are fattened by -90 to 10000 percent");
  }
  if (!options.factors.empty() && options.factors.size() != branches) {
    return invalid("every branch has a factor, or none");
  }
  for (double factor : options.factors) {
    if (!(factor > 0) || !std::isfinite(factor)) return invalid("a branch has a positive factor");
  }
  if (!(form.dropout >= 0 && form.dropout < 1)) {
    return invalid("a branch is dropped with a probability from 0 to below 1");
  }
  if (std::ranges::any_of(form.lost, [&](size_t i) { return i >= branches; })) {
    return invalid("there is no such branch to lose");
  }
  return {};
}

// Where a network is divided: its nodes before the classifying layer, and that layer with the rest.
struct Division {
  size_t classifier = 0;                      // the node
  std::vector<bool> before = {}, after = {};  // by node
  compress::ProductBlocks products = {};      // of the classifying layer
};

// The nodes that compute the value, and those that compute what they read, and so on.
std::vector<bool> makers_of(const Graph& graph, ValueId value) {
  std::vector<bool> wanted(graph.value_count()), makers(graph.nodes().size());
  wanted[static_cast<size_t>(value)] = true;
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    makers[i] = std::ranges::any_of(node.outputs,
                                    [&](ValueId id) { return wanted[static_cast<size_t>(id)]; });
    if (!makers[i]) continue;
    for (ValueId id : node.inputs) {
      if (id != kNoValue) wanted[static_cast<size_t>(id)] = true;
    }
  }
  return makers;
}

// What the nodes after the branches may read: what they make themselves, what the branches give,
// and constants.
Status check_readers(const Graph& graph, const Division& division) {
  const ValueId value = graph.nodes()[division.classifier].inputs[0];
  std::vector<bool> known(graph.value_count());
  known[static_cast<size_t>(value)] = true;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (!division.after[i]) continue;
    const Node& node = graph.nodes()[i];
    for (ValueId id : node.inputs) {
      if (id == kNoValue || graph[id].constant || known[static_cast<size_t>(id)]) continue;
      return Status(Code::kUnsupported, "branches cannot be joined before " +
                                            place_of(graph, graph.nodes()[division.classifier]) +
                                            ", because " + place_of(graph, node) + " reads " +
                                            graph[id].name);
    }
    for (ValueId id : node.outputs) known[static_cast<size_t>(id)] = true;
  }
  return {};
}

Result<Division> divide(const Graph& graph) {
  if (graph.inputs().size() != 1) return invalid("the model needs one input");
  if (graph.outputs().size() != 1) return invalid("the model needs one output");
  const std::vector<bool> needed = makers_of(graph, graph.outputs()[0]);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    const auto layer = needed[i] ? train::as_product(graph, node) : std::nullopt;
    if (!layer) continue;
    const auto products = compress::product_blocks_of(graph, node);
    if (!products || products->blocks.size() != 1 || layer->weight != 1) {
      return Status(Code::kUnsupported,
                    place_of(graph, node) + ", the last product, is no classifying layer");
    }
    Division division{i, makers_of(graph, node.inputs[0]), {}, *products};
    for (size_t n = 0; n < needed.size(); ++n) {
      division.after.push_back(needed[n] && !division.before[n]);
    }
    SHOAL_TRY(check_readers(graph, division));
    return division;
  }
  return Status(Code::kUnsupported, "the network has no layer that multiplies by weights");
}

// Fully connected layers on the way from the last convolution, if any, to the classifying layer.
size_t hidden_layers(const Graph& graph, const Division& division) {
  const passes::UseDefs uses(graph);
  size_t layers = 0;
  const Node* node = uses.producer(graph.nodes()[division.classifier].inputs[0]);
  while (node != nullptr) {
    if (train::as_product(graph, *node)) {
      if (graph[node->outputs[0]].type.shape.rank() != 2) break;
      ++layers;
    }
    node = node->inputs.empty() || node->inputs[0] == kNoValue ? nullptr
                                                               : uses.producer(node->inputs[0]);
  }
  return layers;
}

Result<Merge> merge_of(const Graph& graph, const Division& division, const BranchOptions& options) {
  const bool equal =
      options.factors.empty() &&
      std::ranges::all_of(options.widths, [&](double width) { return width == options.widths[0]; });
  if (options.merge == Merge::kSum && !equal) {
    return invalid("branches of different widths cannot be added up, only concatenated");
  }
  if (options.merge != Merge::kAuto) return options.merge;
  return equal && hidden_layers(graph, division) >= kHiddenLayersOfStack ? Merge::kSum
                                                                         : Merge::kConcat;
}

std::vector<std::string> layers_left_whole(const Graph& graph, const Division& division,
                                           const compress::Groups& groups) {
  std::vector<std::string> notes;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const auto layer = division.before[i] ? train::as_product(graph, node) : std::nullopt;
    if (!layer) continue;
    for (const compress::Refusal& refusal : groups.refused) {
      if (refusal.weights != node.inputs[layer->weight] || refusal.axis != layer->output_axis) {
        continue;
      }
      notes.push_back(place_of(graph, node) + ": " + refusal.reason);
    }
  }
  return notes;
}

class Assembly {
 public:
  explicit Assembly(const Graph& graph) {
    const Value& input = graph[graph.inputs()[0]];
    input_ = to_.add_input(input.name, input.type);
  }

  Graph& graph() { return to_; }

  // The nodes that are marked, with this before all names. Values that `known` has stand for those
  // of the same graph; what was copied is there afterwards.
  Status copy(const Graph& from, const std::vector<bool>& nodes, const std::string& prefix,
              std::map<ValueId, ValueId>& known) {
    known[from.inputs()[0]] = input_;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!nodes[i]) continue;
      const Node& node = from.nodes()[i];
      std::vector<ValueId> inputs;
      for (ValueId id : node.inputs) {
        if (id != kNoValue && !known.contains(id)) {
          known[id] = to_.add_constant(prefix + from[id].name, *from[id].constant);
        }
        inputs.push_back(id == kNoValue ? id : known[id]);
      }
      std::vector<std::string> names;
      for (ValueId id : node.outputs) names.push_back(prefix + from[id].name);
      SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                   to_.add_node(*node.op, std::move(inputs), node.attributes, std::move(names),
                                node.name.empty() ? node.name : prefix + node.name));
      for (size_t o = 0; o < outputs.size(); ++o) known[node.outputs[o]] = outputs[o];
    }
    return {};
  }

 private:
  Graph to_;
  ValueId input_;
};

class Maker {
 public:
  Maker(const Graph& graph, const BranchOptions& options, const BranchForm& form)
      : graph_(graph), options_(options), form_(form), assembly_(graph) {}

  Result<Branched> run() {
    SHOAL_ASSIGN(division_, divide(graph_));
    SHOAL_ASSIGN(const Merge merge, merge_of(graph_, division_, options_));
    SHOAL_ASSIGN(groups_, compress::find_groups(graph_));
    if (!options_.worth.empty() && options_.worth.size() != groups_.units.size()) {
      return invalid("every unit has a worth, or none");
    }
    std::vector<std::string> whole = layers_left_whole(graph_, division_, groups_);
    if (groups_.groups.empty()) {
      return Status(Code::kUnsupported,
                    "no layer can be narrowed" + (whole.empty() ? "" : ": " + whole[0]));
    }
    for (size_t i = 0; i < options_.widths.size(); ++i) SHOAL_TRY(add_branch(i));
    SHOAL_ASSIGN(const ValueId merged, add_merge(merge));
    SHOAL_TRY(add_rest(merged, merge));
    SHOAL_TRY(verify(assembly_.graph()));
    return Branched{std::move(assembly_.graph()), merge, std::move(whole)};
  }

 private:
  const Node& classifier() const { return graph_.nodes()[division_.classifier]; }

  Status add_branch(size_t i) {
    const std::vector<size_t> units = units_without(groups_, options_, i);
    compress::Narrowing narrowing(graph_);
    for (size_t unit : units) narrowing.drop(groups_.units[unit]);
    const std::vector<int64_t> read =
        narrowing.left(classifier().inputs[1])[division_.products.weight_axis];
    if (i == 0) first_ = read;
    read_.insert(read_.end(), read.begin(), read.end());
    SHOAL_ASSIGN(const Graph narrow, compress::remove(graph_, groups_, units));
    const ValueId end = narrow.nodes()[division_.classifier].inputs[0];
    if (std::ranges::find(form_.lost, i) != form_.lost.end()) {
      return add_zeros(narrow[end].type.shape);
    }
    std::map<ValueId, ValueId> known;
    SHOAL_TRY(
        assembly_.copy(narrow, division_.before, "branch" + std::to_string(i + 1) + ".", known));
    ends_.push_back(known[end]);
    return form_.dropout > 0 ? drop_out() : Status();
  }

  Status add_zeros(const Shape& shape) {
    Graph& to = assembly_.graph();
    ops::Chain chain(to, to.inputs()[0]);
    ends_.push_back(chain.stretch_to(chain.scalar(0), shape));
    return chain.status();
  }

  Status drop_out() {
    Graph& to = assembly_.graph();
    ops::Chain chain(to, ends_.back());
    Shape shape = Shape::filled(chain.shape_of(ends_.back()).rank(), 1);
    shape[0] = chain.shape_of(ends_.back())[0];
    const ValueId mask = chain.add(
        ops::dropout, {chain.stretch_to(chain.scalar(1), shape), chain.scalar(form_.dropout)});
    ends_.back() = chain.add(ops::mul, {ends_.back(), mask});
    return chain.status();
  }

  Result<ValueId> add_merge(Merge merge) {
    Graph& to = assembly_.graph();
    if (merge == Merge::kSum) return to.add(ops::sum, ends_, {}, "merged");
    return to.add(ops::concat, ends_, {{"axis", static_cast<int64_t>(division_.products.axis)}},
                  "merged");
  }

  // Copies the classifying layer and what follows it, with its weights cut.
  Status add_rest(ValueId merged, Merge merge) {
    const Value& weights = graph_[classifier().inputs[1]];
    Remainder::Axes taken = compress::Narrowing(graph_).left(classifier().inputs[1]);
    taken[division_.products.weight_axis] = merge == Merge::kSum ? first_ : read_;
    std::map<ValueId, ValueId> known{{classifier().inputs[0], merged}};
    known[classifier().inputs[1]] =
        assembly_.graph().add_constant(weights.name, take(*weights.constant, taken));
    SHOAL_TRY(assembly_.copy(graph_, division_.after, "", known));
    const ValueId output = graph_.outputs()[0];
    assembly_.graph().mark_output(known[output]);
    return {};
  }

  const Graph& graph_;
  const BranchOptions& options_;
  const BranchForm& form_;
  Assembly assembly_;
  Division division_;
  compress::Groups groups_;
  std::vector<ValueId> ends_;          // by branch
  std::vector<int64_t> first_, read_;  // indices of what the classifying layer reads: of the first
                                       // branch, of all
};

}  // namespace

std::vector<double> equal_widths(size_t branches) { return std::vector<double>(branches, 1); }

Result<Branched> make_branches(const Graph& graph, const BranchOptions& options,
                               const BranchForm& form) {
  SHOAL_TRY(check(options, form));
  return Maker(graph, options, form).run();
}

Result<BranchSizes> sizes_of(const Graph& graph, const BranchOptions& options) {
  SHOAL_ASSIGN(Branched branched, make_branches(graph, options));
  return BranchSizes{.parameters = parameters(branched.graph),
                     .parameters_dense = parameters(graph),
                     .macs = total_macs(branched.graph),
                     .macs_dense = total_macs(graph),
                     .fatten = options.fatten,
                     .merge = branched.merge,
                     .whole = std::move(branched.whole)};
}

Result<Graph> narrowed_to(const Graph& graph, int64_t macs) {
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(graph));
  const auto units_for = [&](double share) {
    std::vector<size_t> units;
    for (const compress::Group& group : groups.groups) {
      const auto width = std::clamp<size_t>(
          static_cast<size_t>(std::llround(share * static_cast<double>(group.size()))), 1,
          group.size());
      for (size_t i = width; i < group.size(); ++i) units.push_back(group.begin + i);
    }
    return units;
  };
  std::vector<size_t> best = units_for(1);
  SHOAL_ASSIGN(int64_t nearest, compress::macs_without(graph, groups, best));
  double low = 0, high = 1;
  constexpr int kSteps = 24;
  for (int step = 0; step < kSteps; ++step) {
    const double share = (low + high) / 2;
    std::vector<size_t> units = units_for(share);
    SHOAL_ASSIGN(const int64_t result, compress::macs_without(graph, groups, units));
    (result > macs ? high : low) = share;
    if (std::abs(result - macs) >= std::abs(nearest - macs)) continue;
    nearest = result;
    best = std::move(units);
  }
  return compress::remove(graph, groups, best);
}

}  // namespace shoal::branch
