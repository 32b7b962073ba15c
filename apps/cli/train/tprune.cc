// shoal tprune: a smaller transformer, from arrays.
#include "shoal/shrink/tprune.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "../exit_codes.h"
#include "../model.h"
#include "../progress.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cancel_on_signals.h"
#include "print_result.h"
#include "shoal/data/npy.h"

namespace shoal::cli {
namespace {

using shrink::TPruneResult;

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

void add_to(TPruneFlags& f, Command& command) {
  constexpr const char *kLearning = "Learning", *kRemoval = "Removal", *kFiles = "Files";
  fit::TrainingOptions& recipe = f.options.recipe;
  f.model.tune = "off";  // the same network each time
  f.model.add_to(command, true, true);
  command.add_option("--inputs", f.inputs, "Examples along the first axis, .npy")->required();
  command.add_option("--labels", f.labels,
                     "Their labels, i64 .npy; none: the network's own answers");
  command.add_option("--test-inputs", f.test_inputs, "Examples that judge, .npy");
  command.add_option("--test-labels", f.test_labels, "Their labels, i64 .npy");
  command.add_option("--target", f.target, "How small: macs=0.5, parameters=0.3 or units=0.5")
      ->capture_default_str()
      ->group(kRemoval);
  command.add_option("--penalty", f.penalty, "hoyer (structured Hoyer-square) or lasso")
      ->check(one_of({"hoyer", "lasso"}))
      ->capture_default_str()
      ->group(kRemoval);
  command.add_option("--strength", f.options.sparse.strength, "Of the penalty; 0: none")
      ->check(not_negative())
      ->capture_default_str()
      ->group(kRemoval);
  command.add_option("--sparse-epochs", f.options.sparse_epochs, "Epochs with the penalty")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str()
      ->group(kRemoval);
  command.add_flag("--control", f.options.control, "Let the dense network learn as long, too")
      ->group(kRemoval);
  command.add_option("--epochs", recipe.epochs, "Epochs after the removal")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str()
      ->group(kLearning);
  command.add_option("--batch", recipe.batch, "Examples a step")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str()
      ->group(kLearning);
  command.add_option("--optimizer", f.optimizer, "sgd, adam or adamw")
      ->check(one_of({"sgd", "adam", "adamw"}))
      ->capture_default_str()
      ->group(kLearning);
  command.add_option("--rate", recipe.optimizer.rate, "Learning rate (default: 0.001)")
      ->check(positive())
      ->group(kLearning);
  command.add_option("--clip", recipe.optimizer.max_norm, "Longest gradient")
      ->check(positive())
      ->group(kLearning);
  command.add_option("--warm-up", recipe.warm_up, "Epochs in which the rate grows")
      ->check(not_negative())
      ->group(kLearning);
  command.add_option("--freeze", recipe.freeze, "Leave weights as they are whose names match")
      ->group(kLearning);
  command.add_option("--seed", recipe.seed, "Of the order of examples")
      ->capture_default_str()
      ->group(kLearning);
  command
      .add_option("--measure", f.options.measure_seconds,
                  "Seconds to measure each network; 0: none")
      ->check(not_negative())
      ->capture_default_str();
  command.add_option("--out,-o", f.options.out, "The ONNX file to write")
      ->required()
      ->group(kFiles);
  command.add_option("--dense", f.options.dense, "Write the dense control here")->group(kFiles);
  command.add_flag("--json", f.json, "Print JSON");
}

Json to_json(const TPruneResult& result) {
  Json removed = Json::array(), blocks = Json::array();
  for (const auto& group : result.removed) {
    removed.push_back({{"weights", group.weights},
                       {"axis", group.axis},
                       {"before", group.before},
                       {"left", group.left}});
  }
  for (const auto& block : result.blocks) {
    blocks.push_back({{"weights", block.weights},
                      {"row", block.row},
                      {"column", block.column},
                      {"sparse_rows", block.rows},
                      {"sparse_columns", block.columns}});
  }
  return {{"score", optional_json(result.score)},
          {"score_before", optional_json(result.score_before)},
          {"score_sparse", optional_json(result.score_sparse)},
          {"score_removed", optional_json(result.score_removed)},
          {"score_dense_control", optional_json(result.score_control)},
          {"macs", result.size.macs},
          {"macs_before", result.before.macs},
          {"parameters", result.size.parameters},
          {"parameters_before", result.before.parameters},
          {"ms", optional_json(result.ms)},
          {"ms_before", optional_json(result.ms_before)},
          {"removed", removed},
          {"blocks", blocks}};
}

void print_table(const TPruneResult& result) {
  Table table({"network", "score", "MACs", "parameters", "ms"});
  const auto number = [](const std::optional<double>& x, int digits) {
    return x ? fixed(*x, digits) : std::string();
  };
  const auto add = [&](const char* name, const std::optional<double>& score,
                       const compress::Size& size, const std::optional<double>& ms) {
    table.add({name, number(score, 2), fixed(static_cast<double>(size.macs) / 1e6, 3) + " M",
               std::to_string(size.parameters), number(ms, 4)});
  };
  add("smaller", result.score, result.size, result.ms);
  add("as given", result.score_before, result.before, result.ms_before);
  if (result.score_control) add("dense control", result.score_control, result.before, {});
  table.print();
  for (const auto& group : result.removed) {
    std::printf("%s: %zu of %zu left\n", group.weights.c_str(), group.left, group.before);
  }
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
  const auto data = read_data(flags);
  if (!data.ok()) return fail(Doing::kTrain, data.status());
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
  const auto result = shrink::tprune({*learns, *runs}, model, *data, options, callbacks);
  line.reset();
  return print_result(result, flags.json, to_json, print_table);
}

}  // namespace

void add_tprune(Command& app, Action& action) {
  auto flags = std::make_shared<TPruneFlags>();
  Command* command = app.add_subcommand(
      "tprune", "Remove heads and lines of a transformer that learned to be small");
  command->footer(kExamples);
  add_to(*flags, *command);
  command->callback([flags, &action] { action = [flags] { return prune_and_print(*flags); }; });
}

}  // namespace shoal::cli
