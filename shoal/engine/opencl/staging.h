// Staging: writes to a device's memory through memory that its driver has pinned, piece by piece:
// the device fetches one piece while several threads copy the next. A driver does the same with
// memory that is not pinned, but with one thread: an H200's gets 6 GB in a second.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "shoal/base/status.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/opencl/opencl_handle.h"

namespace shoal::opencl {

// Thread-safe. The context and the queue outlive it.
class Staging {
 public:
  // Fails where the driver has no such memory.
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
  std::array<EventHandle, kPieces> fetched_;  // empty: nobody waits for the piece
};

}  // namespace shoal::opencl
