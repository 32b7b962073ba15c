// A message: a byte for its kind, then fields: 8-byte little-endian integers and doubles; bytes and
// names with their length first.
#include "shoal/train/distributed/run/hub_messages.h"

#include <cmath>

#include "shoal/base/overloaded.h"
#include "shoal/train/distributed/run/message_bytes.h"

namespace shoal::learn {
namespace {

constexpr double kMostSeconds = 1e6;  // of a step

StatisticsUse get_statistics(Reader& reader) {
  const auto use = StatisticsUse::from_number(reader.get<int64_t>());
  if (!use) reader.refuse();
  return use.value_or(StatisticsUse::follows());
}

std::vector<std::byte> copied(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

Status corrupt_message() { return Status(Code::kCorrupt, "a message that cannot be read"); }

template <class Message>
Result<Message> whole(const Reader& reader, Message message) {
  if (!reader.is_done()) return corrupt_message();
  return message;
}

}  // namespace

std::vector<std::byte> encode(const ToWorker& message) {
  Writer writer(message.index());
  std::visit(
      Overloaded{[&](const StateMessage& m) {
                   writer.put(m.step);
                   put_tensors(writer, m.state);
                   put_tensors(writer, m.codec);
                 },
                 [&](const AssignMessage& m) {
                   writer.put(m.step).put(m.first).put(m.end).put(m.local_steps).put(m.rate_factor);
                   writer.put(m.statistics.number());
                 },
                 [&](const PullMessage& m) {
                   writer.put(m.step).put(m.rate_factor);
                   writer.put(double{m.outer.rate}).put(double{m.outer.momentum});
                   writer.put(m.statistics.number()).put_long(m.merged);
                 },
                 [&](const LateMessage& m) { writer.put(m.step); }, [](const GoodbyeMessage&) {},
                 [&](const SaveMessage& m) { writer.put(m.step); }},
      message);
  return writer.take();
}

std::vector<std::byte> encode(const ToHub& message) {
  Writer writer(message.index());
  std::visit(Overloaded{[&](const SyncedMessage& m) { writer.put(m.step); },
                        [&](const PushMessage& m) {
                          const Contribution& c = m.contribution;
                          writer.put(m.step).put(c.first).put(c.end).put(c.loss);
                          writer.put(m.seconds).put_long(c.message);
                        },
                        [&](const AppliedMessage& m) {
                          writer.put(m.step).put(m.hash).put(m.done).put(m.carried);
                        },
                        [&](const SavedMessage& m) {
                          writer.put(m.step);
                          put_tensors(writer, m.codec);
                        }},
             message);
  return writer.take();
}

Result<ToWorker> decode_for_worker(std::span<const std::byte> bytes) {
  const size_t kind = kind_of(bytes);
  Reader reader(bytes);
  ToWorker message;
  if (kind == ToWorker(StateMessage()).index()) {
    const auto step = reader.get<int64_t>();
    auto state = get_tensors(reader);
    message = StateMessage{step, std::move(state), get_tensors(reader)};
  } else if (kind == ToWorker(AssignMessage()).index()) {
    const auto step = reader.get<int64_t>();
    const auto first = reader.get<int64_t>();
    const auto end = reader.get<int64_t>();
    const auto local_steps = reader.get<int64_t>();
    const auto rate = reader.get<double>();
    if (!std::isfinite(rate)) reader.refuse();
    message = AssignMessage{step, first, end, local_steps, rate, get_statistics(reader)};
  } else if (kind == ToWorker(PullMessage()).index()) {
    const auto step = reader.get<int64_t>();
    const auto rate = reader.get<double>();
    OuterRule outer{.rate = static_cast<float>(reader.get<double>())};
    outer.momentum = static_cast<float>(reader.get<double>());
    const bool is_rule = std::isfinite(rate) && outer.rate >= 0 && std::isfinite(outer.rate) &&
                         outer.momentum >= 0 && outer.momentum < 1;
    if (!is_rule) reader.refuse();
    const StatisticsUse statistics = get_statistics(reader);
    message = PullMessage{step, rate, outer, statistics, copied(reader.get_long())};
  } else if (kind == ToWorker(LateMessage()).index()) {
    message = LateMessage{reader.get<int64_t>()};
  } else if (kind == ToWorker(GoodbyeMessage()).index()) {
    message = GoodbyeMessage{};
  } else if (kind == ToWorker(SaveMessage()).index()) {
    message = SaveMessage{reader.get<int64_t>()};
  } else {
    return corrupt_message();
  }
  return whole(reader, std::move(message));
}

Result<ToHub> decode_for_hub(std::span<const std::byte> bytes) {
  const size_t kind = kind_of(bytes);
  Reader reader(bytes);
  ToHub message;
  if (kind == ToHub(SyncedMessage()).index()) {
    message = SyncedMessage{reader.get<int64_t>()};
  } else if (kind == ToHub(PushMessage()).index()) {
    PushMessage push{.step = reader.get<int64_t>()};
    push.contribution.first = reader.get<int64_t>();
    push.contribution.end = reader.get<int64_t>();
    push.contribution.loss = reader.get<double>();
    push.seconds = reader.get<double>();
    push.contribution.message = copied(reader.get_long());
    if (!std::isfinite(push.contribution.loss)) reader.refuse();
    if (!(push.seconds >= 0 && push.seconds <= kMostSeconds)) reader.refuse();
    message = std::move(push);
  } else if (kind == ToHub(AppliedMessage()).index()) {
    const auto step = reader.get<int64_t>();
    const auto hash = reader.get<uint64_t>();
    const auto done = reader.get<int64_t>();
    const auto carried = reader.get<double>();
    if (!(carried >= 0 && std::isfinite(carried))) reader.refuse();
    message = AppliedMessage{step, hash, done, carried};
  } else if (kind == ToHub(SavedMessage()).index()) {
    const auto step = reader.get<int64_t>();
    message = SavedMessage{step, get_tensors(reader)};
  } else {
    return corrupt_message();
  }
  return whole(reader, std::move(message));
}

}  // namespace shoal::learn
