// shoal bench: how fast a model runs here.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "cluster/cluster_bench.h"
#include "model.h"
#include "progress.h"
#include "table.h"

namespace shoal::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kExamples = R"(
Examples:
  shoal bench zoo:mobilenetv2 --threads 1
  shoal bench model.onnx --seconds 10 --json
  shoal bench zoo:vgg16 --cluster              split over workers, beside the best one alone
  shoal bench model.onnx --shape input=8x3x32x32
  yes 2 | head -5 | shoal bench model.onnx --turns  five times two seconds)";

struct BenchFlags {
  ModelFlags model;
  std::vector<std::string> shapes;
  double seconds = 3;
  bool json = false;
  bool turns = false;
  PlanFlags plan;
  std::string html;
};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double percentile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

// Not getrusage's: that begins with the peak of whoever started this program.
double peak_rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

// Milliseconds of each run, sorted.
Result<std::vector<double>> time_runs(Session& session, const Session::Tensors& inputs,
                                      double seconds) {
  constexpr size_t kMinRuns = 3;
  std::vector<double> times;
  const auto start = Clock::now();
  Progress progress("bench", static_cast<size_t>(seconds * 10));
  while (times.size() < kMinRuns || ms_since(start) < seconds * 1e3) {
    const auto begin = Clock::now();
    SHOAL_TRY(session.run(inputs).status());
    times.push_back(ms_since(begin));
    progress.at(static_cast<size_t>(ms_since(start) / 100));
  }
  std::ranges::sort(times);
  return times;
}

// `result` with a measurement added.
nlohmann::json with_times(nlohmann::json result, const std::vector<double>& times) {
  result["median_ms"] = percentile(times, 0.5);
  result["p10_ms"] = percentile(times, 0.1);
  result["p90_ms"] = percentile(times, 0.9);
  result["runs"] = times.size();
  result["peak_rss_mb"] = peak_rss_mb();
  return result;
}

// One measurement per line of standard input, which says how many seconds: whoever writes the
// lines can let several engines take turns. The first run of a turn finds the caches full of
// another engine's data, so it does not count.
Outcome take_turns(Session& session, const Session::Tensors& inputs, const nlohmann::json& facts) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const double seconds = std::strtod(line.c_str(), nullptr);
    if (auto warm_up = session.run(inputs); !warm_up.ok()) {
      return fail(Exit::kDevice, warm_up.status());
    }
    SHOAL_OR_EXIT(auto times, Exit::kDevice, time_runs(session, inputs, seconds));
    std::printf("%s\n", with_times(facts, times).dump().c_str());
    std::fflush(stdout);
  }
  return {};
}

void print_table(const nlohmann::json& result) {
  Table table({"model", "threads", "median ms", "p10", "p90", "runs", "open ms", "first answer ms",
               "peak RSS MB"});
  table.add({result["model"], std::to_string(int(result["threads"])), fixed(result["median_ms"], 3),
             fixed(result["p10_ms"], 3), fixed(result["p90_ms"], 3),
             std::to_string(size_t(result["runs"])), fixed(result["open_ms"], 1),
             fixed(result["first_ms"], 1), fixed(result["peak_rss_mb"], 1)});
  table.print();
}

Outcome bench(const BenchFlags& flags) {
  if (flags.plan.is_on_cluster()) {
    PlanFlags plan = flags.plan;
    plan.model = flags.model.model;
    plan.shapes = flags.shapes;
    return bench_cluster({plan, flags.seconds, flags.json, flags.html});
  }
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  const auto begin = Clock::now();
  SHOAL_OR_EXIT(Session session, Exit::kModel, open_session(flags.model, *device));
  const double open_ms = ms_since(begin);
  SHOAL_OR_EXIT(auto inputs, Exit::kUsage, random_inputs(session, flags.shapes));
  const auto first_begin = Clock::now();
  // The first run compiles for the inputs' shapes.
  if (auto first = session.run(inputs); !first.ok()) return fail(Exit::kModel, first.status());

  const nlohmann::json facts = {{"model", flags.model.model},
                                {"device", device->info().name},
                                {"threads", device->info().threads},
                                {"open_ms", open_ms},
                                {"first_ms", open_ms + ms_since(first_begin)}};
  if (flags.turns) return take_turns(session, inputs, facts);
  SHOAL_OR_EXIT(auto times, Exit::kDevice, time_runs(session, inputs, flags.seconds));
  const nlohmann::json result = with_times(facts, times);
  if (flags.json) {
    std::printf("%s\n", result.dump().c_str());
  } else {
    print_table(result);
  }
  return {};
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench", "Measure how fast a model runs on random inputs");
  command->footer(kExamples);
  flags->model.add_to(*command, /*model_required=*/true);
  command->add_option("--shape", flags->shapes, "NAME=1x3x224x224 for inputs of open size");
  command->add_option("--seconds", flags->seconds, "How long to measure")
      ->check(CLI::Range(0.0, 3600.0));
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->add_flag("--turns", flags->turns,
                    "Print one JSON object for each line of standard input, measured for as many "
                    "seconds as it says");
  CLI::Option* cluster = flags->plan.add_cluster_to(*command);
  command->add_option("--html", flags->html, "Write a picture: who computed and sent what when")
      ->needs(cluster);
  command->callback([flags, &action] { action = [flags] { return bench(*flags); }; });
}

}  // namespace shoal::cli
