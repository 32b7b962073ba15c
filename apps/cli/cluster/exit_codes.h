// Exit codes of what fails between machines.
#pragma once

#include "../cli.h"

namespace shoal::cli {

Exit exit_of(const Status& status);

}  // namespace shoal::cli
