// A classifier as narrow branches that share only the input and the classifying layer [Hadidi 2021,
// 5.1]. Branches exchange nothing, so each can run on its own machine.
//
// A layer of w channels has in branch i of widths d
//
//   round(max(1, floor(w d[i] / sum d)) (1 + F / 100))
//
// of them, at most w, where F is the percentage by which branches are fattened; negative for
// workers too slow for their share. The classifying layer, the last product, keeps its width; its
// input is the sum of the branches' outputs after a stack of fully connected layers, and their
// concatenation otherwise, which is what the thesis' parameter totals imply [Hadidi 2021, 5.1].
//
// Channels are those of groups.h, residual shortcuts included. A branch starts with the network's
// weights for its share of the channels, in order, and for more of the next ones if fattened.
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

// How branch outputs become one value.
enum class Merge : uint8_t { kAuto, kSum, kConcat };

// What the branches are.
struct BranchOptions {
  std::vector<double> widths = {};  // of the branches, in relation to each other; two at least
  double fatten = 0;                // percent
  bool round_down = false;          // fattened widths, as the thesis' ResNet-50 was, not to nearest
  Merge merge = Merge::kAuto;       // kSum only for branches of equal widths
  // Extra widening of each branch, in place of relations that `widths` would round off: for
  // branches with a little more time. Empty: 1 for all.
  std::vector<double> factors = {};
  // The worth of each unit, to deal out good ones fairly. Empty: channels are dealt out in order.
  std::vector<double> worth = {};
};

// n equal widths.
std::vector<double> equal_widths(size_t branches);

// Variants of a network for training, or after a loss.
struct BranchForm {
  float dropout = 0;              // probability with which training drops a branch
  std::vector<size_t> lost = {};  // branches that give zeros, from 0
};

// A network of branches.
struct Branched {
  Graph graph;  // its nodes are those of the branches, one after the other, then others
  Merge merge = Merge::kSum;  // or kConcat
  // Layers that each branch has in full, and why.
  std::vector<std::string> whole = {};
};

// What a network of branches costs beside the network as it was. Work is that of the graphs' batch.
struct BranchSizes {
  int64_t parameters = 0, parameters_dense = 0;
  int64_t macs = 0, macs_dense = 0;
  double fatten = 0;                    // percent
  Merge merge = Merge::kSum;            // or kConcat
  std::vector<std::string> whole = {};  // as Branched says
};

// The most branches of a network.
inline constexpr size_t kMostBranches = 256;

// kInvalidArgument for options out of range, a network of several inputs or outputs, and a sum that
// is impossible; kUnsupported, with the reason, if the network has no classifying layer, something
// besides the branches reads the input, or no layer can be narrowed. Pure; safe for concurrent use.
Result<Branched> make_branches(const Graph& graph, const BranchOptions& options,
                               const BranchForm& form = {});

// Its costs. Fails as make_branches() does.
Result<BranchSizes> sizes_of(const Graph& graph, const BranchOptions& options);

// The control for branches: the network uniformly narrowed to as nearly as possible this number of
// multiply-accumulates.
Result<Graph> narrowed_to(const Graph& graph, int64_t macs);

}  // namespace shoal::branch

#pragma GCC visibility pop
