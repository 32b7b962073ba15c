#include "shoal/engine/run/answers.h"

#include <gtest/gtest.h>

namespace shoal::fit {
namespace {

TEST(Answers, AreElementsWhereNoClassesAreAskedFor) {
  Session::Tensors outputs;
  outputs["y"] = Tensor::of<float>({1, 3}, {0.5F, 2, -1});
  EXPECT_EQ(to_json(outputs, {}).dump(),
            R"({"y":{"data":[0.5,2.0,-1.0],"shape":[1,3],"type":"f32"}})");
  EXPECT_EQ(summary_of(outputs["y"]), "0.5 2 -1");
  EXPECT_EQ(summary_of(Tensor::of<int64_t>({7}, {1, 2, 3, 4, 5, 6, 7})), "1 2 3 4 5 6 ...");
}

TEST(Answers, AreARowEachButForClasses) {
  const Session::Tensors outputs = {{"count", Tensor::of<int64_t>({1}, {3})},
                                    {"scores", Tensor::of<float>({1, 2}, {0.5F, 2})}};
  const auto all = element_rows(outputs, {});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1][0].cell, "scores");
  EXPECT_EQ(all[1][1].cell, "f32[1,2]");
  EXPECT_EQ(all[1][2].cell, "0.5 2");
  const auto rest = element_rows(outputs, {.top = 1});
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0][0].cell, "count");
}

TEST(Answers, AreTheBestClassesByName) {
  const Tensor scores = Tensor::of<float>({1, 3}, {0, 2, 1});
  const AnswerView view{.top = 2, .labels = {"zero", "one"}};
  ASSERT_TRUE(shows_classes(scores, view));
  EXPECT_FALSE(shows_classes(scores, {}));
  EXPECT_FALSE(shows_classes(Tensor::of<int64_t>({1}, {1}), view)) << "no scores";
  const auto rows = class_rows("y", scores, view);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][0].cell, "1");
  EXPECT_EQ(rows[0][2].cell, "one");
  EXPECT_EQ(rows[0][2].column, "y");
  EXPECT_EQ(rows[1][2].cell, "class 2") << "it has no name";
  EXPECT_EQ(rows[1][4].cell, "1.0000");
  const std::string json = to_json({{"y", scores}}, view).dump();
  EXPECT_NE(json.find(R"("top":[{"index":1,"label":"one","score":2.0,"share":0.66)"), json.npos)
      << json;
}

}  // namespace
}  // namespace shoal::fit
