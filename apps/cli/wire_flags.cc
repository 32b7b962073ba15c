// Flags for the format of values between workers.
#include "wire_flags.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "shoal/compress/calibration.h"
#include "shoal/devices/devices.h"

namespace shoal::cli {
namespace {

using plan::WireFormat;

constexpr std::array kFormats = {WireFormat::kF32, WireFormat::kF16, WireFormat::kI8};

}  // namespace

void WireFlags::add_to(const FlagGroup& group) {
  std::vector<std::string> names;
  for (WireFormat known : kFormats) names.emplace_back(name_of(known));
  Option* wire = group.add_setting(
      "--wire", format, "What values travel as between workers, at the least", one_of(names));
  Option* allowed = group.add_option(
      "--error", error, "What that may change, as a part of the answer's largest element",
      in_range(0.0, 1.0));
  wire->needs(allowed);
  allowed->needs(wire);
}

plan::WireOptions WireFlags::options() const {
  const auto chosen =
      std::ranges::find_if(kFormats, [&](WireFormat known) { return name_of(known) == format; });
  return {*chosen, error, {}};
}

Result<std::map<std::string, float, std::less<>>> largest_values(const Graph& graph,
                                                                 const std::string& device_name) {
  std::fprintf(stderr, "shoal: int8 ranges are those of a random input, good for measuring only\n");
  SHOAL_ASSIGN(const auto device, shoal::make_device(device_name));
  SHOAL_ASSIGN(const std::vector<Tensor> inputs, compress::random_examples(graph, 1).at(0));
  return compress::largest_magnitudes(graph, *device, inputs);
}

}  // namespace shoal::cli
