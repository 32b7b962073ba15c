// Latency tables against measurements: random prunings of a model, each predicted and measured.
// One JSON line per pruning, and a last one that says how many were predicted within a tenth.
//
//   bench_latency MODEL [PRUNINGS [NETWORKS [THREADS [off|fast]]]]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/latency/tabulate.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/data/batches.h"

namespace shoal::shrink {
namespace {

using Clock = std::chrono::steady_clock;

// Any number of units is left of each group, any of them.
std::vector<size_t> pruned(const compress::Groups& groups, uint64_t seed) {
  const RandomStream random(seed, 0x6c6174656e6379);
  std::vector<size_t> units;
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    const compress::Group& group = groups.groups[g];
    const std::vector<size_t> order = shuffled(group.size(), random.child(g));
    for (size_t i = 1 + random.below(group.size(), g); i < order.size(); ++i) {
      units.push_back(group.begin + order[i]);
    }
  }
  return units;
}

double quantile(std::vector<double> numbers, double share) {
  std::ranges::sort(numbers);
  return numbers[static_cast<size_t>(share * static_cast<double>(numbers.size() - 1))];
}

// The median of five measurements, by the yardstick of the table: what the machine does meanwhile
// is no error of the table.
Result<double> judged_ms(const StepTimer& timer, const Graph& network) {
  std::vector<double> all;
  for (int i = 0; i < 5; ++i) {
    SHOAL_ASSIGN(const NetworkTime time, timer(network));
    all.push_back(time.ms);
  }
  return quantile(all, 0.5);
}

struct Setting {
  std::string model;
  size_t prunings = 100, networks = 150;
  int threads = 1;
  std::string tune = "off";
};

Status measure(const Setting& setting) {
  SHOAL_ASSIGN(const Model model, open_model(setting.model));
  SHOAL_ASSIGN(const LoadedGraph one, as_given(model)(1));
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(one.graph));
  SHOAL_ASSIGN(const Graph dense, passes::optimize(one.graph));
  const auto device = make_cpu_device(
      {.threads = setting.threads, .tune = setting.tune == "fast" ? Tune::kFast : Tune::kOff});
  const auto begin = Clock::now();
  SHOAL_ASSIGN(const StepTimer timer, timer_on(*device, dense));
  SHOAL_ASSIGN(const LatencyTable table,
               tabulate(one.graph, groups, timer, {.networks = setting.networks}));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<double> errors;
  for (size_t i = 0; i < setting.prunings; ++i) {
    const std::vector<size_t> units = pruned(groups, i + 1);
    SHOAL_ASSIGN(const Graph smaller, compress::remove(one.graph, groups, units));
    SHOAL_ASSIGN(const Graph network, passes::optimize(smaller));
    SHOAL_ASSIGN(const double measured, judged_ms(timer, network));
    const double predicted = table.ms(kept_without(groups, units));
    errors.push_back(predicted / measured - 1);
    std::printf("{\"bench\":\"latency\",\"pruning\":%zu,\"ms_predicted\":%.5f,\"ms\":%.5f}\n", i,
                predicted, measured);
    std::fflush(stdout);
  }
  SHOAL_ASSIGN(const double dense_ms, judged_ms(timer, dense));
  std::vector<double> sizes = errors;
  for (double& error : sizes) error = std::abs(error);
  const auto within = std::ranges::count_if(sizes, [](double error) { return error <= 0.1; });
  std::printf(
      "{\"bench\":\"latency\",\"model\":\"%s\",\"threads\":%d,\"tune\":\"%s\",\"networks\":%zu,"
      "\"table_seconds\":%.1f,\"steps\":%zu,\"surfaces\":%zu,\"dense_ms\":%.4f,"
      "\"dense_ms_predicted\":%.4f,\"prunings\":%zu,\"within_10_percent\":%.3f,"
      "\"median_error\":%.4f,\"p50_abs\":%.4f,\"p95_abs\":%.4f}\n",
      model.name().c_str(), setting.threads, setting.tune.c_str(), setting.networks, seconds,
      table.steps.size(), table.surfaces.size(), dense_ms, table.ms(all_kept(groups)),
      errors.size(), static_cast<double>(within) / static_cast<double>(errors.size()),
      quantile(errors, 0.5), quantile(sizes, 0.5), quantile(sizes, 0.95));
  return {};
}

}  // namespace
}  // namespace shoal::shrink

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  shoal::shrink::Setting setting{.model = argv[1]};
  if (argc > 2) setting.prunings = std::strtoul(argv[2], nullptr, 10);
  if (argc > 3) setting.networks = std::strtoul(argv[3], nullptr, 10);
  if (argc > 4) setting.threads = std::atoi(argv[4]);
  if (argc > 5) setting.tune = argv[5];
  const shoal::Status status = measure(setting);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
