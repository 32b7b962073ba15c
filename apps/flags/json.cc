#include "apps/flags/json.h"

#include <cstdio>

namespace shoal::cli {

void print_json(const Json& json) { std::printf("%s\n", json.dump().c_str()); }

}  // namespace shoal::cli
