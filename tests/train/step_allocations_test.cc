// After the first step, which makes all buffers, a step of training allocates no memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/builder.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/step/trainer/trainer.h"

namespace {

std::atomic<int64_t> allocations{0};  // of the whole program, all threads

void* allocated(std::size_t size, std::size_t alignment) {
  ++allocations;
  size = (size + alignment) / alignment * alignment;  // a multiple, as aligned_alloc wants it
  if (void* memory = std::aligned_alloc(alignment, size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// The forms that are not replaced here, of arrays and those that do not throw, call these.
void* operator new(std::size_t size) { return allocated(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocated(size, static_cast<std::size_t>(alignment));
}
// Not inlined, or g++ takes `free` beside `new` for a mistake.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { ::operator delete(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  ::operator delete(memory);
}

namespace shoal::train {
namespace {

// As ResNet-20 narrows: every second row and column, and twice the channels.
ValueId shortened(zoo::Builder& b, ValueId x) {
  const auto list = [&](std::initializer_list<int64_t> elements) {
    return b.constant("list", Tensor::of<int64_t>({std::ssize(elements)}, elements));
  };
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  const int64_t more = b.shape_of(x)[1] / 2;
  x = b.add(ops::slice, {x, list({0, 0}), list({kEnd, kEnd}), list({2, 3}), list({2, 2})}, {},
            "cut");
  return b.add(ops::pad_, {x, list({0, more, 0, 0, 0, more, 0, 0})}, {}, "wide");
}

Graph resnet() {
  zoo::Builder b({.batch = 4});
  const auto layer = [&](ValueId x, int64_t filters, int64_t stride) {
    return b.batch_norm(
        b.conv("conv", x, {.filters = filters, .kernel = 3, .stride = stride, .pad = 1}));
  };
  ValueId x = b.relu(layer(b.input("input", {3, 16, 16}), 16, 1));
  for (const int64_t stride : {1, 2}) {
    const int64_t filters = b.shape_of(x)[1] * stride;
    const ValueId branch = layer(b.relu(layer(x, filters, stride)), filters, 1);
    x = b.relu(b.add(ops::add, {branch, stride == 1 ? x : shortened(b, x)}, {}, "sum"));
  }
  return *b.finish(b.fc("fc", b.flatten(b.global_average_pool(x)), 10));
}

int64_t allocations_of_third_step(const Graph& network, const TrainerOptions& options) {
  const auto device = make_cpu_device({.threads = 2});
  auto trainer = Trainer::create(*device, network, options);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  Tensor images(network[network.inputs()[0]].type);
  fill_normal(images.data<float>(), RandomStream(1, 0), 1);
  const Tensor labels({DType::kI64, {images.shape()[0]}});
  const auto step = [&] { return trainer->step(images, std::span(&labels, 1)).ok(); };
  EXPECT_TRUE(step() && step());
  const int64_t before = allocations;
  const bool third = step();
  const int64_t after = allocations;
  EXPECT_TRUE(third);
  return after - before;
}

TEST(Trainer, AsksForNoMemoryAfterTheFirstStep) {
  using Rule = OptimizerOptions::Rule;
  const TrainerOptions sgd{.optimizer = {.momentum = 0.9f, .weight_decay = 1e-4f, .max_norm = 1}};
  const TrainerOptions adam{.optimizer = {.rule = Rule::kAdam, .rate = 0.001f}};
  const TrainerOptions narrow{.optimizer = {}, .bf16 = true};
  for (const TrainerOptions& options : {sgd, adam, narrow}) {
    for (const char* name : {"mlp", "lenet5", "convnet"}) {
      EXPECT_EQ(allocations_of_third_step(*zoo::build(name, {.batch = 4}), options), 0) << name;
    }
    EXPECT_EQ(allocations_of_third_step(resnet(), options), 0);
  }
}

}  // namespace
}  // namespace shoal::train
