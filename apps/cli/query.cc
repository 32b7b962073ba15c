// shoal query: an index of what a video may show, made by a cheap network, and answers with few
// calls of an expensive one.
#include "apps/commands/video/query.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/flags/json.h"
#include "exit_codes.h"
#include "model.h"
#include "preprocess_flags.h"
#include "shoal/base/timing/seconds_since.h"
#include "train/cancel_on_signals.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal query index street.mp4 --model multi.onnx --expensive resnet50.onnx --preset imagenet -o street.index
  shoal query ask street.index --class 468 --model resnet50.onnx --preset imagenet)";
constexpr const char* kIndexExamples = R"(
Examples:
  shoal query index street.mp4 --model multi.onnx --expensive resnet50.onnx --preset imagenet -o street.index
  shoal query index photos --model squeezenet.onnx --preset imagenet -o photos.index)";
constexpr const char* kAskExamples = R"(
Examples:
  shoal query ask street.index --class 468 --model resnet50.onnx --preset imagenet --json)";

struct QueryFlags {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::string source, output, expensive;
  query::VideoIndexOptions options;
  int64_t label = -1;
  bool json = false, exits = true;
};

// The classifier that --model names, and its device.
struct Opened {
  Preprocess preprocess;
  std::unique_ptr<Device> device;
  std::optional<Model> model;
};

Outcome open(const QueryFlags& flags, Opened& opened) {
  SHOAL_OR_EXIT(opened.preprocess, Exit::kUsage, flags.preprocess.resolve());
  SHOAL_OR_EXIT(opened.device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(opened.model, Exit::kModel, open_model_with_warning(flags.model.model));
  return {};
}

Outcome make_index(const QueryFlags& flags) {
  Opened opened;
  if (Outcome failed = open(flags, opened); failed.exit != Exit::kOk) return failed;
  SHOAL_OR_EXIT(query::Classifier cheap, Exit::kModel,
                query::Classifier::open(*opened.model, *opened.device, opened.preprocess));
  std::optional<Model> model;
  std::optional<query::Classifier> expensive;
  const auto open_expensive = [&]() -> Status {
    if (flags.expensive.empty()) return {};
    SHOAL_ASSIGN(model, open_model_with_warning(flags.expensive));
    SHOAL_ASSIGN(expensive, query::Classifier::open(*model, *opened.device, opened.preprocess));
    return {};
  };
  SHOAL_TRY_OR_EXIT(Doing::kUseData, open_expensive());
  query::VideoIndexOptions options = flags.options;
  options.source = flags.source;
  options.cancel = cancel_on_signals();
  SHOAL_OR_EXIT(const query::VideoIndex made, Doing::kUseData,
                query::index_video(cheap, expensive ? &*expensive : nullptr, options));
  SHOAL_TRY_OR_EXIT(Exit::kUsage, query::save(made.index, flags.output));
  if (flags.json) print_json(to_json(made));
  return {};
}

Outcome answer(const QueryFlags& flags) {
  SHOAL_OR_EXIT(const query::Index index, Exit::kUsage, query::load_index(flags.source));
  Opened opened;
  if (Outcome failed = open(flags, opened); failed.exit != Exit::kOk) return failed;
  SHOAL_OR_EXIT(query::Classifier expensive, Exit::kModel,
                query::Classifier::open(*opened.model, *opened.device, opened.preprocess));
  const std::vector<double> thresholds = flags.exits ? index.thresholds : std::vector<double>();
  const auto begin = std::chrono::steady_clock::now();
  SHOAL_OR_EXIT(const query::AskResult found, Doing::kUseData,
                query::ask_video(index, flags.label, thresholds, expensive, cancel_on_signals()));
  if (flags.json) {
    print_json(to_json(found, flags.label, seconds_since(begin)));
    return {};
  }
  for (const int64_t frame : found.frames) std::printf("%lld\n", static_cast<long long>(frame));
  return {};
}

}  // namespace

void add_query(Command& app, Action& action) {
  Command* all = app.add_subcommand("query", "Index a video, and find the frames with a class");
  all->footer(kExamples);
  all->require_subcommand();
  {
    const auto [command, f] = add_command(
        *all, action, "index", "Make an index with a cheap classifier", kIndexExamples, make_index);
    command.add_option("source", f.source, "A video, a folder of images, a URL")->required();
    f.model.model.clear();
    command.add_option("--model", f.model.model, "A classifier, best with exits")->required();
    command.add_option("--out,--output,-o", f.output, "The file of the index")->required();
    command.add_option("--expensive", f.expensive,
                       "A better classifier, which shows how far exits can be trusted");
    command.add(settings_of(f.options));
    f.model.add_computing_to(command);
    f.preprocess.add_to(command);
    command.add_flag("--json", f.json, "Print one JSON object");
  }
  {
    const auto [command, f] =
        add_command(*all, action, "ask", "Find the frames with a class", kAskExamples, answer);
    command.add_option("index", f.source, "The file of the index")->required();
    command.add_option("--class", f.label, "The class, from 0")->required();
    f.model.model.clear();
    command.add_option("--model", f.model.model, "The expensive classifier")->required();
    command.add_flag("--exits,!--no-exits", f.exits, "Let exits decide where they are sure");
    f.model.add_computing_to(command);
    f.preprocess.add_to(command);
    command.add_flag("--json", f.json, "Print one JSON object");
  }
}

}  // namespace shoal::cli
