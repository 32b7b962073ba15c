#include <string>

#include "../exit_codes.h"
#include "../model.h"
#include "apps/commands/catalog/catalog.h"
#include "apps/commands/catalog/task_file.h"
#include "learning.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal catalog build lenet.toml -o lenet      widths, int8 and what else the file asks for
  shoal catalog build lenet.toml -o lenet      again: only what is missing, or has other settings
  shoal serve --catalog lenet --budget energy=50)";

struct BuildFlags {
  std::string task, out, steps;
  bool json = false;
};

Outcome build_and_print(const BuildFlags& flags) {
  SHOAL_OR_EXIT(config::CatalogTask task, Exit::kUsage, config::read_task(flags.task));
  task.options.out = flags.out;
  task.options.steps = flags.steps;
  SHOAL_OR_EXIT(const auto learns, Exit::kDevice, make_device(task.recipe.training_device()));
  SHOAL_OR_EXIT(const auto runs, Exit::kDevice, make_device(task.recipe.measured_device()));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(task.recipe.model));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(task.options.shrink.recipe));
  NetworkLine line;
  const auto result =
      catalog::build({*learns, *runs}, model, data, task.options, shrink_callbacks(line));
  if (result.status().code() == Code::kCancelled) {
    return {Exit::kInterrupted, "interrupted; the same command goes on"};
  }
  return print_result(result, flags.json);
}

}  // namespace

void add_catalog_build(Command& catalog, Action& action) {
  const auto [command, flags] =
      add_command(catalog, action, "build", "Make, measure and store the variants of a task",
                  kExamples, build_and_print);
  command.add_option("TASK", flags.task, "A file: the network, its data, the variants")->required();
  command.add_option("--out,--output,-o", flags.out, "The folder to write")->required();
  command.add_option("--steps", flags.steps,
                     "A folder for what is made already (default: like --out, .steps)");
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
