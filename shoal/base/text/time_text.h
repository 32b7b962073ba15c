// Times as people and scripts read them.
#pragma once

#include <chrono>
#include <string>

namespace shoal {

// 2026-02-28T23:59:59Z
std::string in_utc(std::chrono::system_clock::time_point time);

}  // namespace shoal
