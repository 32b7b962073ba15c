#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "shoal/base/math/hash.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/engine/cpu/instruction_set.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDirectory = sizeof(PackedCache::Header) + 2 * sizeof(PackedCache::Entry);

class PackedCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / ("shoal_packed_" + test);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    file_ = folder_ / "packed";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static PackedFloats floats(int64_t count, float first) {
    const auto memory = std::make_shared<std::vector<float>>(count);
    for (float& x : *memory) x = first++;
    return {memory, memory->data()};
  }

  // Two entries, of keys 1 and 2.
  void write() {
    PackedCache cache(file_);
    cache.add(1, floats(100, 0), 100);
    cache.add(2, floats(3, 500), 3);
    ASSERT_TRUE(cache.save(pool_).ok());
  }

  std::string content() const {
    std::ifstream file(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string& bytes) const {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
  }

  // With the first entry changed, and a directory that is consistent all the same.
  template <class Change>
  static std::string forged(std::string file, const Change& change) {
    PackedCache::Header header;
    PackedCache::Entry entry;
    std::memcpy(&header, file.data(), sizeof(header));
    std::memcpy(&entry, file.data() + sizeof(header), sizeof(entry));
    change(entry);
    header.check = 0;
    std::memcpy(file.data(), &header, sizeof(header));
    std::memcpy(file.data() + sizeof(header), &entry, sizeof(entry));
    header.check = hash_of(std::as_bytes(std::span(file).first(kDirectory)));
    std::memcpy(file.data(), &header, sizeof(header));
    return file;
  }

  // Of the two entries, how many are there and what they were.
  int intact() {
    PackedCache cache(file_);
    const PackedFloats one = cache.find(1, 100, pool_), two = cache.find(2, 3, pool_);
    for (int i = 0; one != nullptr && i < 100; ++i) {
      EXPECT_EQ(one.get()[i], static_cast<float>(i));
    }
    for (int i = 0; two != nullptr && i < 3; ++i) {
      EXPECT_EQ(two.get()[i], static_cast<float>(500 + i));
    }
    return (one != nullptr ? 1 : 0) + (two != nullptr ? 1 : 0);
  }

  ThreadPool pool_{{.threads = 2}};
  fs::path folder_, file_;
};

TEST_F(PackedCacheTest, GivesBackWhatWasAdded) {
  write();
  EXPECT_EQ(intact(), 2);
  PackedCache cache(file_);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(cache.find(1, 100, pool_).get()) % 64, 0u);
  EXPECT_EQ(cache.find(3, 100, pool_), nullptr);
  EXPECT_EQ(cache.find(2, 4, pool_), nullptr) << "of another size";
}

TEST_F(PackedCacheTest, KeepsOnlyWhatIsAskedFor) {
  write();
  PackedCache cache(file_);
  ASSERT_NE(cache.find(2, 3, pool_), nullptr);
  cache.add(3, floats(5, 0), 5);
  ASSERT_TRUE(cache.save(pool_).ok());
  EXPECT_NE(cache.find(3, 5, pool_), nullptr);
  EXPECT_EQ(intact(), 1);
}

TEST_F(PackedCacheTest, WritesNothingWhereNothingIsNew) {
  write();
  const auto before = fs::last_write_time(file_);
  PackedCache cache(file_);
  ASSERT_NE(cache.find(1, 100, pool_), nullptr);
  ASSERT_TRUE(cache.save(pool_).ok());
  EXPECT_EQ(fs::last_write_time(file_), before);
}

TEST_F(PackedCacheTest, BelievesNoChangedByte) {
  write();
  const std::string good = content();
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    replace(bad);
    const int left = intact();
    if (i < kDirectory) {
      EXPECT_EQ(left, 0) << "byte " << i << " of the directory";
    }
  }
}

TEST_F(PackedCacheTest, BelievesNoFileCutShort) {
  write();
  const std::string good = content();
  for (size_t size = 0; size < good.size(); ++size) {
    replace(good.substr(0, size));
    const int left = intact();
    if (size < kDirectory + 100 * sizeof(float)) {
      EXPECT_EQ(left, 0) << size << " bytes";
    }
  }
}

TEST_F(PackedCacheTest, ReadsNothingOutsideTheFile) {
  write();
  const std::string good = content();
  const uint64_t size = good.size(), most = ~uint64_t{0}, half = uint64_t{1} << 63;
  for (const uint64_t offset : {size, size + 64, uint64_t{65}, half, most - 63, most}) {
    replace(forged(good, [&](PackedCache::Entry& entry) { entry.offset = offset; }));
    EXPECT_EQ(intact(), 1) << offset;
  }
  for (const uint64_t count : {size, most, half, half / 2, most / 4}) {
    replace(forged(good, [&](PackedCache::Entry& entry) { entry.count = count; }));
    PackedCache cache(file_);
    EXPECT_EQ(cache.find(1, static_cast<int64_t>(count), pool_), nullptr) << count;
  }
}

TEST_F(PackedCacheTest, BelievesNoFileOfAnotherInstructionSet) {
  if (instruction_sets().size() < 2) GTEST_SKIP() << "this machine has one only";
  write();
  use_instruction_set(instruction_sets()[1]);
  EXPECT_EQ(intact(), 0);
  use_instruction_set("");
  EXPECT_EQ(intact(), 2);
}

TEST_F(PackedCacheTest, SaysWhereItCannotWrite) {
  PackedCache cache(folder_ / "no" / "such" / "folder");
  cache.add(1, floats(1, 0), 1);
  EXPECT_FALSE(cache.save(pool_).ok());
}

TEST_F(PackedCacheTest, WritesLaterWhatItCouldNotWrite) {
  PackedCache cache(folder_ / "later" / "packed");
  cache.add(1, floats(1, 0), 1);
  EXPECT_FALSE(cache.save(pool_).ok());
  fs::create_directory(folder_ / "later");
  EXPECT_TRUE(cache.save(pool_).ok());
  EXPECT_TRUE(fs::exists(folder_ / "later" / "packed"));
}

// Layers whose kernels pack weights.
Graph layers(int seed) {
  auto graph = parse_text(R"(
      input x f32[2,32,12,12]
      const a f32[48,32,3,3] = random()" +
                              std::to_string(seed) + R"()
      const b f32[40,48,1,1] = random(2)
      const c f32[40,16,4,4] = random(3)
      const d f32[1936,24] = random(4)
      const flat i64[2] = [2,-1]
      p = Conv(x, a)
      q = Conv(p, b)
      r = ConvTranspose(q, c) strides=[2,2]
      s = MaxPool(r) kernel_shape=[2,2] strides=[2,2]
      t = Reshape(s, flat)
      y = MatMul(t, d)
      output y)",
                          ops::find);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

class PackedModelTest : public PackedCacheTest {
 protected:
  static std::vector<std::byte> answer(const Graph& graph, const CpuOptions& options) {
    std::mt19937 rng(3);
    const Tensor x = random_floats(rng, graph[graph.inputs()[0]].type.shape);
    std::vector<Tensor> y(1);
    const auto device = make_cpu_device(options);
    auto executable = device->compile(graph);
    EXPECT_TRUE(executable.ok() && (*executable)->run(std::span(&x, 1), y, {}).ok());
    return {y[0].bytes().begin(), y[0].bytes().end()};
  }
};

TEST_F(PackedModelTest, AnswersTheSameFromTheFile) {
  const Graph graph = layers(1);
  for (const char* kernel : {"direct", "winograd2", "winograd4"}) {
    fs::remove(file_);
    const auto plain = answer(graph, {.threads = 2, .prefer = kernel});
    const CpuOptions options{.threads = 2, .packed = file_, .prefer = kernel};
    EXPECT_EQ(answer(graph, options), plain) << kernel;
    const std::string written = content();
    EXPECT_GT(written.size(), size_t{1} << 18);
    EXPECT_EQ(answer(graph, options), plain) << kernel;
    EXPECT_EQ(content(), written) << kernel << " packed something again";
  }
}

TEST_F(PackedModelTest, RunsWhereTheFileCannotBeWritten) {
  const CpuOptions options{.threads = 1, .packed = folder_ / "no" / "such" / "folder"};
  EXPECT_EQ(answer(layers(1), options), answer(layers(1), {.threads = 1}));
}

TEST_F(PackedModelTest, PacksOtherWeightsAnew) {
  const CpuOptions options{.threads = 1, .packed = file_};
  answer(layers(1), options);
  EXPECT_EQ(answer(layers(7), options), answer(layers(7), {.threads = 1}));
  EXPECT_EQ(answer(layers(1), options), answer(layers(1), {.threads = 1}));
}

}  // namespace
}  // namespace shoal::cpu
