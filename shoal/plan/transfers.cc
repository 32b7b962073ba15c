// The schedule that follows from a plan: the reads of every task and the transfers that satisfy
// them.
//
// The walk goes through the segments in order and knows which worker made or received which boxes.
// A task is sent its inputs minus the boxes it holds already. In a plan that survives r losses,
// each box comes from r + 1 different makers, unless it comes from the coordinator or belongs to a
// code, whose parities make up for it. The result depends on graph and plan only, so that the
// coordinator, the workers and the simulation derive the same schedule.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "shoal/plan/part.h"
#include "shoal/plan/plan.h"

namespace shoal::plan {
namespace {

// The boxes of each value that machines hold, as segments are computed one after the other.
class Holders {
 public:
  Holders(const Graph& graph, const Plan& plan) : graph_(graph), copies_(plan.survives + 1) {
    for (ValueId id : graph.inputs()) make(kCoordinator, {id, Region::whole(graph[id].type.shape)});
    for (const ErasureCode& code : plan.codes) {
      coded_.insert(code.data.begin(), code.data.end());
      coded_.insert(code.parity.begin(), code.parity.end());
    }
  }

  void make(int worker, const Piece& piece) {
    made_[piece.value].push_back({worker, piece.region});
  }
  // Appends the transfers that complete the piece at `to`: nothing that it holds already, and
  // nothing twice from the same worker. Fails if some box has no maker. Fewer than r + 1 makers are
  // no error here; verify_survival() decides whether the plan survives that.
  Status fetch(size_t segment, int to, const Piece& piece, std::vector<Transfer>& transfers) {
    std::vector<Wanted> wanted;
    for (Region& box : missing_of(to, piece)) wanted.push_back({std::move(box), {}});
    const auto makers = made_.find(piece.value);
    if (makers != made_.end()) {
      for (const Held& held : makers->second) {
        if (held.worker == to || common_count(held.region, piece.region) == 0) continue;
        wanted = take(segment, held, to, piece.value, std::move(wanted), transfers);
      }
    }
    for (const Wanted& box : wanted) {
      if (!box.from.empty()) continue;
      return invalid("nobody computes " + to_text(graph_, {piece.value, box.region}));
    }
    received_[piece.value].push_back({to, piece.region});
    return {};
  }

 private:
  struct Held {
    int worker;
    Region region;
  };
  struct Wanted {
    Region region;
    std::vector<int> from;  // workers that send it so far
  };
  using HeldByValue = std::map<ValueId, std::vector<Held>>;

  std::vector<Region> missing_of(int worker, const Piece& piece) const {
    std::vector<Region> missing = {piece.region};
    for (const HeldByValue* held_by_value : {&made_, &received_}) {
      const auto it = held_by_value->find(piece.value);
      if (it == held_by_value->end()) continue;
      for (const Held& held : it->second) {
        if (held.worker == worker) missing = subtract(std::move(missing), held.region);
      }
    }
    return missing;
  }

  // Whether the senders so far suffice: the coordinator cannot be lost without losing the request,
  // and a code makes up for its members.
  bool is_enough(ValueId value, const std::vector<int>& from) const {
    return std::ssize(from) >= copies_ || from.back() == kCoordinator || coded_.contains(value);
  }

  // Lets the holder send its share of the wanted boxes and returns the boxes that are still wanted.
  // A box that needs further copies stays in the list, with the workers that send it already.
  std::vector<Wanted> take(size_t segment, const Held& held, int to, ValueId value,
                           std::vector<Wanted> wanted, std::vector<Transfer>& transfers) const {
    std::vector<Wanted> rest;
    for (Wanted& box : wanted) {
      const Region common = intersection(box.region, held.region);
      if (is_empty(common) || std::ranges::find(box.from, held.worker) != box.from.end()) {
        rest.push_back(std::move(box));
        continue;
      }
      transfers.push_back({segment, held.worker, to, {value, common}});
      for (Region& left : subtract(box.region, common)) rest.push_back({std::move(left), box.from});
      box.from.push_back(held.worker);
      if (!is_enough(value, box.from)) rest.push_back({common, std::move(box.from)});
    }
    return rest;
  }

  const Graph& graph_;
  const int copies_;
  std::set<ValueId> coded_;
  HeldByValue made_, received_;
};

// The codes that a task reads. A code is linear in its members, element by element, so decoding a
// box needs the same box of every member.
std::vector<CodeRead> find_code_reads(const Graph& graph, const Plan& plan,
                                      const std::vector<Piece>& inputs) {
  std::vector<CodeRead> reads;
  for (size_t c = 0; c < plan.codes.size(); ++c) {
    const ErasureCode& code = plan.codes[c];
    std::optional<Region> box;
    for (const Piece& piece : inputs) {
      if (std::ranges::find(code.data, piece.value) == code.data.end()) continue;
      box = box ? bounding_box(*box, piece.region) : piece.region;
    }
    if (!box) continue;
    CodeRead read{c, {}, {}};
    const auto same_box = [&](ValueId member) {
      Region region = *box;
      region.begin[code.axis] = 0;
      region.end[code.axis] = graph[member].type.shape[code.axis];
      return Piece{member, region};
    };
    for (ValueId member : code.data) read.data.push_back(same_box(member));
    for (ValueId member : code.parity) read.parity.push_back(same_box(member));
    reads.push_back(std::move(read));
  }
  return reads;
}

// Replaces members of codes among the inputs by the boxes that decoding needs, which contain them.
std::vector<Piece> pieces_to_fetch(const std::vector<Piece>& inputs,
                                   const std::vector<CodeRead>& reads) {
  std::vector<Piece> pieces = inputs;
  for (const CodeRead& read : reads) {
    for (const std::vector<Piece>* members : {&read.data, &read.parity}) {
      for (const Piece& member : *members) {
        std::erase_if(pieces, [&](const Piece& piece) { return piece.value == member.value; });
        pieces.push_back(member);
      }
    }
  }
  return pieces;
}

}  // namespace

Result<Schedule> make_schedule(const Graph& graph, const Plan& plan) {
  Schedule schedule;
  std::vector<TaskInputs> inputs;
  for (const Segment& segment : plan.segments) {
    auto& parts = schedule.parts.emplace_back();
    auto& code_reads = schedule.code_reads.emplace_back();
    auto& read = inputs.emplace_back();
    for (const Task& task : segment.tasks) {
      SHOAL_ASSIGN(Part part, make_part(graph, segment.nodes, task.outputs));
      code_reads.push_back(find_code_reads(graph, plan, part.inputs));
      read.push_back(pieces_to_fetch(part.inputs, code_reads.back()));
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
  Holders holders(graph, plan);
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    const std::vector<Task>& tasks = plan.segments[s].tasks;
    for (size_t t = 0; t < tasks.size(); ++t) {
      for (const Piece& piece : (*inputs[s])[t]) {
        SHOAL_TRY(holders.fetch(s, tasks[t].worker, piece, transfers));
      }
    }
    // Only after all fetches of the segment: its tasks do not wait for each other.
    for (const Task& task : tasks) {
      for (const Piece& piece : task.outputs) holders.make(task.worker, piece);
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
