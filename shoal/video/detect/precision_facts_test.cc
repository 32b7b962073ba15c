#include "shoal/video/detect/precision_facts.h"

#include <gtest/gtest.h>

namespace shoal::detect {
namespace {

TEST(PrecisionFacts, HaveARateOfImagesAndAHead) {
  Precision precision;
  precision.add({}, {});
  precision.add({}, {});
  EXPECT_EQ(to_json(precision, HeadKind::kYolox, 4).dump(),
            R"({"head":"yolox","images":2,"images_per_s":0.5,"map":0.0,"map50":0.0})");
  EXPECT_EQ(text_of(precision, HeadKind::kYolox),
            "2 images, head yolox: mAP 50 0.00 %, mAP 0.00 %\n");
}

}  // namespace
}  // namespace shoal::detect
