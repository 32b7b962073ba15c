// Delta inference beside whole frames, on a folder of images or on made-up ones: for each threshold
// one JSON line of times, of multiply-accumulates and of what changed in the answers.
//
//   bench_delta MODEL SOURCE FRAMES THRESHOLD...
//
// MODEL and SOURCE may be `zoo:scene`. With `@native` after it, MODEL reads images of 768 x 576, as
// made-up ones and vtest.avi are, without resizing; convolutional networks only. SOURCE is a folder
// of images, a video, or `still`, `square`, `half` or `all`: noise of which nothing, a small
// square, the lower half or everything is new in each frame. Each frame is computed whole and then
// with each threshold, one after the other, on one thread, whose processor time is taken. Answers
// are boxes, of which the F1 at an overlap of 0.5 is taken, or the best class. A threshold is that
// of layers, and inputs have a fifth of it. A threshold of 0 is there to see that answers are
// equal: frames are then never computed whole, even where that is faster.
//
//   bench_delta layers MODEL SOURCE FRAMES THRESHOLD
//
// One JSON line per layer: the share of its output that was computed, and its time by tiles and as
// a whole, means of all frames but the first. All frames are computed by tiles.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/delta/delta_device.h"
#include "shoal/engine/delta/delta_executable.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/session/model.h"
#include "shoal/video/detect/head.h"
#include "shoal/video/detect/resized_graph.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/frames/scene.h"

namespace shoal {
namespace {

// Of this thread alone: others do not count that use the machine at the same time.
double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

constexpr int64_t kHeight = 576, kWidth = 768;  // of noise and of vtest.avi
constexpr std::string_view kNative = "@native";

// Frames of a source in order, or noise. All are u8 [h, w, 3].
class Frames {
 public:
  // Fails as the source does.
  static Result<Frames> open(std::string source) {
    Frames frames(std::move(source));
    constexpr std::array kNoise = {"still", "square", "half", "all"};
    if (std::ranges::find(kNoise, frames.source_) == kNoise.end()) {
      SHOAL_ASSIGN(frames.opened_, watch::open_source(frames.source_));
    }
    return frames;
  }

  // Nothing at the end.
  Result<std::optional<Tensor>> next() {
    if (opened_ != nullptr) {
      SHOAL_ASSIGN(const auto frame, opened_->next());
      return frame ? std::optional(frame->image) : std::nullopt;
    }
    const size_t frame = next_++;
    if (frame == 0 || source_ == "all") noise_ = fresh(kHeight);
    if (source_ == "half") {
      paste(fresh(kHeight / 2), {{kHeight / 2, 0, 0}, {kHeight, kWidth, 3}}, noise_);
    }
    if (source_ == "square") {
      const auto at = static_cast<int64_t>(frame * 7 % 400);
      paste(crop(fresh(64), {{0, 0, 0}, {64, 64, 3}}), {{at, at, 0}, {at + 64, at + 64, 3}},
            noise_);
    }
    return std::optional(noise_.clone());
  }

 private:
  explicit Frames(std::string source) : source_(std::move(source)), noise_(fresh(kHeight)) {}

  // Noise in squares of 8 pixels, so that it survives being made smaller.
  Tensor fresh(int64_t height) {
    Tensor image({DType::kU8, {height, kWidth, 3}});
    std::uniform_int_distribution<int> level(0, 255);
    for (int64_t y = 0; y < height; y += 8) {
      for (int64_t x = 0; x < kWidth; x += 8) {
        for (int64_t c = 0; c < 3; ++c) {
          const auto grey = static_cast<uint8_t>(level(rng_));
          for (int64_t i = 0; i < 64; ++i) {
            const int64_t at = ((y + i / 8) * kWidth + x + i % 8) * 3 + c;
            image.data<uint8_t>()[static_cast<size_t>(at)] = grey;
          }
        }
      }
    }
    return image;
  }

  std::string source_;
  std::unique_ptr<watch::FrameSource> opened_;  // null: noise
  size_t next_ = 0;
  std::mt19937 rng_{1};
  Tensor noise_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}
double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Times of the layers of a network, and the shares of them that were computed.
class LayerTable {
 public:
  // Of one run. A network that runs in several parts has only those of the first.
  void add(const Executable& executable, const Trace& trace) {
    if (graph_ == nullptr) graph_ = &executable.graph();
    if (graph_ != &executable.graph()) return;
    rows_.resize(graph_->nodes().size());
    ++runs_;
    for (const TraceEvent& event : trace) {
      rows_[event.node].ms.push_back(
          std::chrono::duration<double, std::milli>(event.end - event.begin).count());
    }
    const auto* delta = dynamic_cast<const delta::DeltaExecutable*>(&executable);
    for (size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].kernel = executable.kernel_of(i).name;
      rows_[i].share += delta != nullptr ? delta->computed()[i] : 1;
    }
  }
  void clear() { *this = {}; }

  // REQUIRES: `whole` is of the same network, compiled alike.
  void print(const LayerTable& whole) const {
    const auto runs = static_cast<double>(std::max<size_t>(runs_, 1));
    for (size_t i = 0; i < std::min(rows_.size(), whole.rows_.size()); ++i) {
      const Node& node = graph_->nodes()[i];
      std::printf(
          "{\"op\": \"%s\", \"kernel\": \"%s\", \"output\": \"%s\", \"macs\": %lld, \"share\": "
          "%.3f, \"ms\": %.4f, \"whole_ms\": %.4f}\n",
          std::string(node.op->name).c_str(), rows_[i].kernel.c_str(),
          to_string((*graph_)[node.outputs[0]].type).c_str(),
          static_cast<long long>(macs(*graph_, node)), rows_[i].share / runs, median(rows_[i].ms),
          median(whole.rows_[i].ms));
    }
  }

 private:
  struct Row {
    std::string kernel;
    std::vector<double> ms;
    double share = 0;
  };
  const Graph* graph_ = nullptr;
  std::vector<Row> rows_;
  size_t runs_ = 0;
};

// A network on a device, and how long its frames took.
struct Contender {
  float threshold = 0;
  std::unique_ptr<Device> device;
  DeltaDevice* delta = nullptr;  // null: whole frames
  std::optional<Session> session = {};
  std::vector<double> ms = {};
  LayerTable* layers = nullptr;  // null: they are not timed
  double largest = 0;            // difference of an output
  double found = 0, same = 0;    // boxes of both, and pairs of them; or frames, and same answers
};

// A model's graph, and what it declares of that.
struct Network {
  Graph graph;
  std::vector<TensorInfo> inputs, outputs;
};

Result<Network> network_of(const std::string& name) {
  const bool is_native = name.ends_with(kNative);
  const std::string file = is_native ? name.substr(0, name.size() - kNative.size()) : name;
  SHOAL_ASSIGN(const Model model,
               file == watch::kScene ? watch::scene_detector() : open_model(file));
  SHOAL_ASSIGN(LoadedGraph bound, model.graph());
  Network network;
  SHOAL_ASSIGN(network.inputs, model.inputs());
  SHOAL_ASSIGN(network.outputs, model.outputs());
  network.graph = std::move(bound.graph);
  if (!is_native) return network;
  Shape shape = network.graph[network.graph.inputs()[0]].type.shape;
  (*network.inputs[0].dims)[2] = shape[2] = kHeight;
  (*network.inputs[0].dims)[3] = shape[3] = kWidth;
  SHOAL_ASSIGN(network.graph, detect::resized_graph(network.graph, shape));
  for (size_t i = 0; i < network.outputs.size(); ++i) {
    const Shape& output = network.graph[network.graph.outputs()[i]].type.shape;
    network.outputs[i].dims.emplace();
    for (size_t axis = 0; axis < output.rank(); ++axis) {
      network.outputs[i].dims->push_back(output[axis]);
    }
  }
  return network;
}

Result<Contender> contender(const Graph& graph, std::optional<float> threshold, bool adapts) {
  Contender one{.device = make_cpu_device({.threads = 1})};
  if (threshold) {
    one.threshold = *threshold;
    DeltaOptions options{.threshold = *threshold};
    options.adapts = adapts && *threshold > 0;
    if (!options.adapts) options.most_changed = 1;
    auto delta = std::make_unique<DeltaDevice>(std::move(one.device), options);
    one.delta = delta.get();
    one.device = std::move(delta);
  }
  SHOAL_ASSIGN(one.session, Session::open(graph, *one.device));
  return one;
}

Result<std::vector<Tensor>> timed_run(Contender& one, const Tensor& input) {
  std::vector<Tensor> outputs(one.session->outputs().size());
  const double begin = cpu_ms();
  RequestOptions options;
  if (one.layers != nullptr) {
    options.observer = [&](const Executable& executable, const Trace& trace) {
      one.layers->add(executable, trace);
    };
  }
  SHOAL_TRY(one.session->run(std::span(&input, 1), outputs, options));
  one.ms.push_back(cpu_ms() - begin);
  return outputs;
}

double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != DType::kF32) continue;
    for (size_t e = 0; e < a[i].data<float>().size(); ++e) {
      const double x = static_cast<double>(a[i].data<float>()[e]);
      const double y = static_cast<double>(b[i].data<float>()[e]);
      largest = std::max(largest, std::abs(x - y) / std::max(1.0, std::abs(x)));
    }
  }
  return largest;
}

// Pairs of boxes of the same class that overlap by half, the best first, each in one pair.
double pairs(const std::vector<detect::Detection>& a, std::vector<detect::Detection> b) {
  double count = 0;
  for (const detect::Detection& one : a) {
    const auto match = std::ranges::find_if(b, [&](const detect::Detection& other) {
      return other.label == one.label && overlap(other.box, one.box) >= 0.5F;
    });
    if (match == b.end()) continue;
    b.erase(match);
    ++count;
  }
  return count;
}

size_t best_class(const std::vector<Tensor>& outputs) {
  const auto scores = outputs[0].data<float>();
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

void print(const Contender& whole, const Contender& one, const std::string& source) {
  const DeltaStatistics statistics = one.delta->statistics();
  std::printf(
      "{\"source\": \"%s\", \"threshold\": %g, \"frames\": %zu, \"whole_ms\": %.3f, \"ms\": %.3f, "
      "\"mean_ratio\": %.3f, \"median_ratio\": %.3f, \"macs_share\": %.4f, \"whole_runs\": %zu, "
      "\"largest_difference\": %.3g, \"changed_answers\": %.4f}\n",
      source.c_str(), static_cast<double>(one.threshold), statistics.runs, mean(whole.ms),
      mean(one.ms), mean(whole.ms) / mean(one.ms), median(whole.ms) / median(one.ms),
      statistics.macs_share(), statistics.whole_runs, one.largest,
      one.found > 0 ? 1 - one.same / one.found : 0);
}

Status measure(const std::string& name, const std::string& source, size_t frames,
               const std::vector<float>& thresholds, bool by_layers) {
  SHOAL_ASSIGN(const Network network, network_of(name));
  const auto& [graph, inputs, outputs] = network;
  const auto head = detect::recognise(inputs, outputs);
  SHOAL_ASSIGN(Contender whole, contender(graph, {}, false));
  std::vector<Contender> others;
  for (const float threshold : thresholds) {
    SHOAL_ASSIGN(Contender one, contender(graph, threshold, !by_layers));
    others.push_back(std::move(one));
  }
  LayerTable of_whole, of_tiles;
  if (by_layers) {
    whole.layers = &of_whole;
    others[0].layers = &of_tiles;
  }
  SHOAL_ASSIGN(Frames images, Frames::open(source));
  for (size_t frame = 0; frame < frames; ++frame) {
    SHOAL_ASSIGN(const std::optional<Tensor> next, images.next());
    if (!next) break;
    const Tensor& image = *next;
    detect::Prepared prepared;
    if (head.ok()) {
      SHOAL_ASSIGN(prepared, detect::prepare(image, *head));
    } else {
      Preprocess how = *find_preset("imagenet");
      if (name.ends_with(kNative)) how.resize = how.crop = 0;
      SHOAL_ASSIGN(prepared.input, image_for_input(image, *inputs[0].dims, how));
    }
    SHOAL_ASSIGN(const std::vector<Tensor> wanted, timed_run(whole, prepared.input));
    for (Contender& one : others) {
      SHOAL_ASSIGN(const std::vector<Tensor> found, timed_run(one, prepared.input));
      one.largest = std::max(one.largest, largest_difference(wanted, found));
      if (!head.ok()) {
        one.found += 1;
        one.same += best_class(wanted) == best_class(found) ? 1 : 0;
        continue;
      }
      const detect::Suppression how;
      SHOAL_ASSIGN(auto a, detect::decode(*head, wanted, prepared.placement, how.least_score));
      SHOAL_ASSIGN(auto b, detect::decode(*head, found, prepared.placement, how.least_score));
      const auto left = suppress(std::move(a), how), right = suppress(std::move(b), how);
      one.found += static_cast<double>(left.size() + right.size());
      one.same += 2 * pairs(left, right);
    }
    if (frame == 0) {
      of_whole.clear();
      of_tiles.clear();
    }
  }
  of_tiles.print(of_whole);
  for (const Contender& one : others) print(whole, one, source);
  return {};
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool by_layers = !words.empty() && words[0] == "layers";
  if (by_layers) words.erase(words.begin());
  if (words.size() < 4) {
    std::fprintf(stderr, "usage: bench_delta [layers] MODEL SOURCE FRAMES THRESHOLD...\n");
    return 2;
  }
  std::vector<float> thresholds;
  for (size_t i = 3; i < words.size(); ++i) {
    thresholds.push_back(std::strtof(words[i].c_str(), nullptr));
  }
  const shoal::Status status = shoal::measure(
      words[0], words[1], std::strtoull(words[2].c_str(), nullptr, 10), thresholds, by_layers);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
