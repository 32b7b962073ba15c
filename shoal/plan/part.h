// Part: the nodes and regions that one worker computes so that given pieces of their outputs come
// out. Everything follows from the operators' own `split`: rows of an image, columns of a matrix,
// heads and channels are only boxes of different shapes, and a halo is the part of its inputs that
// a box reads beyond itself, through any number of layers.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::plan {

// Boxes: intersections, differences and bounding boxes of regions. Pure functions, any thread.

// Number of elements that both boxes have. REQUIRES: equal ranks, here and below.
int64_t common_count(const Region& a, const Region& b);

// The smallest box that holds both.
Region bounding_box(const Region& a, const Region& b);

// Disjoint boxes that together are `box` without `hole`: at most two for each axis.
std::vector<Region> subtract(const Region& box, const Region& hole);
std::vector<Region> subtract(std::vector<Region> boxes, const Region& hole);

// A box of a value of the whole graph.
struct Piece {
  ValueId value = kNoValue;
  Region region;

  friend bool operator==(const Piece&, const Piece&) = default;
};

// Nodes [begin, end) of a graph.
struct NodeRange {
  size_t begin = 0;
  size_t end = 0;

  friend bool operator==(const NodeRange&, const NodeRange&) = default;
};

// One node, restricted to its needed outputs.
struct PartNode {
  size_t node = 0;             // of the whole graph
  Tile tile;                   // of its output 0
  std::vector<Region> inputs;  // the regions it reads; arbitrary for an input not given
  std::vector<bool> weights;   // whether an input is constant, or computed from constants alone
  bool is_weight = false;      // so it is computed once, when the part's graph is made
  bool is_copy = false;        // a slice of exactly its output, so it needs no work
};

struct Part {
  std::vector<PartNode> nodes;  // in the graph's order; those that nothing needs are left out
  std::vector<Piece> inputs;    // needed from outside, weights apart
  std::vector<Piece> outputs;   // as requested
};

// Fails with kUnsupported if a node cannot be split that way. `outputs` are pieces of values that
// the nodes compute.
Result<Part> make_part(const Graph& graph, NodeRange nodes, std::vector<Piece> outputs);

// The part as a separate graph with the part's inputs and outputs, in order and under the values'
// names; weights are cropped to what is read.
Result<Graph> to_graph(const Graph& whole, const Part& part);

// Work of one node of a part; zero for weights and copies.
struct Work {
  double macs = 0;
  double bytes = 0;         // read and written, weights included
  double weight_bytes = 0;  // the part of `bytes` that is weights
  double sparse = 1;        // the time of sparse weights relative to dense ones
};
Work work_of(const Graph& whole, const PartNode& node);
double weight_bytes(const Graph& whole, const Part& part);

// The common box, empty (some end <= begin) if there is none; and whether a box is empty.
Region intersection(const Region& a, const Region& b);
bool is_empty(const Region& region);
// The box as seen from the first element of another that holds it.
Region relative(const Region& box, const Region& to);
int64_t bytes_of(const Graph& graph, const Piece& piece);

}  // namespace shoal::plan
