#include "shoal/variants/catalog/specialists/special_network.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>
#include <system_error>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/math/hash.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/run/scores.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/exits/network/places.h"
#include "shoal/train/data/safetensors.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/weights/initial_weights.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::catalog {
namespace {

constexpr int64_t kMostFeatures = 1024;
constexpr const char *kWeight = "special.weight", *kBias = "special.bias";

constexpr const char *kKey = "key", *kGeneral = "general";

bool fit_together(const fit::Features& features) {
  return features.values.dtype() == DType::kF32 && features.values.shape().rank() == 2 &&
         features.labels.type() == TensorType{DType::kI64, {features.values.shape()[0]}};
}

constexpr uint64_t kOtherStream = 0x6f746872;  // "othr": a stream that nothing else draws from
constexpr double kNoAnswer = -1, kLeastThreshold = 1e-9;

std::vector<size_t> drawn(const std::vector<size_t>& from, size_t most, uint64_t seed) {
  const std::vector<size_t> order = shuffled(from.size(), RandomStream(seed, kOtherStream));
  std::vector<size_t> some;
  for (size_t i = 0; i < std::min(most, order.size()); ++i) some.push_back(from[order[i]]);
  return some;
}

}  // namespace

Result<std::string> end_of_body(const Graph& network, const std::string& at) {
  SHOAL_TRY(exits::check_classifier(network));
  if (at == kAuto) {
    const auto places = exits::even_places(network, 2);
    if (places.ok()) return network[(*places)[0]].name;
  }
  if (at != kAuto && at != kHead) {
    SHOAL_ASSIGN(const auto places, exits::find_places(network, std::span(&at, 1)));
    return network[places[0]].name;
  }
  const Node* last = nullptr;
  for (const Node& node : network.nodes()) {
    if (train::as_product(network, node)) last = &node;
  }
  if (last == nullptr) return invalid("there is no layer with weights to replace");
  return network[last->inputs[0]].name;
}

Result<Graph> body_of(const Graph& network, const std::string& end) {
  passes::Rewriter rewriter(network);
  Graph& graph = rewriter.to();
  for (const Node& node : network.nodes()) {
    SHOAL_TRY(rewriter.copy(node));
    for (ValueId id : node.outputs) {
      if (network[id].name != end) continue;
      ValueId x = rewriter.map(id);
      const Shape shape = network[id].type.shape;
      int64_t window = 1;
      while (shape.rank() == 4 && window < std::min(shape[2], shape[3]) &&
             shape[1] * (shape[2] / window) * (shape[3] / window) > kMostFeatures) {
        ++window;
      }
      if (window > 1) {
        const std::vector<int64_t> sides(2, window);
        SHOAL_ASSIGN(x, graph.add(ops::average_pool, {x},
                                  {{"kernel_shape", sides}, {"strides", sides}}, "special.pool"));
      }
      if (shape.rank() != 2) {
        SHOAL_ASSIGN(x, graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}}, "special.features"));
      }
      graph.mark_output(x);
      return passes::remove_dead_code(graph);
    }
  }
  return invalid("the network has no value " + printable(end));
}

Result<Graph> make_head(const TensorType& features, int64_t classes, uint64_t seed) {
  Graph graph;
  const ValueId x = graph.add_input("features", features);
  const ValueId w =
      graph.add_constant(kWeight, Tensor({DType::kF32, {classes, features.shape[1]}}));
  const ValueId b = graph.add_constant(kBias, Tensor({DType::kF32, {classes}}));
  SHOAL_ASSIGN(const ValueId y,
               graph.add(ops::gemm, {x, w, b}, {{"transB", int64_t{1}}}, "special.scores"));
  graph.mark_output(y);
  return train::with_initial_weights(graph, seed);
}

Result<Graph> joined(const Graph& body, const Graph& head) {
  passes::Rewriter rewriter(body);
  for (const Node& node : body.nodes()) SHOAL_TRY(rewriter.copy(node));
  Graph& graph = rewriter.to();
  std::vector<ValueId> fresh(head.value_count(), kNoValue);
  const auto at = [&](ValueId id) -> ValueId& { return fresh[static_cast<size_t>(id)]; };
  at(head.inputs()[0]) = rewriter.map(body.outputs()[0]);
  for (const Node& node : head.nodes()) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      if (at(id) == kNoValue) at(id) = graph.add_constant(head[id].name, *head[id].constant);
      inputs.push_back(at(id));
    }
    SHOAL_ASSIGN(at(node.outputs[0]), graph.add(*node.op, std::move(inputs), node.attributes,
                                                head[node.outputs[0]].name));
  }
  graph.mark_output(at(head.outputs()[0]));
  return std::move(graph);
}

Result<std::string> fingerprint_of(const std::filesystem::path& folder) {
  std::error_code error;
  std::set<std::string> lines;  // in order, whatever the order of the folder
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    const auto size = entry->file_size(error);
    const auto changed = entry->last_write_time(error).time_since_epoch();
    lines.insert(entry->path().lexically_relative(folder).string() + " " + std::to_string(size) +
                 " " + std::to_string(changed.count()) + "\n");
  }
  if (error) return Status(Code::kNotFound, folder.string() + ": " + error.message());
  std::string text;
  for (const std::string& line : lines) text += line;
  return std::to_string(hash_of(std::as_bytes(std::span(text))));
}

std::filesystem::path file_for(const std::filesystem::path& cache, const std::string& key) {
  char name[48];
  std::snprintf(name, sizeof name, "%016llx.safetensors",
                static_cast<unsigned long long>(hash_of(std::as_bytes(std::span(key)))));
  return cache / name;
}

Status write_preforward(const std::filesystem::path& cache, const std::string& key,
                        const Preforward& preforward) {
  SHOAL_TRY(make_folder(cache));
  return write_safetensors(file_for(cache, key),
                           {.tensors = {{"training", preforward.training.values},
                                        {"training.labels", preforward.training.labels},
                                        {"held_out", preforward.held_out.values},
                                        {"held_out.labels", preforward.held_out.labels},
                                        {kGeneral, preforward.general}},
                            .metadata = {{kKey, key}}});
}

Result<Preforward> read_preforward(const std::filesystem::path& cache, const std::string& key) {
  const std::filesystem::path path = file_for(cache, key);
  SHOAL_ASSIGN(TensorFile file, read_safetensors(path));
  const Status corrupt(Code::kCorrupt, path.string() + ": no features, or those of another model");
  if (!file.checked || file.metadata[kKey] != key || file.tensors.size() != 5) return corrupt;
  const auto tensor = [&](const std::string& name) {
    const auto position = file.tensors.find(name);
    return position == file.tensors.end() ? Tensor({DType::kF32, {}}) : std::move(position->second);
  };
  Preforward all{{tensor("training"), tensor("training.labels")},
                 {tensor("held_out"), tensor("held_out.labels")},
                 tensor(kGeneral)};
  if (!fit_together(all.training) || !fit_together(all.held_out) ||
      all.general.type() != all.held_out.labels.type() ||
      all.training.values.shape()[1] != all.held_out.values.shape()[1]) {
    return corrupt;
  }
  return all;
}

Stream stream_of(std::span<const int64_t> labels, std::span<const int64_t> classes, double other,
                 uint64_t seed, int64_t per_class) {
  const auto target_of = [&](size_t example) {
    return std::ranges::find(classes, labels[example]) - classes.begin();
  };
  std::vector<std::vector<size_t>> by_target(classes.size() + 1);  // the last: others
  for (size_t i = 0; i < labels.size(); ++i) {
    by_target[static_cast<size_t>(target_of(i))].push_back(i);
  }
  Stream stream;
  const auto add = [&](const std::vector<size_t>& some) {
    stream.examples.insert(stream.examples.end(), some.begin(), some.end());
  };
  for (size_t target = 0; target < classes.size(); ++target) {
    const std::vector<size_t>& all = by_target[target];
    add(per_class == 0 ? all : drawn(all, static_cast<size_t>(per_class), seed));
  }
  const auto wanted = static_cast<size_t>(
      std::llround(other / (1 - other) * static_cast<double>(stream.examples.size())));
  add(drawn(by_target.back(), wanted, seed));
  std::ranges::sort(stream.examples);
  for (size_t example : stream.examples) stream.targets.push_back(target_of(example));
  return stream;
}

Result<std::vector<Answer>> answers_of(Device& device, const Graph& network,
                                       const Batches& batches) {
  std::vector<Answer> answers;
  if (batches.per_epoch() == 0) return answers;
  const bool softmax = train::scores_of(network) != network.outputs()[0];
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(network));
  SHOAL_ASSIGN(const auto executable, device.compile(optimized));
  Prefetch prefetch(batches, 0, 0, 1, 2);
  std::vector<Tensor> outputs(1);
  for (size_t i = 0; i < batches.per_epoch(); ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(executable->run(std::span(&batch.images, 1), outputs, {}));
    const auto classes = static_cast<size_t>(outputs[0].shape()[1]);
    for (size_t row = 0; row < batch.fresh; ++row) {
      const auto scores = outputs[0].data<float>().subspan(row * classes, classes);
      const int64_t best = fit::best_class(scores);
      const auto place = static_cast<size_t>(best);
      answers.push_back({best, softmax ? double{scores[place]} : fit::softmax(scores)[place]});
    }
  }
  return answers;
}

exits::Verdicts cascade_of(std::span<const Answer> special, std::span<const int64_t> targets,
                           int64_t other, std::span<const int64_t> general,
                           std::span<const int64_t> labels) {
  exits::Verdicts verdicts{.exits = std::vector<std::vector<exits::Verdict>>(2)};
  for (size_t i = 0; i < special.size(); ++i) {
    const bool answers = special[i].best != other;
    verdicts.exits[0].push_back({.probability = answers ? special[i].probability : kNoAnswer,
                                 .correct = answers && special[i].best == targets[i]});
    verdicts.exits[1].push_back({.probability = 1, .correct = general[i] == labels[i]});
  }
  return verdicts;
}

// No threshold accepts an answer that is none.
double threshold_for(const exits::Verdicts& cascade, double max_drop,
                     std::span<const int64_t> macs) {
  return std::max(exits::thresholds_for_drop(cascade, max_drop, macs)[0], kLeastThreshold);
}

}  // namespace shoal::catalog
