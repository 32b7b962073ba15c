// The page about a training run on a cluster.
#include <gtest/gtest.h>

#include "shoal/report/pages/training_page.h"

namespace shoal::report {
namespace {

using learn::RunRecord;
using Kind = RunRecord::Event::Kind;

constexpr std::string_view kHostile = "<b>\"a&";

RunRecord record_of_two() {
  RunRecord record{.batch = 64, .micro_batches = 8, .codec = "f16"};
  record.devices[0] = {.name = "pi", .row = {.state = learn::DeviceRow::State::kWorking}};
  record.devices[3] = {.name = std::string(kHostile)};
  for (int i = 1; i <= 10; ++i) {
    record.moments.push_back({.step = i,
                              .seconds = 0.1 * i,
                              .loss = 1.0 / i,
                              .step_seconds = 0.1,
                              .bytes = 4000,
                              .shares = {{0, 0.75}, {3, 0.25}}});
  }
  record.events = {{Kind::kLost, 3, 4, 0.25}, {Kind::kJoined, 3, 7, 0.5}};
  record.accuracies = {{5, 0.5, 40}, {10, 1.0, 62.5}};
  record.step_seconds = 0.1;
  record.predicted_seconds = 0.08;
  record.single_seconds = 0.25;
  record.bytes = 4000;
  return record;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(ClusterTrainingPage, EscapesNamesAndNeedsNoOtherFile) {
  const std::string text = cluster_training_page(std::string(kHostile), record_of_two());
  EXPECT_FALSE(has(text, kHostile));
  EXPECT_FALSE(has(text, "<b>"));
  EXPECT_TRUE(has(text, "&lt;b&gt;"));
  EXPECT_FALSE(has(text, "src=") || has(text, "://"));
}

TEST(ClusterTrainingPage, ComparesWithOneDevice) {
  const std::string text = cluster_training_page("t", record_of_two());
  const auto row = [](const char* name, const char* step, const char* rate, const char* all,
                      const char* times) {
    return std::string("<tr><td>") + name + "</td><td>" + step + "</td><td>" + rate + "</td><td>" +
           all + "</td><td>" + times + "</td></tr>";
  };
  EXPECT_TRUE(has(text, row("one device alone", "250.0", "256", "2.5", "1.00")));
  EXPECT_TRUE(has(text, row("together, predicted", "80.0", "800", "0.8", "3.12"))) << text;
  EXPECT_TRUE(has(text, row("together, measured", "100.0", "640", "1.0", "2.50")));
}

// A bar of presence is as long as the time that the device was there: a quarter, and a half.
TEST(ClusterTrainingPage, ShowsWhoWasLostWhen) {
  const std::string text = cluster_training_page("t", record_of_two());
  EXPECT_TRUE(has(text, "<td>4</td><td>250.0 ms</td><td>lost</td>"));
  EXPECT_TRUE(has(text, "<td>7</td><td>500.0 ms</td><td>there again</td>"));
  EXPECT_TRUE(has(text, "class=\"f1\" rx=\"2\" x=\"120.00\" y=\"17.00\" width=\"340.00\""));
  EXPECT_TRUE(has(text, "class=\"f2\" rx=\"2\" x=\"120.00\" y=\"43.00\" width=\"85.00\""));
  EXPECT_TRUE(has(text, "class=\"f2\" rx=\"2\" x=\"290.00\" y=\"43.00\" width=\"170.00\""));
}

TEST(ClusterTrainingPage, IsTitledByModelDataAndDevices) {
  EXPECT_EQ(cluster_training_title("zoo:mlp", "mnist", 1), "zoo:mlp on mnist, by 1 device");
  EXPECT_EQ(cluster_training_title("zoo:mlp", "mnist", 3), "zoo:mlp on mnist, by 3 devices");
}

TEST(ClusterTrainingPage, HasNoPlotsOfNothing) {
  EXPECT_FALSE(has(cluster_training_page("t", {}), "<polyline"));
  RunRecord record = record_of_two();
  record.devices.clear();
  record.accuracies.clear();
  const std::string text = cluster_training_page("t", record);
  EXPECT_FALSE(has(text, "top-1"));
  EXPECT_FALSE(has(text, "<polygon"));
  EXPECT_TRUE(has(text, "<polyline"));
}

}  // namespace
}  // namespace shoal::report
