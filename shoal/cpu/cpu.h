// The CPU as a Device: fast kernels where there are some, reference functions for the rest.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "shoal/device/device.h"

namespace shoal {

struct CpuOptions {
  int threads = 0;  // 0: one per core
};

std::unique_ptr<Device> make_cpu_device(const CpuOptions& options = {});

// The kernels there are for an operator, best first, without the reference: "gemv", "gemm".
std::vector<std::string_view> cpu_kernels_of(const Operator& op);

}  // namespace shoal
