#include "shoal/cluster/worker/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "shoal/cluster/net/hex.h"
#include "shoal/cluster/net/peers_testing.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

net::Buffer blob(size_t floats, uint64_t seed) {
  auto buffer = *net::Buffer::allocate(floats * sizeof(float));
  std::ranges::copy(net::random_bytes(buffer.bytes.size(), seed), buffer.bytes.begin());
  return buffer;
}

TensorType floats(int64_t count) { return {DType::kF32, {count}}; }

Store store_on(const fs::path& folder, size_t quota = 1 << 20) {
  auto cache = WeightCache::open(folder, quota);
  EXPECT_TRUE(cache.ok()) << cache.status().message();
  return Store(1 << 20, *std::move(cache));
}

// All of a weight at once.
Status put(Store& store, const Hash& hash, const net::Buffer& bytes) {
  const size_t size = bytes.bytes.size();
  SHOAL_ASSIGN(const uint64_t have, store.append(hash, size, 0, bytes.bytes));
  return have == size ? store.verify(hash) : Status(Code::kCorrupt, "dropped");
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(Store, FindsWhatWasPutByItsHash) {
  Store store(1 << 20);
  const net::Buffer bytes = blob(100, 1);
  const Hash hash = hash_of(bytes.bytes);
  EXPECT_FALSE(store.has(hash));
  EXPECT_TRUE(put(store, hash, bytes).ok());
  EXPECT_TRUE(store.has(hash));
  EXPECT_TRUE(net::equal(store.find(hash, floats(100)).bytes(), bytes.bytes));
  EXPECT_FALSE(store.find(hash, floats(99)).defined());
  EXPECT_EQ(put(store, hash_of({}), bytes).code(), Code::kCorrupt);
}

TEST(Store, DropsWhatNobodyUsesWhenItIsFull) {
  Store store(1000);
  const Hash one = hash_of(blob(200, 1).bytes), two = hash_of(blob(200, 2).bytes);
  ASSERT_TRUE(put(store, one, blob(200, 1)).ok());
  {
    const Tensor used = store.find(one, floats(200));
    EXPECT_EQ(put(store, two, blob(200, 2)).code(), Code::kExhausted);
  }
  EXPECT_TRUE(put(store, two, blob(200, 2)).ok());
  EXPECT_FALSE(store.has(one));
  EXPECT_EQ(store.bytes(), 800u);
}

TEST(Store, RemembersAfterARestart) {
  const net::TestFolder folder;
  const net::Buffer bytes = blob(100, 1);
  const Hash hash = hash_of(bytes.bytes);
  {
    Store store = store_on(folder.path());
    EXPECT_TRUE(put(store, hash, bytes).ok());
  }
  Store again = store_on(folder.path());
  EXPECT_TRUE(again.has(hash));
  EXPECT_FALSE(again.find(hash, floats(100)).defined()) << "not checked yet";
  EXPECT_TRUE(again.verify(hash).ok());
  EXPECT_TRUE(net::equal(again.find(hash, floats(100)).bytes(), bytes.bytes));
}

TEST(Store, BelievesNoFileThatIsNotWhatItsNameSays) {
  const net::TestFolder folder;
  const net::Buffer bytes = blob(100, 1);
  const Hash hash = hash_of(bytes.bytes);
  {
    Store store = store_on(folder.path());
    EXPECT_TRUE(put(store, hash, bytes).ok());
  }
  const fs::path file = folder.path() / net::to_hex(std::as_bytes(std::span(hash)));
  std::ofstream(file, std::ios::in | std::ios::out) << "x";
  Store store = store_on(folder.path());
  EXPECT_TRUE(store.has(hash)) << "that is not known yet";
  EXPECT_EQ(store.verify(hash).code(), Code::kNotFound);
  EXPECT_FALSE(store.has(hash));
  EXPECT_FALSE(store.find(hash, floats(100)).defined());
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_FALSE(fs::exists(file));
}

TEST(Store, KeepsToTheQuotaOnDiskAndToWhatWasUsedLast) {
  const net::TestFolder folder;
  std::vector<Hash> hashes;
  {
    Store store = store_on(folder.path(), 1000);
    for (uint64_t i = 0; i < 5; ++i) {
      const net::Buffer bytes = blob(100, i);
      hashes.push_back(hash_of(bytes.bytes));
      EXPECT_TRUE(put(store, hashes.back(), bytes).ok());
    }
  }
  std::ofstream(folder.path() / "not-mine") << "stays";
  EXPECT_EQ(files_in(folder.path()), 3u);
  Store store = store_on(folder.path(), 1000);
  EXPECT_FALSE(store.has(hashes[2]));
  EXPECT_TRUE(store.has(hashes[3]));
  EXPECT_TRUE(store.has(hashes[4]));
  const Store smaller = store_on(folder.path(), 0);
  EXPECT_EQ(files_in(folder.path()), 1u) << "and what is not the cache's stays";
}

// A weight that comes in chunks, to a store in memory and to one with a cache.
class Chunks : public testing::TestWithParam<bool> {
 protected:
  Store make(size_t quota = 1 << 20) const {
    if (!GetParam()) return Store(quota);
    return Store(quota, *WeightCache::open(folder_.path(), 1 << 20));
  }
  // Bytes from here to there.
  Result<uint64_t> append(Store& store, size_t begin, size_t end) const {
    return store.append(hash_, size_, begin, bytes_.bytes.subspan(begin, end - begin));
  }

  net::TestFolder folder_;
  const net::Buffer bytes_ = blob(1000, 1);
  const size_t size_ = bytes_.bytes.size();
  const Hash hash_ = hash_of(bytes_.bytes);
};

INSTANTIATE_TEST_SUITE_P(All, Chunks, testing::Bool(),
                         [](const auto& cached) { return cached.param ? "Cached" : "InMemory"; });

TEST_P(Chunks, MakeAWeight) {
  Store store = make();
  EXPECT_EQ(*append(store, 0, 1000), 1000u);
  EXPECT_EQ(store.partial_bytes(hash_), 1000u);
  EXPECT_FALSE(store.has(hash_));
  EXPECT_EQ(*append(store, 1000, 3999), 3999u);
  EXPECT_FALSE(store.find(hash_, floats(1000)).defined());
  EXPECT_EQ(*append(store, 3999, 4000), 4000u);
  EXPECT_EQ(store.partial_bytes(hash_), 0u);
  ASSERT_TRUE(store.verify(hash_).ok());
  EXPECT_TRUE(net::equal(store.find(hash_, floats(1000)).bytes(), bytes_.bytes));
  EXPECT_EQ(store.bytes(), 4000u);
  EXPECT_EQ(*append(store, 0, 1000), 4000u) << "it is here";
}

TEST_P(Chunks, CountOnceAndInOrder) {
  Store store = make();
  EXPECT_EQ(*append(store, 0, 1000), 1000u);
  EXPECT_EQ(*append(store, 0, 1000), 1000u) << "again";
  EXPECT_EQ(*append(store, 500, 1500), 1000u) << "half of it again";
  EXPECT_EQ(*append(store, 2000, 3000), 1000u) << "one before it was lost";
  EXPECT_EQ(*append(store, 1000, 4000), 4000u);
  EXPECT_TRUE(store.verify(hash_).ok());
}

TEST_P(Chunks, AreDroppedIfTheyMakeAnotherWeight) {
  Store store = make();
  const net::Buffer other = blob(1000, 2);
  EXPECT_EQ(*append(store, 0, 1000), 1000u);
  EXPECT_EQ(*store.append(hash_, size_, 1000, other.bytes.subspan(1000)), 0u);
  EXPECT_FALSE(store.has(hash_));
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_EQ(*append(store, 0, 4000), 4000u) << "and it can be sent again";
  EXPECT_TRUE(store.verify(hash_).ok());
}

TEST_P(Chunks, DoNotReachBeyondTheirWeight) {
  Store store = make();
  EXPECT_EQ(store.append(hash_, 10, 0, bytes_.bytes).status().code(), Code::kCorrupt);
  EXPECT_EQ(store.append(hash_, 0, 0, {}).status().code(), Code::kCorrupt);
  EXPECT_EQ(*store.append(hash_, 10, 0, bytes_.bytes.first(9)), 9u);
  EXPECT_EQ(*append(store, 9, 100), 0u) << "it was to have ten bytes, and begins anew";
  EXPECT_EQ(*append(store, 0, 4000), 4000u);
  const Hash huge = hash_of({});
  for (const uint64_t total : {uint64_t{1} << 21, ~uint64_t{0}}) {
    EXPECT_EQ(store.append(huge, total, 0, bytes_.bytes).status().code(), Code::kExhausted);
  }
}

TEST_P(Chunks, OfAnotherWeightMakeRoom) {
  Store store = make(5000);
  EXPECT_EQ(*append(store, 0, 1000), 1000u);
  const net::Buffer other = blob(1000, 2);
  EXPECT_EQ(*store.append(hash_of(other.bytes), 4000, 0, other.bytes), 4000u);
  EXPECT_EQ(store.partial_bytes(hash_), GetParam() ? 1000u : 0u) << "memory is needed, disk is not";
}

TEST(Store, GoesOnWithAWeightAfterARestart) {
  const net::TestFolder folder;
  const net::Buffer bytes = blob(1000, 1);
  const Hash hash = hash_of(bytes.bytes);
  EXPECT_EQ(*store_on(folder.path()).append(hash, 4000, 0, bytes.bytes.first(3000)), 3000u);
  Store store = store_on(folder.path());
  EXPECT_FALSE(store.has(hash));
  EXPECT_EQ(store.partial_bytes(hash), 3000u);
  EXPECT_EQ(*store.append(hash, 4000, 3000, bytes.bytes.subspan(3000)), 4000u);
  EXPECT_TRUE(store.verify(hash).ok());
  EXPECT_TRUE(net::equal(store.find(hash, floats(1000)).bytes(), bytes.bytes));
}

// As after a power cut: the file is as long as it was, with other bytes.
TEST(Store, NoticesThatTheBeginningOfAWeightIsDamaged) {
  const net::TestFolder folder;
  const net::Buffer bytes = blob(1000, 1);
  const Hash hash = hash_of(bytes.bytes);
  EXPECT_EQ(*store_on(folder.path()).append(hash, 4000, 0, bytes.bytes.first(3000)), 3000u);
  const fs::path file = folder.path() / (net::to_hex(std::as_bytes(std::span(hash))) + ".partial");
  std::ofstream(file, std::ios::in | std::ios::out) << "damaged";
  Store store = store_on(folder.path());
  EXPECT_EQ(*store.append(hash, 4000, 3000, bytes.bytes.subspan(3000)), 4000u);
  EXPECT_EQ(store.verify(hash).code(), Code::kNotFound);
  EXPECT_EQ(store.partial_bytes(hash), 0u);
  EXPECT_TRUE(put(store, hash, bytes).ok());
}

TEST(Store, KeepsInMemoryWhatTheDiskCannotHold) {
  const net::TestFolder folder;
  Store store = store_on(folder.path(), 1000);
  const net::Buffer bytes = blob(1000, 1);
  EXPECT_TRUE(put(store, hash_of(bytes.bytes), bytes).ok());
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(Store, BeginsAWeightAnewInMemoryIfTheDiskIsFull) {
  const net::TestFolder folder;
  const net::Buffer bytes = blob(1000, 1);
  const Hash hash = hash_of(bytes.bytes);
  Store store = store_on(folder.path());
  EXPECT_EQ(*store.append(hash, 4000, 0, bytes.bytes.first(1000)), 1000u);
  // A link is not followed, so that this file cannot be written any more.
  const fs::path file = folder.path() / (net::to_hex(std::as_bytes(std::span(hash))) + ".partial");
  fs::remove(file);
  fs::create_symlink("elsewhere", file);
  EXPECT_EQ(*store.append(hash, 4000, 1000, bytes.bytes.subspan(1000)), 0u);
  EXPECT_TRUE(put(store, hash, bytes).ok());
  EXPECT_FALSE(fs::exists(folder.path() / "elsewhere"));
}

TEST(Store, SaysWhereItCannotBe) {
  EXPECT_FALSE(WeightCache::open("/proc/no/such/folder", 1).ok());
}

}  // namespace
}  // namespace shoal::cluster
