#include "shoal/train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/cpu/cpu.h"
#include "shoal/data/image.h"
#include "shoal/zoo/embedded.h"
#include "shoal/zoo/zoo.h"

namespace shoal::train {
namespace {

constexpr int64_t kBatch = 10, kSide = 28;

struct Batch {
  Tensor images{{DType::kF32, {kBatch, 1, kSide, kSide}}};
  Tensor labels{{DType::kI64, {kBatch}}};
};

// The ten digits inside the binary, one of each.
Batch digits() {
  Batch batch;
  float* to = batch.images.data<float>().data();
  int64_t label = 0;
  for (const zoo::Sample& sample : zoo::digits_samples()) {
    const auto image = parse_image(sample.png);
    SHOAL_CHECK(image.ok() && image->count() == kSide * kSide);
    to = std::ranges::transform(image->data<uint8_t>(), to, [](uint8_t pixel) {
           return static_cast<float>(pixel) / 255;
         }).out;
    batch.labels.data<int64_t>()[static_cast<size_t>(label)] = label;
    ++label;
  }
  return batch;
}

int right(const Tensor& scores) {
  int count = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    const auto row = scores.data<float>().subspan(static_cast<size_t>(n) * 10, 10);
    count += std::ranges::max_element(row) - row.begin() == n;
  }
  return count;
}

class TrainerOn : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Device> device() const {
    return std::string_view(GetParam()) == "cpu" ? make_cpu_device() : make_reference_device();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, TrainerOn, testing::Values("cpu", "reference"));

TEST_P(TrainerOn, LeNetLearnsDigits) {
  const auto device = this->device();
  const auto network = zoo::build("lenet5", {.batch = kBatch});
  auto trainer = Trainer::create(*device, *network, {.rate = 0.05f, .momentum = 0.9f});
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  EXPECT_EQ(trainer->parameters().size(), 8u);
  const Batch batch = digits();
  const float first = *trainer->step(batch.images, batch.labels);
  float last = first;
  for (int i = 0; i < 15; ++i) last = *trainer->step(batch.images, batch.labels);
  EXPECT_GT(first, 1);
  EXPECT_LT(last, first / 10);
  EXPECT_EQ(right(trainer->scores()), kBatch);
}

TEST(Trainer, GivesTheNetworkWithWhatItLearned) {
  const auto device = make_reference_device();
  const auto network = zoo::build("mlp", {.batch = kBatch});
  auto trainer = Trainer::create(*device, *network, {.rate = 0.05f});
  const Batch batch = digits();
  ASSERT_TRUE(trainer->step(batch.images, batch.labels).ok());
  const auto learned = trainer->network();
  ASSERT_TRUE(learned.ok()) << learned.status().message();
  EXPECT_EQ(parameters(*learned), parameters(*network));
  std::vector<Tensor> scores(1);
  ASSERT_TRUE((*device->compile(*learned))->run(std::vector{batch.images}, scores, nullptr).ok());
  ASSERT_TRUE(trainer->step(batch.images, batch.labels).ok());
  const std::span<const float> got = scores[0].data<float>();
  const std::span<const float> want = trainer->scores().data<float>();
  for (size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(got[k], want[k], 1e-5f);
}

TEST(Trainer, RefusesABatchOfAnotherSizeAndALossThatIsNoNumber) {
  const auto device = make_reference_device();
  auto trainer = Trainer::create(*device, *zoo::build("mlp", {.batch = kBatch}), {.rate = 1e30f});
  Batch batch = digits();
  EXPECT_FALSE(trainer->step(batch.images, Tensor({DType::kI64, {kBatch + 1}})).ok());
  ASSERT_TRUE(trainer->step(batch.images, batch.labels).ok());
  const std::vector<float> before(trainer->weights()[0].data<float>().begin(),
                                  trainer->weights()[0].data<float>().end());
  EXPECT_FALSE(trainer->step(batch.images, batch.labels).ok());
  EXPECT_TRUE(std::ranges::equal(trainer->weights()[0].data<float>(), before));
}

}  // namespace
}  // namespace shoal::train
