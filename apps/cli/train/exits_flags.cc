// The flags of 'shoal exits'. Bounds here are for --help; exits::check() has the last word.
#include "exits_flags.h"

#include <charconv>
#include <string_view>

namespace shoal::cli {
namespace {

constexpr std::string_view kAuto = "auto";

// "auto" or "auto:3".
Status read_places(const std::vector<std::string>& at, exits::ExitsOptions& options) {
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
  return invalid("--at takes names of values, or auto:2 for two exits, not " + at[0]);
}

}  // namespace

void ExitsFlags::add_to(Command& command) {
  constexpr const char *kExits = "Exits", *kCalibration = "Calibration", *kFiles = "Files";
  train.add_recipe_to(command);
  command
      .add_option("--at", at, "Values to add exits at, or auto:2 for two at even shares of work")
      ->delimiter(',')
      ->capture_default_str()
      ->group(kExits);
  command
      .add_option("--head", head,
                  "What an exit has before its last layer: conv (strided convolutions) or pool")
      ->check(one_of({"conv", "pool"}))
      ->capture_default_str()
      ->group(kExits);
  command
      .add_flag("--aggregate,!--no-aggregate", aggregate,
                "Exits read the features of the exit before them, too (default)")
      ->group(kExits);
  command
      .add_option("--joint", joint,
                  "Epochs in which the whole network learns, after the exits have learned alone")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str()
      ->group(kExits);
  command.add_option("--joint-rate", joint_rate, "Learning rate in these (default: --rate)")
      ->check(positive())
      ->group(kExits);
  command
      .add_option("--weights", weights,
                  "How much each exit counts in these, the last classifier last (default: 1)")
      ->delimiter(',')
      ->group(kExits);
  command
      .add_option("--distill", distill,
                  "Share of the loss that is about the answers of the model as it was given")
      ->check(in_range(0.0, 1.0))
      ->group(kExits);
  command.add_option("--temperature", temperature, "At which answers are compared")
      ->check(positive())
      ->capture_default_str()
      ->group(kExits);
  command.add_option("--focal", train.options.loss.focal, "Let what is known well count less: 2")
      ->check(not_negative())
      ->group(kExits);
  command
      .add_option("--feature-cache", train.feature_cache_mb,
                  "MB for the features of images that are not augmented, computed once")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str()
      ->group(kExits);
  Option* wanted =
      command.add_option("--precision", precision, "Share of right answers of an exit")
          ->check(in_range(0.01, 0.9999))
          ->capture_default_str()
          ->group(kCalibration);
  command.add_option("--risk", risk, "That an exit does not have it on other images")
      ->check(in_range(0.0001, 0.5))
      ->capture_default_str()
      ->group(kCalibration);
  command
      .add_option("--max-drop", max_drop,
                  "Instead: so many points below the last classifier, on held-out images")
      ->check(not_negative())
      ->excludes(wanted)
      ->group(kCalibration);
  command.add_option("--out,-o", train.options.out, "The ONNX file to write")
      ->required()
      ->group(kFiles);
  command.add_option("--stages", stages, "A folder for the stages as files of their own")
      ->group(kFiles);
}

Result<exits::ExitsOptions> ExitsFlags::resolve() const {
  exits::ExitsOptions options;
  SHOAL_TRY(read_places(at, options));
  SHOAL_ASSIGN(options.recipe, train.resolve());
  options.recipe.checkpoint.clear();
  options.recipe.loss.distill = distill;
  options.recipe.loss.temperature = temperature;
  options.head = {
      .kind = head == "pool" ? exits::HeadOptions::Kind::kPool : exits::HeadOptions::Kind::kConv,
      .aggregate = aggregate,
      .seed = options.recipe.seed};
  options.joint_epochs = joint;
  options.joint_rate = joint_rate;
  options.joint_weights = weights;
  options.wanted = {.precision = precision, .risk = risk};
  if (max_drop >= 0) options.max_drop = max_drop;
  options.out = train.options.out;
  options.stages = stages;
  return options;
}

}  // namespace shoal::cli
