// Libraries of Shoal's own that are loaded when they are needed, because what they link is large.
#pragma once

#include <string>

#include "shoal/base/status.h"

namespace shoal {

// The handle of dlopen(). The file is looked for beside the program and beside the library that has
// this code, where they are built, and in the place of an installed program or library,
// LIBDIR/shoal. Never unloaded. Fails with kUnsupported.
Result<void*> open_module(const std::string& file);

}  // namespace shoal
