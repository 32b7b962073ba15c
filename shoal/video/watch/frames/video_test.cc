#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/frames/video_wire.h"

namespace shoal::watch {
namespace {

TEST(VideoWire, RoundTripsWhatADecoderWritesAndRefusesTheRest) {
  const VideoHeader frame{.kind = VideoMessage::kFrame,
                          .width = 7680,
                          .height = 4320,
                          .bytes = 3 * 7680 * 4320,
                          .time_us = -5,
                          .count = 0};
  EXPECT_EQ(*decode_header(encode(frame)), frame);
  std::mt19937 rng(1);
  for (int round = 0; round < 20000; ++round) {
    VideoHeaderBytes bytes = encode(frame);
    for (int flips = 0; flips < 3; ++flips) {
      bytes[rng() % bytes.size()] = static_cast<uint8_t>(rng());
    }
    const auto header = decode_header(bytes);
    if (!header.ok()) continue;
    const uint64_t pixels = uint64_t{header->width} * header->height;
    const bool is_frame = header->kind == VideoMessage::kFrame;
    const bool is_motion = header->kind == VideoMessage::kMotion;
    EXPECT_LE(header->bytes, is_frame || is_motion ? 3 * kMostPixels : kMostText);
    EXPECT_TRUE(!is_frame || header->bytes == 3 * pixels);
    EXPECT_TRUE(!is_motion || header->bytes == motion_bytes(header->width, header->height));
  }
  const VideoHeader motion{
      .kind = VideoMessage::kMotion, .width = 40, .height = 17, .bytes = 4 * 3 * 2};
  EXPECT_EQ(*decode_header(encode(motion)), motion);
  for (const uint32_t bytes : {0u, 20u, 28u, 1u << 31}) {
    VideoHeader wrong = motion;
    wrong.bytes = bytes;
    EXPECT_FALSE(decode_header(encode(wrong)).ok());
  }
}

std::string header_text(const VideoHeader& header) {
  const VideoHeaderBytes bytes = encode(header);
  return {bytes.begin(), bytes.end()};
}

std::string opened(bool live) {
  return header_text({.kind = VideoMessage::kOpened, .flags = live ? kLiveVideo : 0});
}

std::string frame_of(uint32_t width, uint32_t height, char level) {
  const uint32_t bytes = 3 * width * height;
  return header_text(
             {.kind = VideoMessage::kFrame, .width = width, .height = height, .bytes = bytes}) +
         std::string(bytes, level);
}

const std::string kEnd = header_text({.kind = VideoMessage::kEnd});

// Decoders that do as a script says.
class VideoSources : public ::testing::Test {
 protected:
  // The frames, as "WxH:level ", and the failures in brackets.
  std::string run(const std::string& source, const VideoOptions& options, size_t most = 20) {
    const auto video = open_video(source, options);
    if (!video.ok()) return std::string(video.status().message());
    std::string text;
    for (size_t i = 0; i < most; ++i) {
      const auto next = (*video)->next();
      if (!next.ok()) {
        text += "(" + std::string(next.status().message()) + ")";
      } else if (!next->has_value()) {
        return text + "end";
      } else {
        const Tensor& image = (*next)->image;
        text += std::to_string(image.shape()[1]) + "x" + std::to_string(image.shape()[0]) + ":" +
                std::to_string(image.data<uint8_t>().back()) + " ";
      }
    }
    return text;
  }

  // A decoder that writes this, and then does what is said.
  VideoOptions decoder(const std::string& output, const std::string& then = "") {
    std::ofstream(folder_.path() / "output", std::ios::binary) << output;
    const auto script = folder_.path() / "decoder";
    std::ofstream(script) << "#!/bin/sh\n/bin/cat " << (folder_.path() / "output").string() << "\n"
                          << then << "\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    return {.decoder = script,
            .timeout = std::chrono::milliseconds(300),
            .first_pause = std::chrono::milliseconds(1)};
  }

  TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(VideoSources, GivesEveryFrameOfAFileWhateverItsSize) {
  std::string output = opened(false);
  std::string wanted;
  for (char i = 0; i < 10; ++i) {
    output += frame_of(static_cast<uint32_t>(i + 1), 2, i);
    wanted += std::to_string(i + 1) + "x2:" + std::to_string(i) + " ";
  }
  EXPECT_EQ(run("v", decoder(output + kEnd)), wanted + "end");
}

// Vectors as a decoder writes them, for an image of three blocks.
std::string motion_message(const std::vector<std::pair<int16_t, int16_t>>& vectors) {
  std::string text = header_text({.kind = VideoMessage::kMotion,
                                  .width = 40,
                                  .height = 10,
                                  .bytes = static_cast<uint32_t>(4 * vectors.size())});
  for (const auto& [x, y] : vectors) {
    for (const int16_t one : {x, y}) {
      text += static_cast<char>(one & 0xff);
      text += static_cast<char>(one >> 8 & 0xff);
    }
  }
  return text;
}

TEST_F(VideoSources, GivesTheMotionOfTheCodec) {
  const std::string vectors = motion_message({{4, -6}, {kNoVector, kNoVector}, {32767, -32767}});
  VideoOptions asked = decoder(opened(false) + frame_of(40, 10, 1) + vectors + frame_of(40, 10, 2) +
                               vectors + frame_of(40, 12, 3) + frame_of(40, 10, 4) + kEnd);
  for (const bool motion : {true, false}) {
    asked.motion = motion;
    const auto video = open_video("v", asked);
    ASSERT_TRUE(video.ok());
    for (int i = 1; i <= 4; ++i) {
      const auto frame = (*video)->next();
      ASSERT_TRUE(frame.ok() && frame->has_value()) << i;
      ASSERT_EQ((*frame)->motion.has_value(), motion && i == 2)
          << i;  // the third is of another size
      if (!(*frame)->motion) continue;
      const keyframe::Flow& flow = *(*frame)->motion;
      const std::vector<keyframe::Vector> wanted = {
          {1, -1.5F}, {0, 0}, {40, -10}};  // within reason
      EXPECT_EQ(flow.vectors, wanted);
      EXPECT_NEAR(flow.residual, 85, 1e-9);  // one block of three is new
    }
  }
  asked = decoder(opened(false) + vectors.substr(0, 45), "exit 3");
  asked.motion = true;
  EXPECT_EQ(run("v", asked), "(v: its decoder ended with code 3)end");
}

TEST_F(VideoSources, EndsWithAClearFailureWhereADecoderGoesWrong) {
  const std::string good = opened(false) + frame_of(2, 2, 7);
  EXPECT_EQ(run("v", decoder(good, "kill -9 $$")), "2x2:7 (v: its decoder ended with code 137)end");
  EXPECT_EQ(run("v", decoder(good + std::string(40, 'x'))),
            "2x2:7 (v: the decoder sends what is no frame)end");
  EXPECT_EQ(run("v", decoder(good + frame_of(2, 2, 8).substr(0, 45), "exit 3")),
            "2x2:7 (v: its decoder ended with code 3)end");
  // A frame that claims to be larger than what is allocated for anyone.
  EXPECT_EQ(
      run("v",
          decoder(header_text(
              {.kind = VideoMessage::kFrame, .width = 16384, .height = 16384, .bytes = 3u << 28}))),
      "(v: the decoder sends what is no frame)end");
  EXPECT_EQ(run("v", decoder(good, "exec /bin/sleep 30")), "2x2:7 (v: no frame for 300 ms)end");
  EXPECT_EQ(run("v", decoder(header_text({.kind = VideoMessage::kFailed, .bytes = 4}) + "a\nbc")),
            "(v: a\\x0abc)end");
  EXPECT_EQ(run("v", {.decoder = folder_.path() / "none"}),
            "(v: its decoder ended with code 127)end");
}

TEST_F(VideoSources, ConnectsAgainToALiveStream) {
  const auto video = open_video("v", decoder(opened(true) + frame_of(2, 2, 7) + kEnd));
  ASSERT_TRUE(video.ok());
  size_t frames = 0;
  std::string failures;
  while (frames < 3) {
    const auto next = (*video)->next();
    if (!next.ok()) failures = next.status().message();
    if (!next.ok()) continue;
    ASSERT_TRUE(next->has_value());
    EXPECT_GE((*next)->number, frames++);
  }
  EXPECT_EQ(failures, "v: it ended");
  // One that never had a frame is no stream.
  EXPECT_EQ(run("v", decoder(opened(true))), "(v: its decoder ended with code 0)end");
}

// The newest frame is kept: who takes one after all were written gets the last.
TEST_F(VideoSources, DropsOldFramesOfALiveStreamOnly) {
  std::string output = opened(true);
  for (char i = 0; i < 100; ++i) output += frame_of(200, 200, i);
  const auto done = folder_.path() / "done";
  VideoOptions options = decoder(output, "echo > " + done.string() + "; exec /bin/sleep 99");
  options.timeout = std::chrono::minutes(1);
  const auto video = open_video("v", options);
  ASSERT_TRUE(video.ok());
  std::error_code error;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!std::filesystem::exists(done, error)) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "the decoder waits for room";
    std::this_thread::yield();
  }
  size_t taken = 0, last = 0;
  while (last < 99) {
    const auto next = (*video)->next();
    ASSERT_TRUE(next.ok() && next->has_value());
    EXPECT_EQ((*next)->image.data<uint8_t>()[0], (*next)->number);
    last = (*next)->number;
    ++taken;
  }
  EXPECT_LT(taken, 30u);  // what was still in the pipe
}

TEST_F(VideoSources, SayAtOnceThatTheyAreCancelled) {
  std::atomic<bool> cancel = true;
  VideoOptions options = decoder("", "exec /bin/sleep 30");
  options.cancel = &cancel;
  EXPECT_EQ(run("v", options), "end");
}

// The real decoder, where it was built.
class Decoder : public VideoSources {
 protected:
  void SetUp() override {
    if (find_decoder().empty()) GTEST_SKIP() << "FFmpeg's libraries are not here";
  }

  // A video without compression, of grey frames.
  std::string y4m(int frames) {
    std::string text = "YUV4MPEG2 W32 H16 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n";
    for (int i = 0; i < frames; ++i) {
      text += "FRAME\n" + std::string(32 * 16, static_cast<char>(10 * i)) +
              std::string(2 * 16 * 8, static_cast<char>(128));
    }
    return text;
  }

  std::string file(const std::string& bytes) {
    const auto path = folder_.path() / "v.y4m";
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

  const VideoOptions soon_{.timeout = std::chrono::milliseconds(1500)};
};

TEST_F(Decoder, DecodesAFile) {
  EXPECT_EQ(run(file(y4m(4)), {}), "32x16:0 32x16:10 32x16:20 32x16:30 end");
}

TEST_F(Decoder, SaysWhatIsWrongWithAFile) {
  const std::string whole = y4m(4);
  const std::string torn = run(file(whole.substr(0, whole.size() - 300)), {});
  EXPECT_TRUE(torn.starts_with("32x16:0 32x16:10 32x16:20 ")) << torn;
  EXPECT_TRUE(torn.ends_with("end")) << torn;  // its format does not say how long it is
  std::string bad = whole;
  bad.replace(bad.find("FRAME", 100), 5, "GRAPE");
  EXPECT_TRUE(run(file(bad), {}).ends_with(")end"));
  EXPECT_TRUE(run(file("no video at all"), {}).starts_with("("));
  EXPECT_TRUE(run(file(""), {}).starts_with("("));
  EXPECT_TRUE(run("/proc/self/nothing", {}).find("No such file") != std::string::npos);
  // Nothing but the one file can be opened: a playlist is no way to another.
  const std::string playlist = "ffconcat version 1.0\nfile " + folder_.path().string() + "/x\n";
  EXPECT_TRUE(run(file(playlist), {}).starts_with("("));
}

// A source that has no end is read as far as it is wanted, and one that never says anything is
// given up.
TEST_F(Decoder, SurvivesEndlessAndSilentSources) {
  EXPECT_TRUE(run("/dev/zero", soon_).starts_with("("));
  const auto fifo = folder_.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ::signal(SIGPIPE, SIG_IGN);
  std::thread endless([&] {
    std::ofstream out(fifo, std::ios::binary);
    const std::string one = y4m(2);
    const std::string frame = one.substr(one.rfind("FRAME"));
    out << one;
    while (out << frame) {
    }
  });
  EXPECT_EQ(run(fifo.string(), soon_, 5), "32x16:0 32x16:10 32x16:10 32x16:10 32x16:10 ");
  endless.join();

  const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(silent, 1), 0);
  ::getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string at = "127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v";
  for (const std::string scheme : {"http://", "rtsp://"}) {
    EXPECT_EQ(run(scheme + at, soon_), "(" + scheme + at + ": no frame for 1500 ms)end");
  }
  ::close(silent);
  EXPECT_TRUE(run("http://" + at, {}).starts_with("("));  // refused
}

}  // namespace
}  // namespace shoal::watch
