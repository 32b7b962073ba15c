#include "shoal/plan/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "shoal/plan/boxes.h"

namespace shoal::plan {
namespace {

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

// Who has what of every value, as segments are computed one after the other.
class Holders {
 public:
  explicit Holders(const Graph& graph) : graph_(graph) {
    for (ValueId id : graph.inputs()) add(kCoordinator, {id, Region::whole(graph[id].type.shape)});
  }

  void add(int worker, const Piece& piece) { held_[piece.value].push_back({worker, piece.region}); }

  // What `to` must be sent to have all of the piece: nothing of what it has already, and nothing
  // twice. Fails where somebody was to compute it and nobody does.
  Status fetch(size_t segment, int to, const Piece& piece, std::vector<Transfer>& transfers) const {
    const auto it = held_.find(piece.value);
    std::vector<Region> missing = {piece.region};
    for (bool own : {true, false}) {
      if (it == held_.end()) break;
      for (const Held& held : it->second) {
        const bool of_use =
            (held.worker == to) == own && common_count(held.region, piece.region) > 0;
        if (!of_use || missing.empty()) continue;
        for (const Region& box : missing) {
          const Region found = intersection(box, held.region);
          if (own || is_empty(found)) continue;
          transfers.push_back({segment, held.worker, to, {piece.value, found}});
        }
        missing = subtract(std::move(missing), held.region);
      }
    }
    if (missing.empty()) return {};
    return invalid("nobody computes " + to_text(graph_, {piece.value, missing[0]}));
  }

 private:
  struct Held {
    int worker;
    Region region;
  };
  const Graph& graph_;
  std::map<ValueId, std::vector<Held>> held_;
};

}  // namespace

std::vector<ValueId> live_after(const Graph& graph, NodeRange nodes) {
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

Status verify(const Graph& graph, const Plan& plan, int workers) {
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
  return make_schedule(graph, plan).status();
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
  return text;
}

Result<Schedule> make_schedule(const Graph& graph, const Plan& plan) {
  Schedule schedule;
  std::vector<TaskInputs> inputs;
  for (const Segment& segment : plan.segments) {
    auto& parts = schedule.parts.emplace_back();
    auto& read = inputs.emplace_back();
    for (const Task& task : segment.tasks) {
      SHOAL_ASSIGN(Part part, make_part(graph, segment.nodes, task.outputs));
      read.push_back(part.inputs);
      parts.push_back(std::move(part));
    }
  }
  std::vector<const TaskInputs*> by_segment;
  for (const TaskInputs& read : inputs) by_segment.push_back(&read);
  SHOAL_ASSIGN(schedule.transfers, find_transfers(graph, plan, by_segment));
  return schedule;
}

Result<std::vector<Transfer>> find_transfers(const Graph& graph, const Plan& plan,
                                             const std::vector<const TaskInputs*>& inputs) {
  std::vector<Transfer> transfers;
  Holders holders(graph);
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    const size_t before = transfers.size();
    const std::vector<Task>& tasks = plan.segments[s].tasks;
    for (size_t t = 0; t < tasks.size(); ++t) {
      for (const Piece& piece : (*inputs[s])[t]) {
        SHOAL_TRY(holders.fetch(s, tasks[t].worker, piece, transfers));
      }
    }
    // After all, for tasks of one segment do not wait for each other.
    for (const Task& task : tasks) {
      for (const Piece& piece : task.outputs) holders.add(task.worker, piece);
    }
    for (size_t i = before; i < transfers.size(); ++i) {
      holders.add(transfers[i].to, transfers[i].piece);
    }
  }
  for (ValueId id : graph.outputs()) {
    if (graph[id].constant) continue;
    SHOAL_TRY(holders.fetch(plan.segments.size(), kCoordinator,
                            {id, Region::whole(graph[id].type.shape)}, transfers));
  }
  return transfers;
}

}  // namespace shoal::plan
