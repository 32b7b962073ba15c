#include "apps/commands/networks/convert.h"

#include <gtest/gtest.h>

#include <set>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/text/setting_testing.h"
#include "shoal/engine/inputs/npy.h"

namespace shoal::config {
namespace {

CompressSettings by(std::string_view method, std::string folder = "") {
  return {.method = compress::find_method(method), .folder = std::move(folder)};
}

std::string refusal(std::string_view method, const std::set<std::string>& flags) {
  return std::string(
      check(by(method), [&](const std::string& flag) { return flags.contains(flag); }).message());
}

TEST(CompressSettings, AreDescribed) {
  CompressSettings settings;
  expect_described(settings_of(settings));
}

TEST(CompressSettings, AreForMethods) {
  EXPECT_EQ(refusal("", {}), "ok");
  for (const char* flag :
       {"--calibrate", "--limit", "--target", "--device", "--threads", "--json"}) {
    EXPECT_EQ(refusal("", {flag}),
              std::string(flag) + " is for a method of compression, and none was given");
  }
  for (const char* flag : {"--ranges", "--bias-correction", "--real"}) {
    EXPECT_EQ(refusal("", {flag}), std::string(flag) + " is for --int8");
    EXPECT_EQ(refusal("svd", {flag}), std::string(flag) + " is for --int8");
    EXPECT_EQ(refusal("int8", {flag}), "ok");
  }
}

TEST(CompressSettings, AreReadByTheMethodsThatNeedThem) {
  for (const compress::Method& method : compress::methods()) {
    const std::string name(method.name);
    const bool sees = (method.needs & (compress::kExamples | compress::kExamplesIfAny)) != 0;
    const bool shrinks = (method.needs & compress::kTarget) != 0;
    EXPECT_EQ(refusal(name, {"--device", "--threads", "--json"}), "ok") << name;
    for (const std::string flag : {"--calibrate", "--limit"}) {
      EXPECT_EQ(refusal(name, {flag}), sees ? "ok" : "--" + name + " does not read " + flag);
    }
    EXPECT_EQ(refusal(name, {"--target"}),
              shrinks ? "ok" : "--" + name + " does not read --target");
  }
}

TEST(CompressSettings, SayWhereExamplesComeFrom) {
  using enum ExampleSource;
  EXPECT_EQ(example_source(by("int8")), kRandom);
  EXPECT_EQ(example_source(by("int8", "photos")), kFolder);
  EXPECT_EQ(example_source(by("tucker")), kNone) << "it can do without";
  EXPECT_EQ(example_source(by("tucker", "photos")), kFolder);
  EXPECT_EQ(example_source(by("magnitude", "photos")), kNone);
}

TEST(CompressSettings, BringThatManyExamples) {
  Graph graph;
  graph.mark_output(graph.add_input("x", {DType::kF32, {2}}));
  const TemporaryFolder folder = *TemporaryFolder::make();
  for (const char* name : {"1.npy", "2.npy", "3.npy"}) {
    ASSERT_TRUE(write_npy(folder.path() / name, Tensor::of<float>({2}, {1, 2})).ok());
  }
  CompressSettings settings = by("int8", folder.path().string());
  settings.limit = 2;
  EXPECT_EQ(examples_for(settings, graph, {})->count, 2u);
  EXPECT_EQ(examples_for(by("codebook"), graph, {})->count, 0u);
  const auto random = examples_for(by("int8"), graph, {});
  ASSERT_GT(random->count, 0u);
  EXPECT_EQ(random->at(0)->front().type(), graph[graph.inputs()[0]].type);
  EXPECT_FALSE(examples_for(by("int8", "/nowhere"), graph, {}).ok());
}

TEST(CompressSettings, TuneKernelsWhereTimeDecides) {
  for (const compress::Method& method : compress::methods()) {
    CompressSettings settings{.method = &method};
    settings.threads = 3;
    const CpuOptions cpu = cpu_options(settings);
    const bool timed = (method.needs & compress::kSpeed) != 0;
    EXPECT_EQ(cpu.tune, timed ? Tune::kFast : Tune::kOff) << method.name;
    EXPECT_EQ(cpu.remember, timed) << method.name;
    EXPECT_EQ(cpu.threads, 3);
  }
}

TEST(CompressSettings, LeaveWorkRealOnlyWhereFilesWereSeen) {
  CompressSettings settings = by("int8");
  settings.real = 0.5;
  EXPECT_EQ(int8_options(settings).fallback.most_work, 0);
  EXPECT_EQ(int8_options(settings).ranges, std::nullopt) << "auto";
  settings.folder = "photos";
  settings.ranges = "mse";
  settings.correct_bias = false;
  const compress::Int8Options int8 = int8_options(settings);
  EXPECT_EQ(int8.fallback.most_work, 0.5);
  EXPECT_EQ(int8.ranges, compress::RangeRule::kMse);
  EXPECT_FALSE(int8.correct_bias);
}

}  // namespace
}  // namespace shoal::config

namespace shoal::compress {
namespace {

TEST(CompressFacts, CallPartsByTheirNames) {
  Compressed result;
  result.parts = 5;
  result.compressed = 3;
  result.left = {"first"};
  result.notes = {"ranges: mse"};
  const Method& method = *find_method("int8");
  const WrittenFile file{.path = "a.onnx", .bytes = 1500, .examples = 8};
  const std::string parts(method.parts);
  EXPECT_EQ(text_of(result, method, file),
            "a.onnx: 3 of 5 " + parts +
                " by int8, 8 examples seen, 1.5 kB\nranges: mse\nstays as it was: first\n");
  const std::string json = to_json(result, method, file).dump();
  EXPECT_NE(json.find("\"" + parts + "\":5"), json.npos) << json;
  EXPECT_NE(json.find(R"("left":["first"])"), json.npos) << json;
}

}  // namespace
}  // namespace shoal::compress
