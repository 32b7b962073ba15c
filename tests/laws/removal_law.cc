// removal_law SETS RANGE MODEL...: draws random sets of units of each model, removes them, and
// compares the answers, to inputs from [0, RANGE), with those of the model where they are masked. A
// model is an ONNX file or the name of a network of the zoo, which is made small. Prints a line per
// model and what is refused of it; exit 1 where an answer is wrong.
//
//   removal_law 200 1 resnet18 encoder ../shared/models/resnet20-cifar10.onnx
//   removal_law 50 1 ../shared/models/use-lite-transformer.onnx@6     # 6 for what is open: tokens
//   removal_law 200 255 ../shared/models/style-candy.onnx     # takes pixels; else all is rounding
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/onnx/bind/bind.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "small_network.h"

namespace shoal::laws {
namespace {

constexpr double kSame = 1e-5;  // relative to the largest element
constexpr double kWidth = 0.5;  // of networks of the zoo

Result<Graph> load(const std::string& name) {
  const size_t at = name.rfind(".onnx@");
  const std::string path = at == std::string::npos ? name : name.substr(0, name.rfind('@'));
  if (!path.ends_with(".onnx")) return small_network(name, 1, kWidth);
  const int64_t open = path == name ? 1 : std::atoi(name.c_str() + path.size() + 1);
  SHOAL_ASSIGN(const auto model, onnx::Model::open(path));
  SHOAL_ASSIGN(const auto inputs, onnx::declared_inputs(*model, open));
  SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(model, inputs));
  if (bound.rest != nullptr) return invalid("its types depend on what it computes");
  return std::move(bound.graph);
}

void print_refused(const Graph& graph, const compress::Groups& groups) {
  std::map<std::string, size_t> reasons;
  for (const compress::Refusal& refusal : groups.refused) ++reasons[refusal.reason];
  for (const auto& [reason, axes] : reasons)
    std::printf("    %4zu axes: %s\n", axes, reason.c_str());
  size_t weights = 0;
  for (const Node& node : graph.nodes()) weights += parameters(graph, node) > 0 ? 1 : 0;
  std::printf("    of %zu nodes with weights\n", weights);
}

std::vector<Tensor> inputs_of(const Graph& graph, float range, std::mt19937& rng) {
  std::vector<Tensor> inputs = random_inputs(graph, rng);
  for (Tensor& input : inputs) {
    if (input.dtype() != DType::kF32) continue;
    for (float& x : input.data<float>()) x *= range;
  }
  return inputs;
}

// The largest error of all sets.
Result<double> worst_of(const Graph& graph, const compress::Groups& groups, int sets, float range) {
  const auto device = make_cpu_device({.prefer = "direct"});
  std::mt19937 rng(1);
  double worst = 0;
  for (int i = 0; i < sets; ++i) {
    const std::vector<size_t> units = compress::random_units(groups, rng);
    const std::vector<Tensor> inputs = inputs_of(graph, range, rng);
    SHOAL_ASSIGN(const double error,
                 compress::removal_error(graph, groups, units, inputs, *device));
    worst = std::max(worst, error);
  }
  return worst;
}

Result<bool> check(const std::string& name, int sets, float range) {
  using Clock = std::chrono::steady_clock;
  SHOAL_ASSIGN(const Graph graph, load(name));
  const auto begin = Clock::now();
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(graph));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  SHOAL_ASSIGN(const double worst, worst_of(graph, groups, sets, range));
  std::printf("%-60s %4zu nodes %4zu groups %6zu units, found in %.2f s, %d sets, worst %.1e %s\n",
              name.c_str(), graph.nodes().size(), groups.groups.size(), groups.units.size(),
              seconds, sets, worst, worst <= kSame ? "ok" : "FAILED");
  print_refused(graph, groups);
  return worst <= kSame;
}

}  // namespace
}  // namespace shoal::laws

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "removal_law SETS RANGE MODEL...\n");
    return 2;
  }
  const int sets = std::atoi(arguments[1]);
  const auto range = static_cast<float>(std::atof(arguments[2]));
  bool good = true;
  for (int i = 3; i < count; ++i) {
    const auto result = shoal::laws::check(arguments[i], sets, range);
    if (!result.ok()) {
      std::printf("%-60s %s\n", arguments[i], std::string(result.status().message()).c_str());
    }
    good = good && result.ok() && *result;
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
