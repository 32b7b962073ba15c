#include "apps/commands/plans/cluster_file.h"

#include <gtest/gtest.h>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/plan/device_presets.h"

namespace shoal::config {
namespace {

class ClusterFile : public testing::Test {
 protected:
  Result<plan::ClusterProfile> read(const std::string& text) const {
    EXPECT_TRUE(write_file(path_, text).ok());
    return read_cluster(path_);
  }
  // The message, without the name of the file that it begins with.
  std::string error(const std::string& text) const {
    const auto cluster = read(text);
    if (cluster.ok()) return "none";
    EXPECT_EQ(cluster.status().code(), Code::kInvalidArgument);
    const std::string message(cluster.status().message());
    EXPECT_TRUE(message.starts_with(path_.string() + ":")) << message;
    return message.substr(std::min(message.size(), path_.string().size() + 2));
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::filesystem::path path_ = folder_.path() / "cluster.toml";
};

constexpr const char* kTwo = "[[worker]]\ndevice = \"pi4\"\nlink = \"gigabit\"\ncount = 2\n";

TEST_F(ClusterFile, NamesDevicesAndLinksThatAreBuiltIn) {
  const auto cluster = read(kTwo);
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const plan::WorkerProfile pi4 = plan::find_device("pi4")->profile();
  ASSERT_EQ(cluster->workers.size(), 2u);
  EXPECT_EQ(cluster->workers[0].name, "pi4-0");
  EXPECT_EQ(cluster->workers[1].name, "pi4-1");
  for (const plan::WorkerProfile& worker : cluster->workers) {
    EXPECT_EQ(worker.speed_of("Conv").seconds_per_mac, pi4.speed_of("Conv").seconds_per_mac);
    EXPECT_EQ(worker.memory_bytes, pi4.memory_bytes);
  }
  EXPECT_EQ(cluster->links.size(), 2u);
  EXPECT_EQ(cluster->coordinator, cluster->links[0]) << "unless it says otherwise";
  EXPECT_TRUE(cluster->keep_awake);
}

TEST_F(ClusterFile, DescribesDevicesAndLinksOfItsOwn) {
  const auto cluster = read(R"(
    keep_awake = false
    [device.mine]
    gmac_per_s = 2.0
    gb_per_s = 4
    memory_mb = 100
    [link.air]
    mbit = 8
    latency_ms = 2
    wakeup_ms = 30
    sleep_after_ms = 50
    shared = true
    [[worker]]
    name = "old"
    device = "mine"
    link = "air"
    speed = 0.5
    [[worker]]
    device = "mine"
    link = "air"
    channel = "another"
    memory_mb = 7
    [coordinator]
    link = "gigabit")");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const plan::WorkerProfile& old = cluster->workers[0];
  EXPECT_EQ(old.name, "old");
  EXPECT_DOUBLE_EQ(old.speed_of("").seconds_per_mac, 1e-9);
  EXPECT_DOUBLE_EQ(old.speed_of("").seconds_per_byte, 0.5e-9);
  EXPECT_DOUBLE_EQ(old.memory_bytes, 100e6);
  EXPECT_EQ(cluster->workers[1].name, "mine-1");
  EXPECT_DOUBLE_EQ(cluster->workers[1].memory_bytes, 7e6);
  const plan::LinkProfile& air = cluster->links[0];
  EXPECT_DOUBLE_EQ(air.bytes_per_second, 1e6);
  EXPECT_DOUBLE_EQ(air.latency_seconds, 0.002);
  EXPECT_DOUBLE_EQ(air.wakeup_seconds, 0.03);
  EXPECT_DOUBLE_EQ(air.sleep_after_seconds, 0.05);
  EXPECT_NE(air.medium, plan::kOwnWire);
  EXPECT_NE(air.medium, cluster->links[1].medium) << "another channel";
  EXPECT_NE(cluster->coordinator, air);
  EXPECT_FALSE(cluster->keep_awake);
}

TEST_F(ClusterFile, LetsSharedLinksOfOneNameBeOneChannel) {
  const auto cluster =
      read(std::string(kTwo) + "[[worker]]\ndevice = \"pi4\"\nlink = \"wifi-43.8\"\ncount = 2\n");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(cluster->links[2].medium, cluster->links[3].medium);
  EXPECT_NE(cluster->links[2].medium, plan::kOwnWire);
  EXPECT_EQ(cluster->links[0].medium, plan::kOwnWire);
}

TEST_F(ClusterFile, SaysWhatIsMissing) {
  EXPECT_EQ(error(""), "there is no [[worker]]");
  EXPECT_EQ(error("worker = []"), "there is no [[worker]]");
  EXPECT_EQ(error("worker = [3]"), "worker is not a list of tables: write [[worker]]");
  EXPECT_EQ(error("[[worker]]\ndevice = \"pi4\""), "no link is named");
  EXPECT_EQ(error(std::string(kTwo) + "[link.air]\nlatency_ms = 1"), "link.air has no mbit");
  EXPECT_EQ(error(std::string(kTwo) + "[device.mine]\ngb_per_s = 1"),
            "device.mine needs gmac_per_s and gb_per_s");
}

TEST_F(ClusterFile, RefusesTablesWithNamesThatAreNone) {
  for (const char* text : {"[!]", "[\x1fworker]]", "[[=", "[."})
    EXPECT_NE(error(text), "none") << text;
}

TEST_F(ClusterFile, RefusesLettersWhereASpaceMayStand) {
  for (const char* text :
       {"[[wor\u0403ker]]", "\u00a7 = 1", "[[worker]]\n\u3042", "speed \u00fc= 1"})
    EXPECT_NE(error(text), "none") << text;
}

TEST_F(ClusterFile, TakesNamesAndCommentsInAnyScript) {
  const auto cluster = parse_cluster(
      "# \u3042\u0403\n[[worker]]\nname = \"K\u00fcche\"\ndevice = \"pi4\"\nlink = \"gigabit\"\n",
      "");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(cluster->workers[0].name, "K\u00fcche");
}

TEST_F(ClusterFile, NamesKeysThatNobodyReads) {
  EXPECT_EQ(error(std::string(kTwo) + "spede = 1"), "unknown key spede");
  EXPECT_EQ(error("wrker = 1"), "unknown key wrker");
  EXPECT_EQ(error(std::string(kTwo) + "[coordinator]\nlimk = \"gigabit\""), "unknown key limk");
}

TEST_F(ClusterFile, RefusesNumbersThatMakeNoSense) {
  for (const char* speed : {"-1", "nan", "1e16", "\"fast\"", "true"}) {
    EXPECT_EQ(error(std::string(kTwo) + "speed = " + speed),
              "speed is not a number that makes sense")
        << speed;
  }
  EXPECT_EQ(error(std::string(kTwo) + "speed = 0"), "a worker of speed 0 does nothing");
  EXPECT_EQ(error("[[worker]]\ndevice = \"pi4\"\nlink = \"gigabit\"\ncount = 0"),
            "too few or too many workers");
  EXPECT_EQ(error("[[worker]]\ndevice = \"pi4\"\nlink = \"gigabit\"\ncount = 4097"),
            "too few or too many workers");
}

TEST_F(ClusterFile, ListsWhatIsKnownWhereANameIsNot) {
  EXPECT_NE(error("[[worker]]\ndevice = \"pi9\"").find("pi4"), std::string::npos);
  EXPECT_NE(error("[[worker]]\ndevice = \"pi4\"\nlink = \"string\"").find("gigabit"),
            std::string::npos);
}

TEST_F(ClusterFile, GivesTheLineOfASyntaxError) {
  EXPECT_EQ(error("\n[[worker]\n").substr(0, 2), ": ") << "after the number of a line";
  EXPECT_FALSE(read_cluster(folder_.path() / "absent.toml").ok());
}

}  // namespace
}  // namespace shoal::config
