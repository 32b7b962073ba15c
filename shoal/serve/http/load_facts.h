// What a server answered under load, as facts.
#pragma once

#include "shoal/base/text/facts.h"
#include "shoal/serve/http/load.h"

namespace shoal::serve {

Facts facts_of(const LoadResult& result, const LoadOptions& options);

}  // namespace shoal::serve
