// shoal profile: where the time goes, layer by layer.
#include "apps/commands/networks/inspect.h"
#include "cli.h"
#include "exit_codes.h"
#include "facts.h"
#include "model.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal profile zoo:resnet18                        the slowest layers first
  shoal profile model.onnx --all                    every layer, in order
  shoal profile zoo:lenet5 --train --batch 64       forward and backward of a training step
  shoal profile model.onnx --trace trace.json       then open trace.json in ui.perfetto.dev)";

struct ProfileFlags {
  ModelFlags model;
  std::vector<std::string> shapes;
  std::string trace;
  size_t runs = 10;
  bool all = false;
  bool json = false;
  bool train = false;
  int64_t batch = 64;  // with --train
};

constexpr size_t kSlowest = 20;  // that are shown

Result<Session> open(const ProfileFlags& flags, Device& device) {
  if (!flags.train) return open_session(flags.model, device);
  SHOAL_ASSIGN(const Model model, open_model_with_warning(flags.model.model));
  SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model, flags.batch));
  SHOAL_ASSIGN(const train::StepGraph step, train::make_step_graph(loaded.graph));
  return Session::open(step.graph, device);
}

Outcome profile(const ProfileFlags& flags) {
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(Session session, Exit::kModel, open(flags, *device));
  SHOAL_OR_EXIT(auto inputs, Exit::kUsage, random_inputs(session, flags.shapes));
  const auto profile = profile_layers(session, inputs, flags.runs);
  if (!profile.ok()) {
    const bool by_device = profile.status().code() == Code::kUnsupported;
    return fail(by_device ? Exit::kDevice : Exit::kModel, profile.status().at(flags.model.device));
  }
  if (!flags.trace.empty()) {
    SHOAL_TRY_OR_EXIT(Exit::kResources, write_file(flags.trace, to_perfetto(*profile).dump()));
  }
  flags.json ? print_json(to_json(*profile))
             : table_of(*profile, flags.all ? SIZE_MAX : kSlowest).print();
  return {};
}

}  // namespace

void add_profile(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "profile", "Show where the time goes, layer by layer", kExamples, profile);
  flags.model.add_to(command, /*model_required=*/true);
  command.add_option("--shape", flags.shapes, "NAME=1x3x224x224 for inputs of open size");
  command.add_option("--runs", flags.runs, "How many runs to take medians over",
                     in_range(1, 10000));
  command.add_option("--trace", flags.trace, "Write a trace that Perfetto opens");
  command.add_flag("--all", flags.all, "Every layer, in order of running");
  command.add_flag("--json", flags.json, "Print one JSON object");
  Option* train = command.add_flag("--train", flags.train, "A step of training");
  command.add_setting("--batch", flags.batch, "Images per step", in_range(1, 4096))->needs(train);
}

}  // namespace shoal::cli
