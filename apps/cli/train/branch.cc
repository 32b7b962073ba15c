// shoal branch: a classifier as narrow branches, one for each machine. Bounds of flags are for
// --help; branch::check() has the last word.
#include "../cluster_flags.h"
#include "network_line.h"
#include "print_result.h"
#include "shoal/branch/facts.h"
#include "shoal/models/model.h"
#include "shoal/plan/profile.h"
#include "shoal/shrink/shrink_options.h"
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

struct BranchFlags : branch::BranchWords {
  TrainFlags train;
  std::string fatten = "0", merge = "auto";
  std::string cluster, worker = "pi3", link = "ethernet-100";
  size_t workers = 0;  // 0: one for each branch
  double max_drop = 1;
  branch::LearnOptions options;  // what needs no further reading

  void add_to(Command& command);
  // All but the widths. Saves the preset if --save-preset was given.
  Result<branch::LearnOptions> resolve() const;
  // The devices that branches are for, of which there are as many as branches unless a flag says
  // otherwise.
  Result<plan::ClusterProfile> cluster_for(size_t count) const;
};

void add_branches(BranchFlags& flags, Command& command) {
  const FlagGroup group(command, "Branches");
  Option* branches =
      group.add_setting("--branches", flags.branches,
                        "How many; auto: as few as fit the memory of a worker, powers of two");
  group
      .add_option("--widths", flags.widths,
                  "In place of --branches: their widths in relation to each other, 1,2,4; auto: "
                  "one for each worker, so that all end together")
      ->excludes(branches);
  group.add_setting(
      "--fatten", flags.fatten,
      "Widen branches by so many percent; auto: in steps of 10 until --max-drop is met");
  group.add_setting(
      "--max-drop", flags.max_drop,
      "Points that --fatten auto may lose against the dense control, on held-out images",
      not_negative());
  group.add_setting("--merge", flags.merge,
                    "How branches are joined: sum, concat, or auto: sum after a stack of fully "
                    "connected layers",
                    one_of({"auto", "sum", "concat"}));
  group.add_setting("--branch-dropout", flags.options.dropout,
                    "Probability to learn without a branch, so that it may be lost",
                    in_range(0.0, 0.9));
  group.add_setting("--distill", flags.train.options.loss.distill,
                    "Share of the loss that is about the dense control", in_range(0.0, 1.0));
  group.add_setting("--temperature", flags.train.options.loss.temperature,
                    "At which answers are compared", positive());
}

void add_workers(BranchFlags& flags, Command& command) {
  const FlagGroup workers(command, "Workers, for predicted times");
  Option* file = workers.add_option("--cluster", flags.cluster, "TOML file in place of the others",
                                    existing_file());
  workers
      .add_option("--workers", flags.workers, "How many (default: one for each branch)",
                  in_range(1, 4096))
      ->excludes(file);
  workers.add_setting("--worker", flags.worker, "What they are: " + known_devices())
      ->excludes(file);
  workers.add_setting("--link", flags.link, "What links them: " + known_links())->excludes(file);
}

void BranchFlags::add_to(Command& command) {
  train.options = shrink::usual_recipe();
  train.options.loss.distill = 0.5F;
  train.options.loss.temperature = 4;
  train.add_recipe_to(command, TrainFlags::Source::kRecipeToo);
  add_branches(*this, command);
  add_workers(*this, command);
  command.add_option("--out,-o", train.options.out, "The ONNX file to write")->group("Files");
}

Result<branch::LearnOptions> BranchFlags::resolve() const {
  branch::LearnOptions all = options;
  SHOAL_ASSIGN(all.recipe, train.resolve());
  if (!all.recipe.data.empty() && all.recipe.format.empty())
    return invalid("--data needs --format");
  all.recipe.checkpoint.clear();
  all.out = train.options.out;
  all.branches.merge = merge == "sum"      ? branch::Merge::kSum
                       : merge == "concat" ? branch::Merge::kConcat
                                           : branch::Merge::kAuto;
  SHOAL_TRY(branch::set_fatten(fatten, max_drop, all));
  return all;
}

Result<plan::ClusterProfile> BranchFlags::cluster_for(size_t count) const {
  return make_cluster({cluster, workers > 0 ? workers : count, worker, link});
}

Outcome branch_and_print(const BranchFlags& flags) {
  if (flags.train.model.model.empty()) return {Exit::kUsage, "a model is required"};
  SHOAL_OR_EXIT(const branch::LearnOptions options, Exit::kUsage, flags.resolve());
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
  flags.add_to(command);
}

}  // namespace shoal::cli
