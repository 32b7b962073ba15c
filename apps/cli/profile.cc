// shoal profile: where the time goes, layer by layer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "apps/flags/json.h"
#include "cli.h"
#include "model.h"
#include "shoal/base/atomic_file.h"
#include "shoal/fit/network.h"
#include "shoal/session/layer_profile.h"
#include "shoal/train/step_graph.h"
#include "table.h"

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

// "winograd4 1.3x winograd2": the kernel that was measured fastest, by how much, and the runner-up.
std::string describe(const KernelInfo& kernel) {
  const KernelTiming& timing = kernel.timing;
  if (timing.runner_up.empty()) return kernel.name;
  return kernel.name + " " + fixed(timing.runner_up_microseconds / timing.microseconds, 1) + "x " +
         timing.runner_up;
}

Json to_json(const KernelTiming& timing) {
  if (timing.runner_up.empty()) return {};
  return {{"us", timing.microseconds},
          {"runner_up", timing.runner_up},
          {"runner_up_us", timing.runner_up_microseconds}};
}

void print_table(const LayerProfile& profile, bool all) {
  constexpr size_t kShown = 20;
  std::vector<LayerTime> layers = profile.layers;
  const double total = profile.total_ms();
  if (!all) std::ranges::stable_sort(layers, std::greater(), &LayerTime::median_ms);
  Table table({"node", "operator", "kernel", "output", "ms", "share", "GMAC/s"});
  const auto share = [&](double ms) { return fixed(100 * ms / total, 1) + " %"; };
  double shown = 0;
  for (size_t i = 0; i < layers.size() && (all || i < kShown); ++i) {
    const LayerTime& layer = layers[i];
    const double ms = layer.median_ms;
    shown += ms;
    table.add({layer.name, layer.op, describe(layer.kernel), layer.output, fixed(ms, 3), share(ms),
               layer.macs > 0 ? fixed(static_cast<double>(layer.macs) / ms / 1e6, 1) : ""});
  }
  table.add_rule();
  if (!all && layers.size() > kShown) {
    table.add({std::to_string(layers.size() - kShown) + " more", "", "", "",
               fixed(total - shown, 3), share(total - shown), ""});
  }
  table.add({"total", "", "", "", fixed(total, 3), "", ""});
  table.print();
}

// `by_kernel` sums the times of the layers by their kernel. Scripts watch two of these sums, which
// are there even if they are zero: what the layout costs, and what no fast kernel computes.
void print_layers(const LayerProfile& profile) {
  Json list = Json::array();
  std::map<std::string, double> by_kernel = profile.ms_by_kernel();
  by_kernel.insert({{"reference", 0}, {"reorder", 0}});
  for (const LayerTime& layer : profile.layers) {
    list.push_back({{"node", layer.name},
                    {"operator", layer.op},
                    {"kernel", layer.kernel.name},
                    {"tuning", to_json(layer.kernel.timing)},
                    {"output", layer.output},
                    {"macs", layer.macs},
                    {"median_ms", layer.median_ms}});
  }
  const Json all{
      {"layers", std::move(list)}, {"by_kernel", by_kernel}, {"total_ms", profile.total_ms()}};
  print_json(all);
}

// The last run, as Perfetto reads it.
Json to_perfetto(const LayerProfile& profile) {
  using Micro = std::chrono::duration<double, std::micro>;
  Json events = Json::array();
  for (const LayerEvent& event : profile.events) {
    const LayerTime& layer = profile.layers[event.layer];
    events.push_back(
        {{"name", layer.name},
         {"cat", layer.op},
         {"ph", "X"},
         {"ts", Micro(event.begin).count()},
         {"dur", Micro(event.end - event.begin).count()},
         {"pid", 1},
         {"tid", 1},
         {"args",
          Json{{"kernel", layer.kernel.name}, {"output", layer.output}, {"macs", layer.macs}}}});
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

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
    const Status written = write_file(flags.trace, to_perfetto(*profile).dump());
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  flags.json ? print_layers(*profile) : print_table(*profile, flags.all);
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
