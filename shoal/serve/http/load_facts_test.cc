#include <gtest/gtest.h>

#include "shoal/serve/http/load_settings.h"

namespace shoal::serve {
namespace {

TEST(LoadFacts, TellAnswersFromRefusals) {
  LoadResult result;
  for (double ms : {1.0, 2.0, 3.0, 4.0}) result.answered.add(ms);
  result.refused.add(0.5);
  result.failed = 2;
  result.seconds = 2;
  const Facts facts = facts_of(result, {.url = "", .model = "m", .clients = 3});
  const std::string json = object_of(facts).dump();
  EXPECT_NE(json.find(R"("answered":4,"answered_per_s":2.0,"clients":3,"failed":2)"), json.npos)
      << json;
  EXPECT_NE(json.find(R"("refused":1)"), json.npos) << json;
  EXPECT_EQ(facts[3].cell, "4");
}

}  // namespace
}  // namespace shoal::serve
