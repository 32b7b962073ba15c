// shoal search: networks whose layers are wired for several devices.
#include "shoal/search/search.h"

#include <optional>
#include <string>

#include "../exit_codes.h"
#include "../progress.h"
#include "network_line.h"
#include "print_result.h"
#include "shoal/base/atomic_file.h"
#include "shoal/report/search_page.h"
#include "shoal/search/facts.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal search --units 8 --macs 20e6 --data cifar10 --format cifar --epochs 4 --minutes 30 -o found
  shoal search --units 4 --on pi3 --link wifi-94 --macs 5e6 --trained 20 --data photos --format folder -o found
                                           the same command again goes on where it was)";

struct SearchFlags {
  TrainFlags train;
  search::SearchOptions options;
  double macs = 20e6;
  std::string report;  // an HTML file; empty: none
};

void add_to(SearchFlags& f, Command& command) {
  const FlagGroup search(command, "Search");
  search::SearchOptions& o = f.options;
  f.train.add_recipe_to(command, TrainFlags::Source::kNoModel);
  search.add_setting("--units", o.units, "Devices that compute a network together",
                     in_range(1, 256));
  search.add_setting("--on", o.device, "What they are: pi4, nexus5, ... (see 'shoal plan --help')");
  search.add_setting("--link", o.link, "Their network: gigabit, wifi-94, ...");
  search.add_setting("--macs", f.macs, "Multiply-accumulates of a network for one image",
                     in_range(1e4, 1e12));
  search.add_setting("--vertices", o.vertices, "Layers of a network that are wired at random",
                     in_range(24, 256));
  search.add_setting("--classes", o.classes, "Classes of the data", in_range(2, 1 << 20));
  search.add_setting("--drawn", o.drawn, "Networks that are estimated", in_range(1, 1 << 20));
  search.add_setting("--simulated", o.simulated, "Of them, networks that are simulated",
                     in_range(1, 1 << 20));
  search.add_setting("--trained", o.trained, "Of them, networks that learn", in_range(1, 1 << 20));
  search.add_option("--minutes", o.minutes, "No network begins to learn after so many; 0: no limit",
                    not_negative());
  command.add_option("--out,-o", o.out, "A folder for the networks")->required();
  command.add_option("--report", f.report,
                     "Write the networks by time and accuracy to this HTML file");
}

Outcome search_and_print(const SearchFlags& flags) {
  search::SearchOptions options = flags.options;
  SHOAL_OR_EXIT(options.recipe, Exit::kUsage, flags.train.resolve());
  options.recipe.checkpoint.clear();
  options.macs = static_cast<int64_t>(flags.macs);
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  if (const Status valid = search::check(options); !valid.ok()) return fail(Exit::kUsage, valid);
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
  if (result.ok() && !flags.report.empty()) {
    if (const Status written = write_file(flags.report, report::search_page(*result));
        !written.ok()) {
      return fail(Doing::kTrain, written);
    }
  }
  return print_result(result, flags.train.json);
}

}  // namespace

void add_search(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "search", "Search for networks that several devices compute fast together",
      kExamples, search_and_print);
  add_to(flags, command);
}

}  // namespace shoal::cli
