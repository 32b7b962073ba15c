// History: one run of a cluster of production workers and coordinators under faults.
//
// It is violated by: a wrong answer; a request that ends after its deadline, or with an error that
// does not allow a retry; a request that fails although nothing was lost, or only one worker; a
// last request that fails although all faults ended long before; an acknowledged epoch that is
// lost; threads that wait for ever, or are left over at the end; and a crash.
#pragma once

#include <filesystem>

#include "scene.h"
#include "world.h"

namespace shoal::simulation {

// Lives through the history of a seed, and ends the process. `folder` is for files of workers.
[[noreturn]] void live_through(uint64_t seed, const Scene& scene, Report& report,
                               const std::filesystem::path& folder, bool tells);

}  // namespace shoal::simulation
