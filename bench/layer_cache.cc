// DeepMon's layer cache [Huynh 2017], rows DM-4, DM-5 and DM-17, a JSON line for each result.
//
//   bench_layer_cache speed            DM-4: mini-VGG, the upper part of whose images stands still
//   bench_layer_cache histograms MODEL...      DM-5: their time beside that of the network
//   bench_layer_cache agreement MODEL IMAGES COUNT   DM-17: answers with the cache and without it
//
// Times are of the processor, one thread, the medians of frames that were computed whole and with
// the cache in turns. For DM-17, each image of a folder is a video of 90 frames of 1/30 s as
// somebody sees it who turns around: a window of it stands still for 30 frames, moves by a pixel a
// frame for 30, and stands still again, while two squares of other parts of the image move before
// it and each pixel has noise of a deviation of 1.5 levels. An answer is the best class; as in the
// source, videos count for which the network is sure by 0.75 in the mean, and all are shown beside
// them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/delta/block_histograms.h"
#include "shoal/engine/delta/delta_device.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/ops/ops.h"

namespace shoal {
namespace {

// Of this thread alone: others do not count that use the machine at the same time.
double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// Runs a network once and says how long it took.
struct Timed {
  Session session;
  std::vector<double> ms = {};

  Result<Tensor> run(const Tensor& input) {
    std::vector<Tensor> outputs(session.outputs().size());
    const double begin = cpu_ms();
    SHOAL_TRY(session.run(std::span(&input, 1), outputs));
    ms.push_back(cpu_ms() - begin);
    return outputs[0];
  }
};

constexpr HistogramOptions kHistograms{.ttl_ms = 650};

std::unique_ptr<DeltaDevice> cached_device(std::function<double()> now_ms) {
  DeltaOptions options{.histograms = kHistograms, .now_ms = std::move(now_ms)};
  return std::make_unique<DeltaDevice>(make_cpu_device({.threads = 1}), options);
}

// 64 x 64 x 3; 16, 16, P, 32, 32, P, 64, 64, 64, P and two dense layers [Huynh 2017].
Graph mini_vgg() {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 3, 64, 64}});
  uint64_t seed = 0;
  const auto weights = [&](Shape shape, int64_t fan_in) {
    Tensor w({DType::kF32, shape});
    fill_normal(w.data<float>(), RandomStream(7, seed++),
                std::sqrt(2.0 / static_cast<double>(fan_in)));
    return graph.add_constant("w" + std::to_string(seed), std::move(w));
  };
  for (const int64_t filters : {16, 16, 0, 32, 32, 0, 64, 64, 64, 0}) {
    if (filters == 0) {
      const std::vector<int64_t> two = {2, 2};
      x = *graph.add(ops::max_pool, {x}, {{"kernel_shape", two}, {"strides", two}});
      continue;
    }
    const int64_t in = graph[x].type.shape[1];
    x = *graph.add(ops::conv, {x, weights({filters, in, 3, 3}, 9 * in)},
                   {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    x = *graph.add(ops::relu, {x});
  }
  x = *graph.add(ops::flatten, {x});
  x = *graph.add(ops::relu, {*graph.add(ops::mat_mul, {x, weights({4096, 128}, 4096)})});
  graph.mark_output(*graph.add(ops::mat_mul, {x, weights({128, 10}, 128)}));
  return graph;
}

// DM-4 of docs/references.md: so many of eight rows of blocks stand still.
Status speed() {
  const Graph network = mini_vgg();
  for (const int64_t still : {0, 2, 4, 6, 8}) {
    double now_ms = 0;
    const auto plain = make_cpu_device({.threads = 1});
    const auto cached = cached_device([&] { return now_ms; });
    SHOAL_ASSIGN(Session whole_session, Session::open(network, *plain));
    SHOAL_ASSIGN(Session cached_session, Session::open(network, *cached));
    Timed whole{std::move(whole_session)}, part{std::move(cached_session)};
    Tensor image({DType::kF32, {1, 3, 64, 64}});
    for (uint64_t frame = 0; frame < 400; ++frame) {
      std::vector<float> fresh(static_cast<size_t>(image.count()));
      fill_normal(fresh, RandomStream(9, frame), 1);
      for (int64_t i = 0; i < image.count(); ++i) {
        const int64_t row = i / 64 % 64;
        const auto at = static_cast<size_t>(i);
        if (frame == 0 || row >= 8 * still) image.data<float>()[at] = fresh[at];
      }
      now_ms += 1;  // nothing is too old
      SHOAL_TRY(whole.run(image).status());
      SHOAL_TRY(part.run(image).status());
    }
    std::printf(
        "{\"row\": \"DM-4\", \"blocks_still\": %.3f, \"whole_ms\": %.4f, \"cached_ms\": %.4f, "
        "\"times_as_fast\": %.3f, \"macs_share\": %.3f}\n",
        static_cast<double>(still) / 8, median(whole.ms), median(part.ms),
        median(whole.ms) / median(part.ms), cached->statistics().macs_share());
  }
  return {};
}

// DM-5
Status histograms(const std::string& name) {
  SHOAL_ASSIGN(const Model model, open_model(name));
  SHOAL_ASSIGN(const LoadedGraph loaded, model.graph());
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_ASSIGN(Session session, Session::open(loaded.graph, *device));
  Timed whole{std::move(session)};
  Tensor image(loaded.graph[loaded.graph.inputs()[0]].type);
  fill_normal(image.data<float>(), RandomStream(3, 1), 1);
  delta::BlockHistograms blocks(kHistograms);
  std::vector<double> ms;
  for (int round = 0; round < 9; ++round) {
    SHOAL_TRY(whole.run(image).status());
    const double begin = cpu_ms();
    blocks.update(image, 0);
    ms.push_back(cpu_ms() - begin);
  }
  std::printf(
      "{\"row\": \"DM-5\", \"model\": \"%s\", \"network_ms\": %.3f, \"histograms_ms\": %.4f, "
      "\"share\": %.5f}\n",
      std::filesystem::path(name).filename().c_str(), median(whole.ms), median(ms),
      median(ms) / median(whole.ms));
  return {};
}

// A frame of the video that an image is.
class FirstPerson {
 public:
  explicit FirstPerson(Tensor image) : image_(resize_image(image, 288, 384)) {}

  static constexpr int64_t kFrames = 90, kSide = 224;

  Tensor at(int64_t frame) {
    const int64_t moved = std::clamp<int64_t>(frame - 30, 0, 30);
    Tensor seen = window(20 + moved, 32, kSide);
    paste(window(200 - frame, 200, 40), at_place(30 + 2 * frame % 150, 150, 40), seen);
    paste(window(10 + frame % 7, 10, 24), at_place(180, 20 + frame, 24), seen);
    for (uint8_t& pixel : seen.data<uint8_t>()) {
      pixel =
          static_cast<uint8_t>(std::clamp(static_cast<float>(pixel) + noise_(rng_), 0.0F, 255.0F));
    }
    return seen;
  }

 private:
  static Region at_place(int64_t left, int64_t top, int64_t side) {
    return {{top, left, 0}, {top + side, left + side, 3}};
  }
  Tensor window(int64_t left, int64_t top, int64_t side) const {
    return crop(image_, at_place(left, top, side));
  }

  const Tensor image_;
  std::mt19937 rng_{5};
  std::normal_distribution<float> noise_{0.5F, 1.5F};
};

// Frames, how many of them are answered differently, and blocks that were hit.
struct Difference {
  double frames = 0, different = 0, blocks = 0, hits = 0, sure = 0;

  void add(const Difference& other) {
    frames += other.frames;
    different += other.different;
    blocks += other.blocks;
    hits += other.hits;
    sure += other.sure;
  }
};

size_t best_of(const Tensor& scores) {
  const auto all = scores.data<float>();
  return static_cast<size_t>(std::ranges::max_element(all) - all.begin());
}

// The probability of the best class.
double sureness(const Tensor& scores) {
  const auto all = scores.data<float>();
  const float most = *std::ranges::max_element(all);
  double sum = 0, plain = 0;
  for (const float one : all) {
    sum += std::exp(static_cast<double>(one - most));
    plain += static_cast<double>(one);
  }
  const bool are_shares = std::abs(plain - 1) < 1e-3 && *std::ranges::min_element(all) >= 0;
  return are_shares ? static_cast<double>(most) : 1 / sum;
}

Result<Difference> compare(const Model& model, const std::filesystem::path& file) {
  SHOAL_ASSIGN(const std::vector<TensorInfo> inputs, model.inputs());
  SHOAL_ASSIGN(Tensor picture, read_image(file));
  if (picture.shape()[2] != 3) return Difference{};
  double now_ms = 0;
  const auto plain = make_cpu_device({.threads = 1});
  const auto cached = cached_device([&] { return now_ms; });
  SHOAL_ASSIGN(Session whole_session, model.session(*plain));
  SHOAL_ASSIGN(Session cached_session, model.session(*cached));
  Timed whole{std::move(whole_session)}, part{std::move(cached_session)};
  delta::BlockHistograms blocks(kHistograms);
  FirstPerson video(std::move(picture));
  Difference sum;
  for (int64_t frame = 0; frame < FirstPerson::kFrames; ++frame) {
    now_ms = static_cast<double>(frame) * 1000 / 30;
    Preprocess how = *find_preset("imagenet");
    how.resize = how.crop = 0;
    SHOAL_ASSIGN(const Tensor input, image_for_input(video.at(frame), *inputs[0].dims, how));
    SHOAL_ASSIGN(const Tensor wanted, whole.run(input));
    SHOAL_ASSIGN(const Tensor found, part.run(input));
    const delta::TileMask changed = blocks.update(input, now_ms);
    const delta::Grid& grid = changed.grid();
    for (int64_t row = 0; row < grid.rows(); ++row) {
      for (int64_t column = 0; column < grid.columns(); ++column) {
        sum.blocks += 1;
        sum.hits += changed.at(row, column) ? 0 : 1;
      }
    }
    sum.frames += 1;
    sum.different += best_of(wanted) == best_of(found) ? 0 : 1;
    sum.sure += sureness(wanted);
  }
  return sum;
}

// DM-17
Status agreement(const std::string& name, const std::filesystem::path& folder, size_t most) {
  constexpr double kSure = 0.75;
  SHOAL_ASSIGN(const Model model, open_model(name));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (is_image_file(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  files.resize(std::min(files.size(), most));
  Difference all, sure;
  for (const auto& file : files) {
    SHOAL_ASSIGN(const Difference one, compare(model, file));
    all.add(one);
    if (one.frames > 0 && one.sure / one.frames >= kSure) sure.add(one);
  }
  const auto print = [&](const char* which, const Difference& one) {
    std::printf(
        "{\"row\": \"DM-17\", \"videos\": \"%s\", \"frames\": %.0f, \"hit_rate\": %.4f, "
        "\"different\": %.4f}\n",
        which, one.frames, one.hits / std::max(one.blocks, 1.0),
        one.different / std::max(one.frames, 1.0));
  };
  print("sure by 0.75", sure);
  print("all", all);
  return {};
}

Status measure(std::span<char* const> words) {
  const auto is = [&](const char* word) {
    return words.size() > 1 && std::strcmp(words[1], word) == 0;
  };
  if (is("speed") && words.size() == 2) return speed();
  if (is("histograms") && words.size() > 2) {
    for (const char* name : words.subspan(2)) SHOAL_TRY(histograms(name));
    return {};
  }
  if (is("agreement") && words.size() == 5) {
    return agreement(words[2], words[3], std::strtoull(words[4], nullptr, 10));
  }
  return invalid(
      "usage: bench_layer_cache speed | histograms MODEL... | agreement MODEL IMAGES COUNT");
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const shoal::Status status =
      shoal::measure(std::span<char* const>(argv, static_cast<size_t>(argc)));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
