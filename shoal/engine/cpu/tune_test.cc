#include "shoal/engine/cpu/tune.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/executable.h"
#include "shoal/engine/cpu/lower/lowering.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

namespace fs = std::filesystem;

class TunerTest : public testing::Test {
 protected:
  // A layer that direct convolution and Winograd's compete for.
  Graph layer() const {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {1, channels_, size_, size_}});
    const ValueId w = graph.add_constant("w", made_up({DType::kF32, {channels_, channels_, 3, 3}}));
    graph.mark_output(*graph.add(ops::conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
    return *lower(graph, block_size());
  }

  // Opens the layer in a new process, as it were. Returns how its convolution was chosen.
  KernelInfo open(bool doubted = false) {
    Tuner tuner({.tune = Tune::kFull}, file_);
    return open(tuner, doubted);
  }
  KernelInfo open(Tuner& tuner, bool doubted) {
    CpuExecutable executable(layer(), pool_, 1);
    EXPECT_TRUE(executable.prepare(tuner, nullptr).ok());
    surprised_ = tuner.has_surprises();
    if (doubted) tuner.doubt();
    tuner.remember();
    for (size_t i = 0; i < executable.graph().nodes().size(); ++i) {
      const KernelInfo& info = executable.kernel_of(i);
      if (!info.timing.runner_up.empty()) return info;
    }
    return {};
  }
  KernelInfo open_again() {
    Tuner tuner({.tune = Tune::kFast}, file_);
    return open(tuner, false);
  }

  std::string content() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // The file with another outcome, which no race would have.
  void forge(const std::string& outcome) const {
    const std::string text = content();
    std::ofstream(file_, std::ios::trunc) << text.substr(0, text.find('\t') + 1) << outcome << '\n';
  }

  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  const fs::path file_ = fs::path(folder_->path()) / "tuning";
  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(1);
  int64_t channels_ = 16, size_ = 16;  // of the layer
  bool surprised_ = false;
};

TEST_F(TunerTest, RemembersRacesForTheNextProcess) {
  EXPECT_NE(open().name, "");
  forge("direct 1 12345 winograd2 23456 1");
  const KernelInfo recalled = open_again();
  EXPECT_EQ(recalled.name, "direct");
  EXPECT_EQ(recalled.timing.microseconds, 12345);
  EXPECT_EQ(recalled.timing.runner_up, "winograd2");
  EXPECT_FALSE(surprised_) << "nothing was raced";
}

TEST_F(TunerTest, HoldsARaceAgainThatWasNotDecided) {
  open();
  forge("direct 1 12345 winograd2 23456 0");
  EXPECT_NE(open_again().timing.microseconds, 12345);
}

TEST_F(TunerTest, HoldsARaceAgainThatCannotBeRead) {
  open();
  for (const char* outcome : {"", "direct", "direct 1 x winograd2 3 1", "nosuch 1 1 direct 2 1",
                              "direct 1 12345 winograd2 23456"}) {
    forge(outcome);
    const KernelInfo info = open_again();
    EXPECT_NE(info.name, "") << outcome;
    EXPECT_NE(info.timing.microseconds, 12345) << outcome;
  }
}

TEST_F(TunerTest, ForgetsARaceThatTheWholeNetworkContradicts) {
  for (channels_ = 16; channels_ <= 128 && !surprised_; channels_ *= 2) {
    for (size_ = 2; size_ <= 32 && !surprised_; ++size_) {
      fs::remove(file_);
      open(true);
    }
  }
  ASSERT_TRUE(surprised_) << "of so many races, the best estimate wins all";
  EXPECT_EQ(content(), "");
}

}  // namespace
}  // namespace shoal::cpu
