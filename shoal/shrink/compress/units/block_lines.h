// Block lines: the rows and columns of weights that sparse learning makes small
// (TPrune [Mao 2021]).
//
// The removable parts of a transformer are the units of groups.h: an attention head with its slices
// of Q, K, V and of the output's weights, or a line of the feed-forward part with its column of the
// first matrix, its bias and its row of the second. So sparse learning penalises units
// (train/step/optimizer/regularizer.h). Block lines are finer: rows and columns of a matrix within
// a head's part. They cannot be removed one by one, but show where a network is sparse.
//
// Pure functions, safe for concurrent use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// A box of the elements of a constant.
struct Patch {
  ValueId weights = kNoValue;
  Region box;

  friend bool operator==(const Patch&, const Patch&) = default;
};

// Elements that become small together.
using Line = std::vector<Patch>;

// Lines that are compared with each other: those of one group, or of one block and direction.
using LineSet = std::vector<Line>;

// The units of every group as lines, in the order of both. Of each unit, the learned constants
// count.
std::vector<LineSet> unit_lines(const Graph& graph, const Groups& groups);

// The blocks of all learned matrices with slices in units, by value. If units are runs of several
// indices, as heads are, every run is a block: three per head in a matrix that makes Q, K and V at
// once. Any other matrix is one block.
std::vector<Patch> find_blocks(const Graph& graph, const Groups& groups);

// The lines of a block along an axis: 0 for its rows, 1 for its columns.
LineSet lines_of(const Patch& block, size_t axis);

// The norm of every line of a set. REQUIRES: patches are of f32 or f64 constants of the graph.
std::vector<double> norms_of(const Graph& graph, const LineSet& lines);

struct BlockSparsity {
  Patch block;
  double rows = 0, columns = 0;  // the share of lines below the threshold
};

// BSSL's read-out: per block, the share of rows and of columns whose norm is below `share` of the
// mean over the whole matrix. REQUIRES: `blocks` are those of the graph.
std::vector<BlockSparsity> sparsity_of(const Graph& graph, std::span<const Patch> blocks,
                                       double share);

}  // namespace shoal::compress

#pragma GCC visibility pop
