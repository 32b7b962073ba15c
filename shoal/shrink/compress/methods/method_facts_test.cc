#include "shoal/shrink/compress/methods/method_facts.h"

#include <gtest/gtest.h>

namespace shoal::compress {
namespace {

TEST(CompressFacts, CallPartsByTheirNames) {
  Compressed result;
  result.parts = 5;
  result.compressed = 3;
  result.left = {"first"};
  result.notes = {"ranges: mse"};
  const Method& method = *find_method("int8");
  const WrittenFile file{.path = "a.onnx", .bytes = 1500, .examples = 8};
  const std::string parts(method.parts);
  EXPECT_EQ(text_of(result, method, file),
            "a.onnx: 3 of 5 " + parts +
                " by int8, 8 examples seen, 1.5 kB\nranges: mse\nstays as it was: first\n");
  const std::string json = to_json(result, method, file).dump();
  EXPECT_NE(json.find("\"" + parts + "\":5"), json.npos) << json;
  EXPECT_NE(json.find(R"("left":["first"])"), json.npos) << json;
}

}  // namespace
}  // namespace shoal::compress
