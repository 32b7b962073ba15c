#include "shoal/detect/precision_facts.h"

#include <gtest/gtest.h>

namespace shoal::detect {
namespace {

TEST(PrecisionFacts, HaveARateOfImages) {
  Precision precision;
  precision.add({}, {});
  precision.add({}, {});
  EXPECT_EQ(to_json(precision, 4).dump(),
            R"({"images":2,"images_per_s":0.5,"map":0.0,"map50":0.0})");
}

}  // namespace
}  // namespace shoal::detect
