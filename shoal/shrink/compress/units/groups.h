// Groups: parts of a network that can only be removed together. A convolution's channel is also a
// channel of what follows it, an index of a bias and of a norm, and a slice of the weights that
// read it; a residual sum joins it with another convolution's channel.
//
//   SHOAL_ASSIGN(const Groups groups, find_groups(graph));
//   const std::vector<double> worth = magnitudes(graph, groups);              // importance.h
//   SHOAL_ASSIGN(const Graph smaller, remove(graph, groups, {3, 17}));        // remove.h
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// One index of one axis of a value; of a constant it is a slice of the weights.
struct Cell {
  ValueId value = kNoValue;
  size_t axis = 0;
  int64_t index = 0;

  friend bool operator==(const Cell&, const Cell&) = default;
};

// The smallest part that can be removed: cells that go together.
struct Unit {
  std::vector<Cell> cells;  // by value, axis and index
};

// Alike units [begin, end) of Groups::units: they have equally many indices of the same axes, as
// the channels of one layer. At least two, and one must stay, so that no axis becomes empty.
struct Group {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }  // how many units there are
};

// An axis of weights with indices that cannot be removed.
struct Refusal {
  ValueId weights = kNoValue;
  size_t axis = 0;
  int64_t indices = 0;  // how many of them must stay
  std::string reason;   // why the first must; names the node or the end of the network
};

// What can be removed from a graph, and what cannot.
struct Groups {
  std::vector<Unit> units;  // group by group
  std::vector<Group> groups;
  std::vector<Refusal> refused;
};

// Whether graph inputs and outputs keep their shapes; free ends are for parts of a network.
enum class Ends : uint8_t { kFixed, kFree };

// All groups of a graph, in the order of its values. Found by asking every operator's `split`; an
// operator without one is a barrier, and what it touches is refused. kUnsupported for a quantised
// graph, kExhausted for more than kMostCells indices. Pure; safe for concurrent use.
Result<Groups> find_groups(const Graph& graph, Ends ends = Ends::kFixed);

inline constexpr size_t kMostCells = size_t{1} << 26;

}  // namespace shoal::compress

#pragma GCC visibility pop
