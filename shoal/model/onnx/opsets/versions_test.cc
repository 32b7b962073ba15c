#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/model/onnx/opsets/normalize.h"
#include "shoal/model/onnx/program/encode_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;

TEST(Versions, AreSortedAndEndAtTheNewestOpset) {
  const auto table = operator_histories();
  EXPECT_TRUE(std::ranges::is_sorted(table, {}, &OperatorHistory::name));
  int64_t newest = 0;
  for (const OperatorHistory& history : table) {
    EXPECT_TRUE(std::ranges::is_sorted(history.opsets)) << history.name;
    newest = std::max(newest, history.opsets.back());
  }
  EXPECT_EQ(newest, kNewestOpset);
}

TEST(Versions, KnowWhatOnnxHasAndSinceWhen) {
  EXPECT_TRUE(is_defined_in("Gelu", 20));
  EXPECT_FALSE(is_defined_in("Gelu", 19));
  EXPECT_FALSE(is_defined_in("FusedConv", kNewestOpset));
}

TEST(Versions, OfWhatIsReadAreAllRead) {
  for (const OperatorHistory& history : operator_histories()) {
    if (!supported(history.name, "", kNewestOpset)) continue;
    for (int64_t opset : history.opsets) {
      EXPECT_TRUE(supported(history.name, "", opset)) << history.name << " of opset " << opset;
    }
  }
}

// y = op(x) in a file of this opset.
Message model_with(std::string_view op, int64_t opset, std::initializer_list<Message> attributes) {
  return model_of(graph({{kNode, node(op, {"x"}, {"y"}, attributes)},
                         {kInput, value_info("x", kFloat, {"2"})},
                         {kOutput, Message().text(1, "y")}}),
                  opset);
}

TEST(NewerOpset, IsReadWithAWarningWhereAllItsOperatorsAreKnown) {
  const auto model = parse(model_with("Elu", kNewestOpset + 3, {real("alpha", 2)}));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->metadata().warning,
            "opset 30 is newer than 27, the newest known: every operator is read as that of 27");
  EXPECT_EQ((*parse(model_with("Elu", kNewestOpset, {})))->metadata().warning, "");
}

TEST(NewerOpset, IsRefusedWhereAnOperatorHasGrown) {
  EXPECT_EQ(parse(model_with("Elu", kNewestOpset + 1, {real("frob", 2)})).status().message(),
            "unsupported operators: Elu of opset 28 (node y)");
  EXPECT_EQ(parse(model_with("Frob", kNewestOpset + 1, {})).status().message(),
            "unsupported operators: Frob (node y)");
}

}  // namespace
}  // namespace shoal::onnx
