#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"
#include "shoal/cluster/emulate/workers/worker_service.h"

namespace shoal::emulate {
namespace {

TEST(WorkerServiceOptions, AreDescribed) {
  WorkerServiceOptions options;
  expect_described(settings_of(options));
}

}  // namespace
}  // namespace shoal::emulate
