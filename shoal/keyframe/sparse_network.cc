#include "shoal/keyframe/sparse_network.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shoal/keyframe/masks.h"
#include "shoal/passes/passes.h"

namespace shoal::keyframe {

using delta::TileMask;

SparseNetwork::SparseNetwork(std::unique_ptr<Executable> executable)
    : executable_(std::move(executable)),
      whole_(dynamic_cast<const cpu::CpuExecutable*>(executable_.get())) {}

Result<SparseNetwork> SparseNetwork::compile(const Graph& graph, Device& device,
                                             int64_t most_tile) {
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(graph));
  SHOAL_ASSIGN(auto executable, device.compile(optimized));
  SparseNetwork network(std::move(executable));
  if (network.whole_ == nullptr) {
    return Status(Code::kUnsupported, "only a CPU can leave out parts of what it computes");
  }
  const Graph& carried_out = network.whole_->graph();
  const auto makes_output = [&](const Node& node) {
    return carried_out.outputs().size() == 1 &&
           std::ranges::find(node.outputs, carried_out.outputs()[0]) != node.outputs.end();
  };
  if (carried_out.inputs().size() != 1 || std::ranges::none_of(carried_out.nodes(), makes_output)) {
    return Status(Code::kUnsupported, "a sparse network has one input and computes one output");
  }
  SHOAL_ASSIGN(network.values_, delta::keep_values(*network.whole_));
  for (size_t i = 0; i < carried_out.nodes().size(); ++i) {
    const Node& node = carried_out.nodes()[i];
    const auto* kernel =
        dynamic_cast<const cpu::RectangleKernel*>(network.whole_->steps()[i].kernel.get());
    if (node.outputs.size() > 1) kernel = nullptr;
    const Shape& shape = carried_out[node.outputs[0]].type.shape;
    network.kernels_.push_back(kernel);
    network.grids_.push_back(
        delta::tiles_of(shape, most_tile, kernel != nullptr ? kernel->granule() : 1));
  }
  return network;
}

TileMask SparseNetwork::computed(const TileMask& mask) const {
  const auto last = std::ranges::find_if(kernels_.rbegin(), kernels_.rend(),
                                         [](const auto* kernel) { return kernel != nullptr; });
  if (last == kernels_.rend()) return TileMask();
  return regridded(mask, grids_[static_cast<size_t>(kernels_.rend() - last) - 1]);
}

Status SparseNetwork::run(const Tensor& input, const TileMask& mask, Tensor& output) {
  const Graph& graph = whole_->graph();
  if (!output.defined()) output = Tensor::uninitialized(graph[graph.outputs()[0]].type);
  values_.bind(graph.inputs()[0], input);
  values_.bind(graph.outputs()[0], output);
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const cpu::CpuExecutable::Step& step = whole_->steps()[i];
    const cpu::KernelArgs args = values_.args_of(step);
    const TileMask tiles = kernels_[i] != nullptr ? regridded(mask, grids_[i]) : TileMask();
    if (kernels_[i] == nullptr || tiles.pixels() == grids_[i].pixels()) {
      step.kernel->run(args);
      continue;
    }
    Tensor& y = values_.at(graph.nodes()[i].outputs[0]);
    std::memset(y.bytes().data(), 0, y.bytes().size());
    kernels_[i]->run_in(args, tiles.rectangles());
  }
  return {};
}

}  // namespace shoal::keyframe
