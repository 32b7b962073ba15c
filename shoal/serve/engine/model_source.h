// ModelSource: a model to serve under a name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/session/model.h"

namespace shoal::serve {

struct SharedSuffix;

struct ModelSource {
  std::string name;                          // in paths of requests
  std::string model;                         // as open_model() takes it
  std::function<Result<Model>()> open = {};  // in its place; empty: open_model(model)
  Preprocess preprocess = {};                // of pictures to classify
  std::vector<std::string> labels;           // of classes
  int64_t max_batch = 0;  // items; 1: no batches; 0: as long as larger ones are faster
  // First layers shared with other models, run once for all of them; then there are no batches.
  std::shared_ptr<const SharedSuffix> shared = nullptr;
};

// "MODEL" or "NAME=MODEL". Without a name it is the file's without folder and extension, or the
// zoo's. The built-in digits bring their preprocessing and labels. kInvalidArgument unless the name
// is letters, digits, '.', '_' and '-', so that it needs no escapes in paths.
Result<ModelSource> parse_model_source(std::string_view text);
// Several, with different names.
Result<std::vector<ModelSource>> parse_model_sources(const std::vector<std::string>& texts);

}  // namespace shoal::serve
