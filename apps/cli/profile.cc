// shoal profile: where the time goes, layer by layer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>

#include "apps/flags/json.h"
#include "cli.h"
#include "model.h"
#include "shoal/cpu/cpu.h"
#include "shoal/fit/network.h"
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

// One node over all runs.
struct Row {
  std::string name, op, output;
  std::string kernel;
  KernelTiming timing;  // without a runner-up where nothing was measured
  int64_t macs = 0;
  std::vector<double> ms;
  double median = 0;
};

// Rows by (stage, node); events for Perfetto from the last run.
struct Recording {
  std::vector<std::vector<Row>> stages;
  Json events = Json::array();
  std::chrono::nanoseconds end{0};  // of the last stage
};

std::vector<Row> rows_of(const Executable& executable) {
  std::vector<Row> rows;
  const Graph& graph = executable.graph();
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const KernelTiming* timing = cpu_timing_of(executable, n);
    rows.push_back({place_of(graph, node),
                    std::string(node.op->name),
                    to_string(graph[node.outputs[0]].type),
                    executable.kernel_of(n).name,
                    timing == nullptr ? KernelTiming() : *timing,
                    macs(graph, node),
                    {}});
  }
  return rows;
}

void record(Recording& recording, size_t stage, const Executable& executable, const Trace& trace) {
  if (stage == recording.stages.size()) recording.stages.push_back(rows_of(executable));
  using Micro = std::chrono::duration<double, std::micro>;
  const std::chrono::nanoseconds start = recording.end;  // stages run one after the other
  for (const TraceEvent& event : trace) {
    Row& row = recording.stages[stage][event.node];
    const double us = Micro(event.end - event.begin).count();
    row.ms.push_back(us / 1e3);
    recording.events.push_back(
        {{"name", row.name},
         {"cat", row.op},
         {"ph", "X"},
         {"ts", Micro(start + event.begin).count()},
         {"dur", us},
         {"pid", 1},
         {"tid", 1},
         {"args", Json{{"kernel", row.kernel}, {"output", row.output}, {"macs", row.macs}}}});
    recording.end = std::max(recording.end, start + event.end);
  }
}

// "winograd4 1.3x winograd2": the kernel that was measured fastest, by how much, and the runner-up.
std::string describe(const std::string& kernel, const KernelTiming& timing) {
  if (timing.runner_up.empty()) return kernel;
  return kernel + " " + fixed(timing.runner_up_microseconds / timing.microseconds, 1) + "x " +
         timing.runner_up;
}

Json to_json(const KernelTiming& timing) {
  if (timing.runner_up.empty()) return nullptr;
  return {{"us", timing.microseconds},
          {"runner_up", timing.runner_up},
          {"runner_up_us", timing.runner_up_microseconds}};
}

void print_table(std::vector<Row> rows, bool all) {
  constexpr size_t kShown = 20;
  double total = 0;
  for (const Row& row : rows) total += row.median;
  if (!all) std::ranges::stable_sort(rows, std::greater(), &Row::median);
  Table table({"node", "operator", "kernel", "output", "ms", "share", "GMAC/s"});
  double shown = 0;
  for (size_t i = 0; i < rows.size() && (all || i < kShown); ++i) {
    const Row& row = rows[i];
    shown += row.median;
    table.add({row.name, row.op, describe(row.kernel, row.timing), row.output, fixed(row.median, 3),
               fixed(100 * row.median / total, 1) + " %",
               row.macs > 0 ? fixed(static_cast<double>(row.macs) / row.median / 1e6, 1) : ""});
  }
  table.add_rule();
  if (!all && rows.size() > kShown) {
    table.add({std::to_string(rows.size() - kShown) + " more", "", "", "", fixed(total - shown, 3),
               fixed(100 * (total - shown) / total, 1) + " %", ""});
  }
  table.add({"total", "", "", "", fixed(total, 3), "", ""});
  table.print();
}

void print_json(std::vector<Row> rows) {
  Json list = Json::array();
  for (Row& row : rows) {
    list.push_back({{"node", row.name},
                    {"operator", row.op},
                    {"kernel", row.kernel},
                    {"tuning", to_json(row.timing)},
                    {"output", row.output},
                    {"macs", row.macs},
                    {"median_ms", row.median}});
  }
  std::printf("%s\n", list.dump().c_str());
}

Result<Session> open(const ProfileFlags& flags, Device& device) {
  if (!flags.train) return open_session(flags.model, device);
  SHOAL_ASSIGN(const Model model, open_model(flags.model.model));
  SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model, flags.batch));
  SHOAL_ASSIGN(const train::StepGraph step, train::make_step_graph(loaded.graph));
  return Session::open(step.graph, device);
}

Outcome profile(const ProfileFlags& flags) {
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(Session session, Exit::kModel, open(flags, *device));
  SHOAL_OR_EXIT(auto inputs, Exit::kUsage, random_inputs(session, flags.shapes));
  SHOAL_OR_EXIT(auto warm, Exit::kModel, session.run(inputs));
  Recording recording;
  for (size_t i = 0; i < flags.runs; ++i) {
    size_t stage = 0;
    recording.events = Json::array();
    recording.end = {};
    const auto observer = [&](const Executable& executable, const Trace& trace) {
      record(recording, stage++, executable, trace);
    };
    SHOAL_OR_EXIT(auto outputs, Exit::kDevice, session.run(inputs, {.observer = observer}));
  }
  std::vector<Row> rows;
  for (auto& stage : recording.stages) rows.insert(rows.end(), stage.begin(), stage.end());
  std::erase_if(rows, [](const Row& row) { return row.ms.empty(); });
  for (Row& row : rows) {
    std::ranges::sort(row.ms);
    row.median = row.ms[row.ms.size() / 2];
  }
  if (!flags.trace.empty()) {
    std::ofstream file(flags.trace);
    file << Json{{"traceEvents", recording.events}, {"displayTimeUnit", "ms"}}.dump();
    if (!file.flush()) return {Exit::kResources, "cannot write " + flags.trace};
  }
  if (flags.json) {
    print_json(std::move(rows));
  } else {
    print_table(std::move(rows), flags.all);
  }
  return {};
}

}  // namespace

void add_profile(Command& app, Action& action) {
  auto flags = std::make_shared<ProfileFlags>();
  Command* command = app.add_subcommand("profile", "Show where the time goes, layer by layer");
  command->footer(kExamples);
  flags->model.add_to(*command, /*model_required=*/true);
  command->add_option("--shape", flags->shapes, "NAME=1x3x224x224 for inputs of open size");
  command->add_option("--runs", flags->runs, "How many runs to take medians over")
      ->check(in_range(1, 10000));
  command->add_option("--trace", flags->trace, "Write a trace that Perfetto opens");
  command->add_flag("--all", flags->all, "Every layer, in order of running");
  command->add_flag("--json", flags->json, "Print one JSON array");
  Option* train = command->add_flag("--train", flags->train, "A step of training");
  command->add_option("--batch", flags->batch, "Images per step")
      ->needs(train)
      ->check(in_range(1, 4096))
      ->capture_default_str();
  command->callback([flags, &action] { action = [flags] { return profile(*flags); }; });
}

}  // namespace shoal::cli
