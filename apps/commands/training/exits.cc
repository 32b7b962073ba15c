// Bounds are for --help; check() has the last word.
#include "apps/commands/training/exits.h"

#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>

namespace shoal::exits {
namespace {

Json json_of(const Figures& figures) {
  return {{"top1", figures.top1},
          {"exit_share", figures.share},
          {"exit_precision", figures.precision},
          {"mean_macs", figures.mean_macs}};
}

std::string millions(double count) { return fixed(count / 1e6, 3) + " M"; }

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kCalibrated = "calibrated";

}  // namespace

SettingList exit_settings(ExitsSettings& s) {
  ExitsOptions& o = s.options;
  return {
      Setting("at", s.at, "Values to add exits at, or auto:2 for two at even shares of work")
          .separated_by_commas(),
      Setting("head", s.head,
              "What an exit has before its last layer: conv (strided convolutions) or pool")
          .one_of({"conv", "pool"}),
      {"aggregate", o.head.aggregate,
       "Exits read the features of the exit before them, too (default)"},
      Setting("joint", o.joint_epochs,
              "Epochs in which the whole network learns, after the exits have learned alone")
          .in(0, 1 << 20)
          .showing_default(),
      Setting("joint-rate", o.joint_rate, "Learning rate in these (default: --rate)").positive(),
      {"no-norms", s.no_norms,
       "In these, learn without batch norms behind convolutions that were given without"},
      {"weights", o.joint_weights,
       "How much each exit counts in these, the last classifier last (default: 1)"},
      Setting("self-distill", o.self_distill,
              "Share of an exit's loss in these that is about the last classifier's answers")
          .in(0, 1),
      Setting("distill", s.loss.distill,
              "Share of the loss that is about the answers of the model as it was given")
          .in(0, 1),
      Setting("temperature", s.loss.temperature, "At which answers are compared").positive(),
      Setting("focal", s.loss.focal, "Let what is known well count less: 2").not_negative(),
      Setting("feature-cache", s.feature_cache_mb,
              "MB for the features of images that are not augmented, computed once")
          .in(0, 1 << 20)};
}

SettingList calibration_settings(ExitsSettings& s) {
  WantedPrecision& wanted = s.options.wanted;
  return {
      Setting("precision", wanted.precision, "Share of right answers of an exit").in(0.01, 0.9999),
      Setting("risk", wanted.risk, "That it does not hold on other images").in(0.0001, 0.5),
      Setting("max-drop", s.max_drop,
              "Instead: lose at most so many points against the last classifier")
          .not_negative()
          .hiding_default()
          .not_with("precision")};
}

Result<ExitsOptions> resolve(const ExitsSettings& settings, fit::TrainingOptions recipe) {
  ExitsOptions all = settings.options;
  SHOAL_TRY(set_places(settings.at, all));
  all.recipe = std::move(recipe);
  all.recipe.checkpoint.clear();
  all.recipe.out = all.out;
  all.recipe.feature_cache_bytes = settings.feature_cache_mb * 1'000'000;
  all.recipe.loss = settings.loss;
  all.head.kind = settings.head == "pool" ? HeadOptions::Kind::kPool : HeadOptions::Kind::kConv;
  all.head.seed = all.recipe.seed;
  all.norms = !settings.no_norms;
  if (settings.max_drop >= 0) all.max_drop = settings.max_drop;
  return all;
}

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
