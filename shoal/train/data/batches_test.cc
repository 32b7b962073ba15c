#include "shoal/train/data/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <random>

namespace shoal {
namespace {

constexpr int64_t kSide = 6, kClasses = 10;

// Noise, each image another; some of them may be damaged.
class Noise : public Dataset {
 public:
  explicit Noise(size_t size, std::set<size_t> damaged = {})
      : size_(size), damaged_(std::move(damaged)) {}

  size_t size() const override { return size_; }
  Result<Example> at(size_t index) const override {
    if (damaged_.contains(index)) return Status(Code::kCorrupt, place(index) + ": torn");
    Tensor image({DType::kU8, {kSide, kSide, 3}});
    const RandomStream random(17, index);
    for (size_t i = 0; i < image.bytes().size(); ++i) {
      image.data<uint8_t>()[i] = static_cast<uint8_t>(random[i]);
    }
    return Example{image, static_cast<int64_t>(index) % kClasses};
  }
  std::string place(size_t index) const override { return "image " + std::to_string(index); }

 private:
  size_t size_;
  std::set<size_t> damaged_;
};

Result<Tensor> as_it_is(const Tensor& image) { return image.reshaped({1, kSide, kSide, 3}); }

BatchOptions random_options(std::mt19937& rng) {
  BatchOptions options{.batch = 1 + rng() % 7, .seed = rng(), .shuffle = true, .classes = kClasses};
  options.augment = {.crop = rng() % 2 == 0 ? 1 : 0.5,
                     .shift = static_cast<int64_t>(rng() % 9),
                     .flip = rng() % 2 == 0,
                     .noise = rng() % 2 == 0 ? 0 : 0.1};
  return options;
}

bool same(const Batch& a, const Batch& b) {
  return std::ranges::equal(a.images.bytes(), b.images.bytes()) &&
         std::ranges::equal(a.labels.bytes(), b.labels.bytes()) && a.examples == b.examples;
}

TEST(Batches, HaveTheChosenExamples) {
  const Noise data(20);
  BatchOptions options{.batch = 5, .shuffle = true, .classes = kClasses};
  options.choose = [](uint64_t step) { return std::vector<size_t>(step % 4, 19 - step); };
  const Batches batches(data, as_it_is, options);
  EXPECT_EQ(batches.per_epoch(), 4u);
  const auto batch = batches.at(1, 3);  // step 7
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  EXPECT_EQ(batch->examples, (std::vector<size_t>{12, 12, 12}));
  EXPECT_EQ(batch->images.shape()[0], 3);
  EXPECT_EQ(batch->labels.data<int64_t>()[2], 2);
  EXPECT_EQ(batches.at(1, 0)->examples.size(), 0u);
}

TEST(Batches, AreAFunctionOfSeedAndPlace) {
  std::mt19937 rng(1);
  for (int round = 0; round < 20; ++round) {
    const Noise data(20 + rng() % 20);
    const BatchOptions options = random_options(rng);
    const Batches batches(data, as_it_is, options), other(data, as_it_is, options);
    (void)batches.at(9, 0);  // what was read before does not matter
    const uint64_t epoch = rng() % 3;
    const size_t index = rng() % batches.per_epoch();
    EXPECT_TRUE(same(*batches.at(epoch, index), *other.at(epoch, index)));
    EXPECT_FALSE(same(*batches.at(epoch, index), *other.at(epoch + 1, index)));
  }
}

TEST(Batches, ComeInTheSameOrderFromAnyNumberOfThreads) {
  std::mt19937 rng(2);
  for (int threads : {1, 2, 5}) {
    const Noise data(31);
    const Batches batches(data, as_it_is, random_options(rng));
    const size_t begin = rng() % batches.per_epoch(), ahead = 1 + rng() % 4;
    Prefetch prefetch(batches, 1, begin, threads, ahead);
    for (size_t i = begin; i < begin + 2 * batches.per_epoch(); ++i) {
      const uint64_t epoch = 1 + i / batches.per_epoch();
      EXPECT_TRUE(same(*prefetch.next(), *batches.at(epoch, i % batches.per_epoch())));
    }
  }
}

TEST(Batches, HoldEveryExampleOnceAnEpoch) {
  const Noise data(20);
  for (bool shuffle : {false, true}) {
    const Batches batches(data, as_it_is, {.batch = 6, .shuffle = shuffle, .classes = kClasses});
    std::multiset<size_t> seen;
    for (size_t i = 0; i < batches.per_epoch(); ++i) {
      const Batch batch = *batches.at(0, i);
      seen.insert(batch.examples.begin(),
                  batch.examples.begin() + static_cast<ptrdiff_t>(batch.fresh));
    }
    EXPECT_EQ(seen.size(), shuffle ? 18u : 20u);  // what fills no batch is left out, or filled up
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), seen.size());
  }
}

TEST(Batches, AreRefusedOrDoWithoutWhatIsDamaged) {
  const Noise data(20, {3, 4});
  BatchOptions options{.batch = 5, .classes = kClasses};
  const auto refused = Batches(data, as_it_is, options).at(0, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "image 3: torn");
  options.damaged = Damaged::kSkip;
  const Batches batches(data, as_it_is, options);
  EXPECT_EQ(batches.at(0, 0)->examples, (std::vector<size_t>{0, 1, 2, 5, 5}));
  EXPECT_EQ(batches.skipped(), (std::vector<std::string>{"image 3: torn", "image 4: torn"}));
}

// Noise, but one image takes more memory than there is.
class Huge : public Noise {
 public:
  using Noise::Noise;
  Result<Example> at(size_t index) const override {
    if (index == 7) throw std::bad_alloc();
    return Noise::at(index);
  }
};

TEST(Batches, FailInTheirTurnWhereMemoryIsShort) {
  const Huge data(20);
  const Batches batches(data, as_it_is, {.batch = 5, .classes = kClasses});
  Prefetch prefetch(batches, 0, 0, 2, 2);
  EXPECT_TRUE(prefetch.next().ok());
  EXPECT_EQ(prefetch.next().status().code(), Code::kExhausted);
  EXPECT_TRUE(prefetch.next().ok());
}

TEST(Batches, RefuseLabelsThatAreNoClass) {
  const Noise data(20);
  const auto batch = Batches(data, as_it_is, {.batch = 10, .classes = 8}).at(0, 0);
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.status().message(), "image 8: label 8, the network has classes 0 to 7");
}

TEST(Batches, EndWhereNothingCanBeRead) {
  const Noise data(2, {0, 1});
  const Batches batches(data, as_it_is,
                        {.batch = 2, .classes = kClasses, .damaged = Damaged::kSkip});
  EXPECT_EQ(batches.at(0, 0).status().code(), Code::kCorrupt);
}

TEST(Shuffled, GivesEveryOrderAsOften) {
  std::map<std::vector<size_t>, int> counts;
  for (uint64_t seed = 0; seed < 6000; ++seed) ++counts[shuffled(3, RandomStream(seed, 0))];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

// An image in which only one pixel is white.
Tensor dot(int64_t row, int64_t column) {
  Tensor image({DType::kU8, {kSide, kSide, 1}});
  image.data<uint8_t>()[static_cast<size_t>(row * kSide + column)] = 255;
  return image;
}

TEST(Augment, MovesNoPixelFartherThanAllowedAndEachWay) {
  std::set<std::pair<int64_t, int64_t>> places;
  for (uint64_t number = 0; number < 200; ++number) {
    const Tensor moved = augment(dot(2, 3), {.shift = 1}, RandomStream(1, number));
    const auto pixels = moved.data<uint8_t>();
    const auto at = std::ranges::find(pixels, 255) - pixels.begin();
    places.insert({at / kSide - 2, at % kSide - 3});
  }
  EXPECT_EQ(places.size(), 9u);
  for (const auto& [down, right] : places) EXPECT_LE(std::max(std::abs(down), std::abs(right)), 1);
}

TEST(Augment, MovesAllOfAnImageOutOfSight) {
  for (uint64_t number = 0; number < 50; ++number) {
    EXPECT_EQ(augment(dot(0, 0), {.shift = 40}, RandomStream(1, number)).shape(),
              (Shape{kSide, kSide, 1}));
  }
}

TEST(Augment, FlipsEverySecondImageLeftToRight) {
  int flips = 0;
  for (uint64_t number = 0; number < 1000; ++number) {
    const Tensor result = augment(dot(1, 0), {.flip = true}, RandomStream(1, number));
    const bool flipped = result.data<uint8_t>()[kSide + kSide - 1] == 255;
    EXPECT_TRUE(flipped || result.data<uint8_t>()[kSide] == 255);
    flips += flipped ? 1 : 0;
  }
  EXPECT_NEAR(flips, 500, 60);
}

TEST(Augment, AddsNoiseOfTheDeviation) {
  Tensor grey({DType::kU8, {100, 100, 1}});
  std::ranges::fill(grey.data<uint8_t>(), uint8_t{128});
  double sum = 0, squares = 0;
  const Tensor noisy = augment(grey, {.noise = 0.1}, RandomStream(1, 1));
  for (uint8_t x : noisy.data<uint8_t>()) {
    sum += x - 128;
    squares += (x - 128) * (x - 128);
  }
  EXPECT_NEAR(sum / 1e4, 0, 1);
  EXPECT_NEAR(std::sqrt(squares / 1e4), 25.5, 1);
}

TEST(Augment, CropsKeepSizeAndWhatIsEvenStaysEven) {
  Tensor even({DType::kU8, {9, 7, 3}});
  std::ranges::fill(even.data<uint8_t>(), uint8_t{40});
  for (uint64_t number = 0; number < 50; ++number) {
    const Tensor result = augment(even, {.crop = 0.3}, RandomStream(1, number));
    EXPECT_EQ(result.shape(), even.shape());
    EXPECT_TRUE(std::ranges::equal(result.bytes(), even.bytes()));
  }
}

}  // namespace
}  // namespace shoal
