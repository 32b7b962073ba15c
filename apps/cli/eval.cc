// shoal eval: accuracy on labelled images.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "model.h"
#include "preprocess_flags.h"
#include "progress.h"
#include "shoal/data/dataset.h"
#include "table.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal eval zoo:digits --data DIR --format idx
  shoal eval resnet20.onnx --data cifar10 --format cifar --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225
  shoal eval model.onnx --data images --format folder --preset imagenet --json
  shoal eval model.onnx --data images --format folder --min-top1 75     exit code 9 below 75 %)";

struct EvalFlags {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::string data;
  std::string format;
  size_t limit = 0;
  size_t batch = 0;
  double min_top1 = 0;
  bool json = false;
};

struct Score {
  size_t images = 0, top1 = 0, top5 = 0;
};

// How many classes score higher than the label's; ties go to the lower index.
size_t rank_of(std::span<const float> scores, int64_t label) {
  const auto own = static_cast<size_t>(label);
  if (label < 0 || own >= scores.size()) return scores.size();
  size_t better = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    better += scores[i] > scores[own] || (scores[i] == scores[own] && i < own) ? 1 : 0;
  }
  return better;
}

// The preprocessed images [begin, end) in one tensor, and their labels.
Result<std::pair<Tensor, std::vector<int64_t>>> make_batch(const Dataset& data, size_t begin,
                                                           size_t end, const InputInfo& input,
                                                           const Preprocess& how) {
  std::vector<Tensor> images;
  std::vector<int64_t> labels;
  for (size_t i = begin; i < end; ++i) {
    SHOAL_ASSIGN(Example example, data.at(i));
    SHOAL_ASSIGN(Tensor x, prepare_image(example.image, input, how));
    if (!images.empty() && x.shape() != images[0].shape()) {
      return invalid("images differ in size; use --resize and --crop, or --batch 1");
    }
    images.push_back(std::move(x));
    labels.push_back(example.label);
  }
  Shape shape = images[0].shape();
  shape[0] = static_cast<int64_t>(images.size());
  Tensor all({DType::kF32, shape});
  for (size_t i = 0; i < images.size(); ++i) {
    std::ranges::copy(images[i].bytes(),
                      all.bytes().begin() + static_cast<ptrdiff_t>(i * images[i].bytes().size()));
  }
  if (input.dims.size() == 2)
    all = all.reshaped({shape[0], all.count() / shape[0]});  // a flat vector per image
  return std::pair{std::move(all), std::move(labels)};
}

Outcome evaluate(const EvalFlags& flags) {
  SHOAL_OR_EXIT(Preprocess how, Exit::kUsage, flags.preprocess.resolve());
  SHOAL_OR_EXIT(auto data, Exit::kUsage, open_dataset(flags.data, flags.format));
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(Session session, Exit::kModel, open_session(flags.model, *device));
  const auto required = std::ranges::count(session.inputs(), false, &InputInfo::optional);
  if (required != 1) return {Exit::kUsage, "eval needs a model with one input"};
  const InputInfo& input = session.inputs()[0];
  const int64_t declared = input.dims.empty() ? -1 : input.dims[0];
  // A model that takes any batch runs faster on several images at once.
  const size_t batch = flags.batch > 0 ? flags.batch
                       : declared > 0  ? static_cast<size_t>(declared)
                                       : 16;
  const size_t count = flags.limit > 0 ? std::min(flags.limit, data->size()) : data->size();

  Score score;
  Progress progress("eval", count);
  const auto start = std::chrono::steady_clock::now();
  for (size_t begin = 0; begin < count; begin += batch) {
    const size_t end = std::min(begin + batch, count);
    SHOAL_OR_EXIT(auto examples, Exit::kUsage, make_batch(*data, begin, end, input, how));
    if (Status fits = session.accepts({{input.name, examples.first}}); !fits.ok())
      return fail(Exit::kUsage, fits);
    SHOAL_OR_EXIT(auto outputs, Exit::kModel, session.run({{input.name, examples.first}}));
    const Tensor& scores = outputs.at(session.outputs()[0]);
    const auto images = static_cast<int64_t>(end - begin);
    if (scores.dtype() != DType::kF32 || scores.count() % images != 0) {
      return {Exit::kUsage, "output " + session.outputs()[0] + " does not hold scores of classes"};
    }
    const auto classes = static_cast<size_t>(scores.count() / images);
    for (size_t i = 0; i < end - begin; ++i) {
      const size_t rank =
          rank_of(scores.data<float>().subspan(i * classes, classes), examples.second[i]);
      score.top1 += rank < 1 ? 1 : 0;
      score.top5 += rank < 5 ? 1 : 0;
    }
    progress.at(score.images = end);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto n = static_cast<double>(std::max<size_t>(score.images, 1));
  const double top1 = 100.0 * static_cast<double>(score.top1) / n,
               top5 = 100.0 * static_cast<double>(score.top5) / n;
  if (flags.json) {
    const nlohmann::json result = {
        {"top1", top1}, {"top5", top5}, {"images", score.images}, {"images_per_s", n / seconds}};
    std::printf("%s\n", result.dump().c_str());
  } else {
    Table table({"images", "top-1", "top-5", "images/s"});
    table.add({std::to_string(score.images), fixed(top1, 2) + " %", fixed(top5, 2) + " %",
               fixed(n / seconds, 1)});
    table.print();
  }
  if (top1 < flags.min_top1) {
    return {Exit::kAccuracy, "top-1 is " + fixed(top1, 2) + " %, below the asked " +
                                 fixed(flags.min_top1, 2) + " %"};
  }
  return {};
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app.add_subcommand("eval", "Measure accuracy on labelled images");
  command->footer(kExamples);
  flags->model.add_to(*command, /*model_required=*/true);
  command->add_option("--data", flags->data, "Folder with the data")->required();
  command->add_option("--format", flags->format, "idx (MNIST), cifar, npy, or folder")
      ->required()
      ->check(CLI::IsMember({"idx", "cifar", "npy", "folder"}));
  command->add_option("--limit", flags->limit, "Only the first N images");
  command->add_option("--batch", flags->batch, "Images per run")->check(CLI::Range(1, 4096));
  command->add_option("--min-top1", flags->min_top1,
                      "Fail with exit code 9 below this many percent");
  command->add_flag("--json", flags->json, "Print one JSON object");
  flags->preprocess.add_to(*command);
  command->callback([flags, &action] { action = [flags] { return evaluate(*flags); }; });
}

}  // namespace shoal::cli
