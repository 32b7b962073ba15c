// Signature: what a model takes and gives, and whether given inputs fit.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal {

// Thread-safe: it does not change.
class Signature {
 public:
  explicit Signature(const onnx::Model& model);
  explicit Signature(const Graph& graph);

  const std::vector<InputInfo>& inputs() const { return inputs_; }  // the optional ones last
  const std::vector<std::string>& outputs() const { return outputs_; }

  // Inputs by position. Fails where a name is unknown; does not look at types.
  Result<std::vector<Tensor>> arrange(const std::map<std::string, Tensor>& given) const;

  // OK iff all inputs that the model needs are there and all that are there fit. By position;
  // undefined tensors are not there.
  Status accepts(std::span<const Tensor> given) const;

  // Types by position for these shapes, and for those that the model declares where none is given.
  // Nothing for optional inputs. Fails where the model leaves a size open.
  Result<std::vector<std::optional<TensorType>>> types_for(
      const std::map<std::string, Shape>& shapes) const;

 private:
  void number_inputs();
  Result<size_t> find(const std::string& name) const;
  Status accepts(size_t input, const TensorType& type) const;
  Result<TensorType> declared_type(size_t input) const;

  std::vector<InputInfo> inputs_;
  std::vector<bool> any_rank_;           // by input: no rank is declared
  std::vector<bool> any_shape_;          // by input: that, or nobody reads the shape
  std::map<std::string, size_t> index_;  // of inputs_
  std::vector<std::string> outputs_;
};

}  // namespace shoal
