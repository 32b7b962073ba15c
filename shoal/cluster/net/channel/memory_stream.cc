#include "shoal/cluster/net/channel/memory_stream.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace shoal::net {
namespace {

class Pipe {
 public:
  explicit Pipe(size_t capacity) : capacity_(capacity) {}

  Result<size_t> read(std::span<std::byte> into, Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [&] { return shut_ || read_ < bytes_.size(); }))
      return Status(Code::kDeadline, "nothing came");
    // Bytes that were written before the end are still read.
    const size_t n = std::min(into.size(), bytes_.size() - read_);
    if (n == 0) return Status(Code::kUnavailable, "closed the connection");
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(read_), n, into.begin());
    read_ += n;
    if (read_ == bytes_.size()) {
      bytes_.clear();
      read_ = 0;
    }
    changed_.notify_all();
    return n;
  }

  Status write(std::span<const Bytes> pieces, Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto may_go_on = [&] { return shut_ || bytes_.size() - read_ < capacity_; };
    if (!changed_.wait_until(lock, deadline, may_go_on))
      return Status(Code::kDeadline, "does not read what is sent");
    if (shut_) return Status(Code::kUnavailable, "closed the connection");
    // Compacted here and not in read(), which may take a few bytes at a time.
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(read_));
    read_ = 0;
    for (Bytes piece : pieces) bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    changed_.notify_all();
    return {};
  }

  void shut() {
    const std::lock_guard lock(mutex_);
    shut_ = true;
    changed_.notify_all();
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
  std::vector<std::byte> bytes_;
  size_t read_ = 0;  // of bytes_
};

class MemoryStream final : public Stream {
 public:
  MemoryStream(std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~MemoryStream() override { MemoryStream::shut_down(); }

  Result<size_t> read(std::span<std::byte> into, Deadline deadline) override {
    return in_->read(into, deadline);
  }
  Status write(std::span<const Bytes> pieces, Deadline deadline) override {
    return out_->write(pieces, deadline);
  }
  Status flush(Deadline) override { return {}; }
  void shut_down() override {
    in_->shut();
    out_->shut();
  }

 private:
  const std::shared_ptr<Pipe> in_;
  const std::shared_ptr<Pipe> out_;
};

}  // namespace

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> make_memory_streams(size_t capacity) {
  auto there = std::make_shared<Pipe>(capacity);
  auto back = std::make_shared<Pipe>(capacity);
  return {std::make_unique<MemoryStream>(back, there), std::make_unique<MemoryStream>(there, back)};
}

}  // namespace shoal::net
