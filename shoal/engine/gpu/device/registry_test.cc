#include "shoal/engine/gpu/device/registry.h"

#include <gtest/gtest.h>

#include "shoal/engine/devices/devices.h"

namespace shoal::gpu {
namespace {

TEST(GpuNames, SayThePrecision) {
  EXPECT_EQ(*in_precision("opencl", "fp16"), "opencl:0:fp16");
  EXPECT_EQ(*in_precision("vulkan:2", "fp16"), "vulkan:2:fp16");
  for (const char* name : {"opencl", "opencl:0", "vulkan:1:fp16"}) {
    EXPECT_EQ(*in_precision(name, "auto"), name);
    EXPECT_EQ(*in_precision(name, "fp32"), name);
  }
}

TEST(GpuNames, OfOtherDevicesHaveNoPrecision) {
  for (const char* name : {"", "cpu", "openclish:0", "hybrid:opencl:0+cpu"}) {
    EXPECT_EQ(*in_precision(name, "fp32"), name);
    EXPECT_FALSE(in_precision(name, "fp16").ok()) << name;
    EXPECT_EQ(in_precision(name, "auto").status().message(),
              "precision auto is for the devices opencl:N and vulkan:N");
  }
}

TEST(GpuRegistry, FindsDevicesOfAllApis) {
  register_kind({.name = "b",
                 .find =
                     [] {
                       return std::vector<Json>{{{"x", 1}}, {{"x", 2}}};
                     },
                 .make = {}});
  register_kind({.name = "a", .find = [] { return std::vector<Json>{{{"x", 0}}}; }, .make = {}});
  register_kind({.name = "none", .find = [] { return std::vector<Json>(); }, .make = {}});
  const std::vector<FoundDevice> all = found_gpus();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name, "a:0");
  EXPECT_EQ(all[2].name, "b:1");
  EXPECT_EQ(all[2].facts.dump(), R"({"x":2})");

  const std::vector<FoundDevice> devices = found_devices();
  std::string names;
  for (const FoundDevice& device : devices) names += device.name + " ";
  EXPECT_EQ(names, "cpu reference a:0 b:0 b:1 ") << "a hybrid needs an argument";
  const Json summary = {{"summary", find_device_kind("cpu")->summary}};
  EXPECT_EQ(devices[0].facts.dump(), summary.dump());
}

TEST(GpuRegistry, MakesADeviceInThePrecisionThatIsAskedFor) {
  std::string name;
  std::vector<std::string> layers;
  GpuPrecision precision = GpuPrecision::kF32;
  register_kind({.name = "test",
                 .find = [] { return std::vector<Json>(); },
                 .make =
                     [&](std::string_view asked, GpuPrecision how,
                         const std::vector<std::string>& f32_layers) {
                       name = asked;
                       precision = how;
                       layers = f32_layers;
                       return Result<std::unique_ptr<Device>>(make_reference_device());
                     }});
  const auto made = with_precision("test:3")(GpuPrecision::kF16, {"conv"});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ((*made)->info().name, "hybrid(reference+cpu)");
  EXPECT_EQ(name, "test:3");
  EXPECT_EQ(precision, GpuPrecision::kF16);
  EXPECT_EQ(layers, std::vector<std::string>{"conv"});
  const auto unknown = with_precision("metal:0")(GpuPrecision::kF16, {});
  EXPECT_EQ(unknown.status().code(), Code::kUnsupported);
  EXPECT_EQ(unknown.status().message(), "this program was built without metal:0");
}

TEST(PrecisionFacts, SayWhatTheSearchFound) {
  AutomaticPrecision found;
  found.layers = {"a", "b"};
  found.choice.f32_layers = {"b"};
  const std::string json = to_json(found).dump();
  EXPECT_NE(json.find(R"("f32_layers":["b"])"), json.npos) << json;
  EXPECT_NE(json.find(R"("layers":2)"), json.npos) << json;
  EXPECT_EQ(text_of(found), "1 of 2 layers in fp32\n");
}

}  // namespace
}  // namespace shoal::gpu
