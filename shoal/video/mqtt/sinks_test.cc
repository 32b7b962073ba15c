#include "shoal/video/mqtt/sinks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "shoal/base/files/temporary_folder.h"

namespace shoal::mqtt {
namespace {

namespace fs = std::filesystem;

TEST(Targets, AreOneForEachSource) {
  EXPECT_EQ(target_of("a/out.mp4", "door", false), "a/out.mp4");
  EXPECT_EQ(target_of("a/out.mp4", "door", true), "a/out-door.mp4");
  EXPECT_EQ(target_of("pictures", "door", false), "pictures");
  EXPECT_EQ(target_of("pictures", "door", true), "pictures/door");
}

// A box that is in the left half of the image, or in the right one.
watch::FrameAnswer answer(size_t source, size_t frame, bool left) {
  watch::FrameAnswer frame_answer{.source = source,
                                  .frame = frame,
                                  .time_us = static_cast<int64_t>(frame) * 1'000'000,
                                  .image = Tensor({DType::kU8, {64, 64, 3}})};
  const float x = left ? 4 : 44;
  frame_answer.seen.push_back(
      {.detection = {.label = 0, .score = 0.5F, .box = {x, 4, x + 8, 12}}, .id = 1});
  return frame_answer;
}

class Sinking : public testing::Test {
 protected:
  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

TEST_F(Sinking, WritesPicturesAndCountsWhatHappens) {
  const SinkOptions options{.out = folder_->path() / "out",
                            .zones = {"left=0,0,0.5,0,0.5,1,0,1"},
                            .lines = {"middle=0.5,0,0.5,1"}};
  EXPECT_TRUE(options.wants_activity());
  auto sinks = Sinks::open(options, {"door.mp4", "yard.mp4"}, {});
  ASSERT_TRUE(sinks.ok()) << sinks.status().message();
  EXPECT_EQ((*sinks)->names(), (std::vector<std::string>{"door", "yard"}));
  std::vector<std::string> kinds;
  for (size_t frame = 0; frame < 4; ++frame) {
    const auto events = (*sinks)->add(answer(0, frame, frame < 2));
    ASSERT_TRUE(events.ok()) << events.status().message();
    for (const watch::Event& event : *events) kinds.emplace_back(watch::name_of(event.kind));
  }
  ASSERT_TRUE((*sinks)->add(answer(1, 0, false)).ok());
  ASSERT_TRUE((*sinks)->finish().ok());
  EXPECT_NE(std::ranges::find(kinds, "entered"), kinds.end());
  EXPECT_NE(std::ranges::find(kinds, "crossed"), kinds.end());
  EXPECT_EQ((*sinks)->totals(0).zones.at("left").entered, 1U);
  EXPECT_EQ((*sinks)->totals(0).zones.at("left").seconds, 2);
  EXPECT_EQ((*sinks)->totals(0).lines.size(), 1U);
  EXPECT_TRUE((*sinks)->totals(1).lines.empty());
  EXPECT_TRUE(fs::exists(folder_->path() / "out/door/000003.jpg"));
  EXPECT_TRUE(fs::exists(folder_->path() / "out/yard/000000.jpg"));
}

TEST_F(Sinking, KnowsNoEventsWhereNobodyAsks) {
  auto sinks = Sinks::open({.out = folder_->path() / "out"}, {"door.mp4"}, {});
  ASSERT_TRUE(sinks.ok()) << sinks.status().message();
  EXPECT_FALSE((*sinks)->has_activity());
  EXPECT_TRUE((*sinks)->add(answer(0, 0, true))->empty());
  EXPECT_TRUE((*sinks)->finish().ok());
  EXPECT_TRUE(fs::exists(folder_->path() / "out/000000.jpg")) << "one source needs no folder";
}

TEST_F(Sinking, WritesALineOfJsonForEachFrameAndLinesForPeople) {
  const fs::path file = folder_->path() / "boxes.jsonl";
  std::string read;
  auto sinks = Sinks::open({.jsonl = file, .on_text = [&](const auto& lines) { read += lines; }},
                           {"a/door.mp4", "yard.mp4"}, {});
  ASSERT_TRUE(sinks.ok()) << sinks.status().message();
  ASSERT_TRUE((*sinks)->add(answer(0, 0, true)).ok());
  std::ifstream lines(file);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line)) << "a line is there before the end";
  EXPECT_NE(line.find(R"("source":"a/door.mp4")"), line.npos) << line;
  EXPECT_EQ(line.find("events"), line.npos) << "nobody asked for them";
  ASSERT_TRUE((*sinks)->add(answer(1, 0, true)).ok());
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_FALSE(std::getline(lines, line));
  EXPECT_TRUE(read.starts_with("door ")) << read << "which of several sources it is";
  EXPECT_NE(read.find("\nyard "), read.npos) << read;
}

TEST_F(Sinking, RefusesAFileThatCannotBeWritten) {
  EXPECT_FALSE(Sinks::open({.jsonl = folder_->path() / "no/such/file"}, {"a"}, {}).ok());
}

TEST_F(Sinking, RefusesPlacesThatAreNone) {
  EXPECT_FALSE(Sinks::open({.zones = {"door"}}, {"a"}, {}).ok());
  EXPECT_FALSE(Sinks::open({.lines = {"door=1,2"}}, {"a"}, {}).ok());
  EXPECT_FALSE(Sinks::open({.broker = "http://host"}, {"a"}, {}).ok());
}

}  // namespace
}  // namespace shoal::mqtt
