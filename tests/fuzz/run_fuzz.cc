// Any bytes as a model: opened, optimised, compiled and run, on the CPU and on the reference, which
// must agree on whether it runs. Graphs too large to run quickly are turned away by the device.
#include <cstddef>
#include <cstdint>
#include <span>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/session/model.h"

namespace {

using namespace shoal;

// Refuses inputs that would only be slow: the fuzzer looks for crashes.
class SmallGraphs : public Device {
 public:
  explicit SmallGraphs(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  const DeviceInfo& info() const override { return device_->info(); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    constexpr int64_t kMaxBytes = 1 << 20, kMaxMacs = 1 << 20;
    int64_t bytes = 0, work = 0;
    for (const Node& node : graph.nodes()) {
      work += macs(graph, node);
      for (ValueId id : node.outputs) bytes += static_cast<int64_t>(graph[id].type.bytes());
      if (bytes > kMaxBytes || work > kMaxMacs) return Status(Code::kExhausted, "too large");
    }
    return device_->compile(graph);
  }

 private:
  std::unique_ptr<Device> device_;
};

Result<Session::Tensors> make_inputs(const Session& session) {
  Session::Tensors inputs;
  for (const TensorInfo& info : session.inputs()) {
    TensorType type{*info.dtype, {}};
    if (info.sizes().size() > Shape::kMaxRank) return invalid("rank");
    for (int64_t d : info.sizes()) type.shape.push_back(d < 0 ? 2 : d);
    SHOAL_TRY(check(type));
    if (type.bytes() > 1 << 16) return invalid("large");
    Tensor tensor(type);
    uint8_t next = 1;
    if (type.dtype != DType::kBool) {
      for (std::byte& b : tensor.bytes())
        b = std::byte(next = static_cast<uint8_t>(next * 37 + 11));
    }
    inputs[info.name] = tensor;
  }
  return inputs;
}

void run_on(const Model& model, Device& device) {
  auto session = model.session(device);
  if (!session.ok()) return;
  auto inputs = make_inputs(*session);
  if (inputs.ok()) (void)session->run(*inputs).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static SmallGraphs cpu(make_cpu_device({.threads = 1})), reference(make_reference_device());
  auto model = parse_model(nullptr, std::as_bytes(std::span(data, size)));
  if (!model.ok()) return 0;
  run_on(*model, cpu);
  run_on(*model, reference);
  return 0;
}
