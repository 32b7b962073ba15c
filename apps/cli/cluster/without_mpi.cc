// In place of apps/cli/cluster/mpi/ where MPI is not built in.
#include "mpi_access.h"

namespace shoal::cli {

Result<RankedCluster> join_ranks() {
  return Status(Code::kUnsupported, "this shoal was built without MPI (cmake -DSHOAL_MPI=ON)");
}

}  // namespace shoal::cli
