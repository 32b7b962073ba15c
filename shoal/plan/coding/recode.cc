#include "shoal/plan/coding/recode.h"

#include "shoal/plan/coding/coded_segments.h"

namespace shoal::plan {
namespace {

// Whether the segment, with these tasks, gets parities; false also where it cannot be split so.
bool is_coded(const Graph& graph, const Segment& segment, size_t losses,
              const std::vector<int>& workers) {
  std::vector<Part> parts;
  for (const Task& task : segment.tasks) {
    auto part = make_part(graph, segment.nodes, task.outputs);
    if (!part.ok()) return false;
    parts.push_back(*std::move(part));
  }
  return !find_coded_segment(graph, segment, parts, losses, workers).products.empty();
}

// The nodes as one segment for each product, with what follows it; nothing if one of them cannot be
// coded.
std::vector<Segment> split_by_channels(const Graph& graph, NodeRange nodes, const Layout& layout,
                                       size_t losses, const std::vector<int>& workers) {
  std::vector<size_t> begins;
  for (size_t i = nodes.begin; i < nodes.end; ++i) {
    if (macs(graph, graph.nodes()[i]) > 0) begins.push_back(i);
  }
  if (begins.empty()) return {};
  begins.front() = nodes.begin;
  begins.push_back(nodes.end);
  std::vector<Segment> segments;
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    const NodeRange range{begins[i], begins[i + 1]};
    auto tasks = tasks_of(graph, range, layout);
    if (!tasks) return {};
    segments.push_back({range, layout.describe(), *std::move(tasks)});
    if (!is_coded(graph, segments.back(), losses, workers)) return {};
  }
  return segments;
}

}  // namespace

std::vector<Plan> with_one_more_coded(const Graph& graph, const Plan& plan, const Layout& layout,
                                      size_t losses, const std::vector<int>& workers) {
  std::vector<Plan> plans;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    const Segment& segment = plan.segments[s];
    if (is_coded(graph, segment, losses, workers)) continue;
    const std::vector<Segment> others =
        split_by_channels(graph, segment.nodes, layout, losses, workers);
    if (others.empty()) continue;
    Plan& changed = plans.emplace_back(plan);
    const auto at = changed.segments.erase(changed.segments.begin() + static_cast<long>(s));
    changed.segments.insert(at, others.begin(), others.end());
  }
  return plans;
}

}  // namespace shoal::plan
