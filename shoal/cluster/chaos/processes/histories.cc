// The program writes a line of JSON now and then: what has been counted so far. The last one is
// about all histories.
#include "shoal/cluster/chaos/processes/histories.h"

#include "shoal/base/processes/process.h"
#include "shoal/base/text/json_text.h"

namespace shoal::chaos {
namespace {

// A history that goes round in circles is ended after 30 s of computing, so lines may be late.
constexpr std::chrono::minutes kLongest{10};

Result<Campaign> campaign_of(std::string_view line) {
  Campaign campaign;
  JsonText text(line, "histories");
  SHOAL_TRY(text.object([&](const std::string& key) -> Status {
    if (key == "histories") return text.number(campaign.histories);
    if (key == "violations") return text.number(campaign.violations);
    if (key == "first_bad_seed") return text.number(campaign.first_bad_seed);
    if (key == "requests") return text.number(campaign.requests);
    if (key == "answered") return text.number(campaign.answered);
    if (key == "failed") return text.number(campaign.failed);
    if (key == "replayed") return text.number(campaign.replayed);
    if (key != "first_violation") return text.skip();
    SHOAL_ASSIGN(campaign.first_violation, text.text());
    return {};
  }));
  return campaign;
}

}  // namespace

Facts facts_of(const Campaign& campaign) {
  return {counted("histories", campaign.histories, "histories"),
          counted("requests", campaign.requests, "requests"),
          counted("answered", campaign.answered, "answered"),
          counted("failed", campaign.failed, "failed"),
          counted("replayed", campaign.replayed, "replayed"),
          counted("violations", campaign.violations, "violations"),
          {"first_bad_seed", campaign.first_bad_seed}};
}

Result<Campaign> live_through(const HistoryOptions& options) {
  const auto program = options.program.empty() ? find_program("shoal-simulation") : options.program;
  if (program.empty()) {
    return Status(Code::kUnsupported,
                  "histories need shoal-simulation, which is not beside this program");
  }
  SHOAL_ASSIGN(
      Process process,
      Process::start({program.string(), "--json", "--seed", std::to_string(options.seed), "--count",
                      std::to_string(options.histories), "--jobs", std::to_string(options.jobs)},
                     {.environment = {{"LD_BIND_NOW", "1"}},  // not again in each history
                      .pipe_output = true,
                      .terminal_signals = true}));
  Campaign campaign;
  for (;;) {
    const auto line = process.read_line(kLongest);
    if (line.status().code() == Code::kUnavailable) break;
    if (!line.ok()) return line.status().at(program.string());
    SHOAL_ASSIGN(campaign, campaign_of(*line));
    if (options.at) options.at(campaign.histories);
  }
  process.wait();
  if (campaign.histories == options.histories) return campaign;
  return Status(Code::kInternal, program.string() + " ended after " +
                                     std::to_string(campaign.histories) + " histories");
}

}  // namespace shoal::chaos
