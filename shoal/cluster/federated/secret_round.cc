#include "shoal/cluster/federated/secret_round.h"

#include <algorithm>
#include <chrono>

#include "shoal/base/timing/seconds_since.h"
#include "shoal/train/federated/federated_options.h"

namespace shoal::federated_cluster {
namespace {

using Clock = std::chrono::steady_clock;

Status check_sender(uint32_t said, uint32_t seat) {
  return said == seat ? Status() : Status(Code::kCorrupt, "a client speaks for another");
}

}  // namespace

Result<SecretRound> SecretRound::create(int64_t round, const federated::Weights& from,
                                        const SecureCode& code) {
  SHOAL_TRY(check(code));
  secure_sum::RoundOptions options = secure_sum::plan_round(code.clients, vector_length(from));
  options.round = static_cast<uint64_t>(round);
  SHOAL_ASSIGN(secure_sum::Secret seed, secure_sum::fresh_secret());
  SHOAL_ASSIGN(secure_sum::Server server, secure_sum::Server::create(options, seed));
  secure_sum::forget(seed);
  return SecretRound(options, code, std::move(server));
}

Status SecretRound::take(uint32_t seat, std::span<const std::byte> bytes, double seconds) {
  const auto begin = Clock::now();
  const std::span words(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const Status received = receive(seat, words);
  seconds_ += seconds_since(begin);
  costs_[seat].bytes += static_cast<double>(bytes.size());
  costs_[seat].seconds += seconds;
  return received;
}

Status SecretRound::receive(uint32_t seat, std::span<const uint8_t> bytes) {
  switch (phase_) {
    case Phase::kKeys: {
      SHOAL_ASSIGN(const auto message, secure_sum::decode_advertisement(bytes));
      SHOAL_TRY(check_sender(message.client, seat));
      return server_.receive(message);
    }
    case Phase::kShares: {
      SHOAL_ASSIGN(auto message, secure_sum::decode_shared_secrets(bytes));
      SHOAL_TRY(check_sender(message.client, seat));
      return server_.receive(std::move(message));
    }
    case Phase::kVectors: {
      SHOAL_ASSIGN(const auto message, secure_sum::decode_masked_vector(bytes, options_));
      SHOAL_TRY(check_sender(message.client, seat));
      return server_.receive(message);
    }
    case Phase::kUnmask: {
      SHOAL_ASSIGN(auto message, secure_sum::decode_unmask_answer(bytes));
      SHOAL_TRY(check_sender(message.client, seat));
      return server_.receive(std::move(message));
    }
    case Phase::kOver:
      break;
  }
  return Status(Code::kCorrupt, "a message after the sum");
}

template <class Messages>
std::map<uint32_t, std::vector<std::byte>> SecretRound::encoded(const Messages& messages) {
  std::map<uint32_t, std::vector<std::byte>> all;
  for (const auto& [seat, message] : messages) {
    const std::vector<uint8_t> words = encode(message);
    const auto bytes = std::as_bytes(std::span(words));
    costs_[seat].bytes += static_cast<double>(bytes.size());
    all[seat] = {bytes.begin(), bytes.end()};
  }
  return all;
}

Result<std::map<uint32_t, std::vector<std::byte>>> SecretRound::close() {
  const auto begin = Clock::now();
  std::map<uint32_t, std::vector<std::byte>> messages;
  switch (phase_) {
    case Phase::kKeys: {
      SHOAL_ASSIGN(const auto keys, server_.close_advertising());
      messages = encoded(keys);
      break;
    }
    case Phase::kShares: {
      SHOAL_ASSIGN(const auto deliveries, server_.close_sharing());
      messages = encoded(deliveries);
      break;
    }
    case Phase::kVectors: {
      SHOAL_ASSIGN(const auto requests, server_.close_masking());
      messages = encoded(requests);
      break;
    }
    case Phase::kUnmask: {
      SHOAL_ASSIGN(sum_, server_.finish());
      break;
    }
    case Phase::kOver:
      break;
  }
  phase_ = static_cast<Phase>(static_cast<int>(phase_) + 1);
  seconds_ += seconds_since(begin);
  return messages;
}

Result<SecureResult> SecretRound::result(const federated::Weights& from) const {
  SHOAL_CHECK(phase_ == Phase::kOver);
  SHOAL_ASSIGN(SecureResult result, mean_from(sum_, from, code_));
  federated::SecretCost& cost = result.mean.cost;
  cost = {.plain_bytes = federated::bytes_of(from), .server_seconds = seconds_};
  for (const auto& [seat, one] : costs_) cost.bytes = std::max(cost.bytes, one.bytes);
  for (const uint32_t seat : sum_.clients) cost.client_seconds += costs_.at(seat).seconds;
  cost.client_seconds /= static_cast<double>(sum_.clients.size());
  return result;
}

}  // namespace shoal::federated_cluster
