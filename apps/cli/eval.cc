// shoal eval: accuracy on labelled images.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <sstream>

#include "apps/flags/json.h"
#include "exit_codes.h"
#include "model.h"
#include "preprocess_flags.h"
#include "progress.h"
#include "shoal/data/dataset.h"
#include "shoal/exits/evaluate_exits.h"
#include "shoal/fit/evaluation.h"
#include "table.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal eval zoo:digits --data DIR --format idx
  shoal eval resnet20.onnx --data cifar10 --format cifar --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225
  shoal eval model.onnx --data images --format folder --preset imagenet --json
  shoal eval model.onnx --data images --format folder --min-top1 75     exit code 9 below 75 %
  shoal eval multi.onnx --data images --format folder --exits 0.9,0.95  answer early from these on
  shoal eval multi.onnx --data images --format folder --exits calibrated)";

struct EvalFlags {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::string data;
  std::string format;
  size_t limit = 0;
  size_t batch = 0;
  double min_top1 = 0;
  bool json = false;
  std::string exits;  // thresholds of a multi-exit network; empty: its last classifier answers
};

constexpr const char* kCalibrated = "calibrated";

// Of each exit the threshold: as the file has it, or as they are given.
Result<std::vector<double>> thresholds_in(const std::string& text,
                                          const std::vector<exits::Exit>& exits) {
  std::vector<double> thresholds;
  if (text == kCalibrated) {
    for (const exits::Exit& exit : exits) thresholds.push_back(exit.threshold);
    return thresholds;
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    double threshold = 0;
    const char* const end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, threshold);
    if (error != std::errc() || stopped != end || !(threshold >= 0)) {
      return invalid("--exits takes probabilities such as 0.9,0.95, not " + text);
    }
    thresholds.push_back(threshold);
  }
  if (thresholds.size() == exits.size()) return thresholds;
  return invalid("--exits has " + std::to_string(thresholds.size()) + " probabilities for " +
                 std::to_string(exits.size()) + " exits");
}

void print(const exits::ExitsEvaluation& result, const exits::Runner& runner, double seconds,
           bool json) {
  const exits::Figures& figures = result.figures;
  const auto& macs = runner.stage_macs();
  const double images_per_s = static_cast<double>(result.answers.images()) / seconds;
  if (json) {
    const Json object = {{"top1", result.answers.top1()},
                         {"top5", result.answers.top5()},
                         {"images", result.answers.images()},
                         {"with_nan", result.answers.with_nan()},
                         {"images_per_s", images_per_s},
                         {"mean_macs", figures.mean_macs},
                         {"macs", std::accumulate(macs.begin(), macs.end(), int64_t{0})},
                         {"exit_share", figures.share},
                         {"exit_precision", figures.precision}};
    std::printf("%s\n", object.dump().c_str());
    return;
  }
  Table table({"exit", "answers", "precision"});
  for (size_t i = 0; i < macs.size(); ++i) {
    table.add({i < runner.exits().size() ? runner.exits()[i].at : "the last",
               fixed(100 * figures.share[i], 1) + " %", fixed(figures.precision[i], 2) + " %"});
  }
  table.print();
  std::printf("all: top-1 %.2f %%, %.3f M MACs per image, %.1f images/s\n", result.answers.top1(),
              figures.mean_macs / 1e6, images_per_s);
}

void print(const fit::Evaluation& result, double seconds, bool json) {
  const double images_per_s = static_cast<double>(result.images()) / seconds;
  if (json) {
    const Json object = {{"top1", result.top1()},
                         {"top5", result.top5()},
                         {"images", result.images()},
                         {"with_nan", result.with_nan()},
                         {"images_per_s", images_per_s}};
    std::printf("%s\n", object.dump().c_str());
    return;
  }
  Table table({"images", "top-1", "top-5", "images/s"});
  table.add({std::to_string(result.images()), fixed(result.top1(), 2) + " %",
             fixed(result.top5(), 2) + " %", fixed(images_per_s, 1)});
  table.print();
}

void warn_of_nan(const fit::Evaluation& result) {
  if (result.with_nan() == 0) return;
  std::fprintf(stderr, "%zu of %zu images have scores that are NaN, which count as wrong\n",
               result.with_nan(), result.images());
}

Outcome evaluate_exits(const EvalFlags& flags) {
  SHOAL_OR_EXIT(Preprocess how, Exit::kUsage, flags.preprocess.resolve());
  SHOAL_OR_EXIT(const auto data, Exit::kUsage, open_dataset(flags.data, flags.format));
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.model.model));
  SHOAL_OR_EXIT(const exits::Runner runner, Exit::kModel,
                exits::Runner::create(*device, exits::multi_exit_in(model)));
  SHOAL_OR_EXIT(const std::vector<double> thresholds, Exit::kUsage,
                thresholds_in(flags.exits, runner.exits()));
  ProgressBar line("eval", flags.limit > 0 ? std::min(flags.limit, data->size()) : data->size());
  const auto start = std::chrono::steady_clock::now();
  const auto result =
      exits::evaluate(runner, thresholds, *data,
                      {.preprocess = std::move(how),
                       .limit = flags.limit,
                       .batch = flags.batch,
                       .progress = [&line](size_t done, size_t) { line.at(done); }});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (!result.ok()) return fail(Doing::kUseData, result.status());
  print(*result, runner, taken.count(), flags.json);
  warn_of_nan(result->answers);
  return require_accuracy(result->answers.top1(), flags.min_top1);
}

Outcome evaluate(const EvalFlags& flags) {
  if (!flags.exits.empty()) return evaluate_exits(flags);
  SHOAL_OR_EXIT(Preprocess how, Exit::kUsage, flags.preprocess.resolve());
  SHOAL_OR_EXIT(const auto data, Exit::kUsage, open_dataset(flags.data, flags.format));
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(Session session, Exit::kModel, open_session(flags.model, *device));
  ProgressBar line("eval", flags.limit > 0 ? std::min(flags.limit, data->size()) : data->size());
  const auto start = std::chrono::steady_clock::now();
  const auto result = fit::evaluate(session, *data,
                                    {.preprocess = std::move(how),
                                     .limit = flags.limit,
                                     .batch = flags.batch,
                                     .progress = [&line](size_t done, size_t) { line.at(done); }});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (!result.ok()) return fail(Doing::kUseData, result.status());
  print(*result, taken.count(), flags.json);
  warn_of_nan(*result);
  return require_accuracy(result->top1(), flags.min_top1);
}

}  // namespace

void add_eval(Command& app, Action& action) {
  auto flags = std::make_shared<EvalFlags>();
  Command* command = app.add_subcommand("eval", "Measure accuracy on labelled images");
  command->footer(kExamples);
  flags->model.add_to(*command, /*model_required=*/true);
  command->add_option("--data", flags->data, "Folder with the data")->required();
  command->add_option("--format", flags->format, "idx (MNIST), cifar, npy, or folder")
      ->required()
      ->check(one_of({"idx", "cifar", "npy", "folder"}));
  command->add_option("--limit", flags->limit, "Only the first N images");
  command->add_option("--batch", flags->batch, "Images per run")->check(in_range(1, 4096));
  command->add_option("--min-top1", flags->min_top1,
                      "Fail with exit code 9 below this many percent");
  command->add_option("--exits", flags->exits,
                      "Let the exits of a multi-exit network answer from these probabilities on: "
                      "0.9,0.95, or calibrated");
  command->add_flag("--json", flags->json, "Print one JSON object");
  flags->preprocess.add_to(*command);
  command->callback([flags, &action] { action = [flags] { return evaluate(*flags); }; });
}

}  // namespace shoal::cli
