#include "shoal/cluster/members/folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "shoal/cluster/members/epoch_file.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/tls/certificate.h"

namespace shoal::cluster {
namespace {

using net::TestCluster;

TEST(ClusterFolder, HoldsAnIdentityOfItsOwnAuthority) {
  const net::TestFolder folder;
  const auto made = ClusterFolder::create(folder.path() / "here", TestCluster::now());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const ClusterFolder opened(folder.path() / "here");
  const auto identity = opened.coordinator();
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->cluster, opened.authority()->cluster());
  EXPECT_EQ(identity->name, "coordinator");
  EXPECT_FALSE(ClusterFolder::create(folder.path() / "here", TestCluster::now()).ok());
}

TEST(ClusterFolder, RenewsItsIdentityWhereTheAuthorityIs) {
  using namespace std::chrono_literals;
  const net::TestFolder folder;
  const net::Time start = TestCluster::now();
  const auto made = ClusterFolder::create(folder.path() / "here", start);
  ASSERT_TRUE(made.ok()) << made.status().message();
  net::Identity known = *made->coordinator(start);
  EXPECT_EQ(known.role, net::Role::kOwner);
  EXPECT_EQ(made->coordinator(start + 24h * 59)->certificate, known.certificate);
  for (const auto later : {24h * 60, 24h * (60 + 89), 24h * (60 + 89 + 400)}) {
    const auto renewed = made->coordinator(start + later);
    ASSERT_TRUE(renewed.ok()) << renewed.status().message();
    EXPECT_EQ(renewed->key, known.key);
    EXPECT_GT(net::validity_of(*renewed)->to, start + later + 24h * 89);
    known = *renewed;
  }
  // A cluster that was left half made, or made by a release that knew no roles.
  std::filesystem::remove(folder.path() / "here" / "coordinator" / "certificate.pem");
  EXPECT_EQ(made->coordinator(start)->role, net::Role::kOwner);
  const auto plain = made->authority()->issue("coordinator", start);
  ASSERT_TRUE(net::save(*plain, folder.path() / "here" / "coordinator").ok());
  EXPECT_EQ(made->coordinator(start)->role, net::Role::kOwner);
}

TEST(ClusterFolder, RemovesMembersAndFreesTheirNames) {
  const net::TestFolder folder;
  const net::Time now = TestCluster::now();
  const auto made = ClusterFolder::create(folder.path() / "here", now);
  const auto key = net::make_request(**net::make_key());
  ASSERT_TRUE(made->authority()->sign(*key, "kitchen", now).ok());
  ASSERT_TRUE(made->add({"kitchen", "10.0.0.2:7070"}).ok());
  EXPECT_TRUE(made->remove("kitchen", now).ok());
  EXPECT_TRUE(made->workers()->empty());
  EXPECT_EQ(made->remove("kitchen", now).code(), Code::kNotFound);
  EXPECT_EQ(made->remove("coordinator", now).code(), Code::kInvalidArgument);
  const auto members = made->members();
  ASSERT_TRUE(members.ok());
  ASSERT_EQ(members->size(), 2u);
  EXPECT_EQ(members->front().name, "coordinator");
  EXPECT_FALSE(members->front().revoked);
  EXPECT_EQ(members->back().name, "kitchen");
  EXPECT_TRUE(members->back().revoked);
  EXPECT_TRUE(made->authority()->sign(*net::make_request(**net::make_key()), "kitchen", now).ok());
}

TEST(ClusterFolder, SaysWhereThereIsNone) {
  const ClusterFolder nowhere("/no/such/folder");
  EXPECT_EQ(nowhere.coordinator().status().code(), Code::kNotFound);
  EXPECT_EQ(nowhere.authority().status().code(), Code::kNotFound);
  EXPECT_TRUE(nowhere.workers()->empty());
}

TEST(ClusterFolder, RemembersWorkersInTheOrderTheyCame) {
  const net::TestFolder folder;
  const ClusterFolder cluster(folder.path());
  EXPECT_TRUE(cluster.add({"b", "10.0.0.2:7070"}).ok());
  EXPECT_TRUE(cluster.add({"a", "[::1]:7070"}).ok());
  EXPECT_TRUE(cluster.add({"b", "10.0.0.3:7070"}).ok()) << "it moved";
  const std::vector<ListedWorker> both = {{"b", "10.0.0.3:7070"}, {"a", "[::1]:7070"}};
  EXPECT_EQ(*cluster.workers(), both);
  EXPECT_TRUE(cluster.remove("b", TestCluster::now()).ok());
  EXPECT_EQ(cluster.remove("b", TestCluster::now()).code(), Code::kNotFound);
  EXPECT_EQ(cluster.workers()->size(), 1u);
}

TEST(ClusterFolder, RefusesWhatIsNoNameOrNoAddress) {
  const net::TestFolder folder;
  const ClusterFolder cluster(folder.path());
  EXPECT_FALSE(cluster.add({"../a", "10.0.0.2:7070"}).ok());
  EXPECT_FALSE(cluster.add({"a", "10.0.0.2"}).ok());
  EXPECT_TRUE(cluster.workers()->empty());
  std::ofstream(folder.path() / "workers") << "a b c\n";
  EXPECT_FALSE(cluster.workers().ok());
}

TEST(ClusterFolder, CountsEpochsUp) {
  const net::TestFolder folder;
  for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
    EXPECT_EQ(*ClusterFolder(folder.path()).next_epoch(), epoch);
  }
}

// An old copy of the folder goes on from what the workers say, within reason.
TEST(ClusterFolder, CountsEpochsBeyondThoseOfWorkers) {
  const net::TestFolder folder;
  const ClusterFolder cluster(folder.path());
  EXPECT_EQ(*cluster.next_epoch(7), 8u);
  EXPECT_EQ(*cluster.next_epoch(3), 9u);
  EXPECT_EQ(cluster.next_epoch(UINT64_MAX).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(*cluster.next_epoch(), 10u);
}

// Commands that change the folder at the same time lose nothing of each other.
TEST(ClusterFolder, IsChangedByOneAtATime) {
  constexpr int kEach = 20;
  const net::TestFolder folder;
  std::set<uint64_t> epochs;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (const std::string name : {"a", "b", "c"}) {
    threads.emplace_back([&, name] {
      const ClusterFolder cluster(folder.path());
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(cluster.add({name + std::to_string(i), "10.0.0.2:7070"}).ok());
        const auto epoch = cluster.next_epoch();
        ASSERT_TRUE(epoch.ok()) << epoch.status().message();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(epochs.insert(*epoch).second) << "given twice";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ClusterFolder(folder.path()).workers()->size(), 3u * kEach);
}

TEST(ClusterFolder, CleansUpAfterTheKilled) {
  const net::TestFolder folder;
  const auto left = folder.path() / "workers.0123456789abcdef.part";
  std::ofstream(left) << "half";
  EXPECT_TRUE(ClusterFolder(folder.path()).add({"a", "10.0.0.2:7070"}).ok());
  EXPECT_FALSE(std::filesystem::exists(left));
}

// A bit that has changed is never taken for another list or another epoch.
TEST(ClusterFolder, NoticesDamage) {
  const net::TestFolder folder;
  const ClusterFolder cluster(folder.path());
  EXPECT_TRUE(cluster.add({"a", "10.0.0.2:7070"}).ok());
  EXPECT_TRUE(cluster.next_epoch().ok());
  for (const char* name : {"workers", "epoch"}) {
    const auto path = folder.path() / name;
    std::ostringstream whole;
    whole << std::ifstream(path).rdbuf();
    const auto expect_refused = [&](const std::string& damaged) {
      std::ofstream(path) << damaged;
      const Status status = name == std::string("workers") ? cluster.workers().status()
                                                           : cluster.next_epoch().status();
      EXPECT_EQ(status.code(), Code::kCorrupt) << damaged;
    };
    for (size_t i = 0; i < whole.str().find('#'); ++i) {
      std::string damaged = whole.str();
      damaged[i] = static_cast<char>(damaged[i] ^ 1);
      expect_refused(damaged);
    }
    for (size_t i = 0; i < whole.str().size(); ++i) expect_refused(whole.str().substr(0, i));
  }
}

TEST(EpochFile, RemembersTheLatest) {
  const net::TestFolder folder;
  const auto path = folder.path() / "epoch";
  EXPECT_EQ(EpochFile::open(path)->latest(), Epoch{});
  EXPECT_TRUE(EpochFile::open(path)->keep({7, "desk"}).ok());
  EXPECT_EQ(EpochFile::open(path)->latest(), (Epoch{7, "desk"}));
  EXPECT_TRUE(EpochFile::open(path)->keep({8, "desk"}).ok());
  std::ofstream(path) << "9 desk\n";
  EXPECT_EQ(EpochFile::open(path)->latest(), (Epoch{7, "desk"})) << "without its checksum";
  std::ofstream(path.string() + ".old") << "";
  EXPECT_EQ(EpochFile::open(path)->latest(), Epoch{}) << "it starts all the same";
}

}  // namespace
}  // namespace shoal::cluster
