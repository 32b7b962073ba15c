#include "shoal/cluster/federated/round_messages.h"

#include <cmath>

#include "shoal/base/overloaded.h"
#include "shoal/train/distributed/run/message_bytes.h"

namespace shoal::federated_cluster {
namespace {

using learn::Reader;
using learn::Writer;

constexpr int64_t kMost = int64_t{1} << 40;  // of steps, epochs, rounds, examples
constexpr double kMostSeconds = 1e6;
constexpr int64_t kMostPixels = 16384;  // of a side: a worker makes images of this size
constexpr int64_t kMostChannels = 1024;

Writer& put_flag(Writer& writer, bool flag) { return writer.put(uint64_t{flag}); }

bool get_flag(Reader& reader) {
  const auto flag = reader.get<uint64_t>();
  if (flag > 1) reader.refuse();
  return flag == 1;
}

// Not negative, and of a size that something has.
int64_t get_count(Reader& reader, int64_t most = kMost) {
  const auto count = reader.get<int64_t>();
  if (count < 0 || count > most) reader.refuse();
  return reader.ok() ? count : 0;
}

double get_real(Reader& reader, double least, double most) {
  const auto real = reader.get<double>();
  if (!(real >= least && real <= most)) reader.refuse();
  return reader.ok() ? real : 0;
}

void put_floats(Writer& writer, const std::vector<float>& floats) {
  writer.put(uint64_t{floats.size()});
  for (const float x : floats) writer.put(double{x});
}

std::vector<float> get_floats(Reader& reader) {
  const int64_t count = get_count(reader, kMostChannels);
  std::vector<float> floats;
  for (int64_t i = 0; reader.ok() && i < count; ++i) {
    floats.push_back(static_cast<float>(get_real(reader, -1e30, 1e30)));
  }
  return floats;
}

void put(Writer& writer, const RecipeMessage& m) {
  const Preprocess& p = m.preprocess;
  writer.put(p.resize).put(p.crop).put(p.channels);
  put_flag(writer, p.stretch);
  put_flag(writer, p.scale);
  put_flag(writer, p.bgr);
  put_flag(writer, p.nhwc);
  put_floats(writer, p.mean);
  put_floats(writer, p.std);
  writer.put(m.augment.crop).put(m.augment.shift).put(m.augment.noise);
  put_flag(writer, m.augment.flip);
}

RecipeMessage get_recipe(Reader& reader) {
  RecipeMessage m;
  m.preprocess.resize = get_count(reader, kMostPixels);
  m.preprocess.crop = get_count(reader, kMostPixels);
  m.preprocess.channels = get_count(reader, kMostChannels);
  m.preprocess.stretch = get_flag(reader);
  m.preprocess.scale = get_flag(reader);
  m.preprocess.bgr = get_flag(reader);
  m.preprocess.nhwc = get_flag(reader);
  m.preprocess.mean = get_floats(reader);
  m.preprocess.std = get_floats(reader);
  m.augment.crop = get_real(reader, 0, 1);
  m.augment.shift = get_count(reader, kMostPixels);
  m.augment.noise = get_real(reader, 0, 1e6);
  m.augment.flip = get_flag(reader);
  return m;
}

void put(Writer& writer, const std::optional<SecretPart>& part) {
  put_flag(writer, part.has_value());
  if (!part) return;
  const secure_sum::RoundOptions& o = part->options;
  writer.put(uint64_t{part->id}).put(uint64_t{o.clients}).put(uint64_t{o.length});
  writer.put(static_cast<uint64_t>(o.bits)).put(uint64_t{o.neighbours}).put(uint64_t{o.threshold});
  writer.put(part->code.range).put(part->code.most_examples);
}

std::optional<SecretPart> get_secret(Reader& reader, int64_t round) {
  if (!get_flag(reader)) return std::nullopt;
  SecretPart part;
  part.options.round = static_cast<uint64_t>(round);
  const auto id = static_cast<uint64_t>(get_count(reader));
  part.options.clients = static_cast<size_t>(get_count(reader));
  part.options.length = static_cast<size_t>(get_count(reader));
  const int64_t bits = get_count(reader);
  part.options.neighbours = static_cast<size_t>(get_count(reader));
  part.options.threshold = static_cast<size_t>(get_count(reader));
  part.code.range = reader.get<double>();
  part.code.most_examples = get_count(reader);
  part.code.clients = part.options.clients;
  if (id >= part.options.clients || bits > 32) reader.refuse();
  if (!reader.ok()) return std::nullopt;
  part.id = static_cast<uint32_t>(id);
  part.options.bits = static_cast<int>(bits);
  if (!check(part.options).ok() || !check(part.code).ok()) reader.refuse();
  return part;
}

RoundMessage get_round(Reader& reader) {
  RoundMessage m{.round = get_count(reader)};
  m.epochs = get_count(reader);
  m.local_steps = get_count(reader);
  m.rate_factor = get_real(reader, 0, 1e6);
  m.mu = get_real(reader, 0, 1e6);
  m.seed = reader.get<uint64_t>();
  m.secret = get_secret(reader, m.round);
  m.weights = learn::get_tensors(reader);
  return m;
}

UpdateMessage get_update(Reader& reader) {
  UpdateMessage m{.round = get_count(reader)};
  m.examples = get_count(reader);
  m.steps = get_count(reader);
  m.complete = get_flag(reader);
  m.loss = get_real(reader, -1e30, 1e30);
  m.weights = learn::get_tensors(reader);
  return m;
}

std::vector<std::byte> get_bytes(Reader& reader) {
  const std::span<const std::byte> bytes = reader.get_long();
  return {bytes.begin(), bytes.end()};
}

template <class Message>
Result<Message> whole(const Reader& reader, Message message) {
  if (!reader.is_done()) return Status(Code::kCorrupt, "a message that cannot be read");
  return message;
}

}  // namespace

std::vector<std::byte> encode(const ToClient& message) {
  Writer writer(message.index());
  std::visit(Overloaded{[&](const RecipeMessage& m) { put(writer, m); },
                        [&](const RoundMessage& m) {
                          writer.put(m.round).put(m.epochs).put(m.local_steps);
                          writer.put(m.rate_factor).put(m.mu).put(m.seed);
                          put(writer, m.secret);
                          learn::put_tensors(writer, m.weights);
                        },
                        [&](const CallMessage& m) { put_flag(writer.put(m.round), m.wanted); },
                        [&](const SecretMessage& m) { writer.put(m.round).put_long(m.bytes); },
                        [](const GoodbyeMessage&) {}},
             message);
  return writer.take();
}

std::vector<std::byte> encode(const ToServer& message) {
  Writer writer(message.index());
  std::visit(Overloaded{[&](const JoinedMessage& m) { writer.put(m.magnitude); },
                        [&](const UpdateMessage& m) {
                          writer.put(m.round).put(m.examples).put(m.steps);
                          put_flag(writer, m.complete).put(m.loss);
                          learn::put_tensors(writer, m.weights);
                        },
                        [&](const GaveUpMessage& m) { writer.put(m.round); },
                        [&](const SecretReply& m) {
                          put_flag(writer.put(m.round).put(m.seconds), m.complete);
                          writer.put_long(m.bytes);
                        }},
             message);
  return writer.take();
}

Result<ToClient> decode_for_client(std::span<const std::byte> bytes) {
  const size_t kind = learn::kind_of(bytes);
  Reader reader(bytes);
  ToClient message;
  if (kind == ToClient(RecipeMessage()).index()) {
    message = get_recipe(reader);
  } else if (kind == ToClient(RoundMessage()).index()) {
    message = get_round(reader);
  } else if (kind == ToClient(CallMessage()).index()) {
    const int64_t round = get_count(reader);
    message = CallMessage{round, get_flag(reader)};
  } else if (kind == ToClient(SecretMessage()).index()) {
    const int64_t round = get_count(reader);
    message = SecretMessage{round, get_bytes(reader)};
  } else if (kind == ToClient(GoodbyeMessage()).index()) {
    message = GoodbyeMessage{};
  } else {
    reader.refuse();
  }
  return whole(reader, std::move(message));
}

Result<ToServer> decode_for_server(std::span<const std::byte> bytes) {
  const size_t kind = learn::kind_of(bytes);
  Reader reader(bytes);
  ToServer message;
  if (kind == ToServer(JoinedMessage()).index()) {
    message = JoinedMessage{get_count(reader)};
  } else if (kind == ToServer(UpdateMessage()).index()) {
    message = get_update(reader);
  } else if (kind == ToServer(GaveUpMessage()).index()) {
    message = GaveUpMessage{get_count(reader)};
  } else if (kind == ToServer(SecretReply()).index()) {
    const int64_t round = get_count(reader);
    const double seconds = get_real(reader, 0, kMostSeconds);
    const bool complete = get_flag(reader);
    message = SecretReply{round, seconds, complete, get_bytes(reader)};
  } else {
    reader.refuse();
  }
  return whole(reader, std::move(message));
}

}  // namespace shoal::federated_cluster
