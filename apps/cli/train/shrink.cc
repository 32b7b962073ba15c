// shoal shrink: a smaller, retrained network beside its controls.
#include "shoal/shrink/shrink.h"

#include <cstdio>
#include <filesystem>
#include <optional>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "print_result.h"
#include "shoal/base/atomic_file.h"
#include "shoal/models/model.h"
#include "shoal/report/shrink_page.h"
#include "shrink_flags.h"
#include "shrink_progress.h"
#include "variants.h"

namespace shoal::cli {
namespace {

using shrink::Figures;
using shrink::ShrinkResult;

constexpr const char* kExamples = R"(
Examples:
  shoal shrink lenet.onnx --data mnist --format idx --target macs=0.1 --epochs 5 -o small.onnx
  shoal shrink resnet20.onnx --data cifar10 --format cifar --flip --shift 4 --controls -o small.onnx \
               --target macs=0.5 --rate 0.01 --clip 1 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225
  shoal shrink model.onnx --data photos --format folder --target parameters=0.3,macs=0.5 -o small.onnx
  shoal shrink model.onnx --data photos --format folder --target ms=0.5x -o small.onnx
                                           in half the time, by the times of layers on this machine
  shoal shrink model.onnx --data photos --format folder --target ms=20 --device pi4 -o small.onnx
  shoal shrink model.onnx --data photos --format folder --method magnitude --teacher none -o small.onnx
  shoal shrink model.onnx --data photos --format folder --method taylor,int8 -o small.onnx
                                           and in 8 bits, calibrated on images that it learned from
  shoal shrink vgg.onnx --data photos --format folder --method tucker --target ms=0.45x -o small.onnx
                                           three small convolutions for one, where that is faster
  shoal shrink model.onnx --data photos --format folder --max-drop 1 -o small.onnx
                                           no more than a point is lost; exit code 9 where the target
                                           would cost more, and less is removed
  shoal shrink lenet.onnx --data mnist --format idx --target macs=0.1 --variants 5 -o lenet.variants
                                           five widths in the bytes of one
  shoal shrink --recipe small.toml -o small.onnx --resume
                                           a run that --write-recipe described, after an interruption)";

Json to_json(const Figures& one) {
  return {{"ms", optional_json(one.ms)}, {"macs", one.size.macs}, {"top1", one.top1}};
}

Json to_json(const std::optional<shrink::Sensitivity>& sensitivity) {
  if (!sensitivity) return nullptr;
  Json groups = Json::array();
  for (const auto& group : sensitivity->groups) {
    groups.push_back({{"weights", group.weights},
                      {"axis", group.axis},
                      {"units", group.units},
                      {"top1", group.top1}});
  }
  return {{"top1", sensitivity->top1},
          {"examples", sensitivity->examples},
          {"seconds", sensitivity->seconds},
          {"groups", groups}};
}

Json to_json(const ShrinkResult& result, const std::string& device, int64_t bytes) {
  Json refused = Json::array(), front = Json::array(), missed = Json::array();
  for (const auto& axis : result.refused) {
    refused.push_back({{"weights", axis.weights},
                       {"axis", axis.axis},
                       {"indices", axis.indices},
                       {"reason", axis.reason}});
  }
  for (const Figures& one : result.front()) front.push_back(to_json(one));
  for (const Figures& one : result.missed) missed.push_back(to_json(one));
  Json int8 = nullptr;
  if (result.int8) {
    int8 = {{"top1_real", result.int8->top1_real},
            {"left", result.int8->left},
            {"notes", result.int8->notes}};
  }
  return {{"top1", result.small.top1},
          {"top1_dense_control", result.dense.top1},
          {"top1_scratch", optional_json(result.top1_scratch)},
          {"top1_random", optional_json(result.top1_random)},
          {"top1_before", result.top1_before},
          {"top1_removed", result.top1_removed},
          {"held_out_top1", result.held_out_top1},
          {"held_out_top1_dense_control", result.held_out_top1_control},
          {"macs", result.small.size.macs},
          {"macs_before", result.dense.size.macs},
          {"parameters", result.small.size.parameters},
          {"parameters_before", result.dense.size.parameters},
          {"bytes", bytes},
          {"ms", optional_json(result.small.ms)},
          {"ms_before", optional_json(result.dense.ms)},
          {"ms_predicted", optional_json(result.ms_predicted)},
          {"ms_predicted_before", optional_json(result.ms_predicted_before)},
          {"device", device.empty() ? "here" : device},
          {"epochs", result.epochs},
          {"seconds", result.seconds},
          {"choosing_seconds", result.choosing_seconds},
          {"removed", removed_json(result.removed)},
          {"refused", refused},
          {"int8", int8},
          {"lost_to", result.lost_to()},
          {"missed", missed},
          {"sensitivity", to_json(result.sensitivity)},
          {"front", front}};
}

void print_table(const ShrinkResult& result, const std::string& device) {
  Table table({"network", "top-1", "MACs", "parameters", "ms"});
  const auto add = [&](const std::string& name, double top1, const Figures& figures) {
    table.add({name, fixed(top1, 2) + " %",
               fixed(static_cast<double>(figures.size.macs) / 1e6, 3) + " M",
               std::to_string(figures.size.parameters), figures.ms ? fixed(*figures.ms, 3) : ""});
  };
  add("smaller", result.small.top1, result.small);
  for (const Figures& one : result.missed) add("lost too much", one.top1, one);
  add("dense control", result.dense.top1, result.dense);
  if (result.top1_scratch) add("from scratch", *result.top1_scratch, result.small);
  if (result.top1_random) add("random removal", *result.top1_random, result.small);
  table.print();
  if (!result.ms_predicted) return;
  std::printf("predicted: %.4f ms, %.4f ms before%s%s\n", *result.ms_predicted,
              *result.ms_predicted_before, device.empty() ? "" : ", on ", device.c_str());
}

// What repeats the run, if a file asks for it, which is written before the run.
Result<std::string> recipe_for_files(const ShrinkFlags& flags, const shrink::ShrinkOptions& options,
                                     const Device& device) {
  if (flags.write_recipe.empty() && flags.train.report.empty()) return std::string();
  SHOAL_ASSIGN(const std::string recipe,
               config::to_recipe(flags.all(), options, device.info().threads));
  if (!flags.write_recipe.empty()) SHOAL_TRY(write_file(flags.write_recipe, recipe));
  return recipe;
}

Outcome within_bound(const ShrinkResult& result, double most) {
  if (result.missed.empty()) return {};
  const double drop = result.dense.top1 - result.missed[0].top1;
  return {Exit::kAccuracy, "the target costs " + fixed(drop, 2) + " points of top-1, not " +
                               fixed(most, 2) +
                               (result.removed.empty() ? ": the dense control is written"
                                                       : ": a network that lost less is written")};
}

Outcome shrink_and_print(ShrinkFlags& flags) {
  if (const Status taken = flags.take_recipe(); !taken.ok()) return fail(Exit::kUsage, taken);
  SHOAL_OR_EXIT(const shrink::ShrinkOptions options, Exit::kUsage, flags.resolve());
  SHOAL_OR_EXIT(const auto learns, Exit::kDevice, make_device(flags.all().training_device()));
  SHOAL_OR_EXIT(const auto runs, Exit::kDevice, make_device(flags.all().measured_device()));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  SHOAL_OR_EXIT(const std::string recipe, Doing::kTrain, recipe_for_files(flags, options, *learns));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(options.recipe));
  if (flags.variants > 0) {
    return make_and_print_variants({*learns, *runs}, model, data, flags.variants, options,
                                   flags.train.json);
  }
  NetworkLine line;
  const auto result =
      shrink::shrink({*learns, *runs}, model, data, options, shrink_callbacks(line));
  if (!result.ok() && result.status().code() == Code::kCancelled) {
    return {Exit::kInterrupted, "interrupted; --resume goes on from " + options.steps.string()};
  }
  if (!result.ok()) return fail(Doing::kTrain, result.status());
  std::error_code unknown;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(options.out, unknown));
  const Json json = to_json(*result, options.device, bytes);
  if (!flags.train.report.empty()) {
    const std::string place = options.device.empty() ? "" : " on " + options.device;
    const std::string page =
        report::shrink_page(flags.train.model.model + " shrunk to " + flags.target + place, *result,
                            json.dump(2), recipe);
    const Status written = write_file(flags.train.report, page);
    if (!written.ok()) return fail(Doing::kTrain, written);
  }
  flags.train.json ? print_json(json) : print_table(*result, options.device);
  if (result->recipe_does_harm()) {
    std::fprintf(stderr,
                 "training took the dense network from %.2f to %.2f %%: a lower --rate or --clip 1 "
                 "may help, and these figures say little\n",
                 result->top1_before, result->dense.top1);
  }
  for (const std::string& control : result->lost_to()) {
    std::fprintf(stderr, "the control '%s' is better: the removal gained nothing\n",
                 control.c_str());
  }
  return within_bound(*result, flags.options.max_drop);
}

}  // namespace

void add_shrink(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "shrink", "Remove what a network needs least, and train the rest",
                  kExamples, shrink_and_print);
  flags.add_to(command);
}

}  // namespace shoal::cli
