// Autotuning. Providers estimate their cost in multiply-accumulates; candidates within a factor of
// kHopeless of the cheapest are run in turns on made-up tensors, and the fastest wins (contest.h).
// Caches are in the same state as in the network: what the other nodes touch between two runs of a
// node is touched between two timings. Equal nodes of networks of about the same size share a race
// by their key, a line of text that is also the key of the file of timings.
//
// A race that a busy machine leaves undecided is held again by the next process that needs it.
#include "shoal/engine/cpu/tune.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/machine/machine.h"
#include "shoal/base/timing/contest.h"
#include "shoal/engine/cpu/instruction_set.h"

namespace shoal::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kAlignment = 64;

}  // namespace

Tensor made_up(const TensorType& type) {
  Tensor tensor(type);
  if (type.dtype == DType::kF32) {
    std::minstd_rand rng(1);
    for (float& x : tensor.data<float>()) x = static_cast<float>(rng() % 256) / 256;
  }
  return tensor;
}

Trial::Trial(const KernelSpec& spec, std::span<uint8_t> others) : all_(spec.pool), others_(others) {
  for (const Operand& input : spec.inputs) {
    is_constant_.push_back(input.value != nullptr);
    inputs_.push_back(!input.given             ? Tensor()
                      : input.value != nullptr ? *input.value
                                               : made_up(input.type));
  }
  for (const TensorType& type : spec.outputs) outputs_.emplace_back(type);
}

double Trial::microseconds(const Kernel& kernel, ThreadPool& pool) {
  scratch_.resize(std::max(scratch_.size(), kernel.scratch_bytes() + kAlignment));
  void* at = scratch_.data();
  size_t room = scratch_.size();
  std::align(kAlignment, kernel.scratch_bytes(), at, room);
  const KernelArgs args{inputs_, outputs_, static_cast<std::byte*>(at), pool};
  prepare_caches();
  const auto begin = Clock::now();
  kernel.run(args);
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Every thread has its own caches. The node before this one has just written what it reads.
void Trial::prepare_caches() {
  const auto threads = static_cast<size_t>(all_.threads());
  all_.parallel_for(all_.threads(), [&](int64_t thread, int) {
    const size_t begin = others_.size() * static_cast<size_t>(thread) / threads;
    const size_t end = others_.size() * static_cast<size_t>(thread + 1) / threads;
    for (size_t i = begin; i < end; i += kAlignment) others_[i] += 1;
  });
  uint8_t sum = 0;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    if (is_constant_[k] || !inputs_[k].defined()) continue;
    const std::span<const std::byte> bytes = inputs_[k].bytes();
    for (size_t i = 0; i < bytes.size(); i += kAlignment) sum += static_cast<uint8_t>(bytes[i]);
  }
  others_[0] += sum;  // so that it is not left out
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Candidates whose estimate exceeds the best by this factor are not run, unless all are requested.
// The estimate is rough, but not that rough.
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

// Everything that the time of a node depends on, as one line: operator, threads, memory touched
// between two runs, types, which inputs are constant, attributes. The elements of tensors do not
// count, but for the costs of kernels, which come after this.
std::string key_of(const KernelSpec& spec, int64_t others) {
  std::string key = std::string(spec.node.op->name) + ';' + std::to_string(spec.pool.threads());
  key += ";beside " + std::to_string(others >> 10) + "K";
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

// Null if there is no kernel of that name, or if it does not fit the node.
std::unique_ptr<Kernel> make(std::string_view name, const KernelSpec& spec) {
  for (const Provider& provider : providers()) {
    if (provider.op == spec.node.op && provider.name == name) return provider.make(spec);
  }
  return nullptr;
}

// The caller's thread. It has no state that runs share.
ThreadPool& alone() {
  static ThreadPool pool(1);
  return pool;
}

KernelSpec on(const KernelSpec& spec, ThreadPool& pool) {
  return {spec.node, spec.inputs, spec.outputs, pool, spec.memory, spec.cache};
}

// Where other programs take the cores, threads that share a node wait for each other.
bool is_crowded() {
  return runnable_threads() > static_cast<int>(std::thread::hardware_concurrency());
}

// How long a node takes, in elements read or written. Eight multiply-accumulates take about as
// long.
int64_t work_of(const KernelSpec& spec) {
  int64_t work = 0;
  for (const Operand& input : spec.inputs) {
    if (input.given) work += input.type.shape.count();
  }
  for (const TensorType& output : spec.outputs) work += output.shape.count();
  if (spec.node.op->macs != nullptr) {
    work += spec.node.op->macs(spec.node, spec.inputs, spec.outputs) / 8;
  }
  return work;
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

// Handing work to other threads takes about a microsecond. Nodes that take less than a few are
// computed by the caller, long ones by all threads; in between, both are timed.
std::vector<ThreadPool*> Tuner::pools_for(const KernelSpec& spec) const {
  constexpr int64_t kShort = int64_t{1} << 14, kLong = int64_t{1} << 17;
  if (spec.pool.threads() == 1) return {&spec.pool};
  const int64_t work = work_of(spec);
  if (work < kShort) return {&alone()};
  if (work >= kLong || options_.tune == Tune::kOff) return {&spec.pool};
  return {&spec.pool, &alone()};
}

// Providers that state a cost, cheapest first.
Tuner::Competitors Tuner::competitors(const KernelSpec& spec) const {
  std::vector<std::pair<double, const Provider*>> found;
  for (const Provider& provider : providers()) {
    if (provider.op != spec.node.op || provider.cost == nullptr) continue;
    const double cost = provider.cost(spec);
    if (cost < kNever) found.emplace_back(cost, &provider);
  }
  std::ranges::stable_sort(found, {}, [](const auto& one) { return one.first; });
  Competitors close;
  for (const auto& [cost, provider] : found) {
    const bool is_close = cost <= kHopeless * found.front().first;
    if (is_close || options_.tune == Tune::kFull) close.providers.push_back(provider);
    if (!is_close) continue;  // the same key, however many are tried
    const double times = cost / std::max(found.front().first, 1.0);
    close.costs += ';' + std::string(provider->name) + ' ' + std::to_string(std::lround(8 * times));
  }
  return close;
}

void Tuner::begin(int64_t touched) {
  touched_ = touched;
  surprises_.clear();
}

void Tuner::doubt() {
  for (const std::string& key : surprises_) {
    known_.erase(key);
    fresh_.erase(key);
  }
  is_changed_ = true;
}

// What the rest of the network touches between two runs of a node: one of few sizes, so that
// networks share timings. Less than the first has no effect, more than the last leaves nothing in
// any cache that a core has to itself.
int64_t Tuner::others_of(const KernelSpec& spec) const {
  constexpr int64_t kSizes[] = {int64_t{32} << 20, int64_t{4} << 20, int64_t{512} << 10};
  int64_t others = touched_;
  for (const Operand& input : spec.inputs) {
    if (input.given) others -= static_cast<int64_t>(input.type.bytes());
  }
  for (const TensorType& output : spec.outputs) {
    others -= static_cast<int64_t>(output.bytes());
  }
  for (const int64_t size : kSizes) {
    if (others >= size / 2) return size;
  }
  return 0;
}

Choice Tuner::choose(const KernelSpec& spec) {
  const auto made = [](std::unique_ptr<Kernel> kernel, KernelInfo info, ThreadPool& pool) {
    info.threads = pool.threads();
    return Choice{std::move(kernel), std::move(info), &pool};
  };
  if (auto kernel = make(options_.prefer, spec)) {
    return made(std::move(kernel), {options_.prefer}, spec.pool);
  }
  const std::vector<ThreadPool*> pools = pools_for(spec);
  auto [close, costs] = competitors(spec);
  for (const Provider& provider : providers()) {
    if (!close.empty()) break;
    if (provider.op != spec.node.op) continue;
    auto kernel = provider.make(on(spec, *pools.front()));
    if (kernel == nullptr) continue;
    // Without a race it is not made again: it may have packed weights.
    if (pools.size() == 1) {
      return made(std::move(kernel), {std::string(provider.name)}, *pools.front());
    }
    close.push_back(&provider);
  }
  if (close.empty()) return made(make_reference_kernel(spec), {"reference"}, alone());
  Candidates all;
  for (ThreadPool* pool : pools) {
    for (const Provider* provider : close) all.push_back({provider, pool});
  }
  if (all.size() == 1 || options_.tune == Tune::kOff) {
    const Candidate& best = all.front();
    return made(best.provider->make(on(spec, *best.pool)), {std::string(best.provider->name)},
                *best.pool);
  }
  // Costs may depend on the elements of constants, on how many are zero.
  const std::string key = key_of(spec, others_of(spec)) + costs;
  // A full race that is asked for explicitly ignores timings of earlier processes, and one that was
  // not decided is held again, once.
  const auto it = known_.find(key);
  const bool is_enough = it != known_.end() && options_.tune != Tune::kFull && it->second.believed;
  if (it != known_.end() && (is_enough || fresh_.contains(key))) {
    const KernelInfo& info = it->second.info;
    ThreadPool& pool = info.threads == 1 ? alone() : spec.pool;
    if (auto kernel = make(info.name, on(spec, pool))) return made(std::move(kernel), info, pool);
  }
  Choice choice;
  known_[key] = race(spec, all, choice);
  fresh_.insert(key);
  is_changed_ = true;
  const Candidate& favourite = all.front();
  if (choice.info.name != favourite.provider->name || choice.pool != favourite.pool) {
    surprises_.push_back(key);
  }
  return choice;
}

// Candidates take turns, unless the packed weights of all of them take more memory than a model
// should.
Tuner::Known Tuner::race(const KernelSpec& spec, const Candidates& candidates, Choice& choice) {
  constexpr int64_t kMostTogether = int64_t{16} << 20;
  int64_t constants = 0;
  for (const Operand& input : spec.inputs) {
    if (input.value != nullptr) constants += static_cast<int64_t>(input.type.bytes());
  }
  const bool in_turns = constants * static_cast<int64_t>(candidates.size()) <= kMostTogether;
  others_.resize(static_cast<size_t>(std::max<int64_t>(others_of(spec), 1)));
  const bool is_about_threads = candidates.front().pool != candidates.back().pool;
  const bool was_crowded = is_about_threads && is_crowded();
  Trial trial(spec, others_);
  Contest contest(candidates.size(), in_turns ? Contest::Order::kTurns : Contest::Order::kOneByOne);
  std::vector<std::unique_ptr<Kernel>> kernels(candidates.size());
  while (const auto next = contest.next()) {
    const Candidate& candidate = candidates[*next];
    if (kernels[*next] == nullptr) {
      if (!in_turns) std::ranges::fill(kernels, nullptr);
      KernelSpec uncached = on(spec, *candidate.pool);
      uncached.cache = nullptr;  // packed weights of losers stay out of the file
      kernels[*next] = candidate.provider->make(uncached);
    }
    contest.add(*next, trial.microseconds(*kernels[*next], *candidate.pool));
  }
  const auto name = [&](size_t i) { return std::string(candidates[i].provider->name); };
  const size_t winner = contest.winner(), second = contest.runner_up().value_or(winner);
  const Candidate &best = candidates[winner], &next_best = candidates[second];
  std::string runner_up = name(second);
  if (next_best.pool != best.pool) runner_up += ":" + std::to_string(next_best.pool->threads());
  choice = {std::move(kernels[winner]),
            {name(winner),
             {contest.least(winner), runner_up, contest.least(second)},
             best.pool->threads()},
            best.pool};
  if (choice.kernel == nullptr || spec.cache != nullptr) {
    choice.kernel.reset();
    choice.kernel = best.provider->make(on(spec, *best.pool));
  }
  const bool is_disturbed = was_crowded || (is_about_threads && is_crowded());
  return {choice.info, contest.is_believed() && !is_disturbed};
}

void Tuner::recall() {
  std::ifstream file(file_);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string key;
    Known found;
    KernelTiming& timing = found.info.timing;
    if (std::getline(fields, key, '\t') && fields >> found.info.name >> found.info.threads >>
                                               timing.microseconds >> timing.runner_up >>
                                               timing.runner_up_microseconds >> found.believed) {
      known_[key] = std::move(found);
    }
  }
}

void Tuner::remember() {
  others_ = {};  // they should not stay for the life of the device
  if (!is_changed_ || file_.empty()) return;
  is_changed_ = false;
  std::ostringstream text;
  for (const auto& [key, best] : known_) {
    const KernelTiming& timing = best.info.timing;
    text << key << '\t' << best.info.name << ' ' << best.info.threads << ' ' << timing.microseconds
         << ' ' << timing.runner_up << ' ' << timing.runner_up_microseconds << ' ' << best.believed
         << '\n';
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
