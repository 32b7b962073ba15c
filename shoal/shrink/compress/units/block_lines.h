// Block lines: the rows and columns of weights that sparse learning makes small
// (TPrune [Mao 2021]).
//
// What can be removed from a transformer is what groups.h calls a unit: an attention head with its
// slices of Q, K, V and of the output's weights, or a line of the feed-forward part with its column
// of the first matrix, its bias and its row of the second. So the lines that are learned to be
// small are the units themselves (train/step/optimizer/unit_penalty.h), not another notion of a
// group. Block lines are finer: the rows and columns of a matrix inside the part that a head owns.
// They cannot be removed one by one, and say where a network is sparse.
//
// Pure functions; any threads may call them at once.
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

// The blocks of all learned matrices that units have a slice of, by value. Where units are runs of
// several indices, which heads are, every run is a block: three of each head in a matrix that makes
// Q, K and V at once. Any other matrix is one block.
std::vector<Patch> find_blocks(const Graph& graph, const Groups& groups);

// The lines of a block along an axis: 0 for its rows, 1 for its columns.
LineSet lines_of(const Patch& block, size_t axis);

// The norm of every line of a set. REQUIRES: patches are of f32 or f64 constants of the graph.
std::vector<double> norms_of(const Graph& graph, const LineSet& lines);

// How sparse a block is.
struct BlockSparsity {
  Patch block;
  double rows = 0, columns = 0;  // the share of lines below the threshold
};

// BSSL's read-out: per block, the share of the rows and of the columns whose norm is below `share`
// of the mean of these lines in the whole matrix. REQUIRES: `blocks` are those of the graph.
std::vector<BlockSparsity> sparsity_of(const Graph& graph, std::span<const Patch> blocks,
                                       double share);

}  // namespace shoal::compress

#pragma GCC visibility pop
