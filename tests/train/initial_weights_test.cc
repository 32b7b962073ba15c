#include "shoal/train/step/weights/initial_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::train {
namespace {

double energy(std::span<const float> x) {
  double sum = 0;
  for (float v : x) sum += double{v} * double{v};
  return sum / static_cast<double>(x.size());
}

// Through all layers, noise neither dies nor explodes.
TEST(InitialWeights, KeepTheEnergyOfASignal) {
  for (const char* name : {"lenet5", "mlp", "convnet"}) {
    SCOPED_TRACE(name);
    const auto network = with_initial_weights(*zoo::build(name), 3);
    ASSERT_TRUE(network.ok()) << network.status().message();
    Tensor image((*network)[network->inputs()[0]].type);
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    for (float& x : image.data<float>()) x = normal(rng);
    std::vector<Tensor> outputs(1);
    ASSERT_TRUE(
        (*make_reference_device()->compile(*network))->run(std::vector{image}, outputs, {}).ok());
    const double after = energy(outputs[0].data<float>());
    EXPECT_GT(after, 1e-3);
    EXPECT_LT(after, 1e2);
  }
}

TEST(InitialWeights, DependOnTheSeedOnly) {
  const Graph network = *zoo::build("mlp");
  const auto weight = [&](uint64_t seed) {
    const Graph fresh = *with_initial_weights(network, seed);
    size_t i = 0;
    while (fresh[static_cast<ValueId>(i)].name != "fc1.weight") ++i;
    const auto elements = fresh[static_cast<ValueId>(i)].constant->data<float>();
    return std::vector<float>(elements.begin(), elements.end());
  };
  EXPECT_EQ(weight(1), weight(1));
  EXPECT_NE(weight(1), weight(2));
}

TEST(Retargeted, GivesTheLastLayerOtherClassesAndKeepsTheRest) {
  for (const char* name :
       {"lenet5", "mlp", "convnet", "nin", "squeezenet", "resnet18", "mobilenetv2"}) {
    const Graph network = *zoo::build(name);
    const auto fresh = retargeted(network, 7, 1);
    ASSERT_TRUE(fresh.ok()) << name << ": " << fresh.status().message();
    EXPECT_TRUE(verify(*fresh).ok());
    EXPECT_EQ((*fresh)[fresh->outputs()[0]].type.shape, (Shape{1, 7}));
    EXPECT_EQ(fresh->nodes().size(), network.nodes().size());
  }
  EXPECT_FALSE(retargeted(*zoo::build("tinyyolov2"), 7, 1).ok());  // no scores of classes
}

TEST(Rebatched, IsTheNetworkForAnotherBatch) {
  for (const char* name : {"lenet5", "convnet", "mobilenetv2", "encoder"}) {
    const Graph graph = *zoo::build(name, {.batch = 1});
    const auto many = rebatched(graph, 5);
    if (!many.ok()) continue;  // it knows its batch
    const Graph want = *zoo::build(name, {.batch = 5});
    EXPECT_EQ(to_text(*many), to_text(*rebuilt(want, {}))) << name;
  }
  EXPECT_TRUE(rebatched(*zoo::build("lenet5"), 5).ok());
}

TEST(WithConstants, RefusesWhatTheNetworkLacksOrHasOtherwise) {
  const Graph network = *zoo::build("mlp");
  EXPECT_TRUE(with_constants(network, {{"fc1.bias", Tensor({DType::kF32, {128}})}}).ok());
  EXPECT_FALSE(with_constants(network, {{"fc1.bias", Tensor({DType::kF32, {127}})}}).ok());
  EXPECT_FALSE(with_constants(network, {{"fc9.bias", Tensor({DType::kF32, {128}})}}).ok());
}

}  // namespace
}  // namespace shoal::train
