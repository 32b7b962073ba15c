// shoal branch: a classifier as narrow branches, one for each machine.
#include "apps/commands/training/branch.h"

#include "apps/commands/plans/cluster_file.h"
#include "learning.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal branch zoo:lenet5 --branches 8 --data mnist --format idx -o lcp.onnx
  shoal branch model.onnx --branches 4 --fatten auto --data photos --format folder -o lcp.onnx
                                           as wide as it takes to lose at most 1 point
  shoal branch model.onnx --worker pi3 --data photos --format folder -o lcp.onnx
                                           as few branches as fit the memory of a Pi 3
  shoal branch model.onnx --widths auto --cluster devices.toml --data photos --format folder -o lcp.onnx
                                           one for each device, wider for faster ones
  shoal branch zoo:vgg16 --branches 8      without data: what it would cost, and how fast it would be
  shoal plan lcp.onnx --workers 8 --device pi3     where the branches go)";

struct BranchFlags : branch::BranchSettings {
  TrainFlags train;
  config::ClusterSettings cluster{.workers = 0, .device = "pi3", .link = "ethernet-100"};

  // The devices for the branches: as many as branches, unless a flag says otherwise.
  Result<plan::ClusterProfile> cluster_for(size_t count) const {
    config::ClusterSettings all = cluster;
    if (all.workers == 0) all.workers = count;
    return make_cluster(all);
  }
};

Outcome branch_and_print(const BranchFlags& flags) {
  if (flags.train.model.model.empty()) return {Exit::kUsage, "a model is required"};
  SHOAL_OR_EXIT(fit::TrainingOptions recipe, Exit::kUsage, flags.train.resolve());
  SHOAL_OR_EXIT(const branch::LearnOptions options, Exit::kUsage,
                resolve(flags, std::move(recipe)));
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  std::function<Result<fit::JudgedData>()> open_data;
  if (!options.recipe.data.empty())
    open_data = [&] { return fit::open_judged_data(options.recipe); };
  NetworkLine line;
  const auto made = branch::report_branches(
      *device, model, options, flags, [&](size_t count) { return flags.cluster_for(count); },
      open_data, line.callbacks<branch::LearnCallbacks>());
  return print_result(made, flags.train.json);
}

}  // namespace

void add_branch(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "branch", "Make a classifier of narrow branches, one for each machine",
      kExamples, branch_and_print);
  flags.train.options = shrink::usual_recipe();
  flags.train.add_recipe_to(command, TrainFlags::Source::kRecipeToo);
  command.add(under("Branches", settings_of(flags)));
  const FlagGroup workers(command, "Workers, for predicted times");
  Option* file = workers.add_option("--cluster", flags.cluster.file,
                                    "TOML file in place of the others", existing_file());
  for (const Setting& setting :
       settings_of(flags.cluster, "worker", "How many (default: one for each branch)")) {
    workers.add(setting)->excludes(file);
  }
  command.add_option("--out,--output,-o", flags.train.options.out, "The ONNX file to write")
      ->group("Files");
}

}  // namespace shoal::cli
