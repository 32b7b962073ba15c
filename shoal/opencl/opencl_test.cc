// The device on whatever OpenCL this machine has, and failures of a driver that are put in.
#include "shoal/opencl/opencl.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "shoal/base/temporary_folder.h"
#include "shoal/device/failover.h"
#include "shoal/device/hybrid.h"
#include "shoal/devices/devices.h"
#include "shoal/graph/text.h"
#include "shoal/opencl/context.h"
#include "shoal/opencl/precision.h"
#include "shoal/ops/find.h"
#include "shoal/ops/testing.h"

namespace shoal::opencl {
namespace {

Graph parsed(const std::string& text) {
  Result<Graph> graph = parse_text(text, ops::find);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  return graph.ok() ? *graph : Graph();
}

Tensor counted(const Shape& shape) {
  Tensor tensor({DType::kF32, shape});
  float next = -3;
  for (float& x : tensor.data<float>()) x = next += 0.25f;
  return tensor;
}

// A copy of the machine's functions, some of which a test replaces. What replaces them has no
// state but this.
struct Faults {
  std::shared_ptr<const Api> real;
  cl_int error = CL_SUCCESS;
  int calls_before = 0;  // that still succeed
  cl_device_info garbled = 0;
};
Faults faults;

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    const auto api = open_api();
    if (!api.ok()) GTEST_SKIP() << api.status().message();
    const auto devices = describe_devices(**api);
    if (!devices.ok()) GTEST_SKIP() << devices.status().message();
    faults = {*api, CL_SUCCESS, 0, 0};
    fake_ = std::make_shared<Api>(**api);
  }

  std::unique_ptr<Device> real_device(OpenClOptions options = {}) {
    auto device = make_opencl_device(options);
    EXPECT_TRUE(device.ok()) << device.status().message();
    return *std::move(device);
  }

  std::shared_ptr<Api> fake_;
};

// Layers that work in place, and one that does not.
const std::string kNet = R"(
    input x f32[1,2,5,5]
    const w f32[3,2,3,3] = random(1)
    c = Conv(x, w)
    r = Relu(c)
    const v f32[2,3,1,1] = random(2)
    d = Conv(r, v)
    y = Softmax(d)
    output y)";

std::vector<Tensor> answers(Executable& executable, const Tensor& x) {
  std::vector<Tensor> outputs(executable.graph().outputs().size());
  const Status status = executable.run(std::span(&x, 1), outputs, {});
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs;
}

std::vector<Tensor> reference_answers(const Graph& graph, const Tensor& x) {
  return answers(**make_reference_device()->compile(graph), x);
}

void expect_near(const Tensor& got, const Tensor& want, float tolerance) {
  ASSERT_EQ(got.type(), want.type());
  for (size_t i = 0; i < want.data<float>().size(); ++i) {
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], tolerance) << i;
  }
}

TEST_F(OpenCl, ComputesInF32AndF16) {
  const Graph graph = parsed(kNet);
  const Tensor x = counted({1, 2, 5, 5});
  const Tensor want = reference_answers(graph, x)[0];
  const auto device = real_device();
  expect_near(answers(**device->compile(graph), x)[0], want, 1e-5f);
  const auto half = real_device({.precision = OpenClPrecision::kF16});
  const Tensor got = answers(**half->compile(graph), x)[0];
  expect_near(got, want, 2e-3f);
  EXPECT_FALSE(std::ranges::equal(got.bytes(), want.bytes())) << "that was not f16";
}

float largest(const Tensor& tensor) {
  float most = 0;
  for (const float y : tensor.data<float>()) most = std::max(most, std::abs(y));
  return most;
}

// Half precision through fragments of matrices: taps of one channel after the other and of all
// channels, sizes that no tile divides, groups, a residual in half, and an output that is renamed.
TEST_F(OpenCl, MultipliesByMatrixUnits) {
  const Graph graph = parsed(R"(
    input x f32[2,3,9,11]
    const w1 f32[64,3,3,3] = random(1)
    const b1 f32[64] = random(2)
    c = Conv(x, w1, b1) pads=[1,1,1,1]
    const w2 f32[72,32,3,3] = random(3)
    d = Conv(c, w2) group=2 pads=[1,0,1,0] strides=[1,2]
    e = Relu(d)
    const w3 f32[130,72,1,1] = random(4)
    f = Conv(e, w3)
    g = Flatten(f)
    output d
    output f
    output g)");
  const Tensor x = counted({2, 3, 9, 11});
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto device = real_device({.precision = OpenClPrecision::kF16,
                                   .local_memory = OpenClLocalMemory::kOn,
                                   .matrix_units = OpenClMatrixUnits::kOn});
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  // Where the device has such units, they are for larger products.
  const bool is_emulated =
      (*describe_devices(*faults.real))[0].platform.find("NVIDIA") == std::string::npos;
  for (const size_t node : {0u, 1u, 3u}) {
    EXPECT_TRUE((*executable)->kernel_of(node).name == "matrix" || !is_emulated);
  }
  const std::vector<Tensor> got = answers(**executable, x);
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], want[i], 2e-3f * largest(want[i]));
    EXPECT_FALSE(std::ranges::equal(got[i].bytes(), want[i].bytes())) << "that was not f16";
  }
}

// Few tiles and long sums: groups share a tile. The bits do not depend on who comes last.
TEST_F(OpenCl, CutsLongSumsIntoParts) {
  const Graph graph = parsed(R"(
    input x f32[1,96,5,7]
    const w f32[40,96,3,3] = random(1)
    const b f32[40] = random(2)
    c = Conv(x, w, b) pads=[1,1,1,1]
    const v f32[33,1400] = random(3)
    d = Flatten(c)
    const s i64[2] = [20,70]
    e = Reshape(d, s)
    const u f32[70,1500] = random(4)
    f = MatMul(e, u)
    const t f32[41,1500] = random(5)
    g = Gemm(f, t) transB=1
    h = Gemm(d, v) transB=1
    few = MaxPool(x) kernel_shape=[4,4] strides=[1,3]
    const q f32[40,96,3,3] = random(6)
    p = Conv(few, q) pads=[1,1,1,1]
    output c
    output g
    output h
    output p)");
  const Tensor x = counted({1, 96, 5, 7});
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto device = real_device({.local_memory = OpenClLocalMemory::kOn});
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  size_t cut = 0;
  for (size_t n = 0; n < (*executable)->graph().nodes().size(); ++n) {
    cut += (*executable)->kernel_of(n).name.starts_with("tiles/") ? 1 : 0;
  }
  EXPECT_EQ(cut, 3u);
  const std::vector<Tensor> got = answers(**executable, x);
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], want[i], 1e-5f * largest(want[i]));
  }
  for (int run = 0; run < 3; ++run) {
    const std::vector<Tensor> again = answers(**executable, x);
    for (size_t i = 0; i < want.size(); ++i) ops::expect_equal(again[i], got[i]);
  }
}

// Layer b adds large numbers that differ a little, and c takes the differences: in f16 nothing is
// left of them.
const std::string kFragile = R"(
    input x f32[8,4]
    const wa f32[4,4] = [1,0.1,0.1,0.1,0.1,1,0.1,0.1,0.1,0.1,1,0.1,0.1,0.1,0.1,1]
    a = Gemm(x, wa)
    const wb f32[4,4] = [2000.1,2000.2,2000.3,2000.13,2000.07,2000.31,2000.05,2000.06,2000.02,2000.17,2000.21,2000.3,2000.3,2000.06,2000.04,2000.15]
    b = Gemm(a, wb)
    const wc f32[4,4] = [1,0,0,-1,-1,1,0,0,0,-1,1,0,0,0,-1,1]
    c = Gemm(b, wc)
    output c)";

// The share of rows whose largest element is where it is in `want`.
double agreement(const Tensor& got, const Tensor& want, size_t columns) {
  double same = 0;
  const auto top = [&](const Tensor& tensor, size_t row) {
    const auto line = tensor.data<float>().subspan(row * columns, columns);
    return std::ranges::max_element(line) - line.begin();
  };
  const size_t rows = want.data<float>().size() / columns;
  for (size_t row = 0; row < rows; ++row) same += top(got, row) == top(want, row) ? 1 : 0;
  return same / static_cast<double>(rows);
}

TEST_F(OpenCl, LeavesAFragileLayerInF32) {
  const Graph graph = parsed(kFragile);
  Tensor x({DType::kF32, {8, 4}});
  for (size_t row = 0; row < 8; ++row) {
    x.data<float>()[row * 4 + row % 4] = row < 4 ? 1.7f : 3.1f;
  }
  const Tensor want = reference_answers(graph, x)[0];
  const auto choice = choose_precision(
      precision_layers(graph), 0.1, [&](const std::vector<std::string>& f32_layers) {
        const auto device =
            real_device({.precision = OpenClPrecision::kF16, .f32_layers = f32_layers});
        return Result<double>(agreement(answers(**device->compile(graph), x)[0], want, 4));
      });
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->f32_layers, std::vector<std::string>{"b"});
  EXPECT_EQ(choice->f32_accuracy, 1);
  EXPECT_GE(choice->accuracy, 0.9);
}

// The search alone: layer 2 costs too much, and layers 0 and 4 do together.
TEST(ChoosePrecision, KeepsTheBudget) {
  const std::vector<std::string> layers{"0", "1", "2", "3", "4"};
  const auto measure = [&](const std::vector<std::string>& f32) -> Result<double> {
    const auto is_half = [&](const char* name) {
      return std::ranges::find(f32, name) == f32.end();
    };
    return 0.9 - (is_half("2") ? 0.3 : 0) - (is_half("0") ? 0.004 : 0) -
           (is_half("4") ? 0.007 : 0) - (is_half("1") ? 0.001 : 0);
  };
  const auto chosen = [&](double budget) { return *choose_precision(layers, budget, measure); };
  EXPECT_EQ(chosen(0.01).f32_layers, (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(chosen(0.002).f32_layers, (std::vector<std::string>{"0", "2", "4"}));
  EXPECT_EQ(chosen(0.02).f32_layers, (std::vector<std::string>{"2"}));
  EXPECT_EQ(chosen(0.5).f32_layers, std::vector<std::string>());
  EXPECT_EQ(chosen(0.5).evaluations, 2);
  EXPECT_NEAR(chosen(0.01).accuracy, 0.895, 1e-9);
  EXPECT_EQ(choose_precision(
                layers, 0,
                [](const auto&) -> Result<double> { return Status(Code::kUnavailable, "gone"); })
                .status()
                .code(),
            Code::kUnavailable);
}

// Sizes that no tile divides, with and without the border, groups and transposed matrices.
TEST_F(OpenCl, MultipliesByTilesInLocalMemory) {
  const Graph graph = parsed(R"(
    input x f32[2,5,11,13]
    const w1 f32[37,5,3,3] = random(1)
    const b1 f32[37] = random(2)
    c = Conv(x, w1, b1) pads=[1,1,1,1] strides=[1,2]
    const w2 f32[40,37,1,1] = random(3)
    d = Conv(c, w2)
    const w3 f32[34,20,2,2] = random(4)
    e = Conv(d, w3) dilations=[2,1] group=2
    f = Flatten(e) axis=2
    const g f32[54,33] = random(5)
    h = MatMul(f, g)
    const t f32[41,33] = random(6)
    const u f32[41] = random(7)
    i = Gemm(h, t, u) transB=1 alpha=0.5
    output c
    output d
    output e
    output h
    output i)");
  const Tensor x = counted({2, 5, 11, 13});
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto device = real_device({.local_memory = OpenClLocalMemory::kOn});
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ((*executable)->kernel_of(0).name, "tiles");
  const std::vector<Tensor> got = answers(**executable, x);
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], want[i], 1e-5f * largest(want[i]));
  }
}

// Lines that the items of a group share.
TEST_F(OpenCl, ReducesInLocalMemory) {
  const Graph graph = parsed(R"(
    input x f32[2,3,7,100]
    a = Softmax(x)
    const s f32[100] = random(1)
    const b f32[100] = random(2)
    c = LayerNormalization(x, s, b)
    d = GlobalAveragePool(x)
    e = ReduceMax(x) axes=[1,3]
    f = LogSoftmax(x) axis=3
    output a
    output c
    output d
    output e
    output f)");
  const Tensor x = counted({2, 3, 7, 100});
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto device = real_device({.local_memory = OpenClLocalMemory::kOn});
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const std::vector<Tensor> got = answers(**executable, x);
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], want[i], 1e-5f * std::max(1.0f, largest(want[i])));
  }
}

TEST_F(OpenCl, LeavesNodesToTheFallback) {
  const Graph graph = parsed(R"(
    input x f32[2,3]
    a = Relu(x)
    b = Hardmax(a)
    y = Neg(b)
    output y)");
  const Tensor x = counted({2, 3});
  const auto hybrid = make_hybrid_device(real_device(), make_reference_device());
  const auto executable = *hybrid->compile(graph);
  EXPECT_EQ(crossings_of(*executable).values, 2);
  ops::expect_equal(answers(*executable, x)[0], reference_answers(graph, x)[0]);
  const auto alone = real_device()->compile(graph);
  EXPECT_EQ(alone.status().code(), Code::kUnsupported);
}

TEST_F(OpenCl, KeepsValuesOnTheDevice) {
  const Graph graph = parsed(R"(
    input x f32[4]
    const two f32[] = full(2)
    y = Mul(x, two)
    output y)");
  const auto device = real_device();
  const auto executable = *device->compile(graph);
  DeviceValue value = *device->upload(counted({4}));
  for (int i = 0; i < 3; ++i) {
    std::vector<DeviceValue> outputs(1);
    ASSERT_TRUE(executable->run_values(std::span(&value, 1), outputs, {}).ok());
    EXPECT_EQ(outputs[0].host(), nullptr);
    value = outputs[0];
  }
  EXPECT_EQ((*value.to_host()).data<float>()[0], 8 * counted({4}).data<float>()[0]);
}

TEST_F(OpenCl, GivesOutputsThatNoNodeWrites) {
  const Graph graph = parsed(R"(
    input x f32[2]
    const c i64[3] = full(7)
    y = Relu(x)
    output x
    output c
    output y
    output y)");
  const Tensor x = counted({2});
  const auto got = answers(**real_device()->compile(graph), x);
  const auto want = reference_answers(graph, x);
  for (size_t i = 0; i < want.size(); ++i) ops::expect_equal(got[i], want[i]);
}

TEST_F(OpenCl, RunsOnSeveralThreadsAtOnce) {
  const Graph graph = parsed(kNet);
  const auto executable = *real_device()->compile(graph);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Tensor x = counted({1, 2, 5, 5});
      x.data<float>()[0] = static_cast<float>(t);
      const Tensor want = reference_answers(graph, x)[0];
      for (int i = 0; i < 5; ++i) expect_near(answers(*executable, x)[0], want, 1e-5f);
    });
  }
}

TEST_F(OpenCl, StopsAndTraces) {
  const Graph graph = parsed(kNet);
  const auto executable = *real_device()->compile(graph);
  const Tensor x = counted({1, 2, 5, 5});
  std::vector<Tensor> outputs(1);
  const auto run = [&](const RunOptions& options) {
    return executable->run(std::span(&x, 1), outputs, options).code();
  };
  EXPECT_EQ(run({.deadline = Deadline::clock::now() - std::chrono::hours(1)}), Code::kDeadline);
  std::stop_source stop;
  EXPECT_EQ(run({.cancel = stop.get_token()}), Code::kOk);
  stop.request_stop();
  EXPECT_EQ(run({.cancel = stop.get_token()}), Code::kCancelled);
  Trace trace;
  ASSERT_EQ(run({.trace = &trace}), Code::kOk);
  ASSERT_EQ(trace.size(), executable->graph().nodes().size());
  for (size_t n = 0; n < trace.size(); ++n) {
    EXPECT_EQ(trace[n].node, n);
    EXPECT_LE(trace[n].begin, trace[n].end);
  }
}

TEST_F(OpenCl, NamesWhatIsMissing) {
  const auto none = make_opencl_device({.index = 1000});
  EXPECT_EQ(none.status().code(), Code::kUnavailable);
  EXPECT_NE(none.status().message().find("no OpenCL device 1000"), std::string_view::npos);
  register_opencl_device();
  EXPECT_EQ(make_device("opencl:x").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(make_device("opencl:0:fp8").status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(make_device("opencl:0:fp16").ok());
  EXPECT_TRUE(make_device("opencl:0:fp16:or-cpu").ok());
  fake_->clGetPlatformIDs = [](cl_uint, cl_platform_id*, cl_uint*) -> cl_int { return -1001; };
  const auto driverless = make_device_over(fake_, {});
  EXPECT_EQ(driverless.status().code(), Code::kUnavailable);
  EXPECT_NE(driverless.status().message().find("no OpenCL driver"), std::string_view::npos);
}

TEST_F(OpenCl, SaysWhatTheCompilerSays) {
  const auto context = *open_context(faults.real, {});
  const auto program = context->build("__kernel void broken(nonsense x) {}");
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("does not compile"), std::string_view::npos);
  EXPECT_NE(program.status().message().find("nonsense"), std::string_view::npos)
      << program.status().message();
}

TEST_F(OpenCl, NamesTheLayerWhereMemoryRunsOut) {
  fake_->clCreateBuffer = [](cl_context context, cl_mem_flags flags, size_t bytes, void* host,
                             cl_int* error) -> cl_mem {
    if (faults.calls_before-- > 0) {
      return faults.real->clCreateBuffer(context, flags, bytes, host, error);
    }
    *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return nullptr;
  };
  const auto device = *make_device_over(fake_, {});
  const Graph graph = parsed(kNet);
  for (const int calls : {0, 1}) {  // the weights, then the values
    faults.calls_before = calls;
    const Status status = device->compile(graph).status();
    EXPECT_EQ(status.code(), Code::kExhausted);
    EXPECT_NE(status.message().find("Conv"), std::string_view::npos) << status.message();
  }
  const auto both = make_failover_device(*make_device_over(fake_, {}), make_reference_device());
  faults.calls_before = 1;
  EXPECT_EQ((*both->compile(graph))->kernel_of(0).name, "reference");
  faults.calls_before = 100;
  EXPECT_TRUE(device->compile(graph).ok());
}

TEST_F(OpenCl, SaysThatTheDeviceIsLost) {
  const Graph graph = parsed(kNet);
  const Tensor x = counted({1, 2, 5, 5});
  std::vector<Tensor> outputs(1);
  fake_->clEnqueueNDRangeKernel = [](cl_command_queue, cl_kernel, cl_uint, const size_t*,
                                     const size_t*, const size_t*, cl_uint, const cl_event*,
                                     cl_event*) -> cl_int { return CL_DEVICE_NOT_AVAILABLE; };
  const auto device = *make_device_over(fake_, {});
  const auto executable = *device->compile(graph);
  const Status status = executable->run(std::span(&x, 1), outputs, {});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("the device is gone"), std::string_view::npos);
  EXPECT_NE(status.message().find("Conv"), std::string_view::npos) << status.message();
  // The reference device goes on, if asked, and for the runs after.
  const auto both = make_failover_device(*make_device_over(fake_, {}), make_reference_device());
  const auto goes_on = *both->compile(graph);
  EXPECT_NE(goes_on->kernel_of(0).name, "reference");
  const Tensor want = reference_answers(graph, x)[0];
  ops::expect_equal(answers(*goes_on, x)[0], want);
  EXPECT_EQ(goes_on->kernel_of(0).name, "reference");
  ops::expect_equal(answers(*goes_on, x)[0], want);
}

// Whatever a driver says of its device, there is a device that works or a failure.
TEST_F(OpenCl, SurvivesGarbledCapabilities) {
  fake_->clGetDeviceInfo = [](cl_device_id device, cl_device_info name, size_t size, void* value,
                              size_t* needed) -> cl_int {
    if (name != faults.garbled)
      return faults.real->clGetDeviceInfo(device, name, size, value, needed);
    if (faults.error == 1) {  // nothing
      if (needed != nullptr) *needed = 0;
      return CL_SUCCESS;
    }
    if (needed != nullptr) *needed = value == nullptr ? SIZE_MAX : size;
    if (value != nullptr) std::memset(value, faults.error, size);
    return CL_SUCCESS;
  };
  int refused = 0;
  const Graph graph = parsed(kNet);
  for (const cl_device_info name : std::initializer_list<cl_device_info>{
           CL_DEVICE_NAME, CL_DRIVER_VERSION, CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_AVAILABLE,
           CL_DEVICE_COMPILER_AVAILABLE, CL_DEVICE_MAX_WORK_GROUP_SIZE,
           CL_DEVICE_MEM_BASE_ADDR_ALIGN, CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_LOCAL_MEM_SIZE,
           CL_DEVICE_LOCAL_MEM_TYPE, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_DEVICE_MAX_COMPUTE_UNITS}) {
    for (const int garbage : {0, 1, 0x7f, 0xff}) {
      faults.garbled = name;
      faults.error = garbage;
      const auto device = make_device_over(fake_, {});
      refused += device.ok() ? 0 : 1;
      // Kernels can be made for what is not refused.
      if (device.ok()) {
        EXPECT_TRUE((*device)->supports(graph, graph.nodes()[0]));
      }
      EXPECT_GT(device.ok() ? 21u : device.status().message().size(), 20u);
    }
  }
  EXPECT_GT(refused, 15);
}

int compilations = 0;

TEST_F(OpenCl, CompilesOnceForEveryStart) {
  compilations = 0;
  fake_->clCreateProgramWithSource = [](cl_context context, cl_uint count, const char** text,
                                        const size_t* lengths, cl_int* error) -> cl_program {
    ++compilations;
    return faults.real->clCreateProgramWithSource(context, count, text, lengths, error);
  };
  const auto folder = *TemporaryFolder::make();
  const Graph graph = parsed(kNet);
  const Tensor x = counted({1, 2, 5, 5});
  const Tensor want = reference_answers(graph, x)[0];
  const auto start = [&] {
    const auto device = *make_device_over(fake_, {.programs = folder.path() / "programs"});
    expect_near(answers(**device->compile(graph), x)[0], want, 1e-5f);
  };
  start();
  EXPECT_EQ(compilations, 1);
  start();
  EXPECT_EQ(compilations, 1);
  // A file that was cut, or changed, is as none.
  const auto file = std::filesystem::directory_iterator(folder.path() / "programs")->path();
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('\x5a');
  start();
  EXPECT_EQ(compilations, 2);
  std::filesystem::resize_file(file, 12);
  start();
  EXPECT_EQ(compilations, 3);
  start();
  EXPECT_EQ(compilations, 3);
}

}  // namespace
}  // namespace shoal::opencl
