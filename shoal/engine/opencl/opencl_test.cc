// The device on whatever OpenCL this machine has, and failures of a driver that are put in.
#include "shoal/engine/opencl/opencl.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <mutex>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/machine/machine.h"
#include "shoal/engine/device/failover.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/gpu/device/gpu_device_testing.h"
#include "shoal/engine/opencl/opencl_context.h"
#include "shoal/engine/opencl/opencl_executable.h"

namespace shoal::opencl {
namespace {

using namespace gpu;  // the networks of its tests, and what compares answers

OpenClOptions options_of_test(const GpuTestOptions& options) {
  return {
      .precision = options.precision,
      .f32_layers = options.f32_layers,
      .local_memory = options.local_memory,
      .matrix_units = options.matrix_units ? OpenClMatrixUnits::kAuto : OpenClMatrixUnits::kOff};
}

Result<std::unique_ptr<Device>> make_for_test(const GpuTestOptions& options) {
  return make_opencl_device(options_of_test(options));
}

Result<std::unique_ptr<const Driver>> driver_for_test(const GpuTestOptions& options) {
  SHOAL_ASSIGN(const auto api, open_api());
  SHOAL_ASSIGN(auto context, open_context(api, options_of_test(options)));
  return make_driver<ClExecutable>(std::move(context));
}

// A copy of the machine's functions; tests replace some. What replaces them has no state but this.
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

// Images for matrix units: those of a real device are for larger products than emulated ones.
int64_t images_for_units() {
  const auto devices = describe_devices(*faults.real);
  return (*devices)[0].platform.find("NVIDIA") == std::string::npos ? 2 : 64;
}

const OpenClOptions kByUnits{.precision = OpenClPrecision::kF16,
                             .local_memory = OpenClLocalMemory::kOn,
                             .matrix_units = OpenClMatrixUnits::kOn};

void expect_as_on_the_cpu(Executable& executable, const Graph& graph, const Tensor& x) {
  const std::vector<Tensor> want = answers(**make_cpu_device()->compile(graph), x);
  const std::vector<Tensor> got = answers(executable, x);
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], want[i], 2e-3f * largest(want[i]));
    EXPECT_FALSE(std::ranges::equal(got[i].bytes(), want[i].bytes())) << "that was not f16";
  }
}

// Half precision through fragments of matrices: elements that are gathered and channels that come
// last, sizes that no tile divides, groups, rows of y in fours and not, and an
// output that is renamed.
TEST_F(OpenCl, MultipliesByMatrixUnits) {
  const int64_t images = images_for_units();
  const Graph graph = parsed("input x f32[" + std::to_string(images) + R"(,3,9,12]
    const w1 f32[64,3,3,3] = random(1)
    const b1 f32[64] = random(2)
    c = Conv(x, w1, b1) pads=[1,1,1,1]
    const w2 f32[72,32,3,3] = random(3)
    d = Conv(c, w2) group=2 pads=[1,0,1,0] strides=[1,2]
    e = Relu(d)
    const w3 f32[130,72,1,1] = random(4)
    f = Conv(e, w3)
    g = Flatten(f)
    const w4 f32[130,64,2,3] = random(5)
    h = Conv(c, w4) pads=[0,2,1,2] dilations=[1,2]
    output d
    output f
    output g
    output h)");
  const auto device = real_device(kByUnits);
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ((*executable)->kernel_of(0).name, "matrix");
  EXPECT_EQ((*executable)->kernel_of(1).name, "matrix-last");
  EXPECT_EQ((*executable)->kernel_of(3).name, "matrix");
  EXPECT_EQ((*executable)->kernel_of(5).name, "matrix-wide-last");
  expect_as_on_the_cpu(**executable, graph, random_tensor({images, 3, 9, 12}));
}

// All ways that tuning chooses from.
TEST_F(OpenCl, MultipliesByMatrixUnitsInEachWay) {
  const auto context = *open_context(faults.real, kByUnits);
  const int64_t images = images_for_units();
  const Graph graph = parsed("input x f32[" + std::to_string(images) + R"(,32,9,11]
    const w f32[70,32,3,3] = random(1)
    const b f32[70] = random(2)
    c = Conv(x, w, b) pads=[1,1,1,1]
    output c)");
  const Tensor x = random_tensor({images, 32, 9, 11});
  for (const auto& [rank, name] : std::initializer_list<std::pair<size_t, std::string>>{
           {0, "matrix-wide-last"}, {1, "matrix-last"}, {2, "matrix-ahead-last"}, {3, "matrix"}}) {
    SCOPED_TRACE(name);
    const auto executable =
        ClExecutable::compile(context, *make_plan(graph, context->plan_options(), {rank}));
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ((*executable)->kernel_of(0).name, name);
    expect_as_on_the_cpu(**executable, graph, x);
  }
  EXPECT_FALSE(make_plan(graph, context->plan_options(), {4}).ok());
}

// More pieces than there is pinned memory for, and tensors that change while they are on their way.
TEST_F(OpenCl, WritesThroughPinnedMemory) {
  const auto context = *open_context(faults.real, {});
  const auto make = [&] {
    return Staging::make(fake_, context->context.get(), context->queue.get(), 1000);
  };
  const auto staging = make();
  ASSERT_TRUE(staging.ok()) << staging.status().message();
  for (const int64_t count : {1, 250, 1000, 2503}) {
    SCOPED_TRACE(count);
    const auto buffer = *context->make_buffer(static_cast<size_t>(count) * 4, "x");
    const Tensor want = random_tensor({count});
    Tensor from = random_tensor({count}), got({DType::kF32, {count}});
    ASSERT_TRUE((*staging)->write(buffer.get(), from.bytes()).ok());
    std::ranges::fill(from.data<float>(), 0.0f);
    ASSERT_TRUE(context->read(buffer, got).ok());
    ops::expect_equal(got, want);
  }
  fake_->clEnqueueMapBuffer = [](cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t,
                                 cl_uint, const cl_event*, cl_event*, cl_int* error) -> void* {
    *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return nullptr;
  };
  EXPECT_EQ(make().status().code(), Code::kExhausted);
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

int kernels_compiled = 0;

// Graphs of one training have most kernels in common.
TEST_F(OpenCl, CompilesEachKernelOnce) {
  kernels_compiled = compilations = 0;
  fake_->clCreateProgramWithSource = [](cl_context context, cl_uint count, const char** text,
                                        const size_t* lengths, cl_int* error) -> cl_program {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    ++compilations;
    const std::string_view source(text[0], lengths[0]);
    for (size_t at = 0; (at = source.find("__kernel", at)) != source.npos; ++at) ++kernels_compiled;
    return faults.real->clCreateProgramWithSource(context, count, text, lengths, error);
  };
  const auto device = *make_device_over(fake_, {});
  const auto compiled_for = [&](const std::string& graph) {
    const int before = kernels_compiled;
    const Tensor x = counted({1, 7});
    const Graph parsed_graph = parsed(graph);
    expect_near(answers(**device->compile(parsed_graph), x)[0],
                reference_answers(parsed_graph, x)[0], 1e-5f);
    return kernels_compiled - before;
  };
  const std::string product = R"(
    input x f32[1,7]
    const w f32[7,9] = random($)
    y = MatMul(x, w)
  )";
  const auto with_weights = [&](char seed) {
    return product.substr(0, product.find('$')) + seed + product.substr(product.find('$') + 1);
  };
  EXPECT_EQ(compiled_for(with_weights('1') + "output y"), 1);
  EXPECT_EQ(compiled_for(with_weights('2') + "output y"), 0);
  EXPECT_EQ(compiled_for(with_weights('2') + "z = Softmax(y)\noutput z"), 1);
  // Many are compiled as several programs if there are several cores.
  std::string chain = "input x7 f32[1,7]\n";
  for (int i = 7; i < 27; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    chain += "const w" + n + " f32[" + n + "," + next + "] = random(" + n + ")\ny" + n +
             " = MatMul(x" + n + ", w" + n + ")\nx" + next + " = Tanh(y" + n + ")\n";
  }
  compilations = 0;
  EXPECT_EQ(compiled_for(chain + "output x27"), 40);
  EXPECT_EQ(compilations, std::min<int>(5, static_cast<int>(usable_cores().size())));
}

INSTANTIATE_TEST_SUITE_P(OpenCl, GpuDevice,
                         testing::Values(GpuMaker{"opencl", make_for_test, driver_for_test}));

}  // namespace
}  // namespace shoal::opencl
