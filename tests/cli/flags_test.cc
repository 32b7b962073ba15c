#include "apps/flags/flags.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace shoal::cli {
namespace {

struct Values {
  int64_t top = 5;
  double error = 0;
  bool json = false;
  bool scale = true;
  std::string model;
  std::string network;
  std::vector<std::string> inputs;
  std::vector<float> mean;
};

class Flags : public testing::Test {
 protected:
  // Help and complaints go where ctest shows them only if a test fails.
  std::optional<int> parse(std::vector<std::string> words) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const std::optional<int> exit = app_.parse(std::move(words));
    output_ = testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    return exit;
  }

  Command app_{"A program.", "program"};
  Values values_;
  std::string output_;
};

TEST_F(Flags, FillVariablesOfEveryType) {
  app_.add_option("model", values_.model, "A file");
  app_.add_option("--top,-t", values_.top, "Number");
  app_.add_option("--error", values_.error, "Number");
  app_.add_option("--input", values_.inputs, "Files");
  app_.add_option("--mean", values_.mean, "Numbers")->delimiter(',');
  app_.add_flag("--json", values_.json, "Switch");
  app_.add_flag("--scale,!--no-scale", values_.scale, "Switch");
  EXPECT_EQ(parse({"m.onnx", "-t", "7", "--error", "0.5", "--input", "a", "--input", "b", "--mean",
                   "1,2.5", "--json", "--no-scale"}),
            std::nullopt);
  EXPECT_EQ(values_.model, "m.onnx");
  EXPECT_EQ(values_.top, 7);
  EXPECT_EQ(values_.error, 0.5);
  EXPECT_EQ(values_.inputs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(values_.mean, (std::vector<float>{1, 2.5f}));
  EXPECT_TRUE(values_.json);
  EXPECT_FALSE(values_.scale);
}

TEST_F(Flags, LeaveVariablesAloneWhereTheyAreNotGiven) {
  const Option* top = app_.add_option("--top", values_.top, "Number");
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(values_.top, 5);
  EXPECT_EQ(top->count(), 0u);
  EXPECT_EQ(app_.count("--top"), 0u);
}

TEST_F(Flags, MayHaveAValueOrNone) {
  app_.add_flag("--cluster{own}", values_.network, "Which")->check(one_of({"own", "mpi"}));
  EXPECT_EQ(parse({"--cluster"}), std::nullopt);
  EXPECT_EQ(values_.network, "own");
  EXPECT_EQ(parse({"--cluster=mpi"}), std::nullopt);
  EXPECT_EQ(values_.network, "mpi");
  EXPECT_NE(parse({"--cluster=lan"}).value_or(0), 0);
}

TEST_F(Flags, RefuseWhatTheirChecksDo) {
  app_.add_option("--top", values_.top, "Number")->check(in_range(1, 10));
  app_.add_option("--error", values_.error, "Number")->check(in_range(0.0, 1.0));
  app_.add_option("--model", values_.model, "Name")->check([](const std::string& text) {
    return text == "good" ? "" : "no model " + text;
  });
  EXPECT_EQ(parse({"--top", "10", "--error", "1", "--model", "good"}), std::nullopt);
  EXPECT_NE(parse({"--top", "11"}).value_or(0), 0);
  EXPECT_NE(parse({"--top", "many"}).value_or(0), 0);
  EXPECT_NE(parse({"--error", "1.5"}).value_or(0), 0);
  EXPECT_NE(parse({"--model", "bad"}).value_or(0), 0);
  EXPECT_NE(output_.find("no model bad"), output_.npos) << output_;
  EXPECT_NE(parse({"--unknown"}).value_or(0), 0);
}

TEST_F(Flags, NeedAndExcludeEachOther) {
  Option* json = app_.add_flag("--json", values_.json, "Switch");
  app_.add_option("--top", values_.top, "Number")->needs(json);
  app_.add_option("--error", values_.error, "Number")->excludes(json);
  EXPECT_NE(parse({"--top", "1"}).value_or(0), 0);
  EXPECT_EQ(parse({"--top", "1", "--json"}), std::nullopt);
  EXPECT_NE(parse({"--error", "1", "--json"}).value_or(0), 0);
}

TEST_F(Flags, SayTheBoundsOfANumberInWords) {
  app_.add_option("--error", values_.error, "Number")->check(not_negative());
  app_.add_option("--top", values_.top, "Number")->check(positive());
  EXPECT_NE(parse({"--error", "-3"}).value_or(0), 0);
  EXPECT_NE(output_.find("it is 0 or more, not -3"), output_.npos) << output_;
  EXPECT_NE(parse({"--top", "0"}).value_or(0), 0);
  EXPECT_NE(output_.find("it is more than 0, not 0"), output_.npos) << output_;
  EXPECT_EQ(parse({"--error", "0", "--top", "1"}), std::nullopt);
}

TEST_F(Flags, MayHaveTheNamesOfOtherCommands) {
  Command& command = app_;
  command.add({Setting("top", values_.top, "Number").in(1, 10).also("limit").also("n")});
  for (const char* name : {"--top", "--limit", "-n"}) {
    values_.top = 0;
    EXPECT_EQ(parse({name, "7"}), std::nullopt) << name;
    EXPECT_EQ(values_.top, 7) << name;
    EXPECT_EQ(command.count("--top"), 1U) << name;
  }
}

TEST_F(Flags, AreCheckedTogether) {
  app_.add_option("--top", values_.top, "Number");
  app_.check_together([this] { return values_.top > 8 ? invalid("--top: too many") : Status(); });
  EXPECT_EQ(parse({"--top", "8"}), std::nullopt);
  EXPECT_NE(parse({"--top", "9"}).value_or(0), 0);
  EXPECT_NE(output_.find("too many"), output_.npos) << output_;
}

TEST_F(Flags, BelongToTheCommandThatIsGiven) {
  std::string given;
  app_.require_subcommand();
  for (const char* name : {"run", "bench"}) {
    Command* command = app_.add_subcommand(name, "A command");
    command->add_option("--top", values_.top, "Number")->required();
    command->callback([name, &given] { given = name; });
  }
  EXPECT_NE(parse({}).value_or(0), 0);
  EXPECT_NE(parse({"run"}).value_or(0), 0);
  EXPECT_EQ(given, "");
  EXPECT_EQ(parse({"bench", "--top", "2"}), std::nullopt);
  EXPECT_EQ(given, "bench");
}

TEST_F(Flags, AreShownByHelp) {
  app_.add_option("--top", values_.top, "So many")->check(in_range(1, 10))->capture_default_str();
  app_.footer("Examples: none");
  app_.version("program 1.2");
  EXPECT_EQ(parse({"--help"}), 0);
  for (const char* part : {"A program.", "--top", "So many", "[1 - 10]", "=5", "Examples: none"}) {
    EXPECT_NE(output_.find(part), output_.npos) << part << " is not in " << output_;
  }
  EXPECT_EQ(parse({"--version"}), 0);
  EXPECT_EQ(output_, "program 1.2\n");
}

TEST_F(Flags, CommandsOfOnePurposeStandTogether) {
  const auto add = [&](const char* name, const char* group) {
    app_.add_subcommand(name, std::string("To ") + name)->group(group);
    EXPECT_EQ(app_.last_subcommand()->name(), name);
  };
  EXPECT_EQ(app_.last_subcommand(), nullptr);
  add("bake", "Make it");
  add("eat", "Have it");
  add("cook", "Make it");
  add("burn", "");
  EXPECT_EQ(parse({"--help"}), 0);
  const size_t heading = output_.find("\nSubcommands:\n\nMake it\n  bake "),
               last = output_.find("\n\nHave it\n  eat ");
  ASSERT_NE(heading, output_.npos) << output_;
  ASSERT_NE(last, output_.npos) << output_;
  EXPECT_TRUE(heading < output_.find("  cook ") && output_.find("  cook ") < last) << output_;
  EXPECT_EQ(output_.find("burn"), output_.npos) << output_;
}

TEST_F(Flags, OfAGroupShareItsHeadingAndWhatTheyNeed) {
  const Option* cluster = app_.add_flag("--cluster", values_.json, "Which");
  const FlagGroup group(app_, "There", cluster), usual(app_);
  const Option* top = group.add_setting("--top", values_.top, "Number", in_range(1, 10));
  const Option* mean = group.add_option("--mean", values_.mean, "Numbers");
  const Option* error = usual.add_option("--error", values_.error, "Number", not_negative());
  EXPECT_EQ(top->group(), "There");
  EXPECT_EQ(mean->group(), "There");
  EXPECT_EQ(error->group(), "Options");
  EXPECT_EQ(parse({"--help"}), 0);
  EXPECT_NE(output_.find("]=5 Needs: --cluster"), output_.npos) << output_;
  EXPECT_NE(parse({"--top", "7"}).value_or(0), 0);
  EXPECT_NE(parse({"--cluster", "--top", "11"}).value_or(0), 0);
  EXPECT_NE(parse({"--error", "-1"}).value_or(0), 0);
  EXPECT_EQ(parse({"--cluster", "--top", "7", "--error", "1"}), std::nullopt);
  EXPECT_EQ(values_.top, 7);
}

TEST_F(Flags, AreCheckedByParsers) {
  const auto parse_even = [](const std::string& text) -> Result<int> {
    const int n = std::atoi(text.c_str());
    return n % 2 == 0 ? Result<int>(n) : invalid(text + " is odd");
  };
  app_.add_option("--top", values_.top, "Number")->check(parsed_by(parse_even));
  EXPECT_EQ(parse({"--top", "4"}), std::nullopt);
  EXPECT_NE(parse({"--top", "3"}).value_or(0), 0);
  EXPECT_NE(output_.find("3 is odd"), output_.npos) << output_;
}

TEST_F(Flags, OfSettingsHaveTheirBoundsAndDefaults) {
  int64_t limit = 0;
  app_.add({Setting("top", values_.top, "So many").in(1, 10),
            Setting("error", values_.error, "At most").in(0, 0.5).showing_default(),
            Setting("limit", limit, "Of them").positive(),
            Setting("model", values_.model, "Which").one_of({"a", "b"})});
  EXPECT_EQ(parse({"--help"}), 0);
  for (const char* part : {"--top INT:INT in [1 - 10]=5", "--error FLOAT:FLOAT in [0 - 0.5]=0",
                           "--limit INT:POSITIVE  ", "--model TEXT:{a,b}  "}) {
    EXPECT_NE(output_.find(part), output_.npos) << part << " is not in " << output_;
  }
  EXPECT_EQ(parse({"--top", "10", "--error", "0.5", "--limit", "1", "--model", "b"}), std::nullopt);
  EXPECT_EQ(values_.top, 10);
  EXPECT_EQ(values_.model, "b");
  for (const auto& [flag, value] : {std::pair("--top", "11"), std::pair("--error", "0.6"),
                                    std::pair("--limit", "0"), std::pair("--model", "c")}) {
    EXPECT_NE(parse({flag, value}).value_or(0), 0) << flag;
  }
}

TEST_F(Flags, OfSettingsThatAreOnCanBeTurnedOff) {
  app_.add({Setting("json", values_.json, "Off"), Setting("scale", values_.scale, "On")});
  EXPECT_EQ(parse({"--json", "--no-scale"}), std::nullopt);
  EXPECT_TRUE(values_.json);
  EXPECT_FALSE(values_.scale);
  EXPECT_NE(parse({"--no-json"}).value_or(0), 0);
}

TEST_F(Flags, OfSettingsTakeListsAndChecks) {
  std::vector<std::string> at;
  app_.add({Setting("mean", values_.mean, "Numbers"), Setting("input", values_.inputs, "Files"),
            Setting("at", at, "Values").separated_by_commas(),
            Setting("model", values_.model, "Name").checked([](const std::string& text) {
              return text == "good" ? Status() : invalid("no model " + text);
            })});
  EXPECT_EQ(parse({"--mean", "1,2.5", "--input", "a,b", "--at", "c,d", "--model", "good"}),
            std::nullopt);
  EXPECT_EQ(values_.mean, (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(values_.inputs, std::vector<std::string>{"a,b"});
  EXPECT_EQ(at, (std::vector<std::string>{"c", "d"}));
  EXPECT_NE(parse({"--model", "bad"}).value_or(0), 0);
  EXPECT_NE(output_.find("no model bad"), output_.npos) << output_;
}

TEST_F(Flags, OfSettingsNeedAndExcludeOthersUnderTheirHeading) {
  app_.add(under("Numbers", {Setting("top", values_.top, "Number").with("json"),
                             Setting("error", values_.error, "Number").not_with("json"),
                             Setting("json", values_.json, "Switch")}));
  EXPECT_EQ(app_.option("--top")->group(), "Numbers");
  EXPECT_NE(parse({"--top", "1"}).value_or(0), 0);
  EXPECT_EQ(parse({"--top", "1", "--json"}), std::nullopt);
  EXPECT_TRUE(app_.given()("--top"));
  EXPECT_FALSE(app_.given()("--error"));
  EXPECT_NE(parse({"--error", "1", "--json"}).value_or(0), 0);
}

TEST_F(Flags, AreListedForCompletions) {
  Command* run = app_.add_subcommand("run", "Runs");
  run->add_option("--top,-t", values_.top, "So many")->group("Numbers");
  ASSERT_EQ(app_.subcommands().size(), 1u);
  EXPECT_EQ(app_.subcommands()[0]->name(), "run");
  EXPECT_EQ(app_.subcommands()[0]->description(), "Runs");
  ASSERT_EQ(run->options().size(), 2u);
  EXPECT_EQ(run->options()[0]->long_names(), std::vector<std::string>{"help"});
  EXPECT_EQ(run->options()[1]->long_names(), std::vector<std::string>{"top"});
  EXPECT_EQ(run->options()[1]->description(), "So many");
  EXPECT_EQ(run->options()[1]->group(), "Numbers");
}

}  // namespace
}  // namespace shoal::cli
