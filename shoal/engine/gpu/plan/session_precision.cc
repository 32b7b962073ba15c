#include "shoal/engine/gpu/plan/session_precision.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>

#include "shoal/model/tensor/random_tensor.h"

namespace shoal {
namespace {

constexpr int kBatches = 16;

// Inputs of the types of `like`, drawn anew.
Session::Tensors drawn(const Session::Tensors& like, std::mt19937& rng) {
  Session::Tensors inputs;
  for (const auto& [name, tensor] : like) inputs[name] = random_tensor(tensor.type(), rng);
  return inputs;
}

// Where the largest element of each row of the first output is.
Result<std::vector<int64_t>> answers_of(Session& session, const Session::Tensors& like) {
  std::mt19937 rng(1);
  std::vector<int64_t> answers;
  for (int batch = 0; batch < kBatches; ++batch) {
    SHOAL_ASSIGN(const Session::Tensors outputs, session.run(drawn(like, rng)));
    const Tensor& output = outputs.at(session.outputs()[0]);
    if (output.dtype() != DType::kF32 || output.shape().rank() == 0) {
      return Status(Code::kUnsupported, "precision auto needs outputs of f32");
    }
    const auto rows = static_cast<size_t>(output.shape()[0]);
    const size_t columns = output.data<float>().size() / std::max<size_t>(rows, 1);
    for (size_t row = 0; row < rows && columns > 0; ++row) {
      const auto line = output.data<float>().subspan(row * columns, columns);
      answers.push_back(std::ranges::max_element(line) - line.begin());
    }
  }
  return answers;
}

double agreement(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  size_t same = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) same += a[i] == b[i] ? 1 : 0;
  return a.empty() ? 1 : static_cast<double>(same) / static_cast<double>(a.size());
}

}  // namespace

Result<AutomaticPrecision> choose_precision(const MakeWithPrecision& make, double budget,
                                            const InputShapes& shapes, const OpenOn& open,
                                            const SessionAccuracy& accuracy) {
  AutomaticPrecision found;
  SHOAL_ASSIGN(const auto exact, make(GpuPrecision::kF32, {}));
  SHOAL_ASSIGN(Session session, open(*exact));
  SHOAL_ASSIGN(const Session::Tensors inputs, random_inputs(session, shapes));
  const RequestOptions listing{.observer = [&](const Executable& executable, const Trace&) {
    std::ranges::copy(precision_layers(executable.graph()), std::back_inserter(found.layers));
  }};
  SHOAL_TRY(session.run(inputs, listing).status());
  SHOAL_ASSIGN(const double in_f32, accuracy(session));
  const auto measure = [&](const std::vector<std::string>& f32_layers) -> Result<double> {
    if (f32_layers.size() == found.layers.size()) return in_f32;
    SHOAL_ASSIGN(const auto mixed, make(GpuPrecision::kF16, f32_layers));
    SHOAL_ASSIGN(Session on_mixed, open(*mixed));
    return accuracy(on_mixed);
  };
  SHOAL_ASSIGN(found.choice, choose_precision(found.layers, budget, measure));
  SHOAL_ASSIGN(found.device, make(GpuPrecision::kF16, found.choice.f32_layers));
  return found;
}

SessionAccuracy same_answers(const InputShapes& shapes) {
  return [shapes, want = std::vector<int64_t>()](Session& session) mutable -> Result<double> {
    SHOAL_ASSIGN(const Session::Tensors inputs, random_inputs(session, shapes));
    SHOAL_ASSIGN(const std::vector<int64_t> got, answers_of(session, inputs));
    if (want.empty()) want = got;
    return agreement(want, got);
  };
}

Json to_json(const AutomaticPrecision& found) {
  return {{"layers", found.layers.size()},
          {"f32_layers", found.choice.f32_layers},
          {"f32_accuracy", found.choice.f32_accuracy},
          {"chosen_accuracy", found.choice.accuracy},
          {"evaluations", found.choice.evaluations}};
}

std::string text_of(const AutomaticPrecision& found) {
  return std::to_string(found.choice.f32_layers.size()) + " of " +
         std::to_string(found.layers.size()) + " layers in fp32\n";
}

}  // namespace shoal
