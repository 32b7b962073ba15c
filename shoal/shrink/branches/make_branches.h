// A classifier as narrow branches that share only the input and the classifying layer
// [Hadidi 2021, 5.1]. Each branch can be computed by a machine of its own, and nothing travels
// between branches.
//
// A layer of w channels has in branch i of widths d
//
//   round(max(1, floor(w d[i] / sum d)) (1 + F / 100))
//
// of them, but not more than w, where F is by how many percent branches are fattened; below 0 they
// are narrower, for workers that are too slow for a share of the network each. The
// classifying layer, which is the last product, stays as wide as it was. What it read before, each
// branch gives a part of. The parts are added up or concatenated: added up after a stack of fully
// connected layers, concatenated otherwise, which is what the thesis' parameter totals say
// [Hadidi 2021, 5.1].
//
// Channels are those of groups.h, so whatever can be removed there, residual shortcuts included, is
// narrowed here. A branch begins with weights of the network: its own share of the channels, in
// order, and more of the next ones where it was fattened.
//
//   SHOAL_ASSIGN(const branch::Branched made,
//                branch::make_branches(graph, {.widths = branch::equal_widths(8), .fatten = 40}));
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::branch {

// How what the branches give becomes one value.
enum class Merge : uint8_t { kAuto, kSum, kConcat };

// What the branches are.
struct BranchOptions {
  std::vector<double> widths = {};  // of the branches, in relation to each other; two at least
  double fatten = 0;                // percent
  bool round_down = false;          // fattened widths, as the thesis' ResNet-50 was, not to nearest
  Merge merge = Merge::kAuto;       // kSum only for branches of equal widths
  // By which each branch is wider still, in place of relations that `widths` would round off: for
  // branches that have a little more time than others. Empty: 1 for all.
  std::vector<double> factors = {};
  // Of each unit of the network's groups: a branch gets its share of the good ones. Empty: channels
  // are shared in order.
  std::vector<double> worth = {};
};

// So many branches of the same width.
std::vector<double> equal_widths(size_t branches);

// The same network for training, or after a loss.
struct BranchForm {
  float dropout = 0;              // with this probability, training does without a branch
  std::vector<size_t> lost = {};  // branches that give zeros, from 0
};

// A network of branches.
struct Branched {
  Graph graph;  // its nodes are those of the branches, one after the other, then others
  Merge merge = Merge::kSum;  // or kConcat
  // Layers of which each branch has all channels, and why.
  std::vector<std::string> whole = {};
};

// What a network of branches costs beside the network as it was. Work is that of the graphs'
// batch.
struct BranchSizes {
  int64_t parameters = 0, parameters_dense = 0;
  int64_t macs = 0, macs_dense = 0;
  double fatten = 0;                    // percent
  Merge merge = Merge::kSum;            // or kConcat
  std::vector<std::string> whole = {};  // as Branched says
};

// The most branches of a network.
inline constexpr size_t kMostBranches = 256;

// kInvalidArgument for options out of range, for a network of several inputs or outputs, and for
// one where a sum is asked for that cannot be; kUnsupported, with the reason, where the network has
// no classifying layer, where something reads the input beside the branches, or where no layer can
// be narrowed. A pure function: any threads may call it at once.
Result<Branched> make_branches(const Graph& graph, const BranchOptions& options,
                               const BranchForm& form = {});

// Its costs. Fails as make_branches() does.
Result<BranchSizes> sizes_of(const Graph& graph, const BranchOptions& options);

// The network, narrowed as a whole by one share of its channels, with about so many
// multiply-accumulates: the nearest that there is. The control for branches that have as many.
Result<Graph> narrowed_to(const Graph& graph, int64_t macs);

}  // namespace shoal::branch

#pragma GCC visibility pop
