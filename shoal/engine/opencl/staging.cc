#include "shoal/engine/opencl/staging.h"

#include <algorithm>
#include <cstring>

#include "shoal/base/machine/machine.h"

namespace shoal::opencl {
namespace {

// More threads do not copy faster than a bus takes it.
constexpr size_t kMostThreads = 4;

int thread_count() { return static_cast<int>(std::min(kMostThreads, usable_cores().size())); }

}  // namespace

Staging::Staging(std::shared_ptr<const Api> api, cl_command_queue queue, size_t piece_bytes)
    : api_(std::move(api)), queue_(queue), piece_bytes_(piece_bytes), threads_(thread_count()) {}

Result<std::unique_ptr<Staging>> Staging::make(std::shared_ptr<const Api> api, cl_context context,
                                               cl_command_queue queue, size_t piece_bytes) {
  std::unique_ptr<Staging> staging(new Staging(std::move(api), queue, piece_bytes));
  const Api& calls = *staging->api_;
  const size_t bytes = kPieces * piece_bytes;
  cl_int error = CL_SUCCESS;
  staging->buffer_ = BufferHandle(
      staging->api_, calls.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                          nullptr, &error));
  SHOAL_TRY(status_of(error, "pinned memory"));
  void* const mapped =
      calls.clEnqueueMapBuffer(queue, staging->buffer_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                               0, bytes, 0, nullptr, nullptr, &error);
  SHOAL_TRY(status_of(error, "pinned memory"));
  staging->pinned_ = static_cast<std::byte*>(mapped);
  return staging;
}

Staging::~Staging() {
  if (pinned_ == nullptr) return;
  // Nobody is there to hear of failures.
  static_cast<void>(
      api_->clEnqueueUnmapMemObject(queue_, buffer_.get(), pinned_, 0, nullptr, nullptr));
  static_cast<void>(api_->clFinish(queue_));
}

Status Staging::write(cl_mem buffer, std::span<const std::byte> bytes) {
  constexpr int64_t kGrain = 64 << 10;
  const std::scoped_lock lock(mutex_);
  for (size_t at = 0; at < bytes.size(); at += piece_bytes_) {
    const size_t piece = next_++ % kPieces;
    if (const cl_event before = fetched_[piece].get()) {
      SHOAL_TRY(status_of(api_->clWaitForEvents(1, &before), "waiting for pinned memory"));
      fetched_[piece] = {};
    }
    const std::span<const std::byte> from =
        bytes.subspan(at, std::min(piece_bytes_, bytes.size() - at));
    std::byte* const to = pinned_ + piece * piece_bytes_;
    threads_.parallel_ranges(
        static_cast<int64_t>(from.size()), kGrain, [&](int64_t begin, int64_t end) {
          std::memcpy(to + begin, from.data() + begin, static_cast<size_t>(end - begin));
        });
    cl_event fetched = nullptr;
    SHOAL_TRY(status_of(api_->clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, at, from.size(), to, 0,
                                                   nullptr, &fetched),
                        "writing"));
    fetched_[piece] = EventHandle(api_, fetched);
    SHOAL_TRY(status_of(api_->clFlush(queue_), "writing"));
  }
  return {};
}

}  // namespace shoal::opencl
