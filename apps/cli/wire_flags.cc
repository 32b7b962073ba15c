// Flags for the format of values between workers.
#include "wire_flags.h"

#include <cstdio>

#include "shoal/compress/calibration.h"
#include "shoal/devices/devices.h"
#include "shoal/plan/search/plan_words.h"

namespace shoal::cli {

void WireFlags::add_to(const FlagGroup& group) {
  Option* wire =
      group.add_setting("--wire", format, "What values travel as between workers, at the least",
                        one_of(plan::wire_format_names()));
  Option* allowed = group.add_option(
      "--error", error, "What that may change, as a part of the answer's largest element",
      in_range(0.0, 1.0));
  wire->needs(allowed);
  allowed->needs(wire);
}

plan::WireOptions WireFlags::options() const { return {plan::find_wire_format(format), error, {}}; }

Result<std::map<std::string, float, std::less<>>> largest_values(const Graph& graph,
                                                                 const std::string& device_name) {
  std::fprintf(stderr, "shoal: int8 ranges are those of a random input, good for measuring only\n");
  SHOAL_ASSIGN(const auto device, shoal::make_device(device_name));
  SHOAL_ASSIGN(const std::vector<Tensor> inputs, compress::random_examples(graph, 1).at(0));
  return compress::largest_magnitudes(graph, *device, inputs);
}

}  // namespace shoal::cli
