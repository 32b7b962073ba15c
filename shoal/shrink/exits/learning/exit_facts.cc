#include "shoal/shrink/exits/learning/exit_facts.h"

namespace shoal::exits {
namespace {

Json json_of(const Figures& figures) {
  return {{"top1", figures.top1},
          {"exit_share", figures.share},
          {"exit_precision", figures.precision},
          {"mean_macs", figures.mean_macs}};
}

std::string millions(double count) { return fixed(count / 1e6, 3) + " M"; }

}  // namespace

Json to_json(const ExitsResult& result) {
  Json exits = Json::array();
  for (size_t i = 0; i < result.exits.size(); ++i) {
    exits.push_back({{"at", result.exits[i].at},
                     {"scores", result.exits[i].scores},
                     {"threshold", result.exits[i].threshold},
                     {"top1", result.top1[i]}});
  }
  Json json = json_of(result.test);
  json.update({{"exits", std::move(exits)},
               {"top1_last", result.top1.back()},
               {"top1_before", result.top1_before},
               {"macs_before", result.macs_before},
               {"stage_macs", result.stage_macs},
               {"held_out", json_of(result.held_out)},
               {"seconds", result.seconds}});
  return json;
}

std::vector<Facts> rows_of(const ExitsResult& result) {
  std::vector<Facts> rows;
  int64_t macs = 0;
  for (size_t i = 0; i < result.stage_macs.size(); ++i) {
    const bool last = i == result.exits.size();
    const double threshold = last ? 0 : result.exits[i].threshold;
    macs += result.stage_macs[i];
    rows.push_back({shown("exit", last ? "the last" : result.exits[i].at),
                    shown("top-1", fixed(result.top1[i], 2) + " %"),
                    shown("threshold", last            ? ""
                                       : threshold > 1 ? "never"
                                                       : fixed(threshold, 4)),
                    shown("answers", fixed(100 * result.test.share[i], 1) + " %"),
                    shown("precision", fixed(result.test.precision[i], 2) + " %"),
                    shown("MACs", millions(static_cast<double>(macs)))});
  }
  return rows;
}

std::vector<std::string> lines_of(const ExitsResult& result) {
  return {"all: top-1 " + fixed(result.test.top1, 2) + " %, " + millions(result.test.mean_macs) +
          " MACs per image; before: " + fixed(result.top1_before, 2) + " %, " +
          millions(static_cast<double>(result.macs_before))};
}

}  // namespace shoal::exits
