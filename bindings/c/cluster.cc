// Clusters for C, where the library was built with them.
#include "shoal/cluster/cluster.h"

#include "handles.h"

namespace shoal::c {

void register_cluster() { register_cluster_device(); }

}  // namespace shoal::c
