// shoal eval: accuracy on labelled images.
#include "apps/commands/networks/eval.h"

#include <chrono>
#include <cstdio>

#include "apps/commands/training/exits.h"
#include "eval_flags.h"
#include "exit_codes.h"
#include "facts.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/base/timing/seconds_since.h"
#include "shoal/engine/gpu/device/registry.h"
#include "shoal/train/data/dataset.h"
#include "shoal/video/detect/detector.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal eval zoo:digits --data DIR --format idx
  shoal eval resnet20.onnx --data cifar10 --format cifar --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225
  shoal eval model.onnx --data images --format folder --preset imagenet --json
  shoal eval model.onnx --data images --format folder --min-top1 75     exit code 9 below 75 %
  shoal eval multi.onnx --data images --format folder --exits 0.9,0.95  answer early from these on
  shoal eval multi.onnx --data images --format folder --exits calibrated
  shoal eval yolox.onnx --task detect --data coco --format yolo          average precision of boxes
  shoal eval yolox.onnx --task track --data street.mp4 --format mot --truth gt.txt
  shoal eval yolox.onnx --task gate --data street.mp4 --format video     what --gate auto would skip)";

// What a result prints; `more` is what the two functions take between the result and the seconds.
Json json_of(const fit::Evaluation& result, double seconds) {
  return object_of(facts_of(result, seconds));
}

Json json_of(const fit::Evaluation& result, const AutomaticPrecision& chosen, double seconds) {
  Json object = json_of(result, seconds);
  object.update(to_json(chosen));
  return object;
}

Json json_of(const exits::ExitsEvaluation& result, const exits::Runner& runner, double seconds) {
  return to_json(result, runner, seconds);
}

void print_table(const exits::ExitsEvaluation& result, const exits::Runner& runner,
                 double seconds) {
  table_of(rows_of(result, runner)).print();
  print_text(summary_text(result, seconds));
}

void print_table(const fit::Evaluation& result, double seconds) {
  print_facts(facts_of(result, seconds), false);
}

void print_table(const fit::Evaluation& result, const AutomaticPrecision& chosen, double seconds) {
  print_table(result, seconds);
  print_text(text_of(chosen));
}

const fit::Evaluation& answers_of(const fit::Evaluation& result) { return result; }
const fit::Evaluation& answers_of(const exits::ExitsEvaluation& result) { return result.answers; }

// Evaluates with the options of the flags, and prints.
template <class Evaluate, class... More>
Outcome evaluate_and_print(const EvalFlags& flags, const Dataset& data, Preprocess how,
                           Evaluate evaluate, const More&... more) {
  fit::EvaluationOptions options{
      .preprocess = std::move(how), .limit = flags.limit, .batch = flags.batch};
  ProgressBar line("eval", options.examples_of(data));
  options.progress = [&line](size_t done, size_t) { line.at(done); };
  const auto start = std::chrono::steady_clock::now();
  const auto result = evaluate(options);
  const double seconds = seconds_since(start);
  if (!result.ok()) return fail(Doing::kUseData, result.status());
  flags.json ? print_json(json_of(*result, more..., seconds))
             : print_table(*result, more..., seconds);
  const fit::Evaluation& answers = answers_of(*result);
  if (const std::string warning = warning_of(answers); !warning.empty()) {
    std::fprintf(stderr, "%s\n", warning.c_str());
  }
  return require_accuracy(answers.top1(), flags.min_top1);
}

Outcome evaluate_exits(const EvalFlags& flags, Device& device, const Dataset& data,
                       Preprocess how) {
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.model.model));
  SHOAL_OR_EXIT(const exits::Runner runner, Exit::kModel,
                exits::Runner::create(device, exits::multi_exit_in(model)));
  SHOAL_OR_EXIT(const std::vector<double> thresholds, Exit::kUsage,
                exits::thresholds_in(flags.exits, runner.exits()));
  return evaluate_and_print(
      flags, data, std::move(how),
      [&](const auto& options) { return exits::evaluate(runner, thresholds, data, options); },
      runner);
}

// Training images choose the precision of each layer, the others evaluate.
constexpr size_t kChoosingImages = 2000;

Outcome evaluate_automatic(const EvalFlags& flags, const Dataset& data, const Preprocess& how) {
  SHOAL_OR_EXIT(const auto choosing, Exit::kUsage,
                open_dataset(flags.data, flags.format, Split::kTraining));
  const auto open_on = [&](Device& device) { return open_session(flags.model, device); };
  const fit::EvaluationOptions options{
      .preprocess = how, .limit = kChoosingImages, .batch = flags.batch};
  SHOAL_OR_EXIT(const AutomaticPrecision found, Exit::kDevice,
                choose_precision(gpu::with_precision(flags.model.device), flags.budget / 100, {},
                                 open_on, fit::share_right_of(*choosing, options)));
  SHOAL_OR_EXIT(Session session, Exit::kModel, open_session(flags.model, *found.device));
  return evaluate_and_print(
      flags, data, how, [&](const auto& given) { return fit::evaluate(session, data, given); },
      found);
}

Outcome evaluate_detector(const EvalFlags& flags) {
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_detector_model(flags.model.model));
  SHOAL_OR_EXIT(detect::Detector detector, Exit::kModel,
                detect::Detector::open(model, *device, detect::find_head(flags.head)));
  ProgressBar bar("images");
  const auto begin = std::chrono::steady_clock::now();
  const auto progress = [&](size_t done, size_t total) { bar.of(done, total); };
  SHOAL_OR_EXIT(
      const detect::Precision precision, Exit::kUsage,
      detect::evaluate(detector, flags.data, {.limit = flags.limit, .progress = progress}));
  const double seconds = seconds_since(begin);
  bar.end();
  const detect::HeadKind head = detector.head().kind;
  flags.json ? print_json(to_json(precision, head, seconds)) : print_text(text_of(precision, head));
  return {};
}

Outcome evaluate_classifier(const EvalFlags& flags) {
  SHOAL_OR_EXIT(Preprocess how, Exit::kUsage, flags.preprocess.resolve());
  SHOAL_OR_EXIT(const auto data, Exit::kUsage, open_dataset(flags.data, flags.format));
  SHOAL_TRY_OR_EXIT(Exit::kUsage, gpu::in_precision(flags.model.device, flags.precision).status());
  if (flags.precision == "auto") return evaluate_automatic(flags, *data, how);
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  if (!flags.exits.empty()) return evaluate_exits(flags, *device, *data, std::move(how));
  SHOAL_OR_EXIT(Session session, Exit::kModel, open_session(flags.model, *device));
  return evaluate_and_print(flags, *data, std::move(how), [&](const auto& options) {
    return fit::evaluate(session, *data, options);
  });
}

Outcome evaluate(const EvalFlags& flags) {
  SHOAL_OR_EXIT(const config::EvaluationTask task, Exit::kUsage,
                config::evaluation_task(flags.task, flags.format));
  switch (task) {
    case config::EvaluationTask::kDetect:
      return evaluate_detector(flags);
    case config::EvaluationTask::kTrack:
      return evaluate_tracks(flags);
    case config::EvaluationTask::kGate:
      return evaluate_gate(flags);
    case config::EvaluationTask::kClassify:
      break;
  }
  return evaluate_classifier(flags);
}

}  // namespace

void add_eval(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "eval", "Measure accuracy on labelled images", kExamples, evaluate);
  flags.model.add_to(command, /*model_required=*/true);
  command.add_option("--data", flags.data, "Folder with the data, or a video")->required();
  command
      .add_option("--format", flags.format,
                  "idx (MNIST), cifar, npy, or folder; yolo for boxes: images/ and labels/; mot or "
                  "video for a video",
                  one_of(config::evaluation_formats()))
      ->required();
  command.add_setting(
      "--task", flags.task,
      "classify; detect: boxes, by average precision; track: identities, by MOTA and "
      "IDF1; gate: frames that need no look",
      one_of(config::evaluation_tasks()));
  command.add_option("--head", flags.head,
                     "What a detector's outputs mean, if their shapes do not say it: yolov5, ...",
                     one_of(detect::head_names()));
  command.add_option("--truth", flags.truth, "Of tracks: a file in the format of MOT");
  command.add_setting("--label", flags.label, "The class that is tracked");
  command.add_option("--limit,--frames", flags.limit, "Only the first N images");
  command.add_option("--batch", flags.batch, "Images per run", in_range(1, 4096));
  command.add_option("--min-top1", flags.min_top1, "Fail with exit code 9 below this many percent");
  command.add_option("--exits", flags.exits,
                     "Let the exits of a multi-exit network answer from these probabilities on: "
                     "0.9,0.95, or calibrated");
  command.add_setting("--precision", flags.precision,
                      "fp32, or auto with --device opencl:N or vulkan:N: layers in fp16 as far as "
                      "--accuracy-budget allows, chosen by training images",
                      one_of({"fp32", "auto"}));
  command.add_setting("--accuracy-budget", flags.budget,
                      "Percentage points that --precision auto may lose on the images that choose",
                      in_range(0.0, 100.0));
  command.add_flag("--json", flags.json, "Print one JSON object");
  flags.preprocess.add_to(command);
}

}  // namespace shoal::cli
