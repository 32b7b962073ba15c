// Plan: which worker computes what of a graph, in which order, and the transfers that follow. Plain
// data, which can be printed, compared, stored, sent and replayed.
#pragma once

#include <cstdint>
#include <memory>
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
  std::string split;  // for display: "rows over 4", "one worker"
  std::vector<Task> tasks;

  friend bool operator==(const Segment&, const Segment&) = default;
};

// A systematic erasure code over values. Any N of its N + r members, N data and r parities,
// determine all data: parity p is sum_i coefficients[p][i] * data[i]. Data that are shorter along
// the axis count as followed by zeros.
struct ErasureCode {
  std::vector<ValueId> data, parity;
  size_t axis = 0;
  std::vector<std::vector<double>> coefficients;  // by parity and data

  friend bool operator==(const ErasureCode&, const ErasureCode&) = default;
};

struct Plan {
  std::vector<Segment> segments;  // in the graph's order, without gaps
  // The number of workers that may be lost at any time without losing the answer. A reader is sent
  // each piece by one worker more than that, or all members of its code, and takes the first to
  // arrive.
  int survives = 0;
  std::vector<ErasureCode> codes = {};  // a value is in one at most
  // How long a reader that could already decode waits for missing data.
  double wait_seconds = 0;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Values that nodes of the range compute and something after it, or the caller, reads.
std::vector<ValueId> live_after(const Graph& graph, NodeRange nodes);

// Every value that is live after the nodes, whole; and all nodes of the graph as one part.
std::vector<Piece> whole_pieces(const Graph& graph, NodeRange nodes);
Part whole_part(const Graph& graph);

// Checks that the segments cover the graph, that the pieces of each segment make up every value
// that is read later, that workers are in [0, workers), that codes fit, and that the plan survives
// the losses it claims, by walking through it for each of the C(workers, survives) sets of lost
// workers.
Status verify(const Graph& graph, const Plan& plan, int workers);

std::string to_text(const Graph& graph, const Piece& piece);
std::string to_text(const Graph& graph, const Plan& plan);

// A piece that one worker has and another needs, for a task of `segment`; `segment` is the number
// of segments for the answer.
struct Transfer {
  size_t segment = 0;
  int from = 0, to = 0;
  Piece piece;

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

// The members of a code that a task is sent: the same box of each, but whole along the code's axis.
struct CodeRead {
  size_t code = 0;
  std::vector<Piece> data, parity;

  friend bool operator==(const CodeRead&, const CodeRead&) = default;
};

// What every task of a plan reads, and all transfers, in the order of segments.
struct Schedule {
  std::vector<std::vector<Part>> parts;  // by segment and task
  std::vector<Transfer> transfers;
  std::vector<std::vector<std::vector<CodeRead>>> code_reads;  // by segment and task
};

Result<Schedule> make_schedule(const Graph& graph, const Plan& plan);

// As above, where the schedule is known already.
// REQUIRES: `schedule` is make_schedule(graph, plan).
Status verify(const Graph& graph, const Plan& plan, const Schedule& schedule, int workers);

// The transfers alone, for callers that know the inputs of every task already.
using TaskInputs = std::vector<std::vector<Piece>>;  // by task
Result<std::vector<Transfer>> find_transfers(const Graph& graph, const Plan& plan,
                                             const std::vector<const TaskInputs*>& inputs);

// ScheduledPlan: a plan, the graph it is for, and the schedule that follows from the two.
// An immutable value. Copies share the graph, the plan and the schedule, so that the planner, the
// coordinator and every request on its way hold the same ones. Any thread may use any copy.
class ScheduledPlan {
 public:
  // Works out the schedule. Fails if the pieces do not give what a later segment reads.
  // REQUIRES: the segments cover the graph, as verify() checks.
  static Result<ScheduledPlan> make(std::shared_ptr<const Graph> graph, Plan plan);
  static Result<ScheduledPlan> make(const Graph& graph, Plan plan);  // copies the graph

  const Graph& graph() const { return *graph_; }
  const Plan& plan() const { return *plan_; }
  const Schedule& schedule() const { return *schedule_; }
  const std::shared_ptr<const Graph>& shared_graph() const { return graph_; }

  // The same plan with another Plan::wait_seconds, which the schedule does not depend on.
  ScheduledPlan with_wait(double seconds) const;

 private:
  ScheduledPlan(std::shared_ptr<const Graph> graph, std::shared_ptr<const Plan> plan,
                std::shared_ptr<const Schedule> schedule)
      : graph_(std::move(graph)), plan_(std::move(plan)), schedule_(std::move(schedule)) {}

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const Schedule> schedule_;
};

}  // namespace shoal::plan
