// Key frames, one JSON line per measurement, on one thread.
//
//   bench_keyframe sparse
//     A convolution where a mask says so, beside the whole.
//   bench_keyframe flow
//     Flow and warping.
//   bench_keyframe MODEL SOURCE FRAMES KEYS...
//     A detector over a video by key frames, beside the whole network on every frame.
//
// KEYS is an interval between key frames, or LEAST-MOST-HIGH of one by motion; with "+" after it,
// features are computed meanwhile. Contenders take turns, frame by frame.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/ops/ops.h"
#include "shoal/video/detect/head.h"
#include "shoal/video/keyframe/masks.h"
#include "shoal/video/keyframe/pipeline.h"
#include "shoal/video/keyframe/simulate_keys_testing.h"
#include "shoal/video/keyframe/sparse_network.h"
#include "shoal/video/keyframe/warp.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/run/agreement.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;
using delta::Grid;
using delta::TileMask;

// Of this thread alone: others do not count that use the machine at the same time.
double cpu_ms_of(const std::function<void()>& run) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  run();
  return now() - begin;
}

double ms_of(const std::function<void()>& run) {
  const Clock::time_point begin = Clock::now();
  run();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

Tensor normal(const Shape& shape, uint64_t seed) {
  Tensor tensor({DType::kF32, shape});
  fill_normal(tensor.data<float>(), RandomStream(seed, 1), 0.05);
  return tensor;
}

// This share of a plane: a rectangle as of an object, four of them, which begin and end anywhere,
// or tiles of the kernel, wherever they are.
TileMask mask_of(const std::string& form, double share, const Grid& tiles) {
  const Grid pixels{.height = tiles.height, .width = tiles.width};
  const auto rows = static_cast<double>(pixels.height), columns = static_cast<double>(pixels.width);
  if (form == "tiles") {
    TileMask mask(tiles);
    const auto count = static_cast<uint64_t>(tiles.rows() * tiles.columns());
    const RandomStream random(1, 2);
    for (uint64_t i = 0; mask.share() < share; ++i) {
      const auto at = static_cast<int64_t>(random.below(count, i));
      mask.set(at / tiles.columns(), at % tiles.columns());
    }
    return mask;
  }
  std::vector<cpu::Rectangle> boxes;
  const double side = std::sqrt(share);
  const auto box = [&](double y, double x, double part) {
    boxes.push_back({{std::lround(y * rows), std::lround((y + part) * rows)},
                     {std::lround(x * columns), std::lround((x + part) * columns)}});
  };
  if (form == "box") {
    box((1 - side) / 2, (1 - side) / 2, side);
  } else {
    const double gap = (1 - side) / 4;  // around each
    for (const double y : {gap, 0.5 + gap}) {
      for (const double x : {gap, 0.5 + gap}) box(y, x, side / 2);
    }
  }
  return keyframe::box_mask(pixels, boxes, 0);
}

Status measure_sparse() {
  constexpr int64_t kChannels = 256, kHeight = 38, kWidth = 63;
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, kChannels, kHeight, kWidth}});
  const ValueId w = graph.add_constant("w", normal({kChannels, kChannels, 3, 3}, 1));
  graph.mark_output(*graph.add(ops::conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
  const auto device = make_cpu_device({.threads = 1, .tune = Tune::kFast});
  SHOAL_ASSIGN(auto dense, device->compile(graph));
  SHOAL_ASSIGN(auto sparse, keyframe::SparseNetwork::compile(graph, *device));
  const Tensor input = normal({1, kChannels, kHeight, kWidth}, 2);
  std::vector<Tensor> outputs(1);
  Tensor output;
  const Grid tiles = sparse.computed(TileMask({.height = kHeight, .width = kWidth})).grid();
  for (const double share : {1.0, 0.5, 0.2}) {
    for (const std::string form : {"box", "4 boxes", "tiles"}) {
      const TileMask mask = mask_of(form, share, tiles);
      const double computed = sparse.computed(mask).share();
      std::vector<double> whole, masked;
      for (int i = 0; i < 41; ++i) {
        whole.push_back(cpu_ms_of([&] {
          static_cast<void>(dense->run({&input, 1}, outputs, {}));
        }));
        masked.push_back(
            cpu_ms_of([&] { static_cast<void>(sparse.run(input, mask, std::span(&output, 1))); }));
      }
      std::printf(
          "{\"mask\": \"%s\", \"tile\": %d, \"share\": %.3f, \"computed\": %.3f, \"dense_ms\": "
          "%.3f, "
          "\"ms\": %.3f, \"ratio\": %.2f, \"ratio_of_best\": %.2f}\n",
          form.c_str(), static_cast<int>(tiles.tile_height), mask.share(), computed,
          quantile(whole, 0.5), quantile(masked, 0.5), quantile(whole, 0.5) / quantile(masked, 0.5),
          quantile(whole, 0) / quantile(masked, 0));
    }
  }
  return {};
}

Status measure_flow() {
  struct Size {
    int64_t height, width;
  };
  for (const Size& size : {Size{416, 416}, Size{576, 768}, Size{960, 1280}}) {
    Tensor image({DType::kU8, {size.height, size.width, 3}});
    const RandomStream random(1, 3);
    const auto pixels = image.data<uint8_t>();
    const auto frame = [&](int64_t shift) {
      for (int64_t y = 0; y < size.height; ++y) {
        for (int64_t x = 0; x < size.width; ++x) {
          const auto cell = static_cast<uint64_t>((y + shift) / 5 * 1000 + (x + 2 * shift) / 5);
          for (int64_t c = 0; c < 3; ++c) {
            pixels[static_cast<size_t>((y * size.width + x) * 3 + c)] =
                static_cast<uint8_t>(random.below(256, cell));
          }
        }
      }
      return keyframe::luma_of(image);
    };
    SHOAL_ASSIGN(const auto then, frame(0));
    SHOAL_ASSIGN(const auto now, frame(3));
    const Tensor features = normal({1, 256, size.height / 16, size.width / 16}, 4);
    keyframe::Flow flow;
    std::vector<double> luma, estimate, warp;
    for (int i = 0; i < 21; ++i) {
      luma.push_back(cpu_ms_of([&] { static_cast<void>(keyframe::luma_of(image)); }));
      estimate.push_back(cpu_ms_of([&] { flow = keyframe::estimate_flow(then, now); }));
      warp.push_back(cpu_ms_of([&] { static_cast<void>(keyframe::warp(features, flow)); }));
    }
    std::printf(
        "{\"height\": %d, \"width\": %d, \"luma_ms\": %.3f, \"flow_ms\": %.3f, "
        "\"warp_256_stride_16_ms\": %.3f, \"mean_length\": %.2f}\n",
        static_cast<int>(size.height), static_cast<int>(size.width), quantile(luma, 0.5),
        quantile(estimate, 0.5), quantile(warp, 0.5), flow.mean_length());
  }
  return {};
}

// A camera of 30 frames a second, a key frame in ten; encoding takes 18 ms, decoding 8 [Mao 2019].
Status measure_link(const std::string& file, double key_ms, double inter_ms) {
  std::ifstream lines(file);
  const std::vector<double> bytes{std::istream_iterator<double>(lines), {}};
  constexpr size_t kInterval = 10;
  if (bytes.size() <= kInterval) return invalid(file + " has no sizes of more than ten frames");
  const double mean =
      std::accumulate(bytes.begin(), bytes.end(), 0.0) / static_cast<double>(bytes.size());
  for (const double mbit : {3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0, 43.8, 94.1}) {
    auto frames = keyframe::send(
        bytes,
        {.encode_us = 18000, .decode_us = 8000, .link = {.bytes_per_second = mbit * 1e6 / 8}});
    for (size_t i = 0; i < frames.size(); ++i) {
      frames[i].is_key = i % kInterval == 0;
      frames[i].times = {.key_us = std::lround(1e3 * key_ms),
                         .inter_us = std::lround(1e3 * inter_ms)};
    }
    const auto latencies = [&](keyframe::Order order) {
      return keyframe::latencies_of(keyframe::simulate(frames, order), kInterval);
    };
    const auto sequential = latencies(keyframe::Order::kSequential);
    const auto flat = latencies(keyframe::Order::kAsynchronous);
    std::printf(
        "{\"mbit\": %.1f, \"mean_bytes\": %.0f, \"sequential_p50_ms\": %.1f, "
        "\"sequential_worst_ms\": %.1f, \"p50_ms\": %.1f, \"p99_ms\": %.1f, "
        "\"worst_ms\": %.1f, \"worst_lower\": %.3f, \"fps\": %.1f}\n",
        mbit, mean, sequential.p50_ms, sequential.worst_ms, flat.p50_ms, flat.p99_ms, flat.worst_ms,
        1 - flat.worst_ms / sequential.worst_ms, 1e3 / flat.mean_ms);
  }
  return {};
}

// A way to run the network, and what came of it.
struct Contender {
  std::string name;
  std::unique_ptr<keyframe::Pipeline> pipeline;
  std::vector<double> ms = {};
  size_t keys = 0;
  watch::Agreement agreement = {};
  // The control: boxes of key frames that stay until the next.
  std::vector<detect::Detection> last = {};
  watch::Agreement held = {};
};

Result<Contender> contender(const std::string& name, const Graph& graph, Device& device) {
  keyframe::PipelineOptions options;
  options.asynchronous = name.ends_with('+');
  char* rest = nullptr;
  options.schedule.least = options.schedule.most = std::strtoull(name.c_str(), &rest, 10);
  if (*rest == '-') {
    options.schedule.most = std::strtoull(rest + 1, &rest, 10);
    options.schedule.high = std::strtod(rest + 1, nullptr);
  }
  SHOAL_ASSIGN(auto pipeline, keyframe::Pipeline::open(graph, device, options));
  return Contender{.name = name, .pipeline = std::move(pipeline)};
}

Status measure_detector(const std::string& name, const std::string& source, size_t frames,
                        const std::vector<std::string>& keys) {
  SHOAL_ASSIGN(const Model model, open_model(name));
  SHOAL_ASSIGN(const std::vector<TensorInfo> inputs, model.inputs());
  SHOAL_ASSIGN(const std::vector<TensorInfo> infos, model.outputs());
  SHOAL_ASSIGN(const detect::Head head, detect::recognise(inputs, infos));
  SHOAL_ASSIGN(const auto bound, model.graph());
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_ASSIGN(Session whole, model.session(*device));
  std::vector<Contender> all;
  for (const std::string& one : keys) {
    SHOAL_ASSIGN(Contender made, contender(one, bound.graph, *device));
    all.push_back(std::move(made));
  }
  SHOAL_ASSIGN(const auto video, watch::open_source(source));
  std::vector<double> whole_ms;
  const detect::Suppression how;
  for (size_t frame = 0; frame < frames; ++frame) {
    SHOAL_ASSIGN(const auto image, video->next());
    if (!image) break;
    SHOAL_ASSIGN(const detect::Prepared prepared, detect::prepare(image->image, head));
    const auto boxes = [&](const std::vector<Tensor>& outputs) {
      auto decoded = detect::decode(head, outputs, prepared.placement, how.least_score);
      return decoded.ok() ? suppress(*std::move(decoded), how) : std::vector<detect::Detection>();
    };
    std::vector<Tensor> outputs(whole.outputs().size());
    Status status;
    whole_ms.push_back(ms_of([&] { status = whole.run(std::span(&prepared.input, 1), outputs); }));
    SHOAL_TRY(status);
    const auto expected = boxes(outputs);
    for (Contender& one : all) {
      Result<keyframe::Answer> answer = Status(Code::kInternal, "not run");
      one.ms.push_back(ms_of([&] { answer = one.pipeline->run(prepared.input); }));
      SHOAL_TRY(answer.status());
      one.keys += answer->is_key ? 1 : 0;
      one.agreement += watch::compare(boxes(answer->outputs), expected);
      if (answer->is_key) one.last = expected;
      one.held += watch::compare(one.last, expected);
    }
  }
  const double whole_p50 = quantile(whole_ms, 0.5);
  for (const Contender& one : all) {
    double sum = 0, whole_sum = 0;
    for (const double ms : one.ms) sum += ms;
    for (const double ms : whole_ms) whole_sum += ms;
    const auto task = static_cast<double>(one.pipeline->task_macs());
    std::printf(
        "{\"keys\": \"%s\", \"frames\": %zu, \"key_frames\": %zu, \"task_share\": %.3f, "
        "\"whole_p50_ms\": %.2f, \"p50_ms\": %.2f, \"p99_ms\": %.2f, \"mean_ratio\": %.2f, "
        "\"f1\": %.4f, \"f1_held\": %.4f}\n",
        one.name.c_str(), one.ms.size(), one.keys,
        task / (task + static_cast<double>(one.pipeline->features_macs())), whole_p50,
        quantile(one.ms, 0.5), quantile(one.ms, 0.99), whole_sum / sum, one.agreement.f1(),
        one.held.f1());
  }
  return {};
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  shoal::Status status;
  if (words == std::vector<std::string>{"sparse"}) {
    status = shoal::measure_sparse();
  } else if (words == std::vector<std::string>{"flow"}) {
    status = shoal::measure_flow();
  } else if (words.size() == 4 && words[0] == "link") {
    status =
        shoal::measure_link(words[1], std::strtod(argv[3], nullptr), std::strtod(argv[4], nullptr));
  } else if (words.size() >= 4) {
    status = shoal::measure_detector(words[0], words[1], std::strtoull(argv[3], nullptr, 10),
                                     {words.begin() + 3, words.end()});
  } else {
    std::fprintf(stderr,
                 "usage: bench_keyframe sparse | flow | link ... | MODEL SOURCE FRAMES KEYS...\n");
    return 2;
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
