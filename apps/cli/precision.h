// Which layers a GPU computes in half precision, for `--precision auto` of `shoal bench` and
// `shoal eval`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/flags/json.h"
#include "shoal/session/session.h"

namespace shoal::cli {

// The device that was found, and what the search says of it.
struct AutomaticPrecision {
  std::unique_ptr<Device> device;
  size_t layers = 0, f32_layers = 0;
  Json facts;
};

// Whether the device of this name is one whose precision can be chosen: opencl:N, vulkan:N.
bool has_precisions(const std::string& device);

// Opens the network on a device.
using OpenOn = std::function<Result<Session>(Device&)>;
// The accuracy of the network as a session computes it, 0 to 1. Called in fp32 first.
using SessionAccuracy = std::function<Result<double>(Session&)>;

// `budget` is a share, too; `shapes` are those of inputs with which the network can run. Fails with
// kUnsupported where this program was built without the device.
Result<AutomaticPrecision> choose_precision(const std::string& device, double budget,
                                            const std::vector<std::string>& shapes,
                                            const OpenOn& open, const SessionAccuracy& accuracy);

// Where there are no labelled examples: the share of random inputs whose largest output is where
// the first session has it.
SessionAccuracy same_answers(const std::vector<std::string>& shapes);

}  // namespace shoal::cli
