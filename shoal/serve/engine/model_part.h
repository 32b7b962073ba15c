// Parts of a model, which run in two places (split execution [Han 2016]): the first layers of NAME
// up to its node N are the model NAME.firstN, the others NAME.restN. Two servers with the same
// model make the same parts of it, so that one can run the first layers and ask the other for the
// rest.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/graph/graph.h"
#include "shoal/serve/engine/model_source.h"

namespace shoal::serve {

struct ModelPart {
  std::string whole;  // model that it is a part of
  bool is_first = true;
  size_t nodes = 0;  // of the optimised network, in the first part
};

std::string name_of(const ModelPart& part);
// nullopt: not the name of a part.
std::optional<ModelPart> parse_part(std::string_view name);

// The network of a model for one item, as devices run it, from which parts are made. Fails if the
// model has several inputs, or leaves their sizes open.
Result<Graph> network_of(const ModelSource& source);

// A network as a model.
Result<Model> as_model(const Graph& network);

// The part as a model to serve. Opening it fails with kInvalidArgument if the network cannot be cut
// there (engine/shared_layers/split_network.h).
ModelSource part_source(const ModelSource& whole, const ModelPart& part);

}  // namespace shoal::serve
