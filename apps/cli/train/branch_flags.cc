// The flags of 'shoal branch'. Bounds here are for --help; branch::check() has the last word.
#include "branch_flags.h"

#include "../cluster_flags.h"
#include "shoal/shrink/shrink_options.h"

namespace shoal::cli {
namespace {

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

}  // namespace

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

}  // namespace shoal::cli
