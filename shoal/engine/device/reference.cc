// The reference device: no plan, no kernels. Every value has separate memory, zeroed, so that a
// reference function that misses an element gives the same wrong result each time.
#include "shoal/engine/device/device.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

class ReferenceExecutable : public Executable {
 public:
  explicit ReferenceExecutable(const Graph& graph) : graph_(graph) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    const auto start = Clock::now();
    std::vector<Tensor> values(graph_.value_count());
    auto at = [&](ValueId id) -> Tensor& { return values[static_cast<size_t>(id)]; };
    for (size_t i = 0; i < values.size(); ++i) {
      if (const Value& value = graph_[static_cast<ValueId>(i)]; value.constant) {
        values[i] = *value.constant;
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i) at(graph_.inputs()[i]) = inputs[i];
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      std::vector<Tensor> in, out;
      for (ValueId id : node.inputs) in.push_back(id == kNoValue ? Tensor() : at(id));
      for (ValueId id : node.outputs) out.push_back(at(id) = Tensor(graph_[id].type));
      // The device is asked before every node, so that tests can cancel between any two.
      SHOAL_TRY(options.interrupted());
      const auto begin = Clock::now();
      node.op->reference(node, in, out);
      if (options.trace != nullptr) {
        options.trace->push_back({n, begin - start, Clock::now() - start});
      }
    }
    give(values, outputs);
    return {};
  }

  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override {
    MemoryUse use;
    for (const Node& node : graph_.nodes()) {
      for (ValueId id : node.outputs) use.planned += static_cast<int64_t>(graph_[id].type.bytes());
    }
    use.lower_bound = use.planned;  // it frees nothing before the end
    return use;
  }
  const KernelInfo& kernel_of(size_t) const override {
    static const KernelInfo info{"reference"};
    return info;
  }

 private:
  // Gives the results to the caller. A value that no node made, or that was given already, is
  // cloned, so that outputs share memory with nothing.
  void give(std::span<const Tensor> values, std::span<Tensor> outputs) const {
    std::vector<bool> is_free(values.size());
    for (const Node& node : graph_.nodes()) {
      for (ValueId id : node.outputs) is_free[static_cast<size_t>(id)] = true;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto id = static_cast<size_t>(graph_.outputs()[i]);
      outputs[i] = is_free[id] ? values[id] : values[id].clone();
      is_free[id] = false;
    }
  }

  Graph graph_;
};

class ReferenceDevice : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    return std::unique_ptr<Executable>(std::make_unique<ReferenceExecutable>(graph));
  }

 private:
  DeviceInfo info_{.name = "reference"};
};

}  // namespace

std::unique_ptr<Device> make_reference_device() { return std::make_unique<ReferenceDevice>(); }

}  // namespace shoal
