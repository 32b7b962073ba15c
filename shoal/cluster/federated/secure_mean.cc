#include "shoal/cluster/federated/secure_mean.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "shoal/train/secure_sum/simulate.h"

namespace shoal::federated_cluster {
namespace {

using federated::ClientReport;
using federated::SecretMean;
using federated::Weights;

constexpr size_t kExtra = 3;            // elements behind the weights
constexpr uint32_t kMostCount = 65535;  // so that their sum does not wrap around
constexpr double kLossUnit = 1.0 / 1024;
constexpr size_t kMostClients = 65535;

secure_sum::Quantisation quantisation_of(const SecureCode& code) {
  return {code.range, secure_sum::value_bits_for(code.clients, 32)};
}

}  // namespace

Status check(const SecureCode& code) {
  if (!(code.range > 0) || !std::isfinite(code.range)) {
    return invalid("the range of a secure sum is a number above 0");
  }
  if (code.clients < 3 || code.clients > kMostClients) {
    return invalid("a secure sum of weights is of 3 to 65535 clients");
  }
  const int64_t most = (int64_t{1} << 32) / static_cast<int64_t>(code.clients);
  if (code.most_examples < 1 || code.most_examples > most - 1) {
    return invalid("clients of a secure sum have 1 to " + std::to_string(most - 1) + " examples");
  }
  return {};
}

size_t vector_length(const Weights& weights) {
  size_t length = kExtra;
  for (const auto& [name, tensor] : weights) length += static_cast<size_t>(tensor.count());
  return length;
}

Result<std::vector<uint32_t>> vector_of(const Weights& from, const ClientReport& report,
                                        double loss, const SecureCode& code) {
  if (report.examples <= 0 || report.examples > code.most_examples || !std::isfinite(loss)) {
    return invalid("a client learned from no examples, or from too many");
  }
  const double factor =
      static_cast<double>(report.examples) / static_cast<double>(code.most_examples);
  std::vector<float> changes;
  changes.reserve(vector_length(from));
  uint64_t clamped = 0;
  for (const auto& [name, before] : from) {
    const auto found = report.weights.find(name);
    if (found == report.weights.end() || found->second.type() != before.type()) {
      return invalid("weights of another network");
    }
    const auto v = found->second.data<float>(), w = before.data<float>();
    for (size_t i = 0; i < w.size(); ++i) {
      const double change = double{v[i]} - double{w[i]};
      clamped += std::abs(change) > code.range ? 1 : 0;
      const double within = std::clamp(change, -code.range, code.range);
      changes.push_back(static_cast<float>(std::isfinite(change) ? factor * within : change));
    }
  }
  SHOAL_ASSIGN(std::vector<uint32_t> vector, secure_sum::quantise(changes, quantisation_of(code)));
  vector.push_back(static_cast<uint32_t>(report.examples));
  vector.push_back(static_cast<uint32_t>(std::min<uint64_t>(clamped, kMostCount)));
  const double units = std::clamp(loss / kLossUnit, 0.0, double{kMostCount});
  vector.push_back(static_cast<uint32_t>(units));
  return vector;
}

Result<SecureResult> mean_from(const secure_sum::Sum& sum, const Weights& from,
                               const SecureCode& code) {
  const size_t clients = sum.clients.size();
  SHOAL_CHECK(sum.elements.size() == vector_length(from) && clients > 0);
  const std::span<const uint32_t> all(sum.elements);
  const auto extra = all.last(kExtra);
  if (extra[0] == 0) return Status(Code::kCorrupt, "clients of a secure sum have no examples");
  const double times = static_cast<double>(code.most_examples) / static_cast<double>(extra[0]);
  const std::vector<float> changes =
      secure_sum::sum_from(all.first(all.size() - kExtra), clients, quantisation_of(code));
  SecureResult result{.mean = {.clients = clients, .clamped = extra[1]},
                      .loss = extra[2] * kLossUnit / static_cast<double>(clients)};
  size_t next = 0;
  for (const auto& [name, before] : from) {
    Tensor tensor = before.clone();
    for (float& element : tensor.data<float>()) {
      element = static_cast<float>(double{element} + times * double{changes[next++]});
    }
    result.mean.weights[name] = std::move(tensor);
  }
  return result;
}

federated::MergeSecretly merge_by_secure_sum(double range) {
  return [range](uint64_t round, const Weights& from,
                 std::span<const std::optional<ClientReport>> reports) -> Result<SecretMean> {
    SecureCode code{.range = range, .clients = reports.size()};
    for (const auto& one : reports) {
      const auto examples = static_cast<uint64_t>(one ? std::max<int64_t>(one->examples, 1) : 1);
      code.most_examples =
          std::max(code.most_examples, static_cast<int64_t>(std::bit_ceil(examples)));
    }
    if (reports.size() < 3) return Status(Code::kUnavailable, "too few clients for a secure sum");
    SHOAL_TRY(check(code));
    std::vector<std::optional<std::vector<uint32_t>>> vectors(reports.size());
    for (size_t i = 0; i < reports.size(); ++i) {
      if (!reports[i]) continue;
      SHOAL_ASSIGN(vectors[i], vector_of(from, *reports[i], 0, code));
    }
    secure_sum::RoundOptions options = secure_sum::plan_round(reports.size(), vector_length(from));
    options.round = round;
    SHOAL_ASSIGN(const secure_sum::Secret seed, secure_sum::fresh_secret());
    SHOAL_ASSIGN(const secure_sum::SimulatedRound done,
                 secure_sum::simulate_round(
                     options, [&](uint32_t id) { return *vectors[id]; },
                     [&](uint32_t id, secure_sum::Moment moment) {
                       return moment == secure_sum::Moment::kMask && !vectors[id];
                     },
                     seed));
    SHOAL_ASSIGN(SecureResult result, mean_from(done.sum, from, code));
    const double plain = static_cast<double>((vector_length(from) - kExtra) * sizeof(float));
    result.mean.cost = {.bytes = static_cast<double>(done.sent + done.received),
                        .plain_bytes = plain,
                        .client_seconds = done.client_seconds,
                        .server_seconds = done.server_seconds};
    return std::move(result.mean);
  };
}

}  // namespace shoal::federated_cluster
