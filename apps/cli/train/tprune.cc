// shoal tprune: a smaller transformer, from arrays.
#include "shoal/shrink/tprune.h"

#include <optional>
#include <string>
#include <string_view>

#include "../exit_codes.h"
#include "../model.h"
#include "../progress.h"
#include "cancel_on_signals.h"
#include "print_result.h"
#include "shoal/data/npy.h"
#include "shoal/shrink/facts.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal tprune encoder.onnx --inputs ids.npy --labels tags.npy --test-inputs test.npy --test-labels tests.npy \
               --target macs=0.5 --control -o small.onnx
                                           the network learns labels of tokens
  shoal tprune sentences.onnx --inputs ids.npy --target macs=0.7 --freeze 'embed*' -o small.onnx
                                           without labels it imitates itself
  shoal tprune encoder.onnx --inputs ids.npy --penalty lasso --strength 1e-4 -o small.onnx)";

struct TPruneFlags {
  ModelFlags model;
  std::string inputs, labels, test_inputs, test_labels, target = "macs=0.5";
  std::string penalty = "hoyer", optimizer = "adam";
  shrink::TPruneOptions options = {.sparse = {.strength = 1e-3}};
  bool json = false;
};

void add_prune_flags(TPruneFlags& f, Command& command) {
  const FlagGroup learning(command, "Learning"), removal(command, "Removal"),
      files(command, "Files");
  fit::TrainingOptions& recipe = f.options.recipe;
  f.model.tune = "off";  // the same network each time
  f.model.add_to(command, true, true);
  command.add_option("--inputs", f.inputs, "Examples along the first axis, .npy")->required();
  command.add_option("--labels", f.labels,
                     "Their labels, i64 .npy; none: the network's own answers");
  command.add_option("--test-inputs", f.test_inputs, "Examples that judge, .npy");
  command.add_option("--test-labels", f.test_labels, "Their labels, i64 .npy");
  removal.add_setting("--target", f.target, "How small: macs=0.5, parameters=0.3 or units=0.5");
  removal.add_setting("--penalty", f.penalty, "hoyer (structured Hoyer-square) or lasso",
                      one_of({"hoyer", "lasso"}));
  removal.add_setting("--strength", f.options.sparse.strength, "Of the penalty; 0: none",
                      not_negative());
  removal.add_setting("--sparse-epochs", f.options.sparse_epochs, "Epochs with the penalty",
                      in_range(0, 1 << 20));
  removal.add_flag("--control", f.options.control, "Let the dense network learn as long, too");
  learning.add_setting("--epochs", recipe.epochs, "Epochs after the removal", in_range(0, 1 << 20));
  learning.add_setting("--batch", recipe.batch, "Examples a step", in_range(1, 1 << 20));
  learning.add_setting("--optimizer", f.optimizer, "sgd, adam or adamw",
                       one_of({"sgd", "adam", "adamw"}));
  learning.add_option("--rate", recipe.optimizer.rate, "Learning rate (default: 0.001)",
                      positive());
  learning.add_option("--clip", recipe.optimizer.max_norm, "Longest gradient", positive());
  learning.add_option("--warm-up", recipe.warm_up, "Epochs in which the rate grows",
                      not_negative());
  learning.add_option("--freeze", recipe.freeze, "Leave weights as they are whose names match");
  learning.add_setting("--seed", recipe.seed, "Of the order of examples");
  command.add_setting("--measure", f.options.measure_seconds,
                      "Seconds to measure each network; 0: none", not_negative());
  files.add_option("--out,-o", f.options.out, "The ONNX file to write")->required();
  files.add_option("--dense", f.options.dense, "Write the dense control here");
  command.add_flag("--json", f.json, "Print JSON");
}

Result<shrink::TPruneData> read_data(const TPruneFlags& flags) {
  shrink::TPruneData data;
  for (const auto& [path, tensor] :
       {std::pair{&flags.inputs, &data.inputs}, std::pair{&flags.labels, &data.labels},
        std::pair{&flags.test_inputs, &data.test_inputs},
        std::pair{&flags.test_labels, &data.test_labels}}) {
    if (path->empty()) continue;
    SHOAL_ASSIGN(*tensor, read_npy(*path));
  }
  return data;
}

Result<shrink::TPruneOptions> resolve(const TPruneFlags& flags) {
  shrink::TPruneOptions options = flags.options;
  SHOAL_ASSIGN(options.target, compress::parse_target(flags.target));
  options.sparse.penalty = flags.penalty == "lasso" ? train::Regularizer::Penalty::kLasso
                                                    : train::Regularizer::Penalty::kHoyer;
  options.recipe.optimizer.rule = *train::find_rule(flags.optimizer);
  return options;
}

Outcome prune_and_print(const TPruneFlags& flags) {
  SHOAL_OR_EXIT(const shrink::TPruneOptions options, Exit::kUsage, resolve(flags));
  SHOAL_OR_EXIT(const auto learns, Exit::kDevice, make_device(flags.model));
  ModelFlags measured = flags.model;
  measured.tune = "fast";  // as the network will run
  SHOAL_OR_EXIT(const auto runs, Exit::kDevice, make_device(measured));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.model.model));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, read_data(flags));
  std::optional<ProgressBar> line;
  std::string shown;
  const shrink::TPruneCallbacks callbacks{
      .on_step =
          [&](std::string_view stage, const shrink::ArrayStep& step) {
            if (!line || shown != stage)
              line.emplace(std::string(stage), static_cast<size_t>(step.steps));
            shown = stage;
            line->at(static_cast<size_t>(step.step) + 1, "loss " + fixed(step.loss, 5));
          },
      .cancel = cancel_on_signals()};
  const auto result = shrink::tprune({*learns, *runs}, model, data, options, callbacks);
  line.reset();
  return print_result(result, flags.json);
}

}  // namespace

void add_tprune(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "tprune", "Remove heads and lines of a transformer that learned to be small",
      kExamples, prune_and_print);
  add_prune_flags(flags, command);
}

}  // namespace shoal::cli
