// Plan: who computes what of a graph, in which order, and what therefore has to travel. Plain data:
// it can be printed, compared, stored, sent and replayed. Making one does no I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/plan/part.h"

namespace shoal::plan {

// Workers count from 0. The coordinator has the graph's inputs, wants its outputs and computes
// nothing.
inline constexpr int kCoordinator = -1;

// One worker computes these pieces of what a segment gives.
struct Task {
  int worker = 0;
  std::vector<Piece> outputs;

  friend bool operator==(const Task&, const Task&) = default;
};

// Consecutive nodes. Together the tasks' pieces make up every value that is read after them.
struct Segment {
  NodeRange nodes;
  std::string split;  // for people: "rows over 4", "one worker"
  std::vector<Task> tasks;

  friend bool operator==(const Segment&, const Segment&) = default;
};

// Values of which the rest can be computed once as many as there are data are there: every parity
// is the sum of the data, each times its coefficient. Data that are shorter along the axis count as
// followed by zeros.
struct ErasureCode {
  std::vector<ValueId> data, parity;
  size_t axis = 0;
  std::vector<std::vector<double>> coefficients;  // by parity and data

  friend bool operator==(const ErasureCode&, const ErasureCode&) = default;
};

struct Plan {
  std::vector<Segment> segments;  // in the graph's order, without gaps
  // So many workers may be lost, at any time, and the answer comes. Whoever reads a piece gets it
  // from one worker more than that, or all members of its code, and takes what comes first.
  int survives = 0;
  std::vector<ErasureCode> codes = {};  // a value is in one at most
  // How long a reader that could decode waits for what is missing.
  double wait_seconds = 0;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Values that nodes of the range compute and something after it, or the caller, reads.
std::vector<ValueId> live_after(const Graph& graph, NodeRange nodes);

// All that nodes give, and all nodes of the graph with it: nothing is split.
std::vector<Piece> whole_pieces(const Graph& graph, NodeRange nodes);
Part whole_part(const Graph& graph);

// Do the segments cover the graph, the pieces every value that is read later, exactly once or,
// where workers repeat each other, wholly? Are workers in [0, workers)? Does the plan survive what
// it says it does?
Status verify(const Graph& graph, const Plan& plan, int workers);

std::string to_text(const Graph& graph, const Piece& piece);
std::string to_text(const Graph& graph, const Plan& plan);

// A piece that one worker has and another needs, for a task of `segment`; the number of segments
// stands for the answer.
struct Transfer {
  size_t segment = 0;
  int from = 0, to = 0;
  Piece piece;

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

// What a task is sent of a code: the same box of every member, but all of it along the code's axis.
struct CodeRead {
  size_t code = 0;
  std::vector<Piece> data, parity;

  friend bool operator==(const CodeRead&, const CodeRead&) = default;
};

// A plan worked out: what every task reads, and all that travels, in the order of segments.
struct Schedule {
  std::vector<std::vector<Part>> parts;  // by segment and task
  std::vector<Transfer> transfers;
  std::vector<std::vector<std::vector<CodeRead>>> code_reads;  // by segment and task
};

Result<Schedule> make_schedule(const Graph& graph, const Plan& plan);

// As above, where the schedule is known already.
// REQUIRES: `schedule` is make_schedule(graph, plan).
Status verify(const Graph& graph, const Plan& plan, const Schedule& schedule, int workers);

// Only what travels, where it is known what the tasks of every segment read.
using TaskInputs = std::vector<std::vector<Piece>>;  // by task
Result<std::vector<Transfer>> find_transfers(const Graph& graph, const Plan& plan,
                                             const std::vector<const TaskInputs*>& inputs);

}  // namespace shoal::plan
