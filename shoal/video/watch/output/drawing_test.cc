#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/processes/process.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/frames/video_source.h"
#include "shoal/video/watch/output/clips.h"
#include "shoal/video/watch/output/draw.h"

namespace shoal::watch {
namespace {

Tensor grey(int64_t height, int64_t width, uint8_t level = 100) {
  Tensor image({DType::kU8, {height, width, 3}});
  std::ranges::fill(image.data<uint8_t>(), level);
  return image;
}

bool is_drawn(const Tensor& image, int64_t x, int64_t y) {
  return image.data<uint8_t>()[static_cast<size_t>(3 * (y * image.shape()[1] + x))] != 100;
}

// Exactly the edge of a box is drawn, whichever part of it is in the image.
TEST(Drawing, ABoxIsItsEdge) {
  std::mt19937 rng(2);
  const auto side = [&] { return static_cast<float>(rng() % 90) - 20; };
  for (int round = 0; round < 300; ++round) {
    const detect::Box box{side(), side(), side(), side()};
    Tensor image = grey(40, 50);
    draw_box(image, box, {255, 0, 0});
    for (int64_t y = 0; y < 40; ++y) {
      for (int64_t x = 0; x < 50; ++x) {
        const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
        const bool within = fx >= box.left && fx < box.right && fy >= box.top && fy < box.bottom;
        const bool inner =
            fx >= box.left + 2 && fx < box.right - 2 && fy >= box.top + 2 && fy < box.bottom - 2;
        ASSERT_EQ(is_drawn(image, x, y), within && !inner) << x << "," << y;
      }
    }
  }
}

TEST(Drawing, TakesAnyNumbers) {
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(), 1e30F, -3};
  for (const float a : bad) {
    for (const float b : bad) {
      FrameAnswer answer{
          .seen = {{.detection = {.box = {a, b, b, a}}}, {.detection = {.box = {b, a, 9, 9}}}}};
      answer.image = grey(8, 8);
      EXPECT_EQ(annotate(answer, {}).shape(), answer.image.shape());
      EXPECT_FALSE(is_drawn(answer.image, 0, 0));  // the frame stays as it is
    }
  }
}

// Every letter looks different, and none leaves its cell.
TEST(Drawing, LettersAreThemselves) {
  std::set<std::vector<uint8_t>> looks;
  const std::string letters = " #%-./0123456789:?ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  for (const char letter : letters) {
    Tensor image = grey(12, 12);
    draw_text(image, 2, 2, std::string(1, letter), 1, {255, 255, 255});
    for (int64_t i = 0; i < 12; ++i) {
      EXPECT_FALSE(is_drawn(image, 9, i) || is_drawn(image, i, 11) || is_drawn(image, 1, i));
    }
    const auto pixels = image.data<uint8_t>();
    looks.emplace(pixels.begin(), pixels.end());
  }
  EXPECT_EQ(looks.size(), letters.size());
  Tensor small = grey(12, 12), large = grey(12, 12), strange = grey(12, 12), mark = grey(12, 12);
  draw_text(small, 0, 0, "g", 1, {0, 0, 0});
  draw_text(large, 0, 0, "G", 1, {0, 0, 0});
  draw_text(strange, 0, 0, "\x80", 1, {0, 0, 0});
  draw_text(mark, 0, 0, "?", 1, {0, 0, 0});
  EXPECT_TRUE(std::ranges::equal(small.bytes(), large.bytes()));
  EXPECT_TRUE(std::ranges::equal(strange.bytes(), mark.bytes()));
}

// Which frames were written, clip by clip, by their times in tenths of a second.
struct Written {
  std::vector<std::vector<int64_t>> clips;
  size_t finished = 0;
};

class TimeWriter : public FrameWriter {
 public:
  explicit TimeWriter(Written& written) : written_(written) { written_.clips.emplace_back(); }
  Status write(const Tensor&, int64_t time_us) override {
    written_.clips.back().push_back(time_us / 100000);
    return {};
  }
  Status finish() override {
    ++written_.finished;
    return {};
  }

 private:
  Written& written_;
};

// Clips together are what lies around events, each frame once.
TEST(Clips, HaveTheFramesAroundEvents) {
  const auto folder = TemporaryFolder::make();
  std::mt19937 rng(4);
  for (int round = 0; round < 50; ++round) {
    const ClipOptions options{.before = static_cast<double>(rng() % 4),
                              .after = static_cast<double>(rng() % 3),
                              .longest = 1000};
    Written written;
    ClipRecorder recorder(folder->path(), "door", options, [&](const auto&) {
      return Result<std::unique_ptr<FrameWriter>>(std::make_unique<TimeWriter>(written));
    });
    std::set<int64_t> wanted;
    for (int64_t at = 0; at < 400; ++at) {
      const bool event = rng() % 40 == 0;
      ASSERT_TRUE(recorder.add(grey(2, 2), at * 100000, static_cast<size_t>(at), event).ok());
      const auto before = static_cast<int64_t>(10 * options.before);
      const auto after = static_cast<int64_t>(10 * options.after);
      for (int64_t i = at - before; event && i <= at + after; ++i) {
        if (i >= 0 && i < 400) wanted.insert(i);
      }
    }
    ASSERT_TRUE(recorder.finish().ok());
    std::vector<int64_t> all;
    for (const auto& clip : written.clips) all.insert(all.end(), clip.begin(), clip.end());
    EXPECT_EQ(all, std::vector<int64_t>(wanted.begin(), wanted.end()));
    EXPECT_EQ(written.finished, written.clips.size());
    EXPECT_EQ(recorder.clips(), written.clips.size());
  }
}

TEST(Clips, StayWithinMemoryAndLength) {
  const auto folder = TemporaryFolder::make();
  Written written;
  const ClipOptions options{.before = 9, .after = 1, .longest = 2, .most_bytes = 5 * 12};
  ClipRecorder recorder(folder->path(), "door", options, [&](const auto&) {
    return Result<std::unique_ptr<FrameWriter>>(std::make_unique<TimeWriter>(written));
  });
  for (int64_t at = 0; at < 60; ++at) {
    ASSERT_TRUE(recorder.add(grey(2, 2), at * 100000, 0, at >= 10 && at < 42).ok());
  }
  ASSERT_EQ(written.clips.size(), 2u);
  EXPECT_EQ(written.clips[0].front(), 5);  // as many frames before it as there is room for
  EXPECT_EQ(written.clips[0].back(), 30);
  EXPECT_EQ(written.clips[1].front(), 31);
}

class Writers : public ::testing::Test {
 protected:
  TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(Writers, WritePictures) {
  const auto writer = open_writer(folder_.path() / "pictures");
  ASSERT_TRUE(writer.ok());
  for (const uint8_t level : {uint8_t{10}, uint8_t{200}})
    ASSERT_TRUE((*writer)->write(grey(16, 24, level), 0).ok());
  ASSERT_TRUE((*writer)->finish().ok());
  const auto second = read_image(folder_.path() / "pictures" / "000001.jpg");
  ASSERT_TRUE(second.ok());
  EXPECT_NEAR(second->data<uint8_t>()[0], 200, 3);
}

// What the encoder writes, the decoder reads: as many frames, as bright, at their times.
TEST_F(Writers, WriteVideos) {
  if (find_program("shoal-encode").empty()) GTEST_SKIP() << "FFmpeg's libraries are not here";
  for (const std::string name : {"v.mp4", "v.mkv", "v.mov"}) {
    const auto path = folder_.path() / name;
    const auto writer = open_writer(path);
    ASSERT_TRUE(writer.ok());
    for (int i = 0; i < 5; ++i) {  // the last is of another size
      const Tensor image = grey(i < 4 ? 65 : 130, i < 4 ? 97 : 194, static_cast<uint8_t>(40 * i));
      const Status status = (*writer)->write(image, 200000 * i);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    const Status finished = (*writer)->finish();
    ASSERT_TRUE(finished.ok()) << name << ": " << finished.message();
    const auto video = open_video(path.string());
    ASSERT_TRUE(video.ok());
    for (int i = 0; i < 5; ++i) {
      const auto frame = (*video)->next();
      ASSERT_TRUE(frame.ok() && frame->has_value()) << name << " " << i;
      EXPECT_EQ((*frame)->image.shape(), (Shape{64, 96, 3}));
      EXPECT_NEAR((*frame)->image.data<uint8_t>()[3 * 96 * 32], 40 * i, 6) << name;
      EXPECT_NEAR(static_cast<double>((*frame)->time_us), 200000 * i, 20000) << name;
    }
    EXPECT_FALSE((*video)->next()->has_value());
  }
}

// Bytes of the frames of an MP4 file, as its table of samples says.
std::vector<uint32_t> frame_sizes(const std::filesystem::path& file) {
  std::ifstream read(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(read), {});
  const size_t table = bytes.find("stsz");
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes.at(i));
    return value;
  };
  std::vector<uint32_t> sizes;
  for (size_t i = 0; i < number(table + 12); ++i) sizes.push_back(number(table + 16 + 4 * i));
  return sizes;
}

// A link takes about as long for each frame: none but the first is coded by itself.
TEST_F(Writers, WriteFramesOfEvenSizes) {
  if (find_program("shoal-encode").empty()) GTEST_SKIP() << "FFmpeg's libraries are not here";
  std::vector<uint32_t> largest;  // frame but the first
  for (const bool even : {false, true}) {
    const auto path = folder_.path() / "even.mp4";
    const auto writer = open_writer(path, {.even = even});
    ASSERT_TRUE(writer.ok());
    std::mt19937 rng(3);
    Tensor still = grey(240, 320);
    for (uint8_t& pixel : still.data<uint8_t>()) pixel = static_cast<uint8_t>(50 + rng() % 100);
    for (int i = 0; i < 120; ++i) {
      Tensor image = still.clone();
      for (uint8_t& pixel : image.data<uint8_t>()) pixel += static_cast<uint8_t>(rng() % 4);
      ASSERT_TRUE((*writer)->write(image, 100000 * i).ok());
    }
    ASSERT_TRUE((*writer)->finish().ok());
    const std::vector<uint32_t> sizes = frame_sizes(path);
    ASSERT_EQ(sizes.size(), 120U);
    largest.push_back(std::ranges::max(std::span(sizes).subspan(1)));
  }
  EXPECT_LT(largest[1], largest[0] / 2);
}

TEST_F(Writers, SayWhatIsWrong) {
  EXPECT_EQ(open_writer("x.mp4", {.encoder = "/nowhere/at all"}).ok(), true);  // known later
  const auto none = open_writer("x.mp4", {.encoder = "/nowhere/at all"});
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = (*none)->write(grey(64, 64), i);
  EXPECT_NE(status.message().find("ended without a word"), std::string::npos) << status.message();
  if (find_program("shoal-encode").empty()) GTEST_SKIP() << "FFmpeg's libraries are not here";
  const auto nowhere = open_writer(folder_.path() / "no folder" / "v.mp4");
  ASSERT_TRUE(nowhere.ok());
  status = {};
  for (int i = 0; i < 100 && status.ok(); ++i) status = (*nowhere)->write(grey(640, 640), i);
  EXPECT_NE(status.message().find("No such file"), std::string::npos) << status.message();
  const auto empty = open_writer(folder_.path() / "v.mp4");
  EXPECT_NE((*empty)->finish().message().find("no frame"), std::string::npos);
}

}  // namespace
}  // namespace shoal::watch
