// tests/passes/<pass>.txt holds cases of one pass: "== what holds", a graph, "----", the graph that
// comes out. Dead code is removed from the result, so that a case shows what is left. Every case is
// also run before and after on random inputs: a pass may not change an answer.
#include "shoal/passes/passes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "shoal/device/device.h"
#include "shoal/graph/text.h"
#include "shoal/ops/ops.h"

namespace shoal {
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

Graph parse(const std::string& text) {
  auto graph = parse_text(text, ops::find);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.status().message() << "\n" << text;
    return {};
  }
  return *graph;
}

std::vector<Tensor> evaluate(const Graph& graph) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Tensor> inputs, outputs(graph.outputs().size());
  for (ValueId id : graph.inputs()) {
    inputs.emplace_back(graph[id].type);
    if (graph[id].type.dtype != DType::kF32) continue;
    for (float& x : inputs.back().data<float>()) x = uniform(rng);
  }
  auto executable = make_reference_device()->compile(graph);
  EXPECT_TRUE(executable.ok() && (*executable)->run(inputs, outputs, nullptr).ok());
  return outputs;
}

void expect_same_answers(const Graph& before, const Graph& after) {
  const std::vector<Tensor> want = evaluate(before), got = evaluate(after);
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i].type(), got[i].type());
    if (want[i].dtype() != DType::kF32) continue;
    for (size_t k = 0; k < want[i].data<float>().size(); ++k) {
      const float w = want[i].data<float>()[k];
      ASSERT_NEAR(got[i].data<float>()[k], w, 1e-5f * std::max(1.0f, std::abs(w)));
    }
  }
}

class PassCase : public testing::TestWithParam<Case> {};

TEST_P(PassCase, GivesTheGraphExpectedAndTheSameAnswers) {
  const Case& c = GetParam();
  const passes::Pass* pass = passes::find(c.pass);
  ASSERT_NE(pass, nullptr) << "no pass " << c.pass;
  const Graph before = parse(c.input);
  auto after = pass->run(before);
  ASSERT_TRUE(after.ok()) << after.status().message();
  ASSERT_TRUE(verify(*after).ok()) << verify(*after).message();
  auto clean = passes::remove_dead_code(*after);
  ASSERT_TRUE(clean.ok());
  EXPECT_EQ(to_text(*clean), to_text(parse(c.expected)));
  expect_same_answers(before, *after);
}

INSTANTIATE_TEST_SUITE_P(Text, PassCase, testing::ValuesIn(all_cases()), [](const auto& param) {
  std::string name = param.param.pass + "_" + param.param.title;
  for (char& ch : name) ch = std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
  return name + "_" + std::to_string(param.index);
});

// Every pass has cases, and the driver runs each on its own output once more without a change.
TEST(Passes, AllHaveCases) {
  const std::vector<Case> cases = all_cases();
  for (const passes::Pass& pass : passes::all()) {
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const Case& c) { return c.pass == pass.name; }))
        << "no tests/passes/" << pass.name << ".txt";
  }
}

}  // namespace
}  // namespace shoal
