// shoal tprune: a smaller transformer, from arrays.
#include <optional>
#include <string>
#include <string_view>

#include "../exit_codes.h"
#include "../model.h"
#include "apps/commands/training/shrink.h"
#include "cancel_on_signals.h"
#include "learning.h"
#include "shoal/base/terminal/progress_bar.h"

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

struct TPruneFlags : shrink::TPruneSettings {
  ModelFlags model;
  bool json = false;
};

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
  flags.model.tune = "off";  // the same network each time
  flags.model.add_to(command, true, true);
  command.add(settings_of(flags));
  command.option("--inputs")->required();
  const FlagGroup files(command, "Files");
  files.add_option("--out,--output,-o", flags.options.out, "The ONNX file to write")->required();
  files.add_option("--dense", flags.options.dense, "Write the dense control here");
  command.add_flag("--json", flags.json, "Print JSON");
}

}  // namespace shoal::cli
