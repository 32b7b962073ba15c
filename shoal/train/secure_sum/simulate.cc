#include "shoal/train/secure_sum/simulate.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>

#include "shoal/train/secure_sum/client.h"

namespace shoal::secure_sum {
namespace {

double unit_of(const Quantisation& quantisation) {
  SHOAL_CHECK(quantisation.range > 0 && quantisation.value_bits >= 1 &&
              quantisation.value_bits <= 32);
  return 2 * quantisation.range / (std::ldexp(1.0, quantisation.value_bits) - 1);
}

// Of this thread: what else runs on the machine does not count.
double processor_seconds() {
  timespec now{};
  SHOAL_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Timer {
 public:
  explicit Timer(double& seconds) : seconds_(seconds) {}
  ~Timer() { seconds_ += processor_seconds() - begin_; }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  double& seconds_;
  const double begin_ = processor_seconds();
};

class Simulation {
 public:
  Simulation(const RoundOptions& options, const Vectors& vectors, const Drops& drops)
      : options_(options), vectors_(vectors), drops_(drops) {}

  Result<SimulatedRound> run(const Secret& seed);

 private:
  struct Peer {
    Client client;
    uint64_t sent = 0, received = 0;
    double seconds = 0;
  };

  Status advertise(KeyStream& random);
  Status share();
  Status mask();
  Status unmask();
  bool stays(uint32_t id, Moment moment) const { return !drops_ || !drops_(id, moment); }
  Peer& peer(uint32_t id) { return peers_.at(id); }

  // The bytes of a message to a client, counted.
  template <class Message>
  std::vector<uint8_t> down(uint32_t id, const Message& message) {
    std::vector<uint8_t> bytes = encode(message);
    peer(id).received += bytes.size();
    return bytes;
  }
  std::vector<uint8_t> up(uint32_t id, std::vector<uint8_t> bytes) {
    peer(id).sent += bytes.size();
    return bytes;
  }

  const RoundOptions& options_;
  const Vectors& vectors_;
  const Drops& drops_;
  std::optional<Server> server_;
  std::map<uint32_t, Peer> peers_;
  double server_seconds_ = 0;
};

Status Simulation::advertise(KeyStream& random) {
  for (uint32_t id = 0; id < options_.clients; ++id) {
    Secret own;
    random.fill(own);
    double seconds = 0;
    std::optional<Client> client;
    {
      const Timer timer(seconds);
      SHOAL_ASSIGN(client, Client::create(options_, id, own));
    }
    peers_.try_emplace(id, Peer{.client = *std::move(client), .seconds = seconds});
    if (!stays(id, Moment::kAdvertise)) continue;
    const auto bytes = up(id, encode(peer(id).client.advertise()));
    const Timer timer(server_seconds_);
    SHOAL_ASSIGN(const Advertisement message, decode_advertisement(bytes));
    SHOAL_TRY(server_->receive(message));
  }
  return {};
}

Status Simulation::share() {
  SHOAL_ASSIGN(const auto messages, server_->close_advertising());
  for (const auto& [id, message] : messages) {
    const auto bytes = down(id, message);
    if (!stays(id, Moment::kShare)) continue;
    std::vector<uint8_t> answer;
    {
      const Timer timer(peer(id).seconds);
      SHOAL_ASSIGN(const NeighbourKeys keys, decode_neighbour_keys(bytes));
      SHOAL_ASSIGN(const SharedSecrets shared, peer(id).client.share(keys));
      answer = up(id, encode(shared));
    }
    const Timer timer(server_seconds_);
    SHOAL_ASSIGN(SharedSecrets shared, decode_shared_secrets(answer));
    SHOAL_TRY(server_->receive(std::move(shared)));
  }
  return {};
}

Status Simulation::mask() {
  SHOAL_ASSIGN(const auto messages, server_->close_sharing());
  for (const auto& [id, message] : messages) {
    const auto bytes = down(id, message);
    if (!stays(id, Moment::kMask)) continue;
    const std::vector<uint32_t> values = vectors_(id);
    std::vector<uint8_t> answer;
    {
      const Timer timer(peer(id).seconds);
      SHOAL_ASSIGN(const Delivery delivery, decode_delivery(bytes));
      SHOAL_ASSIGN(const MaskedVector masked, peer(id).client.mask(delivery, values));
      answer = up(id, encode(masked, options_));
    }
    const Timer timer(server_seconds_);
    SHOAL_ASSIGN(const MaskedVector masked, decode_masked_vector(answer, options_));
    SHOAL_TRY(server_->receive(masked));
  }
  return {};
}

Status Simulation::unmask() {
  SHOAL_ASSIGN(const auto messages, server_->close_masking());
  for (const auto& [id, message] : messages) {
    const auto bytes = down(id, message);
    if (!stays(id, Moment::kUnmask)) continue;
    std::vector<uint8_t> answer;
    {
      const Timer timer(peer(id).seconds);
      SHOAL_ASSIGN(const UnmaskRequest request, decode_unmask_request(bytes));
      SHOAL_ASSIGN(const UnmaskAnswer revealed, peer(id).client.unmask(request));
      answer = up(id, encode(revealed));
    }
    const Timer timer(server_seconds_);
    SHOAL_ASSIGN(UnmaskAnswer revealed, decode_unmask_answer(answer));
    SHOAL_TRY(server_->receive(std::move(revealed)));
  }
  return {};
}

Result<SimulatedRound> Simulation::run(const Secret& seed) {
  KeyStream random(seed);
  Secret of_server;
  random.fill(of_server);
  SHOAL_ASSIGN(server_, Server::create(options_, of_server));
  SHOAL_TRY(advertise(random));
  SHOAL_TRY(share());
  SHOAL_TRY(mask());
  SHOAL_TRY(unmask());
  SimulatedRound round;
  {
    const Timer timer(server_seconds_);
    SHOAL_ASSIGN(round.sum, server_->finish());
  }
  for (const auto& [id, one] : peers_) {
    round.sent = std::max(round.sent, one.sent);
    round.received = std::max(round.received, one.received);
  }
  for (const uint32_t id : round.sum.clients) round.client_seconds += peer(id).seconds;
  round.client_seconds /= static_cast<double>(round.sum.clients.size());
  round.server_seconds = server_seconds_;
  return round;
}

}  // namespace

// clients * (2^value_bits - 1) < 2^bits
int value_bits_for(size_t clients, int bits) {
  SHOAL_CHECK(clients > 0);
  return bits - static_cast<int>(std::bit_width(clients - 1));
}

Result<std::vector<uint32_t>> quantise(std::span<const float> elements,
                                       const Quantisation& quantisation) {
  const double unit = unit_of(quantisation);
  std::vector<uint32_t> integers(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!std::isfinite(elements[i])) return invalid("an element is no number");
    const double x = std::clamp(double{elements[i]}, -quantisation.range, quantisation.range);
    integers[i] = static_cast<uint32_t>(std::llround((x + quantisation.range) / unit));
  }
  return integers;
}

std::vector<float> sum_from(std::span<const uint32_t> sum, size_t count,
                            const Quantisation& quantisation) {
  const double unit = unit_of(quantisation),
               offset = quantisation.range * static_cast<double>(count);
  std::vector<float> real(sum.size());
  for (size_t i = 0; i < sum.size(); ++i) real[i] = static_cast<float>(sum[i] * unit - offset);
  return real;
}

Result<SimulatedRound> simulate_round(const RoundOptions& options, const Vectors& vectors,
                                      const Drops& drops, const Secret& seed) {
  SHOAL_TRY(check(options));
  return Simulation(options, vectors, drops).run(seed);
}

Result<SecureSum> sum_securely(std::span<const std::vector<float>> vectors, double range,
                               const Drops& drops) {
  if (vectors.size() < 3) return invalid("a secure sum is of 3 vectors at least");
  const RoundOptions options = plan_round(vectors.size(), vectors[0].size());
  const Quantisation quantisation{range, value_bits_for(vectors.size(), options.bits)};
  std::vector<std::vector<uint32_t>> integers;
  for (const std::vector<float>& vector : vectors) {
    if (vector.size() != options.length) return invalid("vectors have different lengths");
    SHOAL_ASSIGN(std::vector<uint32_t> of_client, quantise(vector, quantisation));
    integers.push_back(std::move(of_client));
  }
  SHOAL_ASSIGN(const Secret seed, fresh_secret());
  SHOAL_ASSIGN(SimulatedRound round,
               simulate_round(
                   options, [&](uint32_t id) { return integers[id]; }, drops, seed));
  return SecureSum{.sum = sum_from(round.sum.elements, round.sum.clients.size(), quantisation),
                   .clients = std::move(round.sum.clients),
                   .sent = round.sent,
                   .received = round.received,
                   .client_seconds = round.client_seconds,
                   .server_seconds = round.server_seconds};
}

}  // namespace shoal::secure_sum
