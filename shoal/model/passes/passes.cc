// The driver of the passes.
#include "shoal/model/passes/passes.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "shoal/model/passes/equal.h"

namespace shoal::passes {
namespace {

// A pass may enable one that ran before it. The bound is for graphs where two undo each other.
constexpr int kMaxRounds = 4;

// The next graph; nullopt if the pass changed nothing.
Result<std::optional<Graph>> run_clean(const Pass& pass, const Graph& graph) {
  SHOAL_ASSIGN(Graph next, pass.run(graph));
  if (same(graph, next)) return std::optional<Graph>();
  // Replaced nodes are removed at once: the next pass asks for the readers of a value, and dead
  // ones would be among them.
  SHOAL_ASSIGN(next, remove_dead_code(next));
  SHOAL_TRY(verify(next));
  return std::optional(std::move(next));
}

}  // namespace

std::span<const Pass> all() {
#define SHOAL_PASS(name, what) Pass{#name, what, name},
  static constexpr Pass kPasses[] = {
#include "shoal/model/passes/list.inc"
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
      auto next = run_clean(pass, current);
      if (!next.ok()) return next.status().at(pass.name);
      const bool changed = next->has_value();
      changed_any |= changed;
      if (reports != nullptr) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        const size_t before = current.nodes().size();
        reports->push_back({pass.name, before, changed ? (*next)->nodes().size() : before, changed,
                            spent.count()});
      }
      if (changed) current = **std::move(next);
    }
    if (!changed_any) break;
  }
  return current;
}

}  // namespace shoal::passes
