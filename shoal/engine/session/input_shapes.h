// Shapes of a model's inputs, and random inputs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// Shapes by the names of inputs.
using InputShapes = std::map<std::string, Shape>;

// Shapes from texts such as "x=1x3x224x224". The name may contain '='; the last one counts. "x=" is
// a scalar. Fails with kInvalidArgument for another text.
Result<InputShapes> parse_input_shapes(std::span<const std::string> texts);

// Random inputs for a request, the same in every call: floats in [0, 1), other types 0 or 1.
// Dimensions that the model leaves open are 1 unless `shapes` has the input. Optional inputs are
// left out unless `shapes` has them. Fails with kInvalidArgument if the session does not accept
// such inputs.
Result<Session::Tensors> random_inputs(const Session& session, const InputShapes& shapes = {});

}  // namespace shoal

#pragma GCC visibility pop
