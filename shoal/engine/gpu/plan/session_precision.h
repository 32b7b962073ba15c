// The precision of each layer of a network that a session runs, chosen as
// engine/gpu/plan/precision.h says.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/json.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/gpu/plan/options.h"
#include "shoal/engine/gpu/plan/precision.h"
#include "shoal/engine/session/input_shapes.h"
#include "shoal/engine/session/session.h"

namespace shoal {

// The device found and the result of the search.
struct AutomaticPrecision {
  std::unique_ptr<Device> device;
  std::vector<std::string> layers;  // all that could be f16
  PrecisionChoice choice;
};

// The result of the search as JSON and as a line of text.
Json to_json(const AutomaticPrecision& result);
std::string text_of(const AutomaticPrecision& result);

// Makes a device that stores elements in this precision, except these layers.
using MakeWithPrecision = std::function<Result<std::unique_ptr<Device>>(
    GpuPrecision precision, const std::vector<std::string>& f32_layers)>;
using OpenOn = std::function<Result<Session>(Device&)>;
// The accuracy of the network as a session computes it, 0 to 1. Called in fp32 first.
using SessionAccuracy = std::function<Result<double>(Session&)>;

// `budget` is a share of the accuracy; `shapes` are input shapes that the network accepts. Fails as
// the functions do. REQUIRES: budget >= 0.
Result<AutomaticPrecision> choose_precision(const MakeWithPrecision& make, double budget,
                                            const InputShapes& shapes, const OpenOn& open,
                                            const SessionAccuracy& accuracy);

// If there are no labelled examples: the share of random inputs whose largest output is where
// the first session has it. kUnsupported if outputs are not f32.
SessionAccuracy same_answers(const InputShapes& shapes);

}  // namespace shoal
