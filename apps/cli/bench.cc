// shoal bench: how fast a model runs here.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli.h"
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
  shoal bench model.onnx --shape input=8x3x32x32)";

struct BenchFlags {
  ModelFlags model;
  std::vector<std::string> shapes;
  double seconds = 3;
  bool json = false;
};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double percentile(std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Outcome bench(const BenchFlags& flags) {
  constexpr size_t kMinRuns = 5;
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  const auto begin = Clock::now();
  SHOAL_OR_EXIT(Session session, Exit::kModel, open_session(flags.model, *device));
  const double open_ms = ms_since(begin);
  SHOAL_OR_EXIT(auto inputs, Exit::kUsage, random_inputs(session, flags.shapes));
  const auto first_begin = Clock::now();
  // The first run compiles for the inputs' shapes.
  SHOAL_OR_EXIT(auto outputs, Exit::kModel, session.run(inputs));
  const double first_ms = open_ms + ms_since(first_begin);

  std::vector<double> times;
  const auto start = Clock::now();
  Progress progress("bench", static_cast<size_t>(flags.seconds * 10));
  while (times.size() < kMinRuns || ms_since(start) < flags.seconds * 1e3) {
    const auto run_begin = Clock::now();
    SHOAL_OR_EXIT(outputs, Exit::kDevice, session.run(inputs));
    times.push_back(ms_since(run_begin));
    progress.at(static_cast<size_t>(ms_since(start) / 100));
  }
  std::ranges::sort(times);
  const nlohmann::json result = {{"model", flags.model.model},
                                 {"device", device->info().name},
                                 {"threads", device->info().threads},
                                 {"median_ms", percentile(times, 0.5)},
                                 {"p10_ms", percentile(times, 0.1)},
                                 {"p90_ms", percentile(times, 0.9)},
                                 {"runs", times.size()},
                                 {"open_ms", open_ms},
                                 {"first_ms", first_ms},
                                 {"peak_rss_mb", peak_rss_mb()}};
  if (flags.json) {
    std::printf("%s\n", result.dump().c_str());
    return {};
  }
  Table table({"model", "threads", "median ms", "p10", "p90", "runs", "open ms", "first answer ms",
               "peak RSS MB"});
  table.add({flags.model.model, std::to_string(device->info().threads),
             fixed(result["median_ms"], 3), fixed(result["p10_ms"], 3), fixed(result["p90_ms"], 3),
             std::to_string(times.size()), fixed(open_ms, 1), fixed(first_ms, 1),
             fixed(peak_rss_mb(), 1)});
  table.print();
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
  command->callback([flags, &action] { action = [flags] { return bench(*flags); }; });
}

}  // namespace shoal::cli
