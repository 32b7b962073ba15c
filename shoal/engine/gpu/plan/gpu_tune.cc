#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/math/hash.h"
#include "shoal/engine/gpu/plan/gpu_plan.h"

namespace shoal::gpu {
namespace {

constexpr size_t kMostWays = 8;

// A number at the beginning of the text, which loses it and the character behind; nothing where
// there is none.
std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const auto length = static_cast<size_t>(end - text.data());
  text.remove_prefix(std::min(length + 1, text.size()));
  return number;
}

uint64_t key_of(const Work& work) {
  std::string text;
  for (const Launch& launch : work.launches) {
    for (const int64_t groups : launch.groups) text += std::to_string(groups) + " ";
    text += launch.body;
  }
  return hash_of(std::as_bytes(std::span(text)));
}

// A graph of one node, as often as there are ways to compute it.
Result<Graph> repeated(const Graph& graph, const Node& node, size_t times) {
  Graph alone;
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    if (id == kNoValue) {
      inputs.push_back(kNoValue);
    } else if (graph[id].constant) {
      inputs.push_back(alone.add_constant(graph[id].name, *graph[id].constant));
    } else {
      inputs.push_back(alone.add_input(graph[id].name, graph[id].type));
    }
  }
  for (size_t i = 0; i < times; ++i) {
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(graph[id].name + "." + std::to_string(i));
    SHOAL_TRY(alone.add_node(*node.op, inputs, node.attributes, names, node.name).status());
  }
  return alone;
}

Result<size_t> measured(const Graph& graph, const Node& node, PlanOptions options,
                        const MeasureNodes& measure) {
  constexpr double kGain = 0.97;  // of the time of the first way: less is chance
  const bool in_half = is_in_half(graph, node, options);
  if (!in_half) options.precision = GpuPrecision::kF32;
  Ranks ranks{0};
  while (ranks.size() < kMostWays &&
         work_of(graph, node, options.device, in_half, ranks.size()).has_value()) {
    ranks.push_back(ranks.size());
  }
  if (ranks.size() < 2) return 0;
  SHOAL_ASSIGN(Graph alone, repeated(graph, node, ranks.size()));
  SHOAL_ASSIGN(Plan plan, make_plan(std::move(alone), options, ranks));
  SHOAL_ASSIGN(const std::vector<double> seconds, measure(std::move(plan)));
  const auto best = std::ranges::min_element(seconds);
  return *best < kGain * seconds[0] ? static_cast<size_t>(best - seconds.begin()) : 0;
}

}  // namespace

Tuning::Tuning(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  const auto mapped = MappedFile::open(file_);
  if (!mapped.ok()) return;
  const auto bytes = (*mapped)->bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty()) {
    const auto work = take_number(text);
    const auto rank = work ? take_number(text) : std::nullopt;
    if (!rank) return;
    if (*rank < kMostWays) ranks_[*work] = static_cast<size_t>(*rank);
  }
}

bool Tuning::is_empty() const {
  const std::scoped_lock lock(mutex_);
  return ranks_.empty();
}

std::optional<size_t> Tuning::find(uint64_t work) const {
  const std::scoped_lock lock(mutex_);
  const auto found = ranks_.find(work);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

void Tuning::add(uint64_t work, size_t rank) {
  const std::scoped_lock lock(mutex_);
  ranks_[work] = rank;
  is_new_ = true;
}

void Tuning::keep() {
  const std::scoped_lock lock(mutex_);
  if (file_.empty() || !is_new_) return;
  std::string text;
  for (const auto& [work, rank] : ranks_) {
    text += std::to_string(work) + " " + std::to_string(rank) + "\n";
  }
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  is_new_ = !write_file(file_, text).ok();
}

Ranks ranks_for(const Graph& graph, const PlanOptions& options, Tuning& tuning,
                const MeasureNodes& measure) {
  if (tuning.is_empty() && !measure) return {};
  Ranks ranks(graph.nodes().size(), 0);
  for (size_t n = 0; n < ranks.size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!has_choices(node.op)) continue;
    const bool in_half = is_in_half(graph, node, options);
    const auto first = work_of(graph, node, options.device, in_half);
    if (!first) continue;
    const uint64_t key = key_of(*first);
    std::optional<size_t> rank = tuning.find(key);
    if (!rank && measure) {
      const auto fastest = measured(graph, node, options, measure);
      rank = fastest.ok() ? *fastest : 0;
      if (fastest.ok()) tuning.add(key, *rank);
    }
    // A file may be of another version, which had more ways.
    if (rank && work_of(graph, node, options.device, in_half, *rank)) ranks[n] = *rank;
  }
  tuning.keep();
  return ranks;
}

}  // namespace shoal::gpu
