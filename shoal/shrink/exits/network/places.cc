#include "shoal/shrink/exits/network/places.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/base/text/printable.h"
#include "shoal/shrink/compress/analysis/product.h"

namespace shoal::exits {
namespace {

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

int64_t batch_of(const Graph& network) { return network[network.inputs()[0]].type.shape[0]; }

std::vector<bool> needed_values(const Graph& network) {
  std::vector<bool> needed(network.value_count(), false);
  needed[index_of(network.outputs()[0])] = true;
  for (size_t n = network.nodes().size(); n-- > 0;) {
    const Node& node = network.nodes()[n];
    if (std::ranges::none_of(node.outputs, [&](ValueId id) { return needed[index_of(id)]; })) {
      continue;
    }
    for (ValueId id : node.inputs) {
      if (id != kNoValue) needed[index_of(id)] = true;
    }
  }
  return needed;
}

// Why a value is no place for an exit; empty: it is one.
std::string objection(const Graph& network, const std::vector<bool>& needed, ValueId id) {
  const TensorType& type = network[id].type;
  if (network[id].constant) return "is a constant";
  if (std::ranges::find(network.inputs(), id) != network.inputs().end()) return "is the input";
  if (!needed[index_of(id)]) return "has no influence on the scores";
  if (id == network.outputs()[0]) return "is the output";
  const size_t rank = type.shape.rank();
  if (type.dtype != DType::kF32 || (rank != 2 && rank != 4) || type.shape[0] != batch_of(network) ||
      type.shape.count() == 0) {
    return "is " + to_string(type) + ", no features [batch, c] or [batch, c, h, w] of f32";
  }
  return {};
}

// A value that everything later depends on, and the work up to it.
struct Bottleneck {
  ValueId value;
  double share;  // of the network's multiply-accumulates
};

// The values after which everything depends on them alone. Of those with the same work before them
// the last is kept, the one after norm, activation and pool.
std::vector<Bottleneck> bottlenecks_of(const Graph& network) {
  const std::vector<bool> needed = needed_values(network);
  std::vector<size_t> last_reader(network.value_count(), 0);
  constexpr size_t kEnd = std::numeric_limits<size_t>::max();
  double all = 0;
  for (size_t n = 0; n < network.nodes().size(); ++n) {
    const Node& node = network.nodes()[n];
    all += static_cast<double>(macs(network, node));
    for (ValueId id : node.inputs) {
      const bool used = id != kNoValue && needed[index_of(node.outputs[0])];
      if (used) last_reader[index_of(id)] = n;
    }
  }
  last_reader[index_of(network.outputs()[0])] = kEnd;
  std::vector<ValueId> live(network.inputs().begin(), network.inputs().end());
  std::vector<Bottleneck> found;
  double done = 0;
  for (size_t n = 0; n < network.nodes().size(); ++n) {
    const Node& node = network.nodes()[n];
    done += static_cast<double>(macs(network, node));
    live.insert(live.end(), node.outputs.begin(), node.outputs.end());
    std::erase_if(live, [&](ValueId id) { return last_reader[index_of(id)] <= n; });
    if (live.size() != 1 || !objection(network, needed, live[0]).empty()) continue;
    const double share = all > 0 ? done / all : 0;
    if (!found.empty() && found.back().share == share) found.pop_back();
    found.push_back({live[0], share});
  }
  // Before the first and after the last layer an exit saves nothing.
  std::erase_if(found, [](const Bottleneck& b) { return b.share <= 0 || b.share >= 1; });
  return found;
}

}  // namespace

Status check_classifier(const Graph& network) {
  if (const Node* node = compress::quantised_node(network)) {
    return Status(Code::kUnsupported, place_of(network, *node) +
                                          " is quantised; add exits to the float model, and "
                                          "quantise the result");
  }
  if (network.inputs().size() != 1) return invalid("the model needs one input");
  if (network.outputs().size() != 1) {
    return invalid("the model needs one output: exits are added to a classifier without exits");
  }
  const TensorType& input = network[network.inputs()[0]].type;
  const TensorType& scores = network[network.outputs()[0]].type;
  const bool has_batch = input.shape.rank() > 0 && scores.shape.rank() == 2 &&
                         input.shape[0] == scores.shape[0] && input.shape[0] > 0;
  if (has_batch && scores.dtype == DType::kF32 && scores.shape[1] > 1) return {};
  return invalid("the model is no classifier: from " + to_string(input) + " it computes " +
                 to_string(scores) + ", not scores [batch, classes] of f32");
}

Result<std::vector<ValueId>> find_places(const Graph& network, std::span<const std::string> names) {
  if (names.empty()) return invalid("there is no place for an exit");
  const std::vector<bool> needed = needed_values(network);
  std::vector<ValueId> places;
  for (size_t i = 0; i < network.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const auto named = std::ranges::count(names, network[id].name);
    if (named == 0) continue;
    const std::string name = printable(network[id].name);
    if (named > 1) return invalid(name + " is named twice");
    const std::string reason = objection(network, needed, id);
    if (!reason.empty()) return invalid("no exit at " + name + ": it " + reason);
    places.push_back(id);
  }
  // Nodes number what they make as they are added, so that the order of ids is that of depth.
  if (places.size() == names.size()) return places;
  for (const std::string& name : names) {
    const auto is_named = [&](ValueId id) { return network[id].name == name; };
    if (std::ranges::none_of(places, is_named)) {
      return invalid("the model has no value " + printable(name) + " to add an exit at");
    }
  }
  return places;
}

Result<std::vector<ValueId>> places_at(const Graph& network, std::span<const double> shares) {
  const std::vector<Bottleneck> all = bottlenecks_of(network);
  const size_t count = shares.size();
  if (count == 0 || all.size() < count) {
    return invalid("the model has " + std::to_string(all.size()) + " places for " +
                   std::to_string(count) + " exits");
  }
  // In order, each the nearest to its share of those that leave enough for the rest.
  std::vector<ValueId> places;
  size_t next = 0;
  for (size_t k = 0; k < count; ++k) {
    const double wanted = shares[k];
    size_t best = next;
    for (size_t i = next; i < all.size() - (count - k - 1); ++i) {
      if (std::abs(all[i].share - wanted) < std::abs(all[best].share - wanted)) best = i;
    }
    places.push_back(all[best].value);
    next = best + 1;
  }
  return places;
}

Result<std::vector<ValueId>> even_places(const Graph& network, size_t count) {
  std::vector<double> shares;
  for (size_t k = 1; k <= count; ++k) {
    shares.push_back(static_cast<double>(k) / static_cast<double>(count + 1));
  }
  return places_at(network, shares);
}

}  // namespace shoal::exits
