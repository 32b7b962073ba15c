#include "shoal/shrink/exits/learning/exit_words.h"

#include <charconv>
#include <sstream>
#include <string_view>

namespace shoal::exits {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kCalibrated = "calibrated";

}  // namespace

Status set_places(const std::vector<std::string>& at, ExitsOptions& options) {
  const bool automatic = at.size() == 1 && at[0].starts_with(kAuto) &&
                         (at[0].size() == kAuto.size() || at[0][kAuto.size()] == ':');
  if (!automatic) {
    options.at = at;
    return {};
  }
  if (at[0].size() == kAuto.size()) return {};
  const char* const end = at[0].data() + at[0].size();
  const auto [stopped, error] =
      std::from_chars(at[0].data() + kAuto.size() + 1, end, options.automatic);
  if (error == std::errc() && stopped == end && options.automatic > 0) return {};
  return invalid("at takes names of values, or auto:2 for two exits, not " + at[0]);
}

Result<std::vector<double>> thresholds_in(const std::string& text, std::span<const Exit> exits) {
  std::vector<double> thresholds;
  if (text == kCalibrated) {
    for (const Exit& exit : exits) thresholds.push_back(exit.threshold);
    return thresholds;
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    double threshold = 0;
    const char* const end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, threshold);
    if (error != std::errc() || stopped != end || !(threshold >= 0)) {
      return invalid("exits takes probabilities such as 0.9,0.95, not " + text);
    }
    thresholds.push_back(threshold);
  }
  if (thresholds.size() == exits.size()) return thresholds;
  return invalid("exits has " + std::to_string(thresholds.size()) + " probabilities for " +
                 std::to_string(exits.size()) + " exits");
}

}  // namespace shoal::exits
