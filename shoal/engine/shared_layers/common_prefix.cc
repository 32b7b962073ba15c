#include "shoal/engine/shared_layers/common_prefix.h"

#include <algorithm>
#include <map>
#include <new>
#include <unordered_map>
#include <utility>

#include "shoal/base/math/hash.h"
#include "shoal/engine/device/cut.h"
#include "shoal/model/passes/equal.h"

namespace shoal::prefix {
namespace {

constexpr size_t kNothing = static_cast<size_t>(-1);

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

// Numbers for what values are, whatever network they are of: equal numbers mean equal elements for
// equal inputs.
class Meanings {
 public:
  size_t input(size_t number) { return of("i" + std::to_string(number)); }

  // By hash first: a key of all elements would be a copy of all weights.
  size_t constant(const Tensor& tensor) {
    auto& alike = constants_[hash_of(tensor.bytes())];
    const auto same = std::ranges::find_if(alike, [&](const auto& known) {
      return known.first->type() == tensor.type() &&
             std::ranges::equal(known.first->bytes(), tensor.bytes());
    });
    if (same != alike.end()) return same->second;
    return alike.emplace_back(&tensor, count_++).second;
  }

  // A node's first output; the others have the numbers after it.
  size_t node(const Node& node, std::span<const size_t> inputs) {
    std::string key = "n" + std::to_string(reinterpret_cast<uintptr_t>(node.op)) + ":" +
                      std::to_string(node.outputs.size());
    for (const size_t input : inputs) key += "," + std::to_string(input);
    key += ":";
    passes::append_key(key, node.attributes);
    const size_t first = of(std::move(key));
    count_ = std::max(count_, first + node.outputs.size());
    return first;
  }

 private:
  size_t of(std::string key) {
    const auto [known, is_new] = keys_.emplace(std::move(key), count_);
    if (is_new) ++count_;
    return known->second;
  }

  std::unordered_map<std::string, size_t> keys_;
  std::unordered_map<uint64_t, std::vector<std::pair<const Tensor*, size_t>>> constants_;
  size_t count_ = 0;
};

// Of one network: the meaning of each value, and the nodes that may be common.
struct Network {
  const Graph* graph = nullptr;
  std::vector<size_t> meanings = {};     // kNothing: it is only this network's
  std::map<size_t, ValueId> first = {};  // value of each meaning that a node gives
};

bool is_output(const Graph& graph, ValueId id) {
  return std::ranges::find(graph.outputs(), id) != graph.outputs().end();
}

// `before` has what all networks before this one have in common; null for the first.
Network understand(const Graph& graph, const Network* before, Meanings& all) {
  Network network{.graph = &graph, .meanings = std::vector<size_t>(graph.value_count(), kNothing)};
  const auto meaning = [&](ValueId id) -> size_t& { return network.meanings[index_of(id)]; };
  for (size_t i = 0; i < graph.inputs().size(); ++i) meaning(graph.inputs()[i]) = all.input(i);
  for (const Node& node : graph.nodes()) {
    std::vector<size_t> inputs;
    bool is_common = !node.op->random;
    for (ValueId id : node.inputs) {
      if (id == kNoValue) {
        inputs.push_back(kNothing);
        continue;
      }
      if (graph[id].constant) meaning(id) = all.constant(*graph[id].constant);
      is_common = is_common && meaning(id) != kNothing;
      inputs.push_back(meaning(id));
    }
    for (ValueId id : node.outputs) is_common = is_common && !is_output(graph, id);
    if (!is_common) continue;
    const size_t made = all.node(node, inputs);
    if (before != nullptr && !before->first.contains(made)) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      meaning(node.outputs[i]) = made + i;
      network.first.emplace(made + i, node.outputs[i]);
    }
  }
  return network;
}

// What the networks have, as far as all of them have it.
void keep_common(std::vector<Network>& networks) {
  const Network& last = networks.back();
  for (Network& network : networks) {
    std::erase_if(network.first, [&](const auto& one) { return !last.first.contains(one.first); });
  }
}

struct Gives {
  std::vector<size_t> meanings = {};

  size_t place_of(size_t meaning) {
    const auto found = std::ranges::find(meanings, meaning);
    if (found != meanings.end()) return static_cast<size_t>(found - meanings.begin());
    meanings.push_back(meaning);
    return meanings.size() - 1;
  }
};

Result<Suffix> suffix_of(const Network& network, Gives& gives) {
  const Graph& graph = *network.graph;
  const auto is_common = [&](ValueId id) {
    const size_t meaning = network.meanings[index_of(id)];
    return meaning != kNothing && network.first.contains(meaning);
  };
  Suffix suffix;
  GraphPart part;
  std::vector<ValueId> of_network;
  const auto add_once = [](std::vector<ValueId>& list, ValueId id) {
    if (std::ranges::find(list, id) != list.end()) return false;
    list.push_back(id);
    return true;
  };
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (is_common(node.outputs[0])) continue;
    part.nodes.push_back(n);
    for (ValueId id : node.inputs) {
      if (id == kNoValue || graph[id].constant) continue;
      const auto input = std::ranges::find(graph.inputs(), id);
      if (input != graph.inputs().end()) {
        if (add_once(of_network, id)) {
          suffix.from_networks.push_back(static_cast<size_t>(input - graph.inputs().begin()));
        }
      } else if (is_common(id) && add_once(part.reads, id)) {
        suffix.from_prefix.push_back(gives.place_of(network.meanings[index_of(id)]));
      }
    }
  }
  part.reads.insert(part.reads.end(), of_network.begin(), of_network.end());
  part.gives.assign(graph.outputs().begin(), graph.outputs().end());
  SHOAL_ASSIGN(suffix.graph, graph_of_part(graph, part));
  return suffix;
}

Result<Graph> prefix_of(const Network& network, const Gives& gives) {
  const Graph& graph = *network.graph;
  GraphPart part;
  part.reads.assign(graph.inputs().begin(), graph.inputs().end());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const ValueId id = graph.nodes()[n].outputs[0];
    if (network.first.contains(network.meanings[index_of(id)])) part.nodes.push_back(n);
  }
  for (const size_t meaning : gives.meanings) part.gives.push_back(network.first.at(meaning));
  return graph_of_part(graph, part);
}

}  // namespace

Result<CommonPrefix> common_prefix(std::span<const Graph> networks) {
  Meanings meanings;
  std::vector<Network> all;
  for (const Graph& graph : networks) {
    if (graph.types(graph.inputs()) != networks[0].types(networks[0].inputs())) {
      return invalid("the networks have inputs of different types");
    }
    all.push_back(understand(graph, all.empty() ? nullptr : &all.back(), meanings));
  }
  keep_common(all);
  CommonPrefix common;
  Gives gives;
  for (const Network& network : all) {
    SHOAL_ASSIGN(Suffix suffix, suffix_of(network, gives));
    common.suffixes.push_back(std::move(suffix));
  }
  if (gives.meanings.empty()) return invalid("the networks have no layers in common");
  SHOAL_ASSIGN(common.prefix, prefix_of(all[0], gives));
  return common;
}

namespace {

bool same_elements(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return std::ranges::equal(x.bytes(), y.bytes());
  });
}

}  // namespace

Result<std::unique_ptr<PrefixRunner>> PrefixRunner::create(Device& device, const Graph& prefix,
                                                           size_t kept) {
  SHOAL_ASSIGN(auto executable, device.compile(prefix));
  return std::unique_ptr<PrefixRunner>(
      new PrefixRunner(std::move(executable), prefix.types(prefix.inputs()), kept));
}

Result<PrefixRunner::Values> PrefixRunner::compute(std::span<const Tensor> inputs) const try {
  auto outputs = std::make_shared<std::vector<Tensor>>(executable_->graph().outputs().size());
  SHOAL_TRY(executable_->run(inputs, *outputs, {}));
  return Values(std::move(outputs));
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

Result<PrefixRunner::Values> PrefixRunner::run(std::span<const Tensor> inputs) {
  const auto type_of = [](const Tensor& tensor) { return tensor.type(); };
  if (!std::ranges::equal(inputs, types_, {}, type_of)) {
    return invalid("inputs are of other types than the networks'");
  }
  std::promise<Result<Values>> promise;
  {
    std::unique_lock lock(mutex_);
    ++uses_;
    const auto known = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return same_elements(entry.inputs, inputs); });
    if (known != entries_.end()) {
      std::rotate(known, known + 1, entries_.end());
      const auto values = entries_.back().values;
      lock.unlock();
      return values.get();
    }
    ++runs_;
    Entry& entry = entries_.emplace_back();
    for (const Tensor& input : inputs) entry.inputs.push_back(input.clone());
    entry.values = promise.get_future().share();
    if (entries_.size() > kept_) entries_.pop_front();
  }
  Result<Values> values = compute(inputs);
  if (!values.ok()) {  // the next request tries again
    const std::scoped_lock lock(mutex_);
    std::erase_if(entries_,
                  [&](const Entry& entry) { return same_elements(entry.inputs, inputs); });
  }
  promise.set_value(values);
  return values;
}

uint64_t PrefixRunner::runs() const {
  const std::scoped_lock lock(mutex_);
  return runs_;
}

uint64_t PrefixRunner::uses() const {
  const std::scoped_lock lock(mutex_);
  return uses_;
}

}  // namespace shoal::prefix
