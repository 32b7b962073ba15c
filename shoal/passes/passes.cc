#include "shoal/passes/passes.h"

#include <algorithm>
#include <chrono>

namespace shoal::passes {
namespace {

constexpr int kMaxRounds = 4;

// Passes only ever remove, merge or replace nodes, so a change shows in the list of operators or in
// what they read; comparing these is cheaper than comparing graphs.
bool same_nodes(const Graph& a, const Graph& b) {
  return std::ranges::equal(a.nodes(), b.nodes(), [&](const Node& x, const Node& y) {
    return x.op == y.op && x.inputs.size() == y.inputs.size() &&
           x.attributes.size() == y.attributes.size();
  });
}

}  // namespace

std::span<const Pass> all() {
#define SHOAL_PASS(name, what) Pass{#name, what, name},
  static constexpr Pass kPasses[] = {
#include "shoal/passes/list.inc"
  };
#undef SHOAL_PASS
  return kPasses;
}

const Pass* find(std::string_view name) {
  const auto passes = all();
  const auto it = std::ranges::find(passes, name, &Pass::name);
  return it == passes.end() ? nullptr : &*it;
}

Result<Graph> optimize(const Graph& graph, std::vector<Report>* reports) {
  Graph current = graph;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed_any = false;
    for (const Pass& pass : all()) {
      const auto begin = std::chrono::steady_clock::now();
      auto next = pass.run(current);
      if (!next.ok()) return next.status().at(pass.name);
      if (Status status = verify(*next); !status.ok()) return status.at(pass.name);
      const bool changed = !same_nodes(current, *next);
      changed_any |= changed;
      if (reports != nullptr) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        reports->push_back(
            {pass.name, current.nodes().size(), next->nodes().size(), changed, spent.count()});
      }
      current = *std::move(next);
    }
    if (!changed_any) break;
  }
  return current;
}

}  // namespace shoal::passes
