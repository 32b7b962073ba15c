#include "run_here.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/coding/erasure.h"
#include "shoal/plan/part.h"

namespace shoal::plan {
namespace {

// What one machine has of every value. What it does not have is NaN, so that reading it shows.
class Memory {
 public:
  explicit Memory(const Graph& graph) : graph_(graph) {}

  void put(const Piece& piece, const Tensor& elements) {
    paste(elements, piece.region, (*this)[piece.value]);
    held_[piece.value].push_back(piece.region);
  }

  bool has(const Piece& piece) const {
    std::vector<Region> missing = {piece.region};
    const auto held = held_.find(piece.value);
    if (held == held_.end()) return false;
    for (const Region& region : held->second) missing = subtract(std::move(missing), region);
    return missing.empty();
  }

  Tensor get(const Piece& piece) { return crop((*this)[piece.value], piece.region); }

  Tensor& operator[](ValueId id) {
    const auto [it, is_new] = values_.try_emplace(static_cast<int32_t>(id));
    if (is_new) {
      it->second = Tensor(graph_[id].type);
      if (it->second.dtype() == DType::kF32) {
        std::ranges::fill(it->second.data<float>(), std::numeric_limits<float>::quiet_NaN());
      }
    }
    return it->second;
  }

 private:
  const Graph& graph_;
  std::map<int32_t, Tensor> values_;
  std::map<ValueId, std::vector<Region>> held_;
};

// What of a code's data did not come is computed from what did.
void decode(const ErasureCode& code, const CodeRead& read, Memory& memory) {
  std::vector<Piece> pieces = read.data;
  pieces.insert(pieces.end(), read.parity.begin(), read.parity.end());
  std::vector<bool> here;
  std::vector<Tensor> members;
  for (const Piece& piece : pieces) {
    here.push_back(memory.has(piece));
    members.push_back(memory.get(piece));
  }
  const auto recoveries = find_recoveries(code.coefficients, here);
  if (!recoveries) return;
  for (const Recovery& recovery : *recoveries) {
    const Piece& lost = read.data[recovery.data];
    memory.put(lost, recover(recovery, members, code.axis, lost.region.shape()[code.axis]));
  }
}

std::vector<Tensor> run(const Graph& graph, Device& device, const std::vector<Tensor>& inputs) {
  auto executable = device.compile(graph);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  std::vector<Tensor> outputs(graph.outputs().size());
  EXPECT_TRUE((*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

}  // namespace

std::vector<Tensor> run_here(const Graph& graph, const Plan& plan, Device& device,
                             const std::vector<Tensor>& inputs, const Losses& losses) {
  const auto schedule = make_schedule(graph, plan);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  std::map<int, Memory> machines;
  const auto machine = [&](int worker) -> Memory& {
    return machines.try_emplace(worker, graph).first->second;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    machine(kCoordinator).put({graph.inputs()[i], Region::whole(inputs[i].shape())}, inputs[i]);
  }
  const auto made_in = [&](const Transfer& transfer) {
    const auto of = std::ranges::find_if(plan.segments, [&](const Segment& segment) {
      return std::ranges::any_of(live_after(graph, segment.nodes),
                                 [&](ValueId id) { return id == transfer.piece.value; });
    });
    return static_cast<size_t>(of - plan.segments.begin());
  };
  const auto is_lost = [&](int worker, size_t segment) {
    const auto loss = losses.find(worker);
    return loss != losses.end() && loss->second <= segment;
  };
  const auto deliver = [&](size_t segment) {
    for (const Transfer& transfer : schedule->transfers) {
      if (transfer.segment != segment || is_lost(transfer.from, made_in(transfer))) continue;
      machine(transfer.to).put(transfer.piece, machine(transfer.from).get(transfer.piece));
    }
  };
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    deliver(s);
    for (size_t t = 0; t < plan.segments[s].tasks.size(); ++t) {
      if (is_lost(plan.segments[s].tasks[t].worker, s)) continue;
      const Part& part = schedule->parts[s][t];
      Memory& memory = machine(plan.segments[s].tasks[t].worker);
      for (const CodeRead& read : schedule->code_reads[s][t]) {
        decode(plan.codes[read.code], read, memory);
      }
      const auto tile = to_graph(graph, part);
      EXPECT_TRUE(tile.ok() && verify(*tile).ok()) << tile.status().message();
      std::vector<Tensor> pieces;
      for (const Piece& piece : part.inputs) pieces.push_back(memory.get(piece));
      const std::vector<Tensor> made = run(*tile, device, pieces);
      for (size_t i = 0; i < made.size(); ++i) memory.put(part.outputs[i], made[i]);
    }
  }
  deliver(plan.segments.size());
  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs()) outputs.push_back(machine(kCoordinator)[id]);
  return outputs;
}

std::vector<Tensor> run_whole(const Graph& graph, Device& device,
                              const std::vector<Tensor>& inputs) {
  return run(graph, device, inputs);
}

Graph optimized(std::string_view name) {
  auto graph = zoo::build(name);
  EXPECT_TRUE(graph.ok());
  auto better = passes::optimize(*graph);
  EXPECT_TRUE(better.ok());
  return *std::move(better);
}

std::vector<Tensor> random_inputs(Rng& rng, const Graph& graph) {
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) inputs.push_back(random_tensor(rng, graph[id].type.shape));
  return inputs;
}

}  // namespace shoal::plan
