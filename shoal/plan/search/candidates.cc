// Candidates, memoised. The search and the local search ask for the same segments again and again,
// and making a part means tracing all its nodes; each (begin, end, layout) is therefore traced
// once, and the failures are remembered as well.
#include "shoal/plan/search/candidates.h"

#include <algorithm>

#include "shoal/plan/search/find_clusters.h"

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
  if (layout.cut == Cut::kClusters && !are_disjoint(candidate->inputs)) return nullptr;
  if (survive_.losses > 0) protect(*candidate, parts);
  for (double seconds : candidate->seconds) {
    candidate->slowest = std::max(candidate->slowest, seconds);
  }
  return candidate;
}

// Adds what protection costs. Tasks of a segment that is repeated are computed once more for each
// loss. Those of a coded one are not, because other workers compute parities at the same time; but
// each of its readers, which are about as many as its makers, puts the shares together. Segments
// without products are computed by their readers anyway.
void Candidates::protect(Candidate& candidate, const std::vector<Part>& parts) const {
  const NodeRange nodes{cuts_[candidate.begin], cuts_[candidate.end]};
  const auto losses = static_cast<double>(survive_.losses);
  const CodedSegment coded = find_coded_segment(graph_, {nodes, {}, candidate.tasks}, parts,
                                                survive_.losses, survive_.workers);
  if (coded.is_light) return;
  if (coded.products.empty()) {
    candidate.copies = 1 + losses;
    for (double& seconds : candidate.seconds) seconds *= (1 + losses) * survive_.repeat_weight;
    return;
  }
  const auto shares = static_cast<double>(candidate.tasks.size());
  candidate.copies = (shares + losses) / shares;
  const Work work{0, bytes_put_together(coded), 0};
  for (size_t t = 0; t < candidate.tasks.size(); ++t) {
    const auto worker = static_cast<size_t>(candidate.tasks[t].worker);
    candidate.seconds[t] += seconds_of(work, cluster_.workers[worker].speed_of("Concat"));
  }
}

// Bytes that a reader of coded products reads and writes before it can use them: to put shares
// together, and for what was fused with the product, which comes after decoding.
double Candidates::bytes_put_together(const CodedSegment& coded) const {
  constexpr size_t kWithoutResidual = 3;  // inputs: data, weights, bias
  double bytes = 0;
  for (const auto& [index, product] : coded.products) {
    const Node& node = graph_.nodes()[index];
    const auto whole = static_cast<double>(graph_[node.outputs[0]].type.bytes());
    const bool is_fused = !is_plain(node);
    const bool adds = is_fused && node.inputs.size() > kWithoutResidual;
    bytes += whole * (2 + (is_fused ? 2 : 0) + (adds ? 3 : 0));
  }
  return bytes;
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

std::string name_of(const Candidates& candidates, const Chain& chain) {
  std::vector<std::string_view> names;
  for (const Candidate* candidate : chain) {
    const Cut cut = candidates.layout(candidate->layout).cut;
    const std::string_view name = name_of(cut);
    if (cut != Cut::kNone && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (names.empty()) return std::string(name_of(Cut::kNone));
  std::string text(names[0]);
  for (size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 == names.size() ? " and " : ", ") + std::string(names[i]);
  }
  return text;
}

}  // namespace shoal::plan
