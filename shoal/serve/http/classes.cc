#include "shoal/serve/http/classes.h"

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/run/scores.h"

namespace shoal::serve {

Result<std::string> print_classes(const ModelFacts& model, const InferResponse& response,
                                  size_t top) {
  const Tensor& scores = response.outputs.at(0).tensor;
  const Shape& shape = scores.shape();
  if (scores.dtype() != DType::kF32 || shape.rank() == 0 || scores.count() < 2 ||
      scores.count() != shape[shape.rank() - 1]) {
    return invalid("the model is no classifier: its first output is " + to_string(scores.type()));
  }
  const std::vector<std::string>& labels = model.source.labels;
  std::string text = "{\"model_name\":" + json_text(response.model_name) +
                     ",\"model_version\":" + json_text(response.model_version) + ",\"top\":[";
  const char* separator = "";
  for (const fit::RankedClass& one : fit::top_classes(scores.data<float>(), top)) {
    const std::string label =
        one.index < labels.size() ? labels[one.index] : "class " + std::to_string(one.index);
    text += separator;
    text += "{\"index\":" + std::to_string(one.index) +
            ",\"label\":" + json_text(valid_utf8(label)) +
            ",\"score\":" + json_number(static_cast<double>(one.score)) +
            ",\"share\":" + json_number(one.probability) + "}";
    separator = ",";
  }
  text += "]";
  for (const auto& [name, value] : response.parameters) {
    text += "," + json_text(name) + ":" + json_text(valid_utf8(value));
  }
  return text + "}";
}

}  // namespace shoal::serve
