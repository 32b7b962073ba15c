// Every operator of ONNX and of our own has a row.
#include "shoal/report/pages/operators_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "shoal/model/onnx/opsets/versions.h"
#include "shoal/model/ops/ops.h"

namespace shoal::report {
namespace {

TEST(OperatorTable, HasEveryOperatorOnce) {
  const OperatorTable table = operator_table();
  std::map<std::string, int> times;
  for (const auto& row : table.rows) {
    EXPECT_EQ(row.size(), table.header.size()) << row[0];
    ++times[row[0]];
  }
  for (const Operator* op : ops::all()) {
    const bool twice = op->name == "Attention";  // ours, and ONNX's, which is another
    EXPECT_EQ(times[std::string(op->name)], twice ? 2 : 1) << op->name;
  }
  const auto conv = std::ranges::find(table.rows, "Conv", [](const auto& row) { return row[0]; });
  ASSERT_NE(conv, table.rows.end());
  EXPECT_TRUE((*conv)[1].starts_with("1–")) << (*conv)[1];
  EXPECT_EQ((*conv)[3], "yes");
  EXPECT_NE(conv->back().find("reference"), std::string::npos);
}

TEST(OperatorsPage, NamesWhatIsReadAndWhatIsRefused) {
  const std::string page = operators_page();
  const size_t refused = page.find("## What is refused");
  ASSERT_NE(refused, page.npos);
  for (const onnx::OperatorHistory& history : onnx::operator_histories()) {
    EXPECT_NE(page.find("\n|" + std::string(history.name) + "|"), page.npos) << history.name;
  }
  EXPECT_GT(page.find("\n|StringSplit|"), refused);
  EXPECT_LT(page.find("\n|Conv|"), refused);
}

}  // namespace
}  // namespace shoal::report
