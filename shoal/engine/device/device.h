// Device: compiles a graph into something that runs. A CPU is a Device, a GPU is a Device, and a
// cluster of Devices is a Device.
//
//   auto device = make_cpu_device();
//   SHOAL_ASSIGN(auto executable, device->compile(graph));
//   std::vector<Tensor> outputs(graph.outputs().size());
//   SHOAL_TRY(executable->run(inputs, outputs, {.deadline = soon}));
//
// To add a device, implement Device::info() and compile(), and of Executable run(), graph(),
// memory() and kernel_of(). The defaults of the rest suit a device that computes on the caller's
// thread in host memory. A device with queues and its own memory derives its executables from
// AsyncExecutable and overrides upload().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal {

// A point in time by which an operation has to end.
using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

// The constant properties of a device.
struct DeviceInfo {
  std::string name;          // "cpu", "reference", "cluster(5)"
  int threads = 1;           // that one run may use
  int64_t memory_bytes = 0;  // for weights and values; 0: unknown
  // Values are in host memory: upload() and DeviceValue::to_host() copy nothing.
  bool unified_memory = true;
  int64_t alignment = 64;  // of values in the device's memory, in bytes
  // Runs of one Executable that make progress at the same time; further runs wait. 0: no limit.
  int max_in_flight = 0;
  bool traces = true;  // RunOptions::trace is filled; otherwise it stays empty
};

// When one node was computed, counted from the start of the run.
struct TraceEvent {
  size_t node = 0;  // index in Executable::graph().nodes()
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};
using Trace = std::vector<TraceEvent>;

// The options of one run. `{}`: no limit and no trace. A value.
struct RunOptions {
  // The run fails with kDeadline if it has not ended by then. Devices look between nodes.
  Deadline deadline = kNoDeadline;
  // The run fails with kCancelled soon after a stop is requested of the token's std::stop_source.
  std::stop_token cancel = {};
  // Gets one event per node. Must outlive the run. Null: nothing is recorded.
  Trace* trace = nullptr;

  // kCancelled or kDeadline if the run has to end now, otherwise OK. Blocking devices call this
  // between nodes.
  Status interrupted() const;
};

// Memory that belongs to a device. Derived classes hold its handle.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // Copies the elements into `tensor`, which has the value's type. Waits for runs that still
  // compute them. Fails only if the hardware does.
  virtual Status copy_to(Tensor& tensor) const = 0;
};

// A tensor in a device's memory: a type and a place. Copies share the place. Like a Tensor, it may
// be read by several threads at once, but not while a run writes to it.
class DeviceValue {
 public:
  DeviceValue() = default;     // no value: an optional input that was left out
  DeviceValue(Tensor tensor);  // in host memory, which every device accepts
  // In a device's memory. REQUIRES: memory is not null and large enough for the type.
  DeviceValue(TensorType type, std::shared_ptr<DeviceMemory> memory);

  // Whether there is a value; and its type. REQUIRES, for type(): defined().
  bool defined() const { return host_.defined() || memory_ != nullptr; }
  const TensorType& type() const { return memory_ != nullptr ? type_ : host_.type(); }

  // Exactly one of these is not null for a defined value.
  const Tensor* host() const { return host_.defined() ? &host_ : nullptr; }
  DeviceMemory* memory() const { return memory_.get(); }

  // The elements in host memory: a copy only if they are elsewhere. REQUIRES: defined().
  Result<Tensor> to_host() const;

 private:
  Tensor host_;
  TensorType type_;
  std::shared_ptr<DeviceMemory> memory_;
};

// A run in progress. Any thread may wait for it or cancel it. The destructor cancels it and waits
// until the device no longer touches inputs and outputs.
class Run {
 public:
  virtual ~Run() = default;

  // Waits for the end of the run and returns its status, or kDeadline if it has not ended by
  // `deadline`; the run then continues, and done() is false.
  virtual Status wait(Deadline deadline) = 0;
  Status wait() { return wait(kNoDeadline); }
  virtual bool done() const = 0;

  // Asks the run to end with kCancelled. Does not wait; has no effect on a run that has ended.
  virtual void cancel() = 0;
};

// The bytes that the values of a graph need, weights apart. Inputs and outputs count: they belong
// to the caller and live from the first node to the last.
struct MemoryUse {
  int64_t planned = 0;
  int64_t lower_bound = 0;  // the largest live set: no plan needs less
};

// The measured time of a kernel and that of the runner-up.
struct KernelTiming {
  double microseconds = 0;
  std::string runner_up = {};  // "gemm"; "gemm:1" on other threads; empty: nothing was measured
  double runner_up_microseconds = 0;
};

// The implementation of a node.
struct KernelInfo {
  std::string name = {};     // "reference", "gemm", ...
  KernelTiming timing = {};  // if the device measured several
  int threads = 1;           // that a run of the node uses, at most
};

// A compiled graph: weights packed, shaders built, memory planned. Failures caused by the model
// occur in compile(); a run fails only if the hardware or a peer does, if memory runs out
// (kExhausted), at its deadline or when cancelled.
//
// Thread-safe: any number of runs may be in progress at once, and all share the weights.
class Executable {
 public:
  virtual ~Executable() = default;

  // Runs and waits. Inputs and outputs have the graph's types, in the graph's order. Outputs that
  // are defined may be written into, others are made; either way, read them from the span. They
  // share no memory with inputs, weights or each other. After a failure their elements are
  // unspecified.
  virtual Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                     const RunOptions& options) = 0;

  // The same with values that stay on the device between runs. REQUIRES: inputs are in host memory
  // or were made by this executable's device.
  virtual Status run_values(std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                            const RunOptions& options);

  // Begins a run and returns. REQUIRES: `outputs` and this executable outlive the Run. The default
  // calls run_values() on a separate thread.
  virtual Result<std::unique_ptr<Run>> start(std::span<const DeviceValue> inputs,
                                             std::span<DeviceValue> outputs,
                                             const RunOptions& options);

  // The graph as executed; devices may change nodes, but not inputs and outputs. Valid as long as
  // the executable.
  virtual const Graph& graph() const = 0;
  virtual MemoryUse memory() const = 0;                        // of one run
  virtual const KernelInfo& kernel_of(size_t node) const = 0;  // of graph().nodes()
};

// A base for devices with queues: they implement start(), and the blocking runs follow from it.
class AsyncExecutable : public Executable {
 public:
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override;
  Status run_values(std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                    const RunOptions& options) override;
  Result<std::unique_ptr<Run>> start(std::span<const DeviceValue> inputs,
                                     std::span<DeviceValue> outputs,
                                     const RunOptions& options) override = 0;
};

// Thread-safe. REQUIRES: a Device outlives what it compiled and the values it made, unless the
// function that makes it says otherwise.
class Device {
 public:
  virtual ~Device() = default;
  // The properties of the device. Valid as long as the device.
  virtual const DeviceInfo& info() const = 0;

  // Whether compile() accepts this node of `graph`. hybrid.h completes a device that does not
  // support every operator by another one. Default: all nodes.
  virtual bool supports(const Graph& graph, const Node& node) const;

  // Compiles a graph, which need not outlive the result. Fails with kUnsupported if a node is
  // not supported and with kExhausted if memory is short.
  virtual Result<std::unique_ptr<Executable>> compile(const Graph& graph) = 0;

  // The result of compile(graph)->memory(), where possible without compiling. Fails as compile()
  // does, and with kUnsupported if the device cannot tell.
  virtual Result<MemoryUse> memory_of(const Graph& graph);

  // The tensor in the device's memory, for run_values() and start(). The default copies nothing:
  // `tensor`'s elements must then not change while the value is in use. Fails with kExhausted where
  // memory is short.
  virtual Result<DeviceValue> upload(const Tensor& tensor);
};

// Runs the reference functions, one node after the other. The oracle of every test. Its
// executables may outlive it.
std::unique_ptr<Device> make_reference_device();

}  // namespace shoal

#pragma GCC visibility pop
