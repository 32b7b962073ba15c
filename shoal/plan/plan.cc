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

  void add(int worker, const Piece& piece) {
    held_[static_cast<int32_t>(piece.value)].push_back({worker, piece.region});
  }

  // What `to` must be sent to have all of the piece: nothing of what it has already, and nothing
  // twice. Fails where somebody was to compute it and nobody does.
  Status fetch(size_t segment, int to, const Piece& piece, std::vector<Transfer>& transfers) const {
    const auto it = held_.find(static_cast<int32_t>(piece.value));
    std::vector<Region> missing = {piece.region};
    if (it != held_.end()) {
      for (const Held& held : it->second) {
        if (held.worker == to) missing = subtract(std::move(missing), held.region);
      }
      for (const Held& held : it->second) {
        if (held.worker == to) continue;
        for (const Region& box : missing) {
          const Region found = intersection(box, held.region);
          if (!is_empty(found)) {
            transfers.push_back({segment, held.worker, to, {piece.value, found}});
          }
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
  std::map<int32_t, std::vector<Held>> held_;
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
  Holders holders(graph);
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    const Segment& segment = plan.segments[s];
    auto& parts = schedule.parts.emplace_back();
    std::vector<Transfer> received;
    for (const Task& task : segment.tasks) {
      SHOAL_ASSIGN(Part part, make_part(graph, segment.nodes, task.outputs));
      for (const Piece& piece : part.inputs) {
        const size_t before = schedule.transfers.size();
        SHOAL_TRY(holders.fetch(s, task.worker, piece, schedule.transfers));
        received.insert(received.end(), schedule.transfers.begin() + static_cast<long>(before),
                        schedule.transfers.end());
      }
      parts.push_back(std::move(part));
    }
    // After all, for tasks of one segment do not wait for each other.
    for (const Task& task : segment.tasks) {
      for (const Piece& piece : task.outputs) holders.add(task.worker, piece);
    }
    for (const Transfer& transfer : received) holders.add(transfer.to, transfer.piece);
  }
  for (ValueId id : graph.outputs()) {
    if (graph[id].constant) continue;
    SHOAL_TRY(holders.fetch(plan.segments.size(), kCoordinator,
                            {id, Region::whole(graph[id].type.shape)}, schedule.transfers));
  }
  return schedule;
}

}  // namespace shoal::plan
