#include "shoal/train/run/setup/feature_cache.h"

#include <gtest/gtest.h>

#include "shoal/engine/inputs/image.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::fit {
namespace {

using testing::Rows;

// y = 2x on [batch, 1, 4, 4]
Graph twice(int64_t batch) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {batch, 1, 4, 4}});
  graph.mark_output(*graph.add(ops::add, {x, x}));
  return graph;
}

Result<Tensor> prepare(const Tensor& image) {
  return image_for_input(image, std::vector<int64_t>{-1, 1, 4, 4}, {});
}

TEST(FeatureCache, HasTheFeaturesOfEachExampleInItsPlace) {
  const Rows data(10);  // fills two batches of four and half a third
  const auto device = make_reference_device();
  const auto body = device->compile(twice(4));
  ASSERT_TRUE(body.ok());
  const Batches batches(data, prepare, {.batch = 4, .classes = 4});
  const auto computed = compute_features(**body, batches, data.size());
  ASSERT_TRUE(computed.ok()) << computed.status().message();
  const auto features = features_as_data(data, *computed);
  ASSERT_EQ(features->size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    const Example image = *data.at(i), kept = *features->at(i);
    const Tensor x = *prepare(image.image);
    EXPECT_EQ(kept.label, image.label);
    ASSERT_EQ(kept.image.shape(), x.shape());
    for (size_t k = 0; k < 16; ++k) {
      EXPECT_EQ(kept.image.data<float>()[k], 2 * x.data<float>()[k]);
    }
    EXPECT_EQ(features->place(i), data.place(i));
  }
}

TEST(FeatureCache, OfNoExamplesIsEmpty) {
  const Rows data(0);
  const auto body = make_reference_device()->compile(twice(4));
  const Batches batches(data, prepare, {.batch = 4, .classes = 4});
  const auto computed = compute_features(**body, batches, data.size());
  ASSERT_TRUE(computed.ok());
  EXPECT_EQ(features_as_data(data, *computed)->size(), 0u);
}

TEST(FeatureCache, CountsBytesPerExample) {
  EXPECT_EQ(feature_bytes(twice(4), 10), 10u * 16 * sizeof(float));
}

}  // namespace
}  // namespace shoal::fit
