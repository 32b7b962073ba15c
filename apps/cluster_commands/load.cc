#include "apps/cluster_commands/load.h"

#include <sstream>

#include "shoal/cluster/net/text_file.h"

namespace shoal::serve {
namespace {

// The first word of a file.
Result<std::string> key_in(const std::string& path) {
  SHOAL_ASSIGN(const std::string text, net::read_secret(path));
  std::string key;
  std::istringstream(text) >> key;
  if (key.empty()) return invalid("there is no key in " + path);
  return key;
}

}  // namespace

Result<LoadOptions> LoadSettings::options() const {
  LoadOptions all{.url = url,
                  .model = model,
                  .clients = static_cast<size_t>(clients),
                  .time = std::chrono::duration<double>(seconds),
                  .rate = rate,
                  .items = items,
                  .timeout_us = timeout_us};
  if (!key_file.empty()) {
    SHOAL_ASSIGN(all.key, key_in(key_file));
  }
  if (!trusted_file.empty()) {
    SHOAL_ASSIGN(all.trusted, net::read_text(trusted_file));
  }
  return all;
}

SettingList settings_of(LoadSettings& s) {
  return {
      Setting("key", s.key_file, "A file with the key that requests show"),
      Setting("trust", s.trusted_file,
              "Certificates (PEM) that the server's leads to; without: those of the system"),
      Setting("clients", s.clients, "Each sends one request after another").in(1, 10'000),
      Setting("seconds", s.seconds, "For so long").positive(),
      Setting("rate", s.rate,
              "Requests per second of all clients together; without: each sends its next one when "
              "it has an answer")
          .positive(),
      Setting("items", s.items, "Items of a request: its batch").in(1, 1 << 20),
      Setting("timeout", s.timeout_us,
              "Microseconds that each request may take; 0: as the server says")
          .not_negative(),
  };
}

Facts facts_of(const LoadResult& result, const LoadOptions& options) {
  const LatencyRecorder& answered = result.answered;
  return {{"model", options.model},
          {"clients", options.clients},
          {"seconds", result.seconds},
          {"answered", answered.count(), "answered"},
          {"refused", result.refused.count(), "refused"},
          {"failed", result.failed, "failed"},
          {"answered_per_s", static_cast<double>(answered.count()) / result.seconds, "per s", 1},
          {"mean_ms", answered.mean()},
          {"p50_ms", answered.quantile(0.5), "p50 ms", 3},
          {"p90_ms", answered.quantile(0.9), "p90 ms", 3},
          {"p99_ms", answered.quantile(0.99), "p99 ms", 3},
          {"max_ms", answered.max()},
          {"refusal_p99_ms", result.refused.quantile(0.99)}};
}

}  // namespace shoal::serve
