#include "shoal/engine/device/wrapped.h"

namespace shoal {
namespace {

using Gone = std::function<void(const Status& why)>;

class WatchedExecutable final : public WrappedExecutable {
 public:
  WatchedExecutable(std::unique_ptr<Executable> inner, Gone gone)
      : WrappedExecutable(std::move(inner)), gone_(std::move(gone)) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    const Status status = WrappedExecutable::run(inputs, outputs, options);
    if (status.code() == Code::kUnavailable) gone_(status);
    return status;
  }

 private:
  const Gone gone_;
};

class WatchedDevice final : public WrappedDevice {
 public:
  WatchedDevice(std::unique_ptr<Device> inner, Gone gone)
      : WrappedDevice(std::move(inner)), gone_(std::move(gone)) {}

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto executable, inner().compile(graph));
    return std::unique_ptr<Executable>(
        std::make_unique<WatchedExecutable>(std::move(executable), gone_));
  }

 private:
  const Gone gone_;
};

}  // namespace

std::unique_ptr<Device> make_watched_device(std::unique_ptr<Device> device, Gone gone) {
  return std::make_unique<WatchedDevice>(std::move(device), std::move(gone));
}

}  // namespace shoal
