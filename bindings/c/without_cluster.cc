// In the place of cluster.cc where the library is built without clusters.
#include "handles.h"

namespace shoal::c {

void register_cluster() {}

}  // namespace shoal::c
