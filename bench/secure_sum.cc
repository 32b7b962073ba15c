// Secure aggregation in one process, one JSON line per round: bytes of a client over those of its
// vector alone, and the time that a client and the server compute.
//   bench_secure_sum CLIENTS LENGTH [BITS]
// Half of the lines are of rounds in which a third of the clients drops out before it sends its
// vector, which costs the server most.
#include <cstdio>
#include <cstdlib>

#include "shoal/train/secure_sum/simulate.h"

namespace shoal::secure_sum {
namespace {

std::vector<uint32_t> vector_of(const RoundOptions& options, uint32_t client) {
  std::vector<uint32_t> values(options.length);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = (client * 2654435761u + static_cast<uint32_t>(i) * 40503u) >> (32 - options.bits);
  }
  return values;
}

void measure(const RoundOptions& options, bool with_drops) {
  const Drops drops = [&](uint32_t client, Moment moment) {
    return with_drops && client % 3 == 0 && client / 3 < options.clients / 3 &&
           moment == Moment::kMask;
  };
  const auto seed = fresh_secret();
  SHOAL_CHECK(seed.ok());
  const auto round = simulate_round(
      options, [&](uint32_t id) { return vector_of(options, id); }, drops, *seed);
  if (!round.ok()) {
    std::fprintf(stderr, "%s\n", std::string(round.status().message()).c_str());
    std::exit(1);
  }
  std::vector<uint32_t> expected(options.length);
  for (const uint32_t id : round->sum.clients) {
    const std::vector<uint32_t> values = vector_of(options, id);
    for (size_t i = 0; i < values.size(); ++i) expected[i] += values[i];
  }
  const auto mask = static_cast<uint32_t>((uint64_t{1} << options.bits) - 1);
  bool exact = true;
  for (size_t i = 0; i < expected.size(); ++i) {
    exact = exact && (expected[i] & mask) == round->sum.elements[i];
  }
  const double plain = 4.0 * static_cast<double>(options.length);
  const auto sent = static_cast<double>(round->sent);
  const auto both = static_cast<double>(round->sent + round->received);
  std::printf(
      "{\"bench\":\"secure_sum\",\"clients\":%zu,\"length\":%zu,\"bits\":%d,\"neighbours\":%zu,"
      "\"threshold\":%zu,\"in_sum\":%zu,\"exact\":%s,\"sent\":%.0f,\"sent_and_received\":%.0f,"
      "\"ratio_sent\":%.4f,\"ratio_both\":%.4f,\"client_ms\":%.2f,\"server_ms\":%.1f}\n",
      options.clients, options.length, options.bits, options.neighbours, options.threshold,
      round->sum.clients.size(), exact ? "true" : "false", sent, both, sent / plain, both / plain,
      round->client_seconds * 1e3, round->server_seconds * 1e3);
  std::fflush(stdout);
}

}  // namespace
}  // namespace shoal::secure_sum

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  const auto options = shoal::secure_sum::plan_round(number(1), number(2),
                                                     argc > 3 ? static_cast<int>(number(3)) : 32);
  if (!shoal::secure_sum::check(options).ok()) return 2;
  for (const bool with_drops : {false, true}) shoal::secure_sum::measure(options, with_drops);
}
