// The functions of OpenCL 1.2 that Shoal calls, from the ICD loader that this machine has. The
// loader is opened when it is needed, so that one binary runs with and without it.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal::opencl {

// A table, so that tests can put failures in.
struct Api {
#define SHOAL_CL(name) decltype(&::name) name = nullptr;
#include "shoal/engine/opencl/opencl_functions.inc"
#undef SHOAL_CL
};

// kUnavailable where this machine has no OpenCL. Opened once.
Result<std::shared_ptr<const Api>> open_api();

// The failure of a call: kExhausted where memory ran out, kUnavailable where the device is gone,
// kInternal otherwise. OK for CL_SUCCESS.
Status status_of(cl_int error, std::string_view what);

}  // namespace shoal::opencl
