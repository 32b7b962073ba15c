// Multi-exit networks and their metadata. A file may be from any source: every name in its metadata
// is looked up, and every number has bounds.
#include "shoal/shrink/exits/network/multi_exit.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>

#include "shoal/base/text/printable.h"
#include "shoal/shrink/exits/network/stages.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::exits {
namespace {

using Properties = std::map<std::string, std::string>;

constexpr const char* kCount = "shoal.exits";
constexpr size_t kMostExits = 64;

std::string key_of(size_t exit, const char* what) {
  return "shoal.exit." + std::to_string(exit + 1) + "." + what;
}

Status corrupt(const std::string& what) {
  return Status(Code::kCorrupt, "the exits in the metadata: " + what);
}

// Round-trips.
std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

template <class T>
Result<T> number_in(const std::string& text, T least, T most) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  // Written so that NaN is refused.
  if (error == std::errc() && stopped == end && number >= least && number <= most) return number;
  return corrupt("'" + printable(text, 40) + "' is no number in its range");
}

Result<std::string> text_in(const Properties& properties, const std::string& key) {
  const auto position = properties.find(key);
  if (position == properties.end() || position->second.empty())
    return corrupt("there is no " + key);
  return position->second;
}

// The graph with its outputs in the order of MultiExit: the one that is no exit, then the exits.
Result<MultiExit> in_order(LoadedGraph loaded, std::vector<Exit> exits) {
  if (loaded.graph.inputs().size() != 1) return invalid("the model needs one input");
  if (loaded.outputs.size() != exits.size() + 1) {
    return corrupt("there are " + std::to_string(exits.size()) + " for " +
                   std::to_string(loaded.outputs.size()) + " outputs");
  }
  MultiExit network{.graph = {}, .exits = std::move(exits), .outputs = {loaded.outputs[0]}};
  for (const Exit& exit : network.exits) network.outputs.push_back(exit.scores);
  std::vector<ValueId> order;
  for (const std::string& name : network.outputs) {
    if (std::ranges::count(network.outputs, name) > 1) {
      return corrupt("output " + printable(name) + " is the last classifier's");
    }
    const auto position = std::ranges::find(loaded.outputs, name);
    if (position == loaded.outputs.end()) return corrupt("there is no output " + printable(name));
    order.push_back(loaded.graph.outputs()[static_cast<size_t>(position - loaded.outputs.begin())]);
  }
  SHOAL_ASSIGN(network.graph, with_outputs(loaded.graph, order));
  return network;
}

Status check_types(const MultiExit& network, int64_t batch) {
  const Graph& graph = network.graph;
  const TensorType& first = graph[graph.outputs()[0]].type;
  if (first.dtype != DType::kF32 || first.shape.rank() != 2 || first.shape[0] != batch) {
    return invalid("the output is " + to_string(first) + ", which is no scores of classes");
  }
  for (ValueId id : graph.outputs()) {
    if (graph[id].type == first) continue;
    return corrupt("output " + printable(graph[id].name) + " is " + to_string(graph[id].type) +
                   ", the first is " + to_string(first));
  }
  return {};
}

}  // namespace

Properties properties_of(const std::vector<Exit>& exits) {
  Properties properties{{kCount, std::to_string(exits.size())}};
  for (size_t i = 0; i < exits.size(); ++i) {
    properties[key_of(i, "at")] = exits[i].at;
    properties[key_of(i, "scores")] = exits[i].scores;
    properties[key_of(i, "threshold")] = text_of(exits[i].threshold);
    if (exits[i].top1 > 0) properties[key_of(i, "top1")] = text_of(exits[i].top1);
  }
  return properties;
}

Result<std::vector<Exit>> exits_in(const Properties& properties) {
  const auto count = properties.find(kCount);
  if (count == properties.end()) return std::vector<Exit>();
  SHOAL_ASSIGN(const size_t exits, number_in<size_t>(count->second, 1, kMostExits));
  std::vector<Exit> result(exits);
  std::set<std::string> scores;
  for (size_t i = 0; i < exits; ++i) {
    SHOAL_ASSIGN(result[i].at, text_in(properties, key_of(i, "at")));
    SHOAL_ASSIGN(result[i].scores, text_in(properties, key_of(i, "scores")));
    SHOAL_ASSIGN(const std::string threshold, text_in(properties, key_of(i, "threshold")));
    SHOAL_ASSIGN(result[i].threshold, number_in<double>(threshold, 0, kNever));
    if (const auto top1 = properties.find(key_of(i, "top1")); top1 != properties.end()) {
      SHOAL_ASSIGN(result[i].top1, number_in<double>(top1->second, 0, 100));
    }
    if (!scores.insert(result[i].scores).second) {
      return corrupt("two have the output " + printable(result[i].scores));
    }
  }
  return result;
}

Result<MultiExit> load_multi_exit(const Model& model, int64_t batch) {
  SHOAL_ASSIGN(std::vector<Exit> exits, exits_in(model.properties()));
  if (exits.empty()) return invalid(model.name() + " has no exits: 'shoal exits' adds some");
  SHOAL_ASSIGN(LoadedGraph loaded, fit::load_for_batch(model, batch));
  SHOAL_ASSIGN(MultiExit network, in_order(std::move(loaded), std::move(exits)));
  SHOAL_TRY(check_types(network, batch));
  return network;
}

MultiExitForBatch multi_exit_in(const Model& model) {
  return [&model](int64_t batch) { return load_multi_exit(model, batch); };
}

}  // namespace shoal::exits
