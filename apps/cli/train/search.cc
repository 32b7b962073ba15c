// shoal search: networks whose layers are wired for several devices.
#include "apps/commands/training/search.h"

#include <optional>
#include <string>

#include "../exit_codes.h"
#include "learning.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/report/pages/search_page.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal search --units 8 --macs 20e6 --data cifar10 --format cifar --epochs 4 --minutes 30 -o found
  shoal search --units 4 --on pi3 --link wifi-94 --macs 5e6 --trained 20 --data photos --format folder -o found
                                           the same command again goes on where it was)";

struct SearchFlags : search::SearchSettings {
  TrainFlags train;
};

Outcome search_and_print(const SearchFlags& flags) {
  SHOAL_OR_EXIT(fit::TrainingOptions recipe, Exit::kUsage, flags.train.resolve());
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  SHOAL_OR_EXIT(const search::SearchOptions options, Exit::kUsage,
                resolve(flags, std::move(recipe)));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(options.recipe));
  NetworkLine line;
  std::optional<ProgressBar> candidates;
  const search::SearchCallbacks callbacks{
      .on_candidate =
          [&](size_t done, size_t total) {
            if (!candidates) candidates.emplace("candidates", total);
            candidates->at(done, "");
          },
      .on_step = [&](std::string_view network,
                     const fit::StepReport& step) { line.show(network, step); },
      .on_note =
          [&](const std::string& note) {
            candidates.reset();
            line.note(note);
          },
      .cancel = cancel_on_signals()};
  const auto result = search::search(*device, data, options, callbacks);
  return print_result(result, flags.train.json, flags.train.report, report::search_page);
}

}  // namespace

void add_search(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "search", "Search for networks that several devices compute fast together",
      kExamples, search_and_print);
  flags.train.add_recipe_to(command, TrainFlags::Source::kNoModel);
  command.add(under("Search", settings_of(flags)));
  command.add_option("--out,--output,-o", flags.options.out, "A folder for the networks")
      ->required();
  command.add_option("--report,--html", flags.train.report,
                     "Write the networks by time and accuracy to this HTML file");
}

}  // namespace shoal::cli
