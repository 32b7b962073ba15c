// Constants are chosen by their role in a node, not by name, and drawn from a random stream per
// value. So a layer's weights do not depend on the layers before it, and are the same on every
// machine.
#include "shoal/train/step/weights/initial_weights.h"

#include <algorithm>
#include <array>
#include <map>

#include "shoal/model/ops/ops.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::train {
namespace {

Tensor filled(const TensorType& type, float x) {
  Tensor tensor(type);
  std::ranges::fill(tensor.data<float>(), x);
  return tensor;
}

class Beginning {
 public:
  Beginning(const Graph& network, uint64_t seed) : network_(network), seed_(seed) {}

  std::map<std::string, Tensor> weights() {
    for (const Node& node : network_.nodes()) {
      if (const auto layer = as_product(network_, node)) {
        begin_product(node, *layer);
      } else if (is_norm(node)) {
        begin_norm(node);
      } else if (node.op == &ops::add) {
        begin_biases(node, 0);
      }
    }
    return std::move(weights_);
  }

 private:
  static bool is_norm(const Node& node) {
    const std::array norms{&ops::batch_normalization, &ops::layer_normalization,
                           &ops::instance_normalization, &ops::group_normalization};
    return std::ranges::find(norms, node.op) != norms.end();
  }

  void begin_product(const Node& node, const ProductLayer& layer) {
    const ValueId id = node.inputs[layer.weight];
    const RandomStream random(seed_, static_cast<uint64_t>(id));
    set(id, fresh_weight(network_, node, layer, network_[id].type.shape, random));
    begin_biases(node, layer.weight + 1);
  }

  // Vectors that are added begin with zero.
  void begin_biases(const Node& node, size_t from) {
    for (size_t i = from; i < node.inputs.size(); ++i) {
      if (is_constant(node.inputs[i]) && network_[node.inputs[i]].type.shape.rank() == 1) {
        set(node.inputs[i], filled(network_[node.inputs[i]].type, 0));
      }
    }
  }

  // Norms begin as the identity: scale 1, shift 0 and, where they are measured, mean 0 and variance
  // 1. The table is by input; input 0 is the data.
  void begin_norm(const Node& node) {
    constexpr std::array kBeginning = {0.0f, 1.0f, 0.0f, 0.0f, 1.0f};
    for (size_t i = 1; i < std::min(node.inputs.size(), kBeginning.size()); ++i) {
      if (is_constant(node.inputs[i])) {
        set(node.inputs[i], filled(network_[node.inputs[i]].type, kBeginning[i]));
      }
    }
  }

  bool is_constant(ValueId id) const {
    return id != kNoValue && network_[id].constant && network_[id].type.dtype == DType::kF32;
  }
  void set(ValueId id, Tensor tensor) { weights_[network_[id].name] = std::move(tensor); }

  const Graph& network_;
  uint64_t seed_;
  std::map<std::string, Tensor> weights_;
};

// The last product of a network, and biases of its outputs, with another number of them.
class LastLayer {
 public:
  LastLayer(const Graph& network, int64_t classes) : network_(network), classes_(classes) {
    for (const Node& node : network.nodes()) {
      if (as_product(network, node)) last_ = &node;
    }
  }

  bool found() const { return last_ != nullptr; }

  std::map<std::string, Tensor> fresh(uint64_t seed) {
    const ProductLayer layer = *as_product(network_, *last_);
    const ValueId id = last_->inputs[layer.weight];
    Shape shape = network_[id].type.shape;
    const Shape old_bias{shape[layer.output_axis]};
    shape[layer.output_axis] = classes_;
    const RandomStream random(seed, static_cast<uint64_t>(id));
    constants_[network_[id].name] = fresh_weight(network_, *last_, layer, shape, random);
    // The bias is an input of the product itself, or a constant of the same length that an Add
    // after it adds. The product is the last, so no later layer can be meant.
    bool reached = false;
    for (const Node& node : network_.nodes()) {
      reached = reached || &node == last_;
      if (reached && (&node == last_ || node.op == &ops::add)) replace_biases(node, old_bias);
    }
    return std::move(constants_);
  }

 private:
  void replace_biases(const Node& node, const Shape& old) {
    for (ValueId id : node.inputs) {
      if (id == kNoValue || !network_[id].constant || network_[id].type.shape != old) continue;
      constants_[network_[id].name] = Tensor({network_[id].type.dtype, {classes_}});
    }
  }

  const Graph& network_;
  int64_t classes_;
  const Node* last_ = nullptr;
  std::map<std::string, Tensor> constants_;
};

}  // namespace

Result<Graph> with_initial_weights(const Graph& network, uint64_t seed) {
  return with_constants(network, Beginning(network, seed).weights());
}

Result<Graph> retargeted(const Graph& network, int64_t classes, uint64_t seed) {
  LastLayer last(network, classes);
  if (!last.found()) return invalid("there is no layer with weights to replace");
  SHOAL_ASSIGN(Graph fresh, rebuilt(network, last.fresh(seed)));
  const Shape& shape = fresh[fresh.outputs()[0]].type.shape;
  if (shape.rank() == 2 && shape[1] == classes) return fresh;
  return invalid("with another last layer the output is " + to_string(shape) +
                 ", not one score per class");
}

}  // namespace shoal::train
