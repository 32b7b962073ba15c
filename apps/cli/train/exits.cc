// shoal exits: a classifier that may answer early.
#include <cstdio>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cancel_on_signals.h"
#include "exits_flags.h"
#include "network_line.h"
#include "print_result.h"
#include "shoal/exits/add_exits.h"
#include "shoal/models/model.h"

namespace shoal::cli {
namespace {

using exits::ExitsResult;

constexpr const char* kExamples = R"(
Examples:
  shoal exits resnet56.onnx --at auto:2 --data cifar10 --format cifar --flip --shift 4 -o multi.onnx
  shoal exits lenet.onnx --at pool1,pool2 --data mnist --format idx --head pool -o multi.onnx
  shoal exits model.onnx --data photos --format folder --joint 5 --joint-rate 0.005 -o multi.onnx
                                           then the whole network learns with its exits
  shoal exits model.onnx --data photos --format folder --precision 0.95 --stages folder -o multi.onnx
  shoal eval multi.onnx --exits calibrated --data photos --format folder     how early it answers)";

Json to_json(const exits::Figures& figures) {
  return {{"top1", figures.top1},
          {"exit_share", figures.share},
          {"exit_precision", figures.precision},
          {"mean_macs", figures.mean_macs}};
}

Json to_json(const ExitsResult& result) {
  Json exits = Json::array();
  for (size_t i = 0; i < result.exits.size(); ++i) {
    exits.push_back({{"at", result.exits[i].at},
                     {"scores", result.exits[i].scores},
                     {"threshold", result.exits[i].threshold},
                     {"top1", result.top1[i]}});
  }
  Json json = to_json(result.test);
  json["exits"] = exits;
  json["top1_last"] = result.top1.back();
  json["top1_before"] = result.top1_before;
  json["macs_before"] = result.macs_before;
  json["stage_macs"] = result.stage_macs;
  json["held_out"] = to_json(result.held_out);
  json["seconds"] = result.seconds;
  return json;
}

void print_table(const ExitsResult& result) {
  Table table({"exit", "top-1", "threshold", "answers", "precision", "MACs"});
  int64_t macs = 0;
  for (size_t i = 0; i < result.stage_macs.size(); ++i) {
    const bool last = i == result.exits.size();
    macs += result.stage_macs[i];
    const double threshold = last ? 0 : result.exits[i].threshold;
    table.add({last ? "the last" : result.exits[i].at, fixed(result.top1[i], 2) + " %",
               last            ? ""
               : threshold > 1 ? "never"
                               : fixed(threshold, 4),
               fixed(100 * result.test.share[i], 1) + " %",
               fixed(result.test.precision[i], 2) + " %",
               fixed(static_cast<double>(macs) / 1e6, 3) + " M"});
  }
  table.print();
  std::printf("all: top-1 %.2f %%, %.3f M MACs per image; before: %.2f %%, %.3f M\n",
              result.test.top1, result.test.mean_macs / 1e6, result.top1_before,
              static_cast<double>(result.macs_before) / 1e6);
}

// One progress line for each exit, and one for all of them.
exits::ExitsCallbacks callbacks_of(NetworkLine& line) {
  return {.on_step = [&line](const exits::ExitsStep& step) { line.show(step.what, step.step); },
          .on_note = [&line](const std::string& note) { line.note(note); },
          .cancel = cancel_on_signals()};
}

Outcome add_and_print(const ExitsFlags& flags) {
  SHOAL_OR_EXIT(const exits::ExitsOptions options, Exit::kUsage, flags.resolve());
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(options.recipe));
  NetworkLine line;
  const auto result = exits::add_exits(*device, model, data, options, callbacks_of(line));
  return print_result(result, flags.train.json, to_json, print_table);
}

}  // namespace

void add_exits(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "exits", "Let a classifier answer early where it can", kExamples, add_and_print);
  flags.add_to(command);
}

}  // namespace shoal::cli
