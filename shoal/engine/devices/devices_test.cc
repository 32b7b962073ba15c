#include "shoal/engine/devices/devices.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shoal {
namespace {

std::string message_of(const Result<std::unique_ptr<Device>>& made) {
  EXPECT_FALSE(made.ok());
  return std::string(made.status().message());
}

TEST(MakeDevice, MakesWhatIsNamed) {
  auto cpu = make_device("cpu", {.cpu = {.threads = 3}});
  ASSERT_TRUE(cpu.ok());
  EXPECT_EQ((*cpu)->info().name, "cpu");
  EXPECT_EQ((*cpu)->info().threads, 3);
  EXPECT_EQ((*make_device("reference"))->info().name, "reference");
  EXPECT_EQ((*make_device("hybrid:reference+cpu"))->info().name, "hybrid(reference+cpu)");
}

TEST(MakeDevice, NamesTheKindsThatThereAre) {
  const auto made = make_device("tpu:0");
  EXPECT_EQ(made.status().code(), Code::kNotFound);
  EXPECT_EQ(message_of(made).substr(0, 29), "no device tpu; there are cpu,");
  EXPECT_EQ(message_of(make_device("hybrid:cpu")),
            "a hybrid device is named hybrid:FIRST+FALLBACK");
  EXPECT_EQ(make_device("hybrid:cpu+tpu").status().code(), Code::kNotFound);
}

TEST(MakeDevice, SaysHowAKindCanBeHad) {
  explain_missing_device("npu", "npu comes with the package npu");
  const auto made = make_device("npu:0");
  EXPECT_EQ(made.status().code(), Code::kNotFound);
  const std::string message = message_of(made);
  EXPECT_EQ(message.substr(0, 29), "no device npu; there are cpu,");
  EXPECT_TRUE(message.ends_with("; npu comes with the package npu")) << message;
  EXPECT_EQ(message_of(make_device("tpu")).find("npu"), std::string::npos);
}

TEST(FindDeviceKind, NeedsNoArgument) {
  EXPECT_EQ(find_device_kind("cpu")->name, "cpu");
  EXPECT_EQ(find_device_kind("hybrid")->name, "hybrid");
  EXPECT_EQ(find_device_kind("hybrid:cpu+tpu")->name, "hybrid");
  EXPECT_EQ(find_device_kind("tpu:0").status().code(), Code::kNotFound);
  EXPECT_FALSE(find_device_kind("").ok());
}

TEST(RegisterDevice, GivesTheArgumentToTheKind) {
  std::string got;
  register_device(
      {"mine", "of the test", true, [&](std::string_view argument, const DeviceOptions&) {
         got = argument;
         return Result<std::unique_ptr<Device>>(make_reference_device());
       }});
  ASSERT_TRUE(make_device("mine:1:2").ok());
  EXPECT_EQ(got, "1:2");
  const auto kinds = device_kinds();
  EXPECT_TRUE(std::ranges::is_sorted(kinds, {}, &DeviceKind::name));
  EXPECT_EQ(std::ranges::count(kinds, "mine", &DeviceKind::name), 1);
}

}  // namespace
}  // namespace shoal
