#include "precision.h"

#include <algorithm>
#include <random>

#include "model.h"
#include "shoal/device/hybrid.h"
#include "shoal/devices/devices.h"
#include "shoal/gpu/options.h"
#include "shoal/gpu/precision.h"
#include "shoal/tensor/random_tensor.h"
#ifdef SHOAL_OPENCL
#include "shoal/opencl/opencl.h"
#endif
#ifdef SHOAL_VULKAN
#include "shoal/vulkan/vulkan.h"
#endif

namespace shoal::cli {
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
      return Status(Code::kUnsupported, "--precision auto needs outputs of f32");
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

bool has_precisions(const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  return kind == "opencl" || kind == "vulkan";
}

SessionAccuracy same_answers(const std::vector<std::string>& shapes) {
  return [shapes, want = std::vector<int64_t>()](Session& session) mutable -> Result<double> {
    SHOAL_ASSIGN(const Session::Tensors inputs, random_inputs(session, shapes));
    SHOAL_ASSIGN(const std::vector<int64_t> got, answers_of(session, inputs));
    if (want.empty()) want = got;
    return agreement(want, got);
  };
}

namespace {

// The device of this name, in this precision whatever the name says.
Result<std::unique_ptr<Device>> make_alone(const std::string& name, GpuPrecision precision,
                                           const std::vector<std::string>& f32_layers) {
  const auto with = [&](auto options) {
    options.precision = precision;
    options.f32_layers = f32_layers;
    return options;
  };
#ifdef SHOAL_OPENCL
  if (name.starts_with("opencl")) {
    SHOAL_ASSIGN(const OpenClOptions options, opencl_options(name));
    return make_opencl_device(with(options));
  }
#endif
#ifdef SHOAL_VULKAN
  if (name.starts_with("vulkan")) {
    SHOAL_ASSIGN(const VulkanOptions options, vulkan_options(name));
    return make_vulkan_device(with(options));
  }
#endif
  static_cast<void>(with);
  return Status(Code::kUnsupported, "this program was built without " + name);
}

Result<std::unique_ptr<Device>> make_with(const std::string& name, GpuPrecision precision,
                                          const std::vector<std::string>& f32_layers) {
  SHOAL_ASSIGN(auto device, make_alone(name, precision, f32_layers));
  return make_hybrid_device(std::move(device), make_cpu_device());
}

}  // namespace

Result<AutomaticPrecision> choose_precision(const std::string& device, double budget,
                                            const std::vector<std::string>& shapes,
                                            const OpenOn& open, const SessionAccuracy& accuracy) {
  SHOAL_ASSIGN(const auto exact, make_with(device, GpuPrecision::kF32, {}));
  SHOAL_ASSIGN(Session session, open(*exact));
  SHOAL_ASSIGN(const Session::Tensors inputs, random_inputs(session, shapes));
  std::vector<std::string> layers;
  const RequestOptions listing{.observer = [&](const Executable& executable, const Trace&) {
    std::ranges::copy(precision_layers(executable.graph()), std::back_inserter(layers));
  }};
  SHOAL_TRY(session.run(inputs, listing).status());
  SHOAL_ASSIGN(const double in_f32, accuracy(session));
  const auto measure = [&](const std::vector<std::string>& f32_layers) -> Result<double> {
    if (f32_layers.size() == layers.size()) return in_f32;
    SHOAL_ASSIGN(const auto mixed, make_with(device, GpuPrecision::kF16, f32_layers));
    SHOAL_ASSIGN(Session on_mixed, open(*mixed));
    return accuracy(on_mixed);
  };
  SHOAL_ASSIGN(const PrecisionChoice choice, shoal::choose_precision(layers, budget, measure));
  SHOAL_ASSIGN(auto chosen, make_with(device, GpuPrecision::kF16, choice.f32_layers));
  return AutomaticPrecision{std::move(chosen),
                            layers.size(),
                            choice.f32_layers.size(),
                            {{"layers", layers.size()},
                             {"f32_layers", choice.f32_layers},
                             {"f32_accuracy", choice.f32_accuracy},
                             {"chosen_accuracy", choice.accuracy},
                             {"evaluations", choice.evaluations}}};
}

}  // namespace shoal::cli
