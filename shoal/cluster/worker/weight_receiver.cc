#include "shoal/cluster/worker/weight_receiver.h"

#include "messages.pb.h"
#include "shoal/cluster/messages/catch_exhaustion.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostBytes = size_t{4} << 20;     // of a chunk
constexpr size_t kMostWaiting = size_t{16} << 20;  // from all coordinators

constexpr size_t kMostWanted = size_t{1} << 16;  // hashes
constexpr std::chrono::seconds kAnswerTimeout{5};

// Urgent: outputs of requests may be large, and the coordinator takes silence for death. One that
// does not read its answers is cut off, because others wait for this thread.
void answer(net::Channel& channel, const message::Message& message) {
  const std::string control = message.SerializeAsString();
  const net::FrameView frame{.control = bytes_of(control), .payload = {}, .urgent = true};
  if (!channel.send(frame, net::after(kAnswerTimeout)).ok()) channel.close();
}

}  // namespace

void WeightReceiver::ask_for(const ChannelPtr& channel, uint64_t plan, std::set<Hash> weights) {
  thread_.post([this, channel, plan, weights = std::move(weights)] {
    run_for(channel, [&] { answer_missing(channel, plan, weights); });
  });
}

// Memory may run out, which must not end the thread.
void WeightReceiver::run_for(const ChannelPtr& channel, const std::function<void()>& task) const {
  const Status status = catch_exhaustion([&] {
    task();
    return Status();
  });
  if (!status.ok()) report_(channel, status);
}

void WeightReceiver::answer_missing(const ChannelPtr& channel, uint64_t plan,
                                    const std::set<Hash>& weights) {
  message::Message reply;
  message::Missing& missing = *reply.mutable_missing();
  missing.set_plan(plan);
  for (const Hash& hash : weights) {
    if (store_.has(hash)) continue;
    missing.add_hashes(hash);
    missing.add_have(store_.partial_bytes(hash));
    if (wanted_.size() >= kMostWanted) wanted_.clear();  // their coordinators are long gone
    wanted_.insert(hash);
  }
  // Not urgent: there may be more hashes than an urgent frame holds.
  static_cast<void>(send(*channel, reply));
}

Status WeightReceiver::take(const ChannelPtr& channel, const message::Blob& blob,
                            const net::Buffer& bytes) {
  const size_t size = bytes.bytes.size();
  if (size > kMostBytes) return Status(Code::kCorrupt, "a chunk of a weight is too large");
  if (waiting_.fetch_add(size) + size > kMostWaiting) {
    waiting_ -= size;
    return Status(Code::kExhausted, "weights come faster than they can be stored");
  }
  thread_.post(
      [this, channel, hash = blob.hash(), total = blob.total(), offset = blob.offset(), bytes] {
        run_for(channel, [&] { store(channel, hash, total, offset, bytes.bytes); });
        waiting_ -= bytes.bytes.size();
      });
  return {};
}

void WeightReceiver::store(const ChannelPtr& channel, const Hash& hash, uint64_t total,
                           uint64_t offset, std::span<const std::byte> chunk) {
  // Weights that no plan asked for are not kept: the store is no place to leave things.
  if (!wanted_.contains(hash) && !store_.has(hash)) {
    return report_(channel, invalid("a weight that was not asked for"));
  }
  const Result<uint64_t> have = store_.append(hash, total, offset, chunk);
  if (!have.ok()) return report_(channel, have.status());
  if (*have == total) wanted_.erase(hash);
  message::Message reply;
  reply.mutable_stored()->set_hash(hash);
  reply.mutable_stored()->set_bytes(*have);
  answer(*channel, reply);
}

}  // namespace shoal::cluster
