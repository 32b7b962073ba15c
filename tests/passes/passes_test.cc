// tests/passes/<pass>.txt holds cases of one pass: "== the property", a graph, "----", the
// resulting graph. Dead code is removed from it, so that a case shows the rest. Every case is also
// run before and after on random inputs: a pass may not change an answer.
#include "shoal/model/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "answers.h"
#include "shoal/model/graph/text.h"

namespace shoal::passes {
namespace {

struct Case {
  std::string pass;
  std::string title;
  std::string input;
  std::string expected;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.pass << ": " << c.title; }

std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Case> cases;
  bool after_rule = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      cases.push_back({path.stem().string(), line.substr(3), "", ""});
      after_rule = false;
    } else if (line == "----") {
      after_rule = true;
    } else if (!cases.empty()) {
      (after_rule ? cases.back().expected : cases.back().input) += line + "\n";
    }
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& entry : std::filesystem::directory_iterator(SHOAL_PASS_CASES)) {
    if (entry.path().extension() != ".txt") continue;
    for (Case& c : read_cases(entry.path())) all.push_back(std::move(c));
  }
  return all;
}

Graph run_clean(const Pass& pass, const Graph& graph) {
  auto after = pass.run(graph);
  EXPECT_TRUE(after.ok()) << after.status().message();
  EXPECT_TRUE(verify(*after).ok()) << verify(*after).message();
  auto clean = remove_dead_code(*after);
  EXPECT_TRUE(clean.ok());
  return *clean;
}

class PassCase : public testing::TestWithParam<Case> {};

TEST_P(PassCase, GivesTheGraphExpectedAndTheSameAnswers) {
  const Case& c = GetParam();
  const Pass* pass = find(c.pass);
  ASSERT_NE(pass, nullptr) << "no pass " << c.pass;
  const Graph before = parse(c.input);
  const Graph after = run_clean(*pass, before);
  EXPECT_EQ(to_text(after), to_text(parse(c.expected)));
  EXPECT_EQ(to_text(run_clean(*pass, after)), to_text(after)) << "a second run changed it again";
  expect_same_answers(before, after);
}

// The other passes may meet any of these graphs, too.
TEST_P(PassCase, GivesTheSameAnswersAfterAllPasses) {
  const Graph before = parse(GetParam().input);
  auto after = optimize(before);
  ASSERT_TRUE(after.ok()) << after.status().message();
  expect_same_answers(before, *after);
}

INSTANTIATE_TEST_SUITE_P(Text, PassCase, testing::ValuesIn(all_cases()), [](const auto& param) {
  std::string name = param.param.pass + "_" + param.param.title;
  for (char& ch : name) ch = std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
  return name + "_" + std::to_string(param.index);
});

TEST(Passes, AllHaveCases) {
  const std::vector<Case> cases = all_cases();
  for (const Pass& pass : all()) {
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const Case& c) { return c.pass == pass.name; }))
        << "no tests/passes/" << pass.name << ".txt";
  }
}

}  // namespace
}  // namespace shoal::passes
