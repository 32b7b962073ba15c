// Copies a network node by node with infer(). So a constant of another shape or another batch
// changes all later types, or is refused by the operator that cannot take it.
#include "shoal/train/step/weights/rebuild.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "shoal/model/ops/ops.h"

namespace shoal::train {
namespace {

// Values are mapped on first use. Constants that no node reads are dropped.
class Rebuild {
 public:
  Rebuild(const Graph& from, const std::map<std::string, Tensor>& constants)
      : from_(from), constants_(constants), fresh_(from.value_count(), kNoValue) {}

  // A batch of 0 is the one it has.
  Result<Graph> run(int64_t batch) {
    for (ValueId id : from_.inputs()) {
      TensorType type = from_[id].type;
      if (batch > 0) type.shape[0] = batch;
      fresh(id) = to_.add_input(from_[id].name, type);
    }
    for (const Node& node : from_.nodes()) SHOAL_TRY(copy(node));
    for (ValueId id : from_.outputs()) to_.mark_output(map(id));
    return std::move(to_);
  }

 private:
  Status copy(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(map(id));
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(from_[id].name);
    auto outputs =
        to_.add_node(*node.op, std::move(inputs), node.attributes, std::move(names), node.name);
    if (!outputs.ok()) return outputs.status();
    for (size_t i = 0; i < outputs->size(); ++i) fresh(node.outputs[i]) = (*outputs)[i];
    return {};
  }

  ValueId map(ValueId id) {
    if (id == kNoValue) return kNoValue;
    if (fresh(id) == kNoValue) {
      const auto position = constants_.find(from_[id].name);
      const Tensor& tensor = position == constants_.end() ? *from_[id].constant : position->second;
      fresh(id) = to_.add_constant(from_[id].name, tensor);
    }
    return fresh(id);
  }

  ValueId& fresh(ValueId id) { return fresh_[static_cast<size_t>(id)]; }

  const Graph& from_;
  const std::map<std::string, Tensor>& constants_;
  Graph to_;
  std::vector<ValueId> fresh_;  // per old value; kNoValue: not there yet
};

// Products with a weight and their initial elements. Elements are normal with mean 0 and the
// variance
//
//   2 / fan_in               before a rectifier, which halves the energy (He et al. 2015)
//   2 / (fan_in + fan_out)   otherwise, a compromise of both passes (Glorot and Bengio 2010)

// The first reader stands for all of them. Linear in the nodes, which is nothing beside one step.
const Node* reader_of(const Graph& graph, ValueId id) {
  for (const Node& node : graph.nodes()) {
    if (std::ranges::find(node.inputs, id) != node.inputs.end()) return &node;
  }
  return nullptr;
}

// Whether what a product computes is rectified next, after norms, pools and biases.
bool leads_to_rectifier(const Graph& graph, const Node& node) {
  const std::array rectifiers{&ops::relu, &ops::leaky_relu, &ops::clip, &ops::prelu};
  const std::array passed{&ops::batch_normalization, &ops::max_pool, &ops::average_pool, &ops::add};
  const Node* next = reader_of(graph, node.outputs[0]);
  while (next != nullptr && std::ranges::find(passed, next->op) != passed.end()) {
    next = reader_of(graph, next->outputs[0]);
  }
  return next != nullptr && std::ranges::find(rectifiers, next->op) != rectifiers.end();
}

bool is_weight(const Graph& graph, ValueId id) {
  return id != kNoValue && graph[id].constant && graph[id].type.dtype == DType::kF32 &&
         graph[id].type.shape.rank() >= 2;
}

}  // namespace

Result<Graph> rebuilt(const Graph& network, const std::map<std::string, Tensor>& constants) {
  return Rebuild(network, constants).run(0);
}

// A name that is not found would be dropped without a word, so all of them are counted.
Result<Graph> with_constants(const Graph& network, const std::map<std::string, Tensor>& constants) {
  size_t count = 0;
  for (size_t i = 0; i < network.value_count(); ++i) {
    const Value& value = network[static_cast<ValueId>(i)];
    const auto position = constants.find(value.name);
    if (position == constants.end()) continue;
    if (!value.constant || value.type != position->second.type()) {
      return invalid(value.name + " is " + to_string(value.type) + " there, not " +
                     to_string(position->second.type()));
    }
    ++count;
  }
  if (count < constants.size()) return invalid("the network lacks some of these weights");
  return rebuilt(network, constants);
}

Result<Graph> rebatched(const Graph& network, int64_t batch) {
  if (network.inputs().size() != 1 || network[network.inputs()[0]].type.shape.rank() == 0) {
    return invalid("only networks with one input have a batch");
  }
  // The output must follow the batch. A Reshape to fixed sizes can be valid for another batch and
  // mix the examples.
  auto result = Rebuild(network, {}).run(batch);
  const auto follows = [&](ValueId id) {
    const Shape& shape = (*result)[id].type.shape;
    return shape.rank() > 0 && shape[0] == batch;
  };
  if (result.ok() && follows(result->outputs()[0])) return result;
  return Status(Code::kUnsupported, "the network only takes batches of " +
                                        std::to_string(network[network.inputs()[0]].type.shape[0]));
}

std::optional<ProductLayer> as_product(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !is_weight(graph, node.inputs[1])) return std::nullopt;
  const Shape& shape = graph[node.inputs[1]].type.shape;
  const size_t rank = shape.rank();
  // Weights: Conv [out, in / groups, kernel], ConvTranspose [in, out / groups, kernel], Gemm [in,
  // out] or transposed, MatMul [.., in, out].
  const int64_t kernel = shape.count(2, rank), groups = node.integer("group", 1);
  if (node.op == &ops::conv) {
    return ProductLayer{1, 0, shape[1] * kernel, shape[0] / groups * kernel};
  }
  if (node.op == &ops::conv_transpose) {
    return ProductLayer{1, 1, shape[0] / groups * kernel, shape[1] * kernel};
  }
  if (node.op == &ops::gemm) {
    const size_t output = node.integer("transB", 0) != 0 ? 0 : 1;
    return ProductLayer{1, output, shape[1 - output], shape[output]};
  }
  if (node.op == &ops::mat_mul) {
    return ProductLayer{1, rank - 1, shape[rank - 2], shape[rank - 1]};
  }
  return std::nullopt;
}

Tensor fresh_weight(const Graph& graph, const Node& node, const ProductLayer& layer,
                    const Shape& shape, RandomStream random) {
  const double terms = leads_to_rectifier(graph, node)
                           ? static_cast<double>(layer.fan_in)
                           : static_cast<double>(layer.fan_in + layer.fan_out);
  Tensor weight({DType::kF32, shape});
  fill_normal(weight.data<float>(), random, std::sqrt(2 / std::max(terms, 1.0)));
  return weight;
}

}  // namespace shoal::train
