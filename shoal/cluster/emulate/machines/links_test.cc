#include "shoal/cluster/emulate/machines/links.h"

#include <gtest/gtest.h>

#include <set>

#include "shoal/cluster/net/channel/memory_stream.h"
#include "shoal/cluster/net/link/link.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/plan.h"

namespace shoal::emulate {
namespace {

using Clock = net::Medium::Clock;

std::set<std::string> files_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

Emulation two_workers(const char* link, const std::filesystem::path& media) {
  Emulation links;
  links.cluster = plan::uniform_cluster(2, *plan::find_device("pi4"), *plan::find_link(link));
  links.cluster.workers[0].name = "left";
  links.cluster.workers[1].name = "right";
  links.media = media;
  return links;
}

// When the medium is free again after a megabyte was sent to `peer`, from now.
double busy_seconds(const Emulation& links, int self, const std::string& peer, const char* medium,
                    bool shaped = true) {
  (*open_shaping(links.media))->store(shaped);
  const auto decorator = make_links(links, self);
  EXPECT_TRUE(decorator.ok()) << decorator.status().message();
  auto [near, far] = net::make_memory_streams(1 << 21);
  const auto stream = (*decorator)->wrap(std::move(near), {peer, ""});
  const net::Data megabyte(1'000'000);
  const auto begin = Clock::now();
  EXPECT_TRUE(stream->write(std::array<net::Bytes, 1>{megabyte}, net::soon()).ok());
  const auto shared = net::Medium::open(links.media / medium);
  const auto free_at = (*shared)->reserve({}, {});
  return std::chrono::duration<double>(free_at - begin).count();
}

TEST(Links, ShareTheAirOfARadioChannel) {
  const net::TestFolder folder;
  const Emulation links = two_workers("wifi-32", folder.path());
  EXPECT_GE(busy_seconds(links, 0, "right", "air-0"), 8.0 / 32);
  EXPECT_EQ(files_in(folder.path()),
            (std::set<std::string>{"air-0", "coordinator.radio", "dilation", "left.radio",
                                   "right.radio", "shaped"}));
}

TEST(Links, HaveAWayOutAndAWayInOtherwise) {
  const net::TestFolder folder;
  const Emulation links = two_workers("ethernet-100", folder.path());
  EXPECT_GE(busy_seconds(links, plan::kCoordinator, "left", "coordinator.out"), 8.0 / 94.1);
  EXPECT_EQ(files_in(folder.path()),
            (std::set<std::string>{"coordinator.out", "coordinator.radio", "dilation", "left.in",
                                   "left.radio", "right.in", "right.radio", "shaped"}));
}

TEST(Links, AreSlowerByTheDilation) {
  const net::TestFolder folder;
  Emulation links = two_workers("ethernet-100", folder.path());
  links.dilation = 10;
  EXPECT_GE(busy_seconds(links, 1, "coordinator", "coordinator.in"), 80.0 / 94.1);
  (*links.shared_dilation())->set(20);
  EXPECT_GE(busy_seconds(links, 0, "right", "right.in"), 160.0 / 94.1) << "changed";
}

TEST(Links, AreFastUntilTheyAreShaped) {
  const net::TestFolder folder;
  const Emulation links = two_workers("ethernet-100", folder.path());
  EXPECT_LE(busy_seconds(links, plan::kCoordinator, "left", "coordinator.out", false), 0);
}

TEST(Links, SayWhereMediaCannotBe) {
  EXPECT_FALSE(make_links(two_workers("wifi-32", "/no/such/folder"), 0).ok());
}

}  // namespace
}  // namespace shoal::emulate
