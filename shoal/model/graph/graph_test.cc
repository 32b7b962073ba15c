#include "shoal/model/graph/graph.h"

#include <gtest/gtest.h>

#include <set>

namespace shoal {
namespace {

TEST(Graph, NamesEveryValueAndNoTwoTheSame) {
  Graph graph;
  const TensorType type{DType::kF32, {1}};
  const ValueId ids[] = {graph.add_input("", type), graph.add_constant("", Tensor(type)),
                         graph.add_input("x", type), graph.add_input("x", type)};
  graph.rename(ids[2], "");
  std::set<std::string> names;
  for (ValueId id : ids) {
    EXPECT_FALSE(graph[id].name.empty());
    EXPECT_TRUE(names.insert(graph[id].name).second) << graph[id].name;
  }
}

}  // namespace
}  // namespace shoal
