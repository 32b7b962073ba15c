// In place of apps/cli/cluster/ where workers and coordinators are not built.
#include "cli.h"

namespace shoal::cli {

void add_cluster_commands(CLI::App&, Action&) {}

}  // namespace shoal::cli
