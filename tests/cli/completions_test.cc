// The scripts of 'shoal completions', for commands of the test's own.
#include <gtest/gtest.h>

#include "apps/cli/cli.h"

namespace shoal::cli {
namespace {

class Completions : public testing::Test {
 protected:
  Completions() {
    Command* bake = app_.add_subcommand("bake", "Make \"bread\" for $5");
    bake->add_option("--minutes,-m", minutes_, "How long");
    bake->add_flag("--crust,!--no-crust", crust_, "Not \\soft");
    add_completions(app_, action_);
  }
  std::string script(const std::string& shell) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(app_.parse({"completions", shell}), std::nullopt);
    EXPECT_EQ(action_().exit, Exit::kOk);
    return testing::internal::GetCapturedStdout();
  }

  Command app_{"A program.", "shoal"};
  Action action_;
  int minutes_ = 0;
  bool crust_ = false;
};

TEST_F(Completions, OfBashOfferCommandsTheirFlagsAndModels) {
  const std::string text = script("bash");
  EXPECT_NE(text.find("bake) words=\"--help --minutes --crust --no-crust zoo:"), text.npos) << text;
  EXPECT_NE(text.find("words=\"bake completions \""), text.npos) << text;
  EXPECT_NE(text.find("complete -F _shoal shoal\n"), text.npos) << text;
  EXPECT_EQ(text.find("compdef"), text.npos);
}

TEST_F(Completions, OfZshReadThoseOfBash) {
  const std::string text = script("zsh");
  EXPECT_TRUE(text.starts_with("#compdef shoal\n")) << text;
  EXPECT_NE(text.find("complete -F _shoal shoal\n"), text.npos) << text;
}

TEST_F(Completions, OfFishHaveDescriptions) {
  const std::string text = script("fish");
  EXPECT_NE(text.find(R"(-a bake -d "Make \"bread\" for \$5")"), text.npos) << text;
  EXPECT_NE(text.find(R"("__fish_seen_subcommand_from bake" -l minutes -d "How long")"), text.npos)
      << text;
  EXPECT_NE(text.find(R"(-l no-crust -d "Not \\soft")"), text.npos) << text;
}

TEST_F(Completions, AreForKnownShells) {
  testing::internal::CaptureStderr();
  EXPECT_NE(app_.parse({"completions", "cmd"}), std::nullopt);
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace shoal::cli
