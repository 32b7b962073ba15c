// Checks, liveness and the text form of plans. The schedule is derived in transfers.cc.
#include "shoal/plan/plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "shoal/plan/coding/erasure.h"
#include "shoal/plan/survives.h"

namespace shoal::plan {

std::vector<ValueId> live_after(const Graph& graph, NodeRange nodes) {
  // O(nodes after the range). Outputs of the graph count as read by the caller, wherever they are
  // made.
  std::set<int32_t> read;
  for (ValueId id : graph.outputs()) read.insert(static_cast<int32_t>(id));
  for (size_t i = nodes.end; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].inputs) read.insert(static_cast<int32_t>(id));
  }
  std::vector<ValueId> live;
  for (size_t i = nodes.begin; i < nodes.end; ++i) {
    for (ValueId id : graph.nodes()[i].outputs) {
      if (read.contains(static_cast<int32_t>(id))) live.push_back(id);
    }
  }
  return live;
}

std::vector<Piece> whole_pieces(const Graph& graph, NodeRange nodes) {
  std::vector<Piece> pieces;
  for (ValueId id : live_after(graph, nodes)) {
    pieces.push_back({id, Region::whole(graph[id].type.shape)});
  }
  return pieces;
}

Part whole_part(const Graph& graph) {
  const NodeRange all{0, graph.nodes().size()};
  auto part = make_part(graph, all, whole_pieces(graph, all));
  SHOAL_CHECK(part.ok());
  return *std::move(part);
}

namespace {

// The cheap half of verify(): everything that needs no schedule. It comes first because a schedule
// of segments with gaps would fail with a less helpful message.
Status verify_segments(const Graph& graph, const Plan& plan, int workers) {
  size_t node = 0;
  for (const Segment& segment : plan.segments) {
    if (segment.nodes.begin != node || segment.nodes.end <= node) {
      return invalid("segments do not follow each other at node " + std::to_string(node));
    }
    node = segment.nodes.end;
    for (const Task& task : segment.tasks) {
      if (task.worker < 0 || task.worker >= workers) {
        return invalid("there is no worker " + std::to_string(task.worker));
      }
    }
  }
  if (node != graph.nodes().size()) return invalid("segments do not cover the graph");
  return verify_codes(graph, plan);
}

}  // namespace

Status verify(const Graph& graph, const Plan& plan, int workers) {
  SHOAL_TRY(verify_segments(graph, plan, workers));
  SHOAL_ASSIGN(const Schedule schedule, make_schedule(graph, plan));
  return verify_survival(graph, plan, schedule);
}

Status verify(const Graph& graph, const Plan& plan, const Schedule& schedule, int workers) {
  SHOAL_TRY(verify_segments(graph, plan, workers));
  return verify_survival(graph, plan, schedule);
}

std::string to_text(const Graph& graph, const Piece& piece) {
  std::string text = graph[piece.value].name;
  const Region all = Region::whole(graph[piece.value].type.shape);
  if (piece.region == all) return text;
  text += '[';
  for (size_t d = 0; d < all.begin.rank(); ++d) {
    if (d > 0) text += ',';
    if (piece.region.begin[d] == 0 && piece.region.end[d] == all.end[d]) {
      text += ':';
    } else {
      text += std::to_string(piece.region.begin[d]) + ':' + std::to_string(piece.region.end[d]);
    }
  }
  return text + ']';
}

std::string to_text(const Graph& graph, const Plan& plan) {
  std::string text;
  for (const Segment& segment : plan.segments) {
    text += "nodes " + std::to_string(segment.nodes.begin) + ".." +
            std::to_string(segment.nodes.end) + ": " + segment.split + '\n';
    for (const Task& task : segment.tasks) {
      text += "  worker " + std::to_string(task.worker) + ':';
      for (const Piece& piece : task.outputs) text += ' ' + to_text(graph, piece);
      text += '\n';
    }
  }
  if (plan.survives > 0) text += "survives the loss of " + std::to_string(plan.survives) + '\n';
  for (const ErasureCode& code : plan.codes) {
    text += "code:";
    for (ValueId member : code.data) text += ' ' + graph[member].name;
    text += " |";
    for (ValueId member : code.parity) text += ' ' + graph[member].name;
    text += '\n';
  }
  return text;
}

Result<ScheduledPlan> ScheduledPlan::make(std::shared_ptr<const Graph> graph, Plan plan) {
  SHOAL_ASSIGN(Schedule schedule, make_schedule(*graph, plan));
  return ScheduledPlan(std::move(graph), std::make_shared<const Plan>(std::move(plan)),
                       std::make_shared<const Schedule>(std::move(schedule)));
}

Result<ScheduledPlan> ScheduledPlan::make(const Graph& graph, Plan plan) {
  return make(std::make_shared<const Graph>(graph), std::move(plan));
}

ScheduledPlan ScheduledPlan::with_wait(double seconds) const {
  // The schedule is shared with the old value: it does not depend on the wait.
  Plan plan = *plan_;
  plan.wait_seconds = seconds;
  return {graph_, std::make_shared<const Plan>(std::move(plan)), schedule_};
}

}  // namespace shoal::plan
