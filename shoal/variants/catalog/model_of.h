// A variant of a folder as a model, as servers and sessions take it.
#pragma once

#include <filesystem>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/variants/catalog/catalog.h"

#pragma GCC visibility push(default)

namespace shoal::catalog {

// A width is written to a temporary file, which lives as long as the model does and is gone then.
// Fails as open_variant() does.
Result<Model> model_of(const std::filesystem::path& folder, const Variant& variant);

}  // namespace shoal::catalog

#pragma GCC visibility pop
