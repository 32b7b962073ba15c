#include "train_flags.h"

namespace shoal::cli {

void TrainFlags::add_recipe_to(Command& command, Source source) {
  const bool required = source != Source::kRecipeToo;
  // Kernels that are chosen by measuring are not the same each time, and round differently.
  model.tune = "off";
  if (source == Source::kNoModel) {
    model.add_computing_to(command, /*learns=*/true);
  } else {
    model.add_to(command, required, /*learns=*/true);
  }
  command.add(config::recipe_settings(*this));
  if (required && source != Source::kWorkersToo) {
    command.option("--data")->required();
    command.option("--format")->required();
  }
  command.add_flag("--json", json, "Print one JSON object");
  preprocess.add_to(command);
}

void TrainFlags::add_to(Command& command) {
  given = command.given();
  add_recipe_to(command, Source::kWorkersToo);
  command.add_option("--patience", options.patience,
                     "Stop after so many epochs without a better result, and keep the best",
                     in_range(0, 1 << 20));
  command.add_option("--min-top1", min_top1, "Fail with exit code 9 below this many percent");
  FlagGroup(command, "Cluster")
      .add_flag("--cluster{own}", together.network,
                "By the workers of this user's cluster, or of 'mpi', this machine as the hub")
      ->check(one_of({"own", "mpi"}));
  command.add(under("Cluster", settings_of(together)));
  command.add(under("Federated", settings_of(federated)));
  command.add(config::network_settings(*this));
  command.add(under("Loss", config::loss_settings(options)));
  command.add(under("Privacy", config::privacy_settings(options.privacy)));
  const FlagGroup files(command, "Files");
  files.add_option("--out,--output,-o", options.out,
                   "The ONNX file to write; needed for one device alone");
  files.add(config::checkpoint_settings(options));
  files.add_option("--report,--html", report,
                   "Write curves, confusions and mistakes to this HTML file");
}

Status TrainFlags::check() const {
  const bool on_cluster = !together.network.empty(), alone = !on_cluster && !federated.on;
  if (!alone && options.privacy.is_on()) return invalid("--dp-noise needs one device alone");
  if (alone && together.codec != "f32") return invalid("--codec needs --cluster or --federated");
  if (alone && federated.options.local_steps > 0) {
    return invalid("--local-steps needs --cluster or --federated");
  }
  const bool on_workers = federated.on && on_cluster;  // is the data
  if (!on_workers && options.data.empty()) return invalid("--data is required");
  if (!options.data.empty() && options.format.empty()) return invalid("--format is required");
  if (alone && options.out.empty()) return invalid("--out is required");
  return {};
}

Result<fit::TrainingOptions> TrainFlags::resolve(const Preprocess& preprocess_before) const {
  fit::TrainingOptions all = config::resolve(*this, model.model, model);
  SHOAL_ASSIGN(all.preprocess, preprocess.resolve(preprocess_before));
  return all;
}

}  // namespace shoal::cli
