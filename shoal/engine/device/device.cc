// Defaults of Device and Executable: what a device that computes on the caller's thread in host
// memory need not say again.
#include "shoal/engine/device/device.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace shoal {
namespace {

using Values = std::span<const DeviceValue>;
using Outputs = std::span<DeviceValue>;

// A blocking run on a separate thread. Two sources may stop it: the caller's token, which is
// forwarded, and cancel(). Members are initialised in order, and the thread is the last: it uses
// all others.
class ThreadRun final : public Run {
 public:
  ThreadRun(Executable& executable, Values inputs, Outputs outputs, const RunOptions& options)
      : inputs_(inputs.begin(), inputs.end()),
        forward_(options.cancel, Stop{source_}),
        thread_([this, &executable, outputs, options = options]() mutable {
          options.cancel = source_.get_token();
          end(guarded(executable, outputs, options));
        }) {}

  ~ThreadRun() override {
    cancel();
    thread_.join();
  }

  Status wait(Deadline deadline) override {
    std::unique_lock lock(mutex_);
    const auto is_done = [&] { return done_; };
    if (deadline == kNoDeadline) {
      ended_.wait(lock, is_done);
    } else if (!ended_.wait_until(lock, deadline, is_done)) {
      return Status(Code::kDeadline, "the run has not ended yet");
    }
    return status_;
  }

  bool done() const override {
    const std::scoped_lock lock(mutex_);
    return done_;
  }

  void cancel() override { source_.request_stop(); }

 private:
  struct Stop {
    std::stop_source& source;
    void operator()() const { source.request_stop(); }
  };

  // An exception must not leave the thread: it would end the process.
  Status guarded(Executable& executable, Outputs outputs, const RunOptions& options) try {
    return executable.run_values(inputs_, outputs, options);
  } catch (const std::bad_alloc&) {
    return Status(Code::kExhausted, "out of memory");
  }

  void end(Status status) {
    const std::scoped_lock lock(mutex_);
    status_ = std::move(status);
    done_ = true;
    ended_.notify_all();
  }

  std::vector<DeviceValue> inputs_;
  std::stop_source source_;  // of this run: the caller's token, or cancel()
  std::stop_callback<Stop> forward_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  Status status_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace

// Cancellation takes precedence: the caller has given up on the result.
Status RunOptions::interrupted() const {
  if (cancel.stop_requested()) return Status(Code::kCancelled, "the run was cancelled");
  if (deadline != kNoDeadline && std::chrono::steady_clock::now() >= deadline) {
    return Status(Code::kDeadline, "the run's deadline has passed");
  }
  return {};
}

DeviceValue::DeviceValue(Tensor tensor) : host_(std::move(tensor)) {}

DeviceValue::DeviceValue(TensorType type, std::shared_ptr<DeviceMemory> memory)
    : type_(type), memory_(std::move(memory)) {}

Result<Tensor> DeviceValue::to_host() const {
  SHOAL_CHECK(defined());
  if (memory_ == nullptr) return host_;
  Tensor tensor(type_);
  SHOAL_TRY(memory_->copy_to(tensor));
  return tensor;
}

Status Executable::run_values(Values inputs, Outputs outputs, const RunOptions& options) {
  std::vector<Tensor> in, out;
  for (const DeviceValue& value : inputs) {
    SHOAL_ASSIGN(Tensor tensor, value.to_host());
    in.push_back(std::move(tensor));
  }
  for (const DeviceValue& value : outputs) {
    // Outputs in the memory of another device are replaced, not written to.
    out.push_back(value.host() != nullptr ? *value.host() : Tensor());
  }
  SHOAL_TRY(run(in, out, options));
  std::ranges::move(out, outputs.begin());
  return {};
}

// A start that finds no thread is a shortage like that of memory.
Result<std::unique_ptr<Run>> Executable::start(Values inputs, Outputs outputs,
                                               const RunOptions& options) try {
  return std::unique_ptr<Run>(std::make_unique<ThreadRun>(*this, inputs, outputs, options));
} catch (const std::system_error& error) {
  return Status(Code::kExhausted, std::string("cannot start a thread: ") + error.what());
}

Status AsyncExecutable::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                            const RunOptions& options) {
  const std::vector<DeviceValue> in(inputs.begin(), inputs.end());
  std::vector<DeviceValue> out(outputs.size());
  SHOAL_TRY(run_values(in, out, options));
  for (size_t i = 0; i < out.size(); ++i) {
    // Memory that the caller gave is filled; to_host() would make new memory.
    if (outputs[i].defined() && out[i].memory() != nullptr) {
      SHOAL_TRY(out[i].memory()->copy_to(outputs[i]));
    } else {
      SHOAL_ASSIGN(outputs[i], out[i].to_host());
    }
  }
  return {};
}

Status AsyncExecutable::run_values(Values inputs, Outputs outputs, const RunOptions& options) {
  SHOAL_ASSIGN(const std::unique_ptr<Run> run, start(inputs, outputs, options));
  return run->wait();
}

bool Device::supports(const Graph&, const Node&) const { return true; }

Result<MemoryUse> Device::memory_of(const Graph& graph) {
  SHOAL_ASSIGN(const auto executable, compile(graph));
  return executable->memory();
}

Result<DeviceValue> Device::upload(const Tensor& tensor) { return DeviceValue(tensor); }

}  // namespace shoal
