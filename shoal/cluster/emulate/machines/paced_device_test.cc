#include "shoal/cluster/emulate/machines/paced_device.h"

#include <gtest/gtest.h>

#include "shoal/engine/devices/devices.h"
#include "shoal/model/ops/ops.h"

namespace shoal::emulate {
namespace {

using Clock = std::chrono::steady_clock;

// 1,000 elements are copied by a device that copies a million bytes a second: 8 ms.
TEST(PacedDevice, TakesAsLongAsTheDeviceWould) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1000}});
  graph.mark_output(*graph.add(ops::relu, {x}));
  const plan::WorkerProfile slow = plan::uniform_worker("slow", 1e6, 1e6);
  double dilation = 1;
  int asked = 0;
  const auto device = make_reference_device();
  const auto paced = make_paced_device(*device, {slow, [&] {
                                                   ++asked;
                                                   return dilation;
                                                 }});
  const auto executable = paced->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  std::vector<Tensor> inputs = {Tensor({DType::kF32, {1000}})}, outputs(1);
  inputs[0].data<float>()[7] = 7;
  for (const double times : {1.0, 3.0}) {
    dilation = times;
    const auto begin = Clock::now();
    ASSERT_TRUE((*executable)->run(inputs, outputs, {}).ok());
    EXPECT_GE(std::chrono::duration<double>(Clock::now() - begin).count(), times * 0.008);
    EXPECT_EQ(outputs[0].data<float>()[7], 7) << "and computes the same";
  }
  EXPECT_EQ(asked, 2) << "once for every run";
}

TEST(SlowDevice, TakesSoManyTimesAsLong) {
  register_slow_device();
  for (const char* name : {"slow:0.5:cpu", "slow:x:cpu", "slow:2", "slow:2:tpu", "slow:nan:cpu"}) {
    EXPECT_FALSE(make_device(name).ok()) << name;
  }
  // The inner one waits for 8 ms: see above.
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1000}});
  graph.mark_output(*graph.add(ops::relu, {x}));
  register_device({"eight", "", false, [](std::string_view, const DeviceOptions&) {
                     static const auto reference = make_reference_device();
                     return Result<std::unique_ptr<Device>>(make_paced_device(
                         *reference, {plan::uniform_worker("slow", 1e6, 1e6), nullptr}));
                   }});
  const auto device = make_device("slow:3:eight");
  ASSERT_TRUE(device.ok()) << device.status().message();
  const auto executable = *(*device)->compile(graph);
  std::vector<Tensor> inputs = {Tensor({DType::kF32, {1000}})}, outputs(1);
  const auto begin = Clock::now();
  ASSERT_TRUE(executable->run(inputs, outputs, {}).ok());
  EXPECT_GE(std::chrono::duration<double>(Clock::now() - begin).count(), 3 * 0.008);
}

}  // namespace
}  // namespace shoal::emulate
