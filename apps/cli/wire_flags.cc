#include "wire_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "model.h"
#include "shoal/cpu/cpu.h"

namespace shoal::cli {
namespace {

using plan::WireFormat;

constexpr std::array kFormats = {WireFormat::kF32, WireFormat::kF16, WireFormat::kI8};

}  // namespace

std::vector<CLI::Option*> WireFlags::add_to(CLI::App& command) {
  std::vector<std::string> names;
  for (WireFormat known : kFormats) names.emplace_back(name_of(known));
  CLI::Option* wire =
      command.add_option("--wire", format, "What values travel as between workers, at the least")
          ->check(CLI::IsMember(names))
          ->capture_default_str();
  CLI::Option* allowed =
      command
          .add_option("--error", error,
                      "What that may change, as a part of the answer's largest element")
          ->check(CLI::Range(0.0, 1.0));
  wire->needs(allowed);
  allowed->needs(wire);
  return {wire, allowed};
}

plan::WireOptions WireFlags::options() const {
  const auto chosen =
      std::ranges::find_if(kFormats, [&](WireFormat known) { return name_of(known) == format; });
  return {*chosen, error, {}};
}

Result<std::map<std::string, float, std::less<>>> largest_values(const Graph& graph) {
  std::fprintf(stderr, "shoal: int8 ranges are those of a random input, good for measuring only\n");
  Graph all = graph;
  for (const Node& node : graph.nodes()) {
    if (graph[node.outputs[0]].type.dtype == DType::kF32) all.mark_output(node.outputs[0]);
  }
  const auto device = make_cpu_device({});
  SHOAL_ASSIGN(const auto executable, device->compile(all));
  std::mt19937 rng(1);
  std::vector<Tensor> inputs, outputs(all.outputs().size());
  for (ValueId id : all.inputs()) inputs.push_back(random_tensor(all[id].type, rng));
  SHOAL_TRY(executable->run(inputs, outputs, nullptr));
  std::map<std::string, float, std::less<>> largest;
  for (size_t i = graph.outputs().size(); i < outputs.size(); ++i) {
    float& most = largest[all[all.outputs()[i]].name];
    for (float x : outputs[i].data<float>()) most = std::max(most, std::abs(x));
  }
  return largest;
}

}  // namespace shoal::cli
