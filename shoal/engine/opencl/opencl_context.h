// Context: an open OpenCL device, its queues and its properties.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/gpu/device/device_cache.h"
#include "shoal/engine/gpu/plan/gpu_plan.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/engine/gpu/work.h"
#include "shoal/engine/opencl/opencl.h"
#include "shoal/engine/opencl/opencl_api.h"

namespace shoal::opencl {

// Programs of OpenCL, and the kernels in them.
struct Program {
  std::string source;
  ProgramHandle handle;
  std::atomic<bool> is_kept = false;  // for the next start
};

struct Kernel {
  std::shared_ptr<Program> program = {};  // null: unknown kernel
  std::string name = {};
};

// Staging: writes to a device's memory through pinned memory, piece by piece: the device fetches
// one piece while several threads copy the next. Drivers copy unpinned memory with one thread: an
// H200's reaches 6 GB/s. Thread-safe. The context and the queue outlive it.
class Staging {
 public:
  // Fails if the driver has no pinned memory.
  static Result<std::unique_ptr<Staging>> make(std::shared_ptr<const Api> api, cl_context context,
                                               cl_command_queue queue, size_t piece_bytes);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Begins to write; `bytes` may change once it returns.
  Status write(cl_mem buffer, std::span<const std::byte> bytes);

 private:
  static constexpr size_t kPieces = 4;

  Staging(std::shared_ptr<const Api> api, cl_command_queue queue, size_t piece_bytes);

  const std::shared_ptr<const Api> api_;
  const cl_command_queue queue_;
  const size_t piece_bytes_;
  ThreadPool threads_;
  BufferHandle buffer_;
  std::byte* pinned_ = nullptr;
  std::mutex mutex_;
  size_t next_ = 0;                           // of the pieces
  std::array<EventHandle, kPieces> fetched_;  // empty: the piece is free
};

struct Context {
  using Buffer = BufferHandle;

  std::shared_ptr<const Api> api;
  cl_device_id device = nullptr;
  ContextHandle context;
  QueueHandle queue, profiling_queue;  // in order; the second one keeps times
  gpu::Capabilities capabilities;
  OpenClPrecision precision = OpenClPrecision::kF32;
  std::vector<std::string> f32_layers;
  OpenClDescription description;
  int64_t alignment = 1;           // of buffers, in bytes
  int64_t largest_buffer = 0;      // in bytes
  bool has_own_memory = false;     // which the host does not share
  std::filesystem::path programs;  // empty: programs are not kept
  bool tunes = false;
  mutable gpu::SpareBuffers<BufferHandle> spare;
  mutable gpu::KnownKernels<Kernel> known;
  std::unique_ptr<Staging> staging;  // null: large tensors are written directly

  gpu::PlanOptions plan_options() const {
    return {capabilities, description.name, precision, f32_layers, alignment, tuning_file(), tunes};
  }

  // `what` names the buffer or the layer in failures.
  Result<BufferHandle> make_buffer(size_t bytes, std::string_view what) const;
  // For values that a caller may hold; take_back() when they are no longer used.
  Result<BufferHandle> value_buffer(size_t bytes, std::string_view what) const;
  void take_back(size_t bytes, BufferHandle buffer) const { spare.keep(bytes, std::move(buffer)); }
  // A buffer with the elements of a tensor; f32 is stored as `storage`.
  Result<BufferHandle> make_constant(const Tensor& tensor, gpu::Storage storage,
                                     std::string_view what) const;
  // REQUIRES: the buffer is large enough for the tensor. begin_write() does not wait: the tensor
  // must not change until finish() returns. The others wait for earlier commands of the queue.
  Status write(cl_mem buffer, const Tensor& tensor) const;
  Status begin_write(cl_mem buffer, const Tensor& tensor) const;
  Status read(cl_mem buffer, Tensor& tensor) const;
  Status read(const BufferHandle& buffer, Tensor& tensor) const {
    return read(buffer.get(), tensor);
  }
  Status finish() const;

  // The file of measurements on this device and driver; empty: not kept.
  std::filesystem::path tuning_file() const;
  // The kernels of launches. Unknown ones are compiled, many of them as several programs in
  // parallel.
  Result<std::vector<Kernel>> kernels_of(std::span<const gpu::Launch> launches) const;
  // The program from the folder of programs, or compiled. A failure has the compiler's log.
  Result<std::shared_ptr<Program>> build(std::string source) const;
  // Keeps the program for the next start. Errors are ignored: the next start compiles.
  void keep(Program& program) const;
};

Result<std::vector<OpenClDescription>> describe_devices(const Api& api);
Result<std::shared_ptr<const Context>> open_context(std::shared_ptr<const Api> api,
                                                    const OpenClOptions& options);

// A device over a table of functions; make_opencl_device() has the machine's.
Result<std::unique_ptr<Device>> make_device_over(std::shared_ptr<const Api> api,
                                                 const OpenClOptions& options);

}  // namespace shoal::opencl
