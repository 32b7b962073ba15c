// Candidates, memoised. The search and the local search ask for the same segments again and again,
// and making a part means tracing all its nodes; each (begin, end, layout) is therefore traced
// once, and the failures are remembered as well.
#include "shoal/plan/search/candidates.h"

#include <algorithm>

#include "shoal/plan/coding/coded_segments.h"

namespace shoal::plan {

size_t Candidates::add(const Layout& layout) {
  const auto known = std::ranges::find(layouts_, layout);
  if (known != layouts_.end()) return static_cast<size_t>(known - layouts_.begin());
  layouts_.push_back(layout);
  return layouts_.size() - 1;
}

const Candidate* Candidates::find(size_t begin, size_t end, size_t layout) {
  // 20 bits for a cut: Limits::max_nodes is below 2^20.
  const uint64_t key = (uint64_t{layout} << 40) | (uint64_t{begin} << 20) | uint64_t{end};
  const auto [it, is_new] = made_.try_emplace(key);
  if (is_new) it->second = make(begin, end, layout);
  return it->second.get();
}

std::unique_ptr<Candidate> Candidates::make(size_t begin, size_t end, size_t number) const {
  const Layout& layout = layouts_[number];
  const NodeRange nodes{cuts_[begin], cuts_[end]};
  auto candidate = std::make_unique<Candidate>();
  candidate->begin = begin;
  candidate->end = end;
  candidate->layout = number;
  auto tasks = tasks_of(graph_, nodes, layout);
  if (!tasks) return nullptr;
  candidate->tasks = *std::move(tasks);
  std::vector<Part> parts;
  for (const Task& task : candidate->tasks) {
    auto part = make_part(graph_, nodes, task.outputs);
    if (!part.ok()) return nullptr;
    const WorkerProfile& worker = cluster_.workers[static_cast<size_t>(task.worker)];
    double seconds = 0, weights = 0, activations = 0;
    for (const PartNode& node : part->nodes) {
      const Work work = work_of(graph_, node);
      seconds += seconds_of(graph_, node, work, worker);
      weights += work.weight_bytes;
      activations = std::max(activations, work.bytes - work.weight_bytes);
    }
    candidate->seconds.push_back(seconds);
    candidate->weight_bytes.push_back(weights);
    candidate->activation_bytes.push_back(activations);
    candidate->inputs.push_back(part->inputs);
    parts.push_back(*std::move(part));
  }
  const double times = times_computed({nodes, {}, candidate->tasks}, parts);
  for (double& seconds : candidate->seconds) {
    seconds *= times;
    candidate->slowest = std::max(candidate->slowest, seconds);
  }
  return candidate;
}

// The number of times that one worker computes its task in a protected plan: once if the segment is
// coded, because other workers compute parities at the same time, or if its readers compute it
// anyway.
double Candidates::times_computed(const Segment& segment, const std::vector<Part>& parts) const {
  if (survive_.losses == 0) return 1;
  const CodedSegment coded =
      find_coded_segment(graph_, segment, parts, survive_.losses, survive_.workers);
  const bool is_free = !coded.products.empty() || coded.is_light;
  return is_free ? 1 : 1 + static_cast<double>(survive_.losses);
}

Plan plan_of(const Candidates& candidates, const Chain& chain) {
  Plan plan;
  for (const Candidate* candidate : chain) {
    plan.segments.push_back(
        {{candidates.cuts()[candidate->begin], candidates.cuts()[candidate->end]},
         candidates.layout(candidate->layout).describe(),
         candidate->tasks});
  }
  return plan;
}

}  // namespace shoal::plan
