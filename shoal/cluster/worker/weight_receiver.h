// WeightReceiver: receives weights on its own thread, so that readers of channels, which also carry
// pieces of requests, wait neither for hashes nor for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/cluster/worker/store.h"

namespace shoal::cluster {

namespace message {
class Blob;
}  // namespace message

// Thread-safe. Messages of one channel are handled, and answered, in order.
class WeightReceiver {
 public:
  using ChannelPtr = std::shared_ptr<net::Channel>;
  // Reports an error to a coordinator.
  using Report = std::function<void(const ChannelPtr&, const Status&)>;

  // REQUIRES: the store outlives it.
  WeightReceiver(Store& store, Report report) : store_(store), report_(std::move(report)) {}

  // Answers with a Missing: the weights that are missing here, and the bytes present of each. From
  // then on chunks of them are accepted, from any channel.
  void ask_for(const ChannelPtr& channel, uint64_t plan, std::set<Hash> weights);

  // Takes a chunk, whose bytes it keeps until it is stored, and answers with a Stored. Fails with
  //   kCorrupt    the chunk is too large
  //   kExhausted  chunks come faster than they can be stored; a coordinator waits for answers
  Status take(const ChannelPtr& channel, const message::Blob& blob, const net::Buffer& bytes);

 private:
  void run_for(const ChannelPtr& channel, const std::function<void()>& task) const;
  void answer_missing(const ChannelPtr& channel, uint64_t plan, const std::set<Hash>& weights);
  void store(const ChannelPtr& channel, const Hash& hash, uint64_t total, uint64_t offset,
             std::span<const std::byte> chunk);

  Store& store_;
  const Report report_;
  std::atomic<size_t> waiting_ = 0;  // bytes that are not stored yet
  std::set<Hash> wanted_;            // used on the thread only
  TaskThread thread_;                // last: its tasks use the rest
};

}  // namespace shoal::cluster
