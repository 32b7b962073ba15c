// A message: a byte for its kind, then fields: 4-byte little-endian numbers; lists with their
// length first; elements of a vector bit by bit, the lowest first.
#include "shoal/train/secure_sum/messages.h"

#include <algorithm>
#include <cmath>

namespace shoal::secure_sum {
namespace {

constexpr size_t kFewestClients = 3;  // of two, each knows the other's vector from the sum
constexpr size_t kMostClients = 1 << 20, kMostElements = size_t{1} << 28;
constexpr double kFails = 0x1p-20, kReveals = 0x1p-40;

double log_choose(size_t n, size_t k) {
  const auto log_factorial = [](size_t x) { return std::lgamma(static_cast<double>(x) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

// Probability that at least `least` of `drawn` items are marked, where `marked` of `all` are.
double tail(size_t all, size_t marked, size_t drawn, size_t least) {
  double sum = 0;
  for (size_t k = least; k <= std::min(drawn, marked); ++k) {
    if (drawn - k > all - marked) continue;
    sum += std::exp(log_choose(marked, k) + log_choose(all - marked, drawn - k) -
                    log_choose(all, drawn));
  }
  return sum;
}

class Writer {
 public:
  explicit Writer(uint8_t kind) : bytes_{kind} {}
  void number(uint32_t x) {
    for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<uint8_t>(x >> shift));
  }
  void size(size_t x) { number(static_cast<uint32_t>(x)); }
  void block(std::span<const uint8_t> block) {
    bytes_.insert(bytes_.end(), block.begin(), block.end());
  }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

// After the first field that is not there, all are zero.
class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, uint8_t kind)
      : left_(bytes.empty() ? bytes : bytes.subspan(1)), ok_(!bytes.empty() && bytes[0] == kind) {}
  uint32_t number() {
    const auto bytes = block<4>();
    uint32_t x = 0;
    for (size_t i = 0; i < 4; ++i) x |= uint32_t{bytes[i]} << (8 * i);
    return x;
  }
  template <size_t size>
  std::array<uint8_t, size> block() {
    std::array<uint8_t, size> block = {};
    if (left_.size() < size) ok_ = false;
    if (!ok_) return block;
    std::copy_n(left_.begin(), size, block.begin());
    left_ = left_.subspan(size);
    return block;
  }
  // The length of a list of items of this size in bytes; 0 if they are not there.
  size_t size(size_t item_bytes) {
    const size_t count = number();
    if (count > left_.size() / item_bytes) ok_ = false;
    return ok_ ? count : 0;
  }
  std::span<const uint8_t> rest() { return std::exchange(left_, {}); }
  template <class Message>
  Result<Message> finish(Message message) const {
    if (ok_ && left_.empty()) return message;
    return Status(Code::kCorrupt, "a message of a secure sum that cannot be read");
  }

 private:
  std::span<const uint8_t> left_;
  bool ok_;
};

void put(Writer& writer, const Advertisement& keys) {
  writer.number(keys.client);
  writer.block(keys.seal_key);
  writer.block(keys.mask_key);
}

Advertisement get_keys(Reader& reader) {
  Advertisement keys;
  keys.client = reader.number();
  keys.seal_key = reader.block<32>();
  keys.mask_key = reader.block<32>();
  return keys;
}

constexpr size_t kKeyBytes = 4 + 2 * sizeof(PublicKey), kPartBytes = 4 + sizeof(SealedShare);

size_t packed_bytes(const RoundOptions& options) {
  return (options.length * static_cast<size_t>(options.bits) + 7) / 8;
}

void put_numbers(Writer& writer, std::span<const uint32_t> numbers) {
  writer.size(numbers.size());
  for (const uint32_t x : numbers) writer.number(x);
}

std::vector<uint32_t> get_numbers(Reader& reader) {
  std::vector<uint32_t> numbers(reader.size(4));
  for (uint32_t& x : numbers) x = reader.number();
  return numbers;
}

void put_secrets(Writer& writer, std::span<const Secret> secrets) {
  writer.size(secrets.size());
  for (const Secret& secret : secrets) writer.block(secret);
}

std::vector<Secret> get_secrets(Reader& reader) {
  std::vector<Secret> secrets(reader.size(sizeof(Secret)));
  for (Secret& secret : secrets) secret = reader.block<sizeof(Secret)>();
  return secrets;
}

}  // namespace

Status check(const RoundOptions& o) {
  if (o.clients < kFewestClients || o.clients > kMostClients) {
    return invalid("a secure sum is of 3 to 2^20 clients");
  }
  if (o.length < 1 || o.length > kMostElements) return invalid("vectors have 1 to 2^28 elements");
  if (o.bits < 1 || o.bits > 32) return invalid("elements have 1 to 32 bits");
  const bool all = o.neighbours + 1 == o.clients;
  if (o.neighbours < 2 || o.neighbours >= o.clients || o.neighbours > kMostShares ||
      (!all && o.neighbours % 2 != 0)) {
    return invalid("neighbours are all other clients, or an even number of at most 254");
  }
  if (2 * o.threshold <= o.neighbours || o.threshold > o.neighbours) {
    return invalid("the threshold is more than half of the neighbours, and no more than all");
  }
  return {};
}

RoundOptions plan_round(size_t clients, size_t length, int bits) {
  SHOAL_CHECK(clients >= kFewestClients);
  const size_t others = clients - 1, dropped = clients / 3, corrupted = clients / 5;
  const auto times = static_cast<double>(clients);  // each of them may be the unlucky one
  RoundOptions options{.clients = clients, .length = length, .bits = bits};
  for (size_t k = 2; k <= std::min(others, kMostShares); k += 2) {
    options.neighbours = k;
    options.threshold = k / 2 + 1;
    if (times * tail(others, dropped, k, k - options.threshold + 1) <= kFails &&
        times * tail(others, corrupted, k, options.threshold) <= kReveals) {
      return options;
    }
  }
  if (others <= kMostShares) {
    options.neighbours = others;
    options.threshold = std::max(others / 2 + 1, others - dropped);
  }
  return options;
}

std::vector<uint8_t> encode(const Advertisement& message) {
  Writer writer(1);
  put(writer, message);
  return std::move(writer.bytes());
}

Result<Advertisement> decode_advertisement(std::span<const uint8_t> bytes) {
  Reader reader(bytes, 1);
  const Advertisement keys = get_keys(reader);
  return reader.finish(keys);
}

std::vector<uint8_t> encode(const NeighbourKeys& message) {
  Writer writer(2);
  writer.size(message.neighbours.size());
  for (const Advertisement& keys : message.neighbours) put(writer, keys);
  return std::move(writer.bytes());
}

Result<NeighbourKeys> decode_neighbour_keys(std::span<const uint8_t> bytes) {
  Reader reader(bytes, 2);
  NeighbourKeys message;
  message.neighbours.resize(reader.size(kKeyBytes));
  for (Advertisement& keys : message.neighbours) keys = get_keys(reader);
  return reader.finish(std::move(message));
}

std::vector<uint8_t> encode(const SharedSecrets& message) {
  Writer writer(3);
  writer.number(message.client);
  writer.block(message.self_mask_hash);
  writer.size(message.shares.size());
  for (const SealedShare& share : message.shares) writer.block(share);
  return std::move(writer.bytes());
}

Result<SharedSecrets> decode_shared_secrets(std::span<const uint8_t> bytes) {
  Reader reader(bytes, 3);
  SharedSecrets message;
  message.client = reader.number();
  message.self_mask_hash = reader.block<sizeof(Secret)>();
  message.shares.resize(reader.size(sizeof(SealedShare)));
  for (SealedShare& share : message.shares) share = reader.block<sizeof(SealedShare)>();
  return reader.finish(std::move(message));
}

std::vector<uint8_t> encode(const Delivery& message) {
  Writer writer(4);
  writer.size(message.parts.size());
  for (const Delivery::Part& part : message.parts) {
    writer.number(part.from);
    writer.block(part.share);
  }
  return std::move(writer.bytes());
}

Result<Delivery> decode_delivery(std::span<const uint8_t> bytes) {
  Reader reader(bytes, 4);
  Delivery message;
  message.parts.resize(reader.size(kPartBytes));
  for (Delivery::Part& part : message.parts) {
    part.from = reader.number();
    part.share = reader.block<sizeof(SealedShare)>();
  }
  return reader.finish(std::move(message));
}

std::vector<uint8_t> encode(const MaskedVector& message, const RoundOptions& options) {
  SHOAL_CHECK(message.elements.size() == options.length);
  Writer writer(5);
  writer.number(message.client);
  std::vector<uint8_t>& bytes = writer.bytes();
  bytes.reserve(bytes.size() + packed_bytes(options));
  uint64_t waiting = 0;  // bits that fill no byte yet
  int count = 0;
  for (const uint32_t x : message.elements) {
    waiting |= uint64_t{x} << count;
    for (count += options.bits; count >= 8; count -= 8, waiting >>= 8) {
      bytes.push_back(static_cast<uint8_t>(waiting));
    }
  }
  if (count > 0) bytes.push_back(static_cast<uint8_t>(waiting));
  return std::move(bytes);
}

Result<MaskedVector> decode_masked_vector(std::span<const uint8_t> bytes,
                                          const RoundOptions& options) {
  Reader reader(bytes, 5);
  MaskedVector message{.client = reader.number()};
  const std::span<const uint8_t> packed = reader.rest();
  if (packed.size() != packed_bytes(options)) {
    return Status(Code::kCorrupt, "a masked vector of another length");
  }
  message.elements.resize(options.length);
  const uint64_t mask = (uint64_t{1} << options.bits) - 1;
  uint64_t waiting = 0;
  int count = 0;
  size_t at = 0;
  for (uint32_t& x : message.elements) {
    for (; count < options.bits; count += 8) waiting |= uint64_t{packed[at++]} << count;
    x = static_cast<uint32_t>(waiting & mask);
    waiting >>= options.bits;
    count -= options.bits;
  }
  if (waiting != 0) return Status(Code::kCorrupt, "a masked vector with bits behind its end");
  return reader.finish(std::move(message));
}

std::vector<uint8_t> encode(const UnmaskRequest& message) {
  Writer writer(6);
  put_numbers(writer, message.survivors);
  put_numbers(writer, message.dropped);
  return std::move(writer.bytes());
}

Result<UnmaskRequest> decode_unmask_request(std::span<const uint8_t> bytes) {
  Reader reader(bytes, 6);
  UnmaskRequest message;
  message.survivors = get_numbers(reader);
  message.dropped = get_numbers(reader);
  return reader.finish(std::move(message));
}

std::vector<uint8_t> encode(const UnmaskAnswer& message) {
  Writer writer(7);
  writer.number(message.client);
  put_secrets(writer, message.survivors);
  put_secrets(writer, message.dropped);
  return std::move(writer.bytes());
}

Result<UnmaskAnswer> decode_unmask_answer(std::span<const uint8_t> bytes) {
  Reader reader(bytes, 7);
  UnmaskAnswer message;
  message.client = reader.number();
  message.survivors = get_secrets(reader);
  message.dropped = get_secrets(reader);
  return reader.finish(std::move(message));
}

}  // namespace shoal::secure_sum
