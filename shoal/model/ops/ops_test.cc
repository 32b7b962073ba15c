#include "shoal/model/ops/ops.h"

#include <gtest/gtest.h>

#include <set>

namespace shoal::ops {
namespace {

TEST(Ops, HaveOneRecordPerName) {
  std::set<std::string_view> names;
  for (const Operator* op : all()) EXPECT_TRUE(names.insert(op->name).second) << op->name;
}

TEST(Ops, AreFoundByTheirOnnxName) {
  for (const Operator* op : all()) EXPECT_EQ(find(op->name), op) << op->name;
  EXPECT_EQ(find("NoSuchOperator"), nullptr);
}

}  // namespace
}  // namespace shoal::ops
