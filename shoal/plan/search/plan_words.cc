#include "shoal/plan/search/plan_words.h"

#include <algorithm>
#include <array>

namespace shoal::plan {
namespace {

constexpr std::array kCuts = {Cut::kNone, Cut::kRows,     Cut::kColumns, Cut::kInputs,
                              Cut::kGrid, Cut::kChannels, Cut::kBatch,   Cut::kClusters};
constexpr std::array kFormats = {WireFormat::kF32, WireFormat::kF16, WireFormat::kI8};

std::string word_of(Cut cut) { return cut == Cut::kNone ? "none" : std::string(name_of(cut)); }

}  // namespace

std::vector<std::string> cut_names() {
  std::vector<std::string> names;
  for (Cut cut : kCuts) names.push_back(word_of(cut));
  return names;
}

void force_cut(std::string_view name, PlanOptions& options) {
  const auto found = std::ranges::find(kCuts, name, word_of);
  SHOAL_CHECK(found != kCuts.end());
  options.forced = true;
  options.cuts = {*found};
}

std::vector<std::string> wire_format_names() {
  std::vector<std::string> names;
  for (WireFormat format : kFormats) names.emplace_back(name_of(format));
  return names;
}

WireFormat find_wire_format(std::string_view name) {
  const auto found =
      std::ranges::find_if(kFormats, [&](WireFormat format) { return name_of(format) == name; });
  SHOAL_CHECK(found != kFormats.end());
  return *found;
}

}  // namespace shoal::plan
