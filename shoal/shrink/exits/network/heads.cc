#include "shoal/shrink/exits/network/heads.h"

#include <algorithm>
#include <map>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/train/step/weights/initial_weights.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::exits {
namespace {

// Convolutions of a head stop at images of this side. ResNets for CIFAR classify from 8 x 8.
constexpr int64_t kSmallSide = 8;
constexpr int kMostConvolutions = 2;

Tensor filled(const Shape& shape, float x) {
  Tensor tensor({DType::kF32, shape});
  std::ranges::fill(tensor.data<float>(), x);
  return tensor;
}

// Builds one exit. Names begin with that of its output. After a failure, which finish() returns,
// nothing more is added.
class Head {
 public:
  Head(Graph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  ValueId aggregated(ValueId low, ValueId high) {
    if (shape_of(low).rank() == 4 && shape_of(high).rank() == 4) low = pooled(low, high);
    if (shape_of(low).rank() != shape_of(high).rank()) low = flat(mean(low));
    const int64_t channels = shape_of(high)[1];
    const ValueId both = add(ops::concat, {low, high}, {{"axis", int64_t{1}}}, ".aggregate.concat");
    if (shape_of(high).rank() == 2) return relu(gemm(both, channels, ".aggregate"));
    return relu(norm(conv(both, channels, 1, 1, ".aggregate")));
  }

  ValueId scores(ValueId x, HeadOptions::Kind kind, int64_t classes) {
    if (shape_of(x).rank() == 4) {
      for (int i = 0; kind == HeadOptions::Kind::kConv && i < kMostConvolutions; ++i) {
        if (std::min(shape_of(x)[2], shape_of(x)[3]) <= kSmallSide) break;
        x = relu(norm(conv(x, 2 * shape_of(x)[1], 3, 2, ".conv" + std::to_string(i + 1))));
      }
      x = flat(mean(x));
    }
    return gemm(x, classes, "");
  }

  Result<std::vector<std::string>> finish() {
    SHOAL_TRY(status_);
    std::vector<std::string> names;
    for (ValueId id : constants_) names.push_back(graph_[id].name);
    return names;
  }

 private:
  Shape shape_of(ValueId id) const { return graph_[id].type.shape; }

  // Windows of the least size that gives the wanted number of pixels and leaves none out.
  ValueId pooled(ValueId low, ValueId high) {
    std::vector<int64_t> kernel, strides;
    for (size_t axis = 2; axis < 4; ++axis) {
      const int64_t from = shape_of(low)[axis], to = std::min(shape_of(high)[axis], from);
      strides.push_back(from / to);
      kernel.push_back(from - (to - 1) * strides.back());
    }
    if (shape_of(low)[2] == shape_of(high)[2] && shape_of(low)[3] == shape_of(high)[3]) return low;
    return add(ops::max_pool, {low}, {{"kernel_shape", kernel}, {"strides", strides}},
               ".aggregate.pool");
  }

  ValueId conv(ValueId x, int64_t filters, int64_t kernel, int64_t stride,
               const std::string& suffix) {
    const ValueId weight =
        constant(suffix + ".weight", filled({filters, shape_of(x)[1], kernel, kernel}, 0));
    return add(ops::conv, {x, weight},
               {{"kernel_shape", std::vector<int64_t>(2, kernel)},
                {"strides", std::vector<int64_t>(2, stride)},
                {"pads", std::vector<int64_t>(4, kernel / 2)}},
               suffix);
  }

  ValueId norm(ValueId x) {
    const Shape channels{shape_of(x)[1]};
    const std::string name = ".norm" + std::to_string(++norms_);
    return add(ops::batch_normalization,
               {x, constant(name + ".weight", filled(channels, 1)),
                constant(name + ".bias", filled(channels, 0)),
                constant(name + ".mean", filled(channels, 0)),
                constant(name + ".variance", filled(channels, 1))},
               {{"epsilon", 1e-5F}}, name);
  }

  ValueId gemm(ValueId x, int64_t outputs, const std::string& suffix) {
    const ValueId weight = constant(suffix + ".weight", filled({outputs, shape_of(x)[1]}, 0));
    const ValueId bias = constant(suffix + ".bias", filled({outputs}, 0));
    return add(ops::gemm, {x, weight, bias}, {{"transB", int64_t{1}}}, suffix);
  }

  ValueId relu(ValueId x) { return add(ops::relu, {x}, {}, ".relu" + std::to_string(++relus_)); }
  ValueId mean(ValueId x) { return add(ops::global_average_pool, {x}, {}, ".mean"); }
  ValueId flat(ValueId x) { return add(ops::flatten, {x}, {{"axis", int64_t{1}}}, ".flat"); }

  ValueId constant(const std::string& suffix, Tensor tensor) {
    constants_.push_back(graph_.add_constant(name_ + suffix, std::move(tensor)));
    return constants_.back();
  }

  ValueId add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes,
              const std::string& suffix) {
    const ValueId first = inputs[0];
    if (!status_.ok()) return first;
    auto outputs = graph_.add_node(op, std::move(inputs), std::move(attributes), {name_ + suffix},
                                   name_ + suffix);
    if (outputs.ok()) return (*outputs)[0];
    status_ = outputs.status();
    return first;
  }

  Graph& graph_;
  const std::string name_;
  std::vector<ValueId> constants_;
  Status status_;
  int norms_ = 0, relus_ = 0;
};

// Random elements for the weights of exits, and no others.
Result<Graph> with_fresh_heads(const WithHeads& with_heads, uint64_t seed) {
  SHOAL_ASSIGN(const Graph fresh, train::with_initial_weights(with_heads.network.graph, seed));
  std::map<std::string, Tensor> weights;
  for (size_t i = 0; i < fresh.value_count(); ++i) {
    const Value& value = fresh[static_cast<ValueId>(i)];
    const auto has = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, value.name) != names.end();
    };
    if (std::ranges::any_of(with_heads.weights, has)) weights[value.name] = *value.constant;
  }
  return train::with_constants(with_heads.network.graph, weights);
}

}  // namespace

Result<WithHeads> add_heads(const Graph& network, std::span<const ValueId> places,
                            const HeadOptions& options) {
  const int64_t classes = network[network.outputs()[0]].type.shape[1];
  passes::Rewriter rewriter(network);
  WithHeads with_heads;
  std::vector<ValueId> outputs;
  ValueId before = kNoValue;  // the features of the exit before
  for (const Node& node : network.nodes()) {
    SHOAL_TRY(rewriter.copy(node));
    // An exit follows the node whose output it reads, so that memory for it is free again soon.
    for (ValueId id : node.outputs) {
      if (std::ranges::find(places, id) == places.end()) continue;
      Head head(rewriter.to(), "exit" + std::to_string(outputs.size() + 1));
      ValueId features = rewriter.map(id);
      if (options.aggregate && before != kNoValue) features = head.aggregated(before, features);
      before = features;
      outputs.push_back(head.scores(features, options.kind, classes));
      SHOAL_ASSIGN(std::vector<std::string> weights, head.finish());
      with_heads.weights.push_back(std::move(weights));
      with_heads.network.exits.push_back({.at = network[id].name, .scores = {}});
    }
  }
  SHOAL_ASSIGN(with_heads.network.graph, rewriter.finish());
  Graph& graph = with_heads.network.graph;
  with_heads.network.outputs = {graph[graph.outputs()[0]].name};
  for (size_t i = 0; i < outputs.size(); ++i) {
    graph.mark_output(outputs[i]);
    with_heads.network.exits[i].scores = graph[outputs[i]].name;
    with_heads.network.outputs.push_back(graph[outputs[i]].name);
  }
  SHOAL_ASSIGN(with_heads.network.graph, with_fresh_heads(with_heads, options.seed));
  return with_heads;
}

}  // namespace shoal::exits
