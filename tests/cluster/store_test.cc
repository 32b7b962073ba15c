#include "shoal/cluster/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "shoal/net/hex.h"
#include "shoal/net/test_peers.h"

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

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(Store, FindsWhatWasPutByItsHash) {
  Store store(1 << 20);
  const net::Buffer bytes = blob(100, 1);
  const Hash hash = hash_of(bytes.bytes);
  EXPECT_FALSE(store.has(hash));
  EXPECT_TRUE(store.put(hash, bytes).ok());
  EXPECT_TRUE(store.has(hash));
  EXPECT_TRUE(net::equal(store.find(hash, floats(100)).bytes(), bytes.bytes));
  EXPECT_FALSE(store.find(hash, floats(99)).defined());
  EXPECT_EQ(store.put(hash_of({}), bytes).code(), Code::kCorrupt);
}

TEST(Store, DropsWhatNobodyUsesWhenItIsFull) {
  Store store(1000);
  const Hash one = hash_of(blob(200, 1).bytes), two = hash_of(blob(200, 2).bytes);
  ASSERT_TRUE(store.put(one, blob(200, 1)).ok());
  {
    const Tensor used = store.find(one, floats(200));
    EXPECT_EQ(store.put(two, blob(200, 2)).code(), Code::kExhausted);
  }
  EXPECT_TRUE(store.put(two, blob(200, 2)).ok());
  EXPECT_FALSE(store.has(one));
  EXPECT_EQ(store.bytes(), 800u);
}

TEST(Store, RemembersAfterARestart) {
  const net::TestFolder folder;
  const net::Buffer bytes = blob(100, 1);
  const Hash hash = hash_of(bytes.bytes);
  EXPECT_TRUE(store_on(folder.path()).put(hash, bytes).ok());
  Store again = store_on(folder.path());
  EXPECT_TRUE(again.has(hash));
  EXPECT_TRUE(net::equal(again.find(hash, floats(100)).bytes(), bytes.bytes));
}

TEST(Store, BelievesNoFileThatIsNotWhatItsNameSays) {
  const net::TestFolder folder;
  const net::Buffer bytes = blob(100, 1);
  const Hash hash = hash_of(bytes.bytes);
  EXPECT_TRUE(store_on(folder.path()).put(hash, bytes).ok());
  const fs::path file = folder.path() / net::to_hex(std::as_bytes(std::span(hash)));
  std::ofstream(file, std::ios::in | std::ios::out) << "x";
  EXPECT_FALSE(store_on(folder.path()).has(hash));
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
      EXPECT_TRUE(store.put(hashes.back(), bytes).ok());
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

TEST(Store, SaysWhereItCannotBe) {
  EXPECT_FALSE(WeightCache::open("/proc/no/such/folder", 1).ok());
}

}  // namespace
}  // namespace shoal::cluster
