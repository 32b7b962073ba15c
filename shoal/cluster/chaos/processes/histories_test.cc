#include "shoal/cluster/chaos/processes/histories.h"

#include <gtest/gtest.h>

#include <fstream>

#include "shoal/base/files/temporary_folder.h"

namespace shoal::chaos {
namespace {

// Stands in for shoal-simulation: says what its arguments were, and then these lines.
class Program {
 public:
  explicit Program(const std::string& lines) {
    std::ofstream(path_) << "#!/bin/sh\necho \"$*\" > " << folder_.path().string() << "/arguments\n"
                         << lines;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }

  Result<Campaign> run(uint64_t histories, std::vector<uint64_t>& done) const {
    return live_through({.seed = 7,
                         .histories = histories,
                         .jobs = 2,
                         .at = [&](uint64_t count) { done.push_back(count); },
                         .program = path_});
  }
  std::string arguments() const {
    std::string line;
    std::ifstream file(folder_.path() / "arguments");
    std::getline(file, line);
    return line;
  }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::filesystem::path path_ = folder_.path() / "simulation";
};

TEST(Histories, AreCountedOnTheWayAndNamedByTheFirstBadSeed) {
  const Program program(R"(echo '{"histories": 1, "requests": 4}'
echo '{"histories": 3, "violations": 1, "first_bad_seed": 8, "first_violation": "twice",' \
  '"requests": 9, "answered": 7, "failed": 2, "replayed": 1}'
exit 1
)");
  std::vector<uint64_t> done;
  const auto campaign = program.run(3, done);
  ASSERT_TRUE(campaign.ok()) << campaign.status().message();
  EXPECT_EQ(program.arguments(), "--json --seed 7 --count 3 --jobs 2");
  EXPECT_EQ(done, (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(campaign->verdict().why, "seed 8: twice");
  EXPECT_EQ(campaign->verdict().kind, Verdict::Kind::kWrong);
  EXPECT_EQ(object_of(facts_of(*campaign)).dump(),
            R"({"answered":7,"failed":2,"first_bad_seed":8,"histories":3,"replayed":1,)"
            R"("requests":9,"violations":1})");
}

TEST(Histories, AreAllLivedThroughOrNone) {
  std::vector<uint64_t> done;
  const Program dies("echo '{\"histories\": 2}'\nkill -9 $$\n");
  EXPECT_NE(dies.run(3, done).status().message().find("ended after 2 histories"),
            std::string_view::npos);
  EXPECT_EQ(dies.run(2, done)->verdict().kind, Verdict::Kind::kKept);
  EXPECT_EQ(Program("echo nothing\n").run(1, done).status().code(), Code::kCorrupt);
  EXPECT_FALSE(live_through({.program = "/nowhere"}).ok());
}

}  // namespace
}  // namespace shoal::chaos
