// Autotuning. Providers estimate their cost in multiply-accumulates; candidates within a factor of
// kHopeless of the cheapest are run on made-up tensors with cold caches, and the fastest wins. A
// race costs about three runs per candidate, and less for slow ones: a candidate that is clearly
// beaten in its first run is not run again. Equal nodes share a race by their key, a line of text
// that is also the key of the file of timings.
#include "shoal/cpu/tune.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "shoal/base/atomic_file.h"
#include "shoal/cpu/instruction_set.h"

namespace shoal::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kNever = std::numeric_limits<double>::infinity();

// Candidates whose estimate exceeds the best by this factor are not run, unless all are asked for.
// The estimate is rough, but not that rough. Timings are abandoned by the same factor.
constexpr double kHopeless = 1.6;

std::string to_key(const Attribute& attribute) {
  return std::visit(
      []<class T>(const T& value) {
        std::ostringstream text;
        if constexpr (std::is_same_v<T, Tensor>) {
          text << to_string(value.type());
        } else if constexpr (requires { value.begin(); } && !std::is_same_v<T, std::string>) {
          for (const auto& element : value) text << element << ' ';
        } else {
          text << value;
        }
        return text.str();
      },
      attribute);
}

// Everything that the time of a node depends on, as one line: operator, threads, types, which
// inputs are constant, attributes. The elements of tensors do not count.
std::string key_of(const KernelSpec& spec) {
  std::string key = std::string(spec.node.op->name) + ';' + std::to_string(spec.pool.threads());
  if (spec.memory == Memory::kLow) key += ";low";
  for (const Operand& input : spec.inputs) {
    key += ';';
    if (input.given) key += to_string(input.type) + (input.value != nullptr ? "c" : "");
  }
  for (const TensorType& output : spec.outputs) key += ";" + to_string(output);
  for (const auto& [name, value] : spec.node.attributes) key += ";" + name + "=" + to_key(value);
  // The file separates lines and fields by these; attributes of a model may have any text.
  std::ranges::replace(key, '\n', ' ');
  std::ranges::replace(key, '\t', ' ');
  return key;
}

// Made-up tensors for a node, and timings with them. Times do not depend on elements, as long as
// those are neither all zero nor denormal.
class Trial {
 public:
  // `others` is memory that evicts the caches; it is shared by all trials.
  Trial(const KernelSpec& spec, std::vector<uint8_t>& others) : pool_(spec.pool), others_(others) {
    for (const Operand& input : spec.inputs) {
      inputs_.push_back(!input.given             ? Tensor()
                        : input.value != nullptr ? *input.value
                                                 : made_up(input.type));
    }
    for (const TensorType& type : spec.outputs) outputs_.emplace_back(type);
  }

  // Best of a few runs: noise only ever adds time. `limit` is the best time so far.
  double microseconds(const Kernel& kernel, double limit) {
    constexpr double kShort = 300;  // a longer run is exact enough by itself
    constexpr int kRuns = 2;
    std::vector<std::byte> scratch(kernel.scratch_bytes() + kAlignment);
    void* at = scratch.data();
    size_t room = scratch.size();
    std::align(kAlignment, kernel.scratch_bytes(), at, room);
    const KernelArgs args{inputs_, outputs_, static_cast<std::byte*>(at), pool_};
    double best = kNever;
    for (int i = 0; i <= kRuns; ++i) {  // the first run faults pages in
      fill_caches();
      const auto begin = Clock::now();
      kernel.run(args);
      const double time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
      if (i > 0) best = std::min(best, time);
      if (time > kHopeless * limit || (i > 0 && time > kShort)) return std::min(best, time);
    }
    return best;
  }

 private:
  static constexpr size_t kAlignment = 64;

  // Evicts the caches, as the other layers of a network do between two runs of a node. A kernel
  // whose weights are fast only from a cache would win otherwise.
  void fill_caches() {
    for (size_t i = 0; i < others_.size(); i += kAlignment) others_[i] += 1;
  }

  static Tensor made_up(const TensorType& type) {
    Tensor tensor(type);
    if (type.dtype == DType::kF32) {
      std::minstd_rand rng(1);
      for (float& x : tensor.data<float>()) x = static_cast<float>(rng() % 256) / 256;
    }
    return tensor;
  }

  ThreadPool& pool_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<uint8_t>& others_;
};

// Null if there is no kernel of that name, or if it does not fit the node.
std::unique_ptr<Kernel> make(std::string_view name, const KernelSpec& spec) {
  for (const Provider& provider : providers()) {
    if (provider.op == spec.node.op && provider.name == name) return provider.make(spec);
  }
  return nullptr;
}

Choice first_that_fits(const KernelSpec& spec) {
  for (const Provider& provider : providers()) {
    if (provider.op != spec.node.op) continue;
    if (auto kernel = provider.make(spec)) return {std::move(kernel), {std::string(provider.name)}};
  }
  return {make_reference_kernel(spec), {"reference"}};
}

// Name of the processor for a file name: model name on x86, implementer and part number on ARM, and
// the instruction set, which tests and settings change.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, name;
  while (std::getline(file, line)) {
    for (const char* field : {"model name", "CPU implementer", "CPU part"}) {
      if (line.starts_with(field)) name += line.substr(std::min(line.find(':'), line.size()));
    }
    if (line.empty()) break;  // the first core stands for all
  }
  name += '-' + std::string(instruction_sets().front());
  std::erase_if(name,
                [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '-'; });
  return name;
}

}  // namespace

Tuner::Tuner(const CpuOptions& options, std::filesystem::path file)
    : options_(options), file_(std::move(file)) {
  if (!file_.empty()) recall();
}

// Candidates that state a cost, cheapest first.
Tuner::Candidates Tuner::competitors(const KernelSpec& spec) const {
  Candidates found;
  for (const Provider& provider : providers()) {
    if (provider.op != spec.node.op || provider.cost == nullptr) continue;
    const double cost = provider.cost(spec);
    if (cost < kNever) found.push_back({&provider, cost});
  }
  std::ranges::stable_sort(found, {}, &Candidate::cost);
  if (options_.tune != Tune::kFull && !found.empty()) {
    const double most = kHopeless * found.front().cost;
    std::erase_if(found, [&](const Candidate& candidate) { return candidate.cost > most; });
  }
  return found;
}

Choice Tuner::choose(const KernelSpec& spec) {
  if (auto kernel = make(options_.prefer, spec)) return {std::move(kernel), {options_.prefer}};
  const Candidates all = competitors(spec);
  if (all.empty()) return first_that_fits(spec);
  if (all.size() == 1 || options_.tune == Tune::kOff) {
    const Provider& best = *all.front().provider;
    return {best.make(spec), {std::string(best.name)}};
  }
  const std::string key = key_of(spec);
  // A full race that is asked for explicitly ignores timings of earlier processes.
  const auto it = known_.find(key);
  if (it != known_.end() && (options_.tune != Tune::kFull || fresh_.contains(key))) {
    if (auto kernel = make(it->second.name, spec)) {
      return {std::move(kernel), it->second};
    }
  }
  Choice choice = race(spec, all);
  known_[key] = choice.info;
  fresh_.insert(key);
  return choice;
}

// Only one candidate exists at a time, for the packed weights of all of them could take more memory
// than the model has. The favourite runs last, so that it need not be made again if it wins.
Choice Tuner::race(const KernelSpec& spec, const Candidates& candidates) {
  constexpr size_t kCacheBytes = size_t{32} << 20;  // more than a core has to itself
  others_.resize(kCacheBytes);
  KernelSpec uncached = spec;  // packed weights of losers stay out of the file
  uncached.cache = nullptr;
  Trial trial(spec, others_);
  std::unique_ptr<Kernel> kernel;
  KernelInfo best{{}, {kNever, {}, kNever}};
  for (size_t i = candidates.size(); i-- > 0;) {
    const Provider* provider = candidates[i].provider;
    const std::string name(provider->name);
    kernel.reset();
    kernel = provider->make(uncached);
    const double time = trial.microseconds(*kernel, best.timing.microseconds);
    if (time < best.timing.microseconds) {
      best = {name, {time, best.name, best.timing.microseconds}};
    } else if (time < best.timing.runner_up_microseconds) {
      best.timing.runner_up = name;
      best.timing.runner_up_microseconds = time;
    }
  }
  if (best.name != candidates.front().provider->name || spec.cache != nullptr) {
    kernel.reset();
    kernel = make(best.name, spec);
  }
  return {std::move(kernel), best};
}

void Tuner::recall() {
  std::ifstream file(file_);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string key;
    KernelInfo found;
    KernelTiming& timing = found.timing;
    if (std::getline(fields, key, '\t') && fields >> found.name >> timing.microseconds >>
                                               timing.runner_up >> timing.runner_up_microseconds) {
      known_[key] = std::move(found);
    }
  }
}

void Tuner::remember() {
  // Compilation is over; 32 MB should not stay for the life of the device.
  others_ = {};
  if (fresh_.size() == remembered_ || file_.empty()) return;
  remembered_ = fresh_.size();
  std::ostringstream text;
  for (const auto& [key, best] : known_) {
    text << key << '\t' << best.name << ' ' << best.timing.microseconds << ' '
         << best.timing.runner_up << ' ' << best.timing.runner_up_microseconds << '\n';
  }
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  const std::string lines = text.str();
  auto file = AtomicFile::create(file_, {.durable = false});
  if (file.ok() && file->write(std::as_bytes(std::span(lines))).ok())
    static_cast<void>(file->commit());
}

std::filesystem::path tuning_file() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (cache != nullptr && *cache != '\0') {
    folder = cache;
  } else if (home != nullptr && *home != '\0') {
    folder = std::filesystem::path(home) / ".cache";
  } else {
    return {};
  }
  return folder / "shoal" / ("tuning-" + processor() + ".txt");
}

}  // namespace shoal::cpu
