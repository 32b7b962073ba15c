#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/step/graph/differentiate.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::train {
namespace {

// Nothing runs: it is about operators that lack a gradient, and shapes.
TEST(Zoo, EveryNetworkCanBeDifferentiated) {
  for (const zoo::Entry& entry : zoo::list()) {
    if (entry.name == "digits") continue;  // a file, not built here
    SCOPED_TRACE(entry.name);
    auto network = zoo::build(entry.name);
    ASSERT_TRUE(network.ok()) << network.status().message();
    const auto loss =
        network->add(ops::reduce_sum, {network->outputs()[0]}, {{"keepdims", int64_t{0}}});
    ASSERT_TRUE(loss.ok());
    const std::vector<ValueId> learned = learned_values(*network);
    const auto both = differentiate(*network, *loss, learned);
    ASSERT_TRUE(both.ok()) << both.status().message();
    ASSERT_TRUE(verify(both->graph).ok());
    for (size_t i = 0; i < learned.size(); ++i) {
      EXPECT_EQ(both->graph[both->gradients[i]].type, (*network)[learned[i]].type);
    }
  }
}

}  // namespace
}  // namespace shoal::train
