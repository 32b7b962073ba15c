#include "shoal/shrink/search/search_facts.h"

namespace shoal::search {

Json to_json(const SearchResult& result) {
  Json found = Json::array();
  for (const Found& one : result.found) {
    found.push_back({{"name", one.name},
                     {"ms", one.ms},
                     {"top1", one.top1},
                     {"macs", one.macs},
                     {"parameters", one.parameters},
                     {"front", one.on_front}});
  }
  return {{"best", result.found[0].name},  {"top1", result.test_top1},
          {"ms", result.found[0].ms},      {"ms_fastest", result.fastest_ms},
          {"ms_staged", result.staged_ms}, {"drawn", result.drawn},
          {"simulated", result.simulated}, {"found", std::move(found)},
          {"seconds", result.seconds}};
}

std::vector<Facts> rows_of(const SearchResult& result) {
  std::vector<Facts> rows;
  for (const Found& one : result.found) {
    rows.push_back({shown("network", one.name),
                    shown("top-1 (held out)", fixed(one.top1, 2) + " %"),
                    shown("ms", fixed(one.ms, 3)),
                    shown("MACs", fixed(static_cast<double>(one.macs) / 1e6, 2) + " M"),
                    shown("parameters", std::to_string(one.parameters)),
                    shown("front", one.on_front ? "*" : "")});
  }
  return rows;
}

std::vector<std::string> lines_of(const SearchResult& result) {
  return {result.found[0].name + ": " + fixed(result.test_top1, 2) +
          " % on test images; the fastest network takes " + fixed(result.fastest_ms, 3) +
          " ms, with stages " + fixed(result.staged_ms, 3)};
}

}  // namespace shoal::search
