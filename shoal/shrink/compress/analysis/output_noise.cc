#include "shoal/shrink/compress/analysis/output_noise.h"

#include <algorithm>

#include "shoal/model/passes/passes.h"

namespace shoal::compress {
namespace {

constexpr double kFloor = 0.01;  // of the mean variance

Result<std::unique_ptr<Executable>> compile(Device& device, const Graph& network) {
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(network));
  return device.compile(optimized);
}

}  // namespace

void OutputNoise::add(std::span<const Tensor> wanted, std::span<const Tensor> got) {
  outputs_.resize(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].dtype() != DType::kF32) continue;
    const Shape& shape = wanted[i].shape();
    outputs_[i].resize(shape.rank() + 1);
    for (size_t axis = 0; axis <= shape.rank(); ++axis) {
      const bool is_whole = axis == shape.rank();
      const auto slices = static_cast<size_t>(is_whole ? 1 : shape[axis]);
      const auto inner = static_cast<size_t>(is_whole ? 1 : shape.count(axis + 1, shape.rank()));
      outputs_[i][axis].resize(slices);
      const auto want = wanted[i].data<float>(), is = got[i].data<float>();
      for (size_t k = 0; k < want.size(); ++k) {
        Slice& slice = outputs_[i][axis][k / inner % slices];
        const double y = want[k], d = y - is[k];
        slice.count += 1;
        slice.sum += y;
        slice.squares += y * y;
        slice.differences += d * d;
      }
    }
  }
}

double OutputNoise::noise_of(const Axis& axis) {
  double mean = 0;
  for (const Slice& slice : axis) mean += slice.variance() / static_cast<double>(axis.size());
  double noise = 0;
  for (const Slice& slice : axis) {
    const double share = slice.differences / (slice.variance() + kFloor * mean);
    if (slice.differences != 0) noise += share <= 1 ? share : 1;  // 1 where it is NaN, too
  }
  return noise / static_cast<double>(axis.size());
}

// An axis along which no slice varies says nothing: the classes of a single example.
double OutputNoise::value() const {
  double most = 0;
  for (const std::vector<Axis>& output : outputs_) {
    for (const Axis& axis : output) {
      const bool varies =
          std::ranges::any_of(axis, [](const Slice& slice) { return slice.variance() > 0; });
      const bool is_whole = &axis == &output.back();
      if (!axis.empty() && (varies || is_whole)) most = std::max(most, noise_of(axis));
    }
  }
  return most;
}

Result<NoiseMeter> NoiseMeter::start(const Graph& network, Device& device,
                                     std::vector<std::vector<Tensor>> examples) {
  NoiseMeter meter(device, std::move(examples));
  SHOAL_ASSIGN(const std::unique_ptr<Executable> executable, compile(device, network));
  for (const std::vector<Tensor>& inputs : meter.examples_) {
    std::vector<Tensor>& outputs = meter.wanted_.emplace_back(network.outputs().size());
    SHOAL_TRY(executable->run(inputs, outputs, {}));
  }
  return meter;
}

Result<double> NoiseMeter::noise(const Graph& network) const {
  SHOAL_ASSIGN(const std::unique_ptr<Executable> executable, compile(*device_, network));
  OutputNoise noise;
  std::vector<Tensor> outputs(network.outputs().size());
  for (size_t i = 0; i < examples_.size(); ++i) {
    SHOAL_TRY(executable->run(examples_[i], outputs, {}));
    noise.add(wanted_[i], outputs);
  }
  return noise.value();
}

}  // namespace shoal::compress
